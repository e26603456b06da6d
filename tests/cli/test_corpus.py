"""Text as documents: read, cut, split."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anygru.cli import UsageError
from anygru.cli.language_model import corpus
from anygru.cli.language_model.corpus import Document

PARAGRAPHS = b"".join(b"Paragraph %d.\nIts second line.\n\n" % i for i in range(200))


@given(st.binary(max_size=3000), st.integers(1, 400))
def test_pieces_are_the_document_again(data, size):
    pieces = corpus.cut(Document("d", data), size)
    assert b"".join(piece.data for piece in pieces) == data
    assert all(0 < len(piece) <= 1.5 * size for piece in pieces)
    assert all(len(piece) >= size for piece in pieces[:-1])


def test_a_document_is_cut_where_a_paragraph_ends():
    pieces = corpus.cut(Document("d", PARAGRAPHS), 500)
    assert len(pieces) > 5
    assert all(piece.data.endswith(b"\n\n") for piece in pieces)
    assert [piece.name for piece in pieces[:2]] == ["d#0", "d#1"]


def test_without_paragraphs_it_is_cut_where_a_line_ends():
    pieces = corpus.cut(Document("d", b"a line of text\n" * 300), 500)
    assert all(piece.data.endswith(b"\n") for piece in pieces)


def test_the_manual_is_documents_of_very_different_length_that_do_not_repeat_each_other():
    documents = corpus.python_manual()
    lengths = [len(document) for document in documents]
    assert len(documents) > 30
    assert max(lengths) > 50 * min(lengths)
    for i, document in enumerate(documents):
        rest = {line for j, other in enumerate(documents) if j != i for line in lines(other)}
        mine = lines(document)
        repeated = sum(line in rest for line in mine)
        assert repeated <= len(mine) / 2, document.name


def lines(document):
    return [line.strip() for line in document.data.split(b"\n") if len(line.strip()) >= 20]


def test_held_out_documents_are_a_moderate_share_and_none_is_trained_on():
    found = corpus.load([])
    training, held_out = set(found.training), set(found.held_out)
    assert not training & held_out
    assert training | held_out == set(corpus.python_manual())
    share = sum(map(len, held_out)) / sum(map(len, training | held_out))
    assert 0.03 < share <= corpus.HELD_OUT_SHARE


def test_what_is_held_out_depends_on_contents_alone():
    documents = corpus.python_manual()
    forwards, backwards = corpus.split(documents), corpus.split(documents[::-1])
    assert set(forwards.held_out) == set(backwards.held_out)


def test_of_a_large_text_no_more_than_64_kib_is_held_out(tmp_path):
    path = tmp_path / "large.txt"
    path.write_bytes(b"".join(b"%d green bottles\n" % i for i in range(200_000)))
    found = corpus.load([str(path)])
    assert 20_000 < sum(map(len, found.held_out)) <= 1 << 16
    joined = sum(map(len, found.training)) + sum(map(len, found.held_out))
    assert joined == path.stat().st_size


def test_the_digest_sees_every_byte_and_every_border():
    a, b, c = (
        Document("a", b"one"),
        Document("b", b"two"),
        Document("c", b"onet"),
    )
    d = Document("d", b"wo")
    digests = {
        corpus.Corpus((a,), (b,)).digest,
        corpus.Corpus((b,), (a,)).digest,
        corpus.Corpus((a, b), ()).digest,
        corpus.Corpus((c, d), ()).digest,
    }
    assert len(digests) == 4
    assert corpus.Corpus((a,), (b,)).digest == corpus.Corpus((Document("x", b"one"),), (b,)).digest


@pytest.mark.parametrize(
    ("contents", "words"),
    [
        (None, "cannot read '.*text': No such file"),
        (b"", "'.*text' is empty"),
        (b"too short", "too short to hold out a part: 9 bytes"),
    ],
)
def test_a_text_that_cannot_be_used_is_named(tmp_path, contents, words):
    path = tmp_path / "text"
    if contents is not None:
        path.write_bytes(contents)
    with pytest.raises(UsageError, match=words):
        corpus.load([str(path)])


def test_two_short_files_suffice(tmp_path):
    for name in "ab":
        (tmp_path / name).write_text(name * 10)
    found = corpus.load([str(tmp_path / name) for name in "ab"])
    assert len(found.training) == len(found.held_out) == 1
