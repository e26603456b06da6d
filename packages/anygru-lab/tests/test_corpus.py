"""Text as documents: read, cut, split."""

import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from anygru.cli import UsageError
from anygru_lab.language_model import corpus
from anygru_lab.language_model.corpus import Document

PARAGRAPHS = b"".join(b"Paragraph %d.\nIts second line.\n\n" % i for i in range(200))


@given(st.binary(max_size=3000), st.integers(1, 400))
@example(b"a line of 14 b\n!", 10)
def test_pieces_are_the_document_again(data, size):
    pieces = corpus.cut(Document("d", data), size)
    assert b"".join(piece.data for piece in pieces) == data
    assert all(0 < len(piece) <= 1.5 * size for piece in pieces)
    assert all(len(piece) >= size for piece in pieces[:-1])
    assert len(pieces) <= 1 or len(pieces[-1]) >= size // 2


def test_a_document_is_cut_where_a_paragraph_ends():
    pieces = corpus.cut(Document("d", PARAGRAPHS), 500)
    assert len(pieces) > 5
    assert all(piece.data.endswith(b"\n\n") for piece in pieces)
    assert [piece.number for piece in pieces[:2]] == [0, 1]


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
    forwards, backwards = corpus.split(documents, 20_000), corpus.split(documents[::-1], 20_000)
    assert set(forwards.held_out) == set(backwards.held_out)


def test_of_a_large_text_no_more_than_64_kib_is_held_out(tmp_path):
    path = tmp_path / "large.txt"
    path.write_bytes(b"".join(b"%d green bottles\n" % i for i in range(200_000)))
    found = corpus.load([str(path)])
    assert 50_000 < sum(map(len, found.held_out)) <= 1 << 16
    assert len(found.held_out) >= 5
    joined = sum(map(len, found.training)) + sum(map(len, found.held_out))
    assert joined == path.stat().st_size


def test_the_digest_sees_every_byte_and_every_border():
    a, b, c = Document("a", b"one"), Document("b", b"two"), Document("c", b"onet")
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
        (None, "text: cannot be read: No such file"),
        (b"", "'.*text' is empty"),
        (b"too short", "too short to hold out a part: 9 bytes"),
        (b"!", "too short to hold out a part: 1 byte, at least 512"),
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


def words(count, seed=0):
    """Lines of random words, none like another."""
    letters = np.random.default_rng(seed).integers(97, 123, (count, 39), dtype=np.uint8)
    return b"".join(bytes(line) + b"\n" for line in letters)


def held_out_share(found):
    held_out = sum(map(len, found.held_out))
    return held_out / (held_out + sum(map(len, found.training)))


@pytest.mark.parametrize("lines", [200, 1000, 20_000])
def test_of_one_file_the_promised_share_is_held_out_in_pieces_from_all_over(tmp_path, lines):
    text = words(lines)
    (tmp_path / "one.txt").write_bytes(text)
    found = corpus.load([str(tmp_path / "one.txt")])
    assert 0.7 * corpus.HELD_OUT_SHARE < held_out_share(found) <= corpus.HELD_OUT_SHARE
    places = sorted(text.index(document.data) / len(text) for document in found.held_out)
    assert len(places) >= 4
    assert places[0] < 0.5 < places[-1]
    assert not found.warnings


def test_the_share_can_be_given(tmp_path):
    (tmp_path / "one.txt").write_bytes(words(50_000))
    assert held_out_share(corpus.load([str(tmp_path / "one.txt")])) < 0.04  # 64 KiB
    found = corpus.load([str(tmp_path / "one.txt")], val_fraction=0.25)
    assert held_out_share(found) == pytest.approx(0.25, abs=0.02)


def test_a_short_last_line_is_not_all_that_is_held_out(tmp_path):
    (tmp_path / "one.txt").write_bytes(words(100) + b"!")
    found = corpus.load([str(tmp_path / "one.txt")])
    assert min(map(len, found.held_out)) >= 32


def test_training_pieces_between_the_held_out_ones_are_whole(tmp_path):
    text = words(20_000)
    (tmp_path / "one.txt").write_bytes(text)
    found = corpus.load([str(tmp_path / "one.txt")])
    assert all(document.data in text for document in found.training)
    assert max(map(len, found.training)) > 20_000
    assert sum(map(len, (*found.training, *found.held_out))) == len(text)


def test_a_repeated_text_is_left_out_with_a_warning(tmp_path):
    for name, data in {"a.txt": words(300), "b.txt": words(300, 1), "c.txt": words(300)}.items():
        (tmp_path / name).write_bytes(data)
    found = corpus.load([str(tmp_path)])
    assert sum(map(len, (*found.training, *found.held_out))) == 2 * 300 * 40
    assert [warning.replace(str(tmp_path), "") for warning in found.warnings] == [
        "left out, because it repeats '/a.txt': '/c.txt'"
    ]


def test_many_repeated_texts_are_counted(tmp_path):
    for number in range(12):
        (tmp_path / f"{number:02}.txt").write_bytes(words(300))
    warnings = corpus.load([str(tmp_path)]).warnings
    assert len(warnings) == corpus.SHOWN_REPETITIONS + 1
    assert warnings[-1] == "left out, because they repeat others: 6 more"


def test_held_out_lines_that_are_trained_on_are_worth_a_warning(tmp_path):
    text = words(2000)
    (tmp_path / "twice.txt").write_bytes(text + text)
    found = corpus.load([str(tmp_path / "twice.txt")])
    assert any("of the held-out lines are also in the training text" in warning for warning in found.warnings)


def test_held_out_files_can_be_named(tmp_path):
    for name, data in {"a.txt": words(300), "b.txt": words(20, 1)}.items():
        (tmp_path / name).write_bytes(data)
    found = corpus.load([str(tmp_path)], [str(tmp_path / "b.txt")])
    assert [document.data for document in found.held_out] == [words(20, 1)]
    assert b"".join(document.data for document in found.training) == words(300)
    assert "left out of training, because it is held out" in found.warnings[0]
    with pytest.raises(UsageError, match="nothing is left to train on"):
        corpus.load([str(tmp_path / "b.txt")], [str(tmp_path / "b.txt")])


def test_a_folder_is_the_files_below_it_and_hidden_ones_are_none(tmp_path):
    for name in ("z.txt", "sub/a.txt", ".hidden", ".git/config"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(name.encode() * 100)
    names = [Path(document.name).relative_to(tmp_path).as_posix() for document in corpus.read_texts([str(tmp_path)])]
    assert names == ["z.txt", "sub/a.txt"]
    (tmp_path / "empty").mkdir()
    with pytest.raises(UsageError, match="holds no text"):
        corpus.load([str(tmp_path / "empty")])


def test_a_fifo_is_refused_at_once(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(UsageError, match="not a regular file"):
        corpus.load([str(tmp_path / "pipe")])


def test_one_document_is_singular():
    found = corpus.Corpus((Document("a", b"x" * 30),), (Document("b", b"y" * 10),))
    assert found.describe() == "1 document of 30 to 30 bytes, 30 bytes in all; held out: 1 document, 10 bytes, 25.00%"
