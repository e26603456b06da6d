"""Measure plain English: habits of style that make a reader stop, per 1,000 words of each part of the repository.

The text is docstrings, comments, error messages, help texts and pages. As a script this file prints the worst sentences:

    python tests/test_language.py packages/anygru-mxnet
    python tests/test_language.py packages/anygru/src/anygru/checkpoints docs

A low rate does not make a text plain. The patterns only find places to rewrite.
"""

import ast
import io
import re
import sys
import tokenize
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest
from documents import ROOT, files

SPEECH = r"tell|tells|told|telling|say|says|said|saying|know|knows|knew|hear|hears|speak|speaks|spoke|want|wants|wanted"
PLACE = r"stand|stands|standing|stood|lie|lies|lay|lying|laid"
THINGS = (
    "process|sample|step|row|file|name|layer|call|line|model|module|sequence|unit|thread|weight|tensor|gate|word|class"
)
KINDS = {
    "noun clause": r"\bwhat(?:ever)?\b(?![^.]*\?)(?! happens)",
    "those, that of": r"\bthose\b(?! who)|\bthat of\b|\bthat in (?:the|a|its)\b",
    "one as a pronoun": r"\bthe ones?\b(?! hand| of the)"
    r"|\b(?:is|are|has|have|had|was|gives?|takes?|needs?) one\b(?! of| or|-| \w+)"
    r"|\bone (?:that|which|whose|with|without|by|from|in|beside)\b",
    "the others, the rest": r"\bthe others?\b(?! \w)|\bothers?'|\bsome others\b",
    "too at the end": r",? (?:too|either)(?=[.,;:)])",
    "so many, as often": r"\b(?:so|as) (?:many|much|often|few)\b|\bas far\b(?! as possible)|\bhowever (?:many|long|often|much)\b",
    "else": r"\belse\b",
    "as they are": r"\bas (?:it|they|he|she|we|one) (?:is|are|was|were|does|do|did|has|have|had|stands?|came|comes?)\b",
    "whose, of which": r"\bwhose\b|\bof (?:which|whom)\b|\bwhoever\b",
    "speech of software": rf"\b(?:{SPEECH})\b",
    "place of software": rf"\b(?:{PLACE})\b(?!-)",
    "go on": r"\b(?:go|goes|going|went|gone|hand|hands|handed|give|gives|given|pass|passes) on\b",
    "old words": r"\b(?:anew|afresh|once more|besides?|nobody|somebody|everybody|nothing but|thereof|therein|hence|thus|"
    r"of old|of then|of today|of late|the latter|the former|at all|for good|in words)\b",
    "but for": r"\b(?:nothing|anything|all|none|nobody) but\b|\bbut for\b|\bnot until\b",
    "no for not": r"(?<!here )\b(?:is|are|was|were) (?-i:none\b|no) (?!longer|more|need|such|way|op\b|doubt)"
    r"|\b(?:has|have|takes?|gives?|needs?|gets?|with) (?-i:none)\b|\b(?-i:none) (?:is|are|that|of)\b",
    "inversion": r"(?:^|[.;:,] )(?:only|never|nor|so|neither|such|here|there|then|thus|beside|below|behind|with (?:it|them))"
    r" (?:is|are|was|were|does|do|did|has|have|can|may|must|comes?|goes|stands?)\b"
    r"(?! (?:a|an|no|not|any|the|one|two|some)\b)|\b(?:only|not even|just) (?:then|there|here|so) (?:is|are|do|does|can|may)\b"
    r"|(?:^|[.;] )(?:of|in|from|under|to) [^.,;:]{3,40} (?:is|are|was|were|has|have) [^.,;]{0,30}"
    r"(?:taken|left|made|kept|meant|counted|read|written)\b",
    "of its own": r"\bof (?:its|their|one's|his|your) own\b|\bon (?:its|their) own\b",
    "one a step": rf"\b(?:one|once|twice|number|times|seconds|bytes|steps|names|values|draws|calls?) an? (?:{THINGS})\b",
    "is there": r"\b(?:is|are|was|were) there\b(?! (?:a|an|any|no|is|are)\b)",
    "participles": r"\b(?:taken|takes?|taking|put|puts|putting|set|pulled|told) (?:apart|asunder)\b|\bleft (?:out|alone|over)\b"
    r"|\b(?:brought|brings?|bringing) (?:in|along|back|with)\b|\b(?:thought|looked|asked|waited|cared|meant) (?:of|for|after)\b",
    "all that": r"\ball (?:that|it|they|of it|in it|there is)\b|\banything (?:else|that)\b|\bnothing (?:else|that|is|was|has)\b",
    "in its place": r"\bin (?:the|its|their) (?:place|stead|way)\b(?! (?:that|to))|\bin place of\b"
    r"|\bmade of\b|\bmakes? do\b|\bdoe?s? without\b",
    "right beside": r"\b(?:right|just|long|even) (?:above|below|beside|behind|before|after|in|since|there|then)\b",
    "narration": r"\b(?:in turn|by then|until then|since then|ever since|now and then|by and by|as before|as ever)\b",
}
"""Habit -> pattern. They are counted in text without code; each is rare in the documentation of PyTorch, NumPy or attrs."""

NAMES = re.compile(
    r"(?:^|_)(?:said|says|told|tells?|laid|lies?|lay|stands?(?!_in)|whose|settled?|knows?|anew|spoken|apart|asks|wants|made_of|beside)(?=_|$)"
)
"""Words that do not explain a function, class or argument."""

PARTS = {
    **{f"packages/{path.parent.name}": path.parent for path in sorted(ROOT.glob("packages/*/src"))},
    "tests": ROOT / "tests",
    "benchmarks": ROOT / "benchmarks",
    "docs": ROOT,
}


class Text(NamedTuple):
    """A piece of prose, without its code, and its place."""

    path: Path
    line: int
    words: str
    raw: str


def _plain(text: str) -> str:
    """Text without code, links' targets and quotations of names."""
    text = re.sub(r"^ *(?:```|~~~).*?^ *(?:```|~~~)", " ", text, flags=re.DOTALL | re.MULTILINE)
    text = re.sub(r"(?:::\n\n|^)(?: {4,}\S.*\n?)+(?=\n|\Z)", "\n", text) if "::" in text or ">>>" in text else text
    return re.sub(r"``[^`]*``|`[^`\n]*`|\]\([^)]*\)|<[^>\n]*>|https?://\S+|\"[^\"\n]{1,40}\"", " X ", text)


def _strings(node: ast.AST) -> Iterator[str]:
    """The literals of an expression; values in an f-string become X."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node.value
    elif isinstance(node, ast.JoinedStr):
        yield "".join(each.value if isinstance(each, ast.Constant) else " X " for each in node.values)
    elif isinstance(node, ast.BinOp | ast.IfExp):
        for child in ast.iter_child_nodes(node):
            yield from _strings(child)


def _messages(node: ast.Call) -> Iterator[str]:
    """The messages of exceptions and warnings, and the help of options."""
    name = ast.unparse(node.func).rpartition(".")[2].lower()
    if name.endswith(("error", "exception", "warning", "failure", "warn", "not_covered", "refuse", "fail")):
        for each in node.args:
            yield from _strings(each)
    for keyword in node.keywords:
        if keyword.arg in ("help", "description", "epilog", "why", "instead"):
            yield from _strings(keyword.value)


def comments(source: str) -> Iterator[tuple[int, str]]:
    """Comments and their first lines; comments on successive lines are one text."""
    line, found, last = 0, [], -1
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type != tokenize.COMMENT or re.match(r"# ?(?:noqa|type:|fmt:|!)", token.string):
            continue
        if token.start[0] != last + 1:
            yield line, " ".join(found)
            line, found = token.start[0], []
        found.append(token.string.lstrip("# "))
        last = token.start[0]
    yield line, " ".join(found)


@cache
def texts(path: Path) -> list[Text]:
    """The prose of a file."""
    source = path.read_text(encoding="utf-8")
    if path.suffix == ".md":
        found = [(1, source)]
    else:
        found = list(comments(source))
        for node in ast.walk(ast.parse(source)):
            if (
                isinstance(node, ast.Expr)
                and isinstance(node.value, ast.Constant)
                and isinstance(node.value.value, str)
            ):
                found.append((node.lineno, node.value.value))  # docstrings of definitions and of attributes
            elif isinstance(node, ast.Call):
                found += [(node.lineno, text) for text in _messages(node)]
    return [Text(path, line, _plain(text), text) for line, text in found if text]


def names(path: Path) -> list[str]:
    """Names of functions, classes and arguments that `NAMES` finds."""
    found = [
        node.arg if isinstance(node, ast.arg) else node.name
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.arg)
    ]
    return [name for name in found if NAMES.search(name)]


def marks(text: str) -> list[str]:
    """The habits in a text, one for each place."""
    return [kind for kind, pattern in _COMPILED.items() for _ in pattern.finditer(text)]


_COMPILED = {kind: re.compile(pattern, re.IGNORECASE | re.MULTILINE) for kind, pattern in KINDS.items()}


def sentences(text: Text) -> Iterator[str]:
    """The sentences of a text, with their code."""
    raw = re.sub(r"^ *```.*?^ *```", "\n\n", text.raw, flags=re.DOTALL | re.MULTILINE)
    for each in re.split(r"(?<=[.!?;:])\s+(?=[A-Z\"`(])|\n\s*\n|\n\s*[-*|]", raw):
        yield " ".join(each.split())


def words(found: list[Text]) -> int:
    return sum(len(re.findall(r"[A-Za-z][A-Za-z']+", text.words)) for text in found)


def rate(found: list[Text]) -> float:
    """Marks per 1,000 words."""
    return 1000 * sum(len(marks(text.words)) for text in found) / max(1, words(found))


def part(name: str) -> list[Path]:
    """The files of a part. Pages outside of packages, tests and benchmarks are documentation."""
    found = files(PARTS[name], ".py", ".md")
    if name == "docs":
        found = [path for path in found if path.relative_to(ROOT).parts[0] not in ("packages", "tests", "benchmarks")]
    return [path for path in found if "conformance" not in path.parts]


@pytest.mark.parametrize("name", PARTS)
def test_text_is_plain(name: str) -> None:
    found = [text for path in part(name) for text in texts(path)]
    assert rate(found) <= MOST[name][0], f"run python tests/test_language.py {PARTS[name].relative_to(ROOT)}"


@pytest.mark.parametrize("name", PARTS)
def test_names_are_of_the_field(name: str) -> None:
    found = [each for path in part(name) if path.suffix == ".py" for each in names(path)]
    assert len(found) <= MOST[name][1], sorted(set(found))


@pytest.mark.parametrize(
    ("kind", "sentence"),
    [
        ("noun clause", "What the others tell each other."),
        ("those, that of", "The outputs of the sequences and those of the mask."),
        ("too at the end", "A layer, whose gradient has it, too."),
        ("else", "A row per name, else none."),
        ("as they are", "Names are written as they are."),
        ("inversion", "Only then is the file replaced."),
        ("place of software", "Where the file lies."),
    ],
)
def test_a_habit_is_seen(kind: str, sentence: str) -> None:
    assert kind in marks(sentence)


def test_plain_text_has_no_marks() -> None:
    plain = (
        "Take a per-user lock file until exit. Excluded if significantly worse fold by fold.",
        "The upstream gradient is ignored unless scaled. Propagate dtypes between a node's inputs and outputs.",
        "If True, the layer is bidirectional. Raises ValueError if the hidden size differs.",
    )
    assert [marks(text) for text in plain] == [[], [], []]


def test_code_is_not_text(tmp_path: Path) -> None:
    path = tmp_path / "a.py"
    path.write_text(
        '"""Call `what_lies(else_)` anew."""\nif 1:  # told\n    raise ValueError(f"{1} of which")\nelse:\n    x = 1\n'
    )
    assert sorted((each.line, marks(each.words)) for each in texts(path)) == [
        (1, ["old words"]),
        (2, ["speech of software"]),
        (3, ["whose, of which"]),
    ]


def main(folders: list[str]) -> None:
    """Print the rate of each part, or the sentences of some folders and files with marks, the worst last."""
    if not folders:
        for name in PARTS:
            found = [text for path in part(name) for text in texts(path)]
            print(f"{rate(found):6.1f} in 1,000 of {words(found):7,} words  {name}")
        return
    paths = [path for folder in folders for path in files(Path(folder).resolve(), ".py", ".md")]
    found = [text for path in paths for text in texts(path)]
    worst = sorted(
        ((seen, text, each) for text in found for each in sentences(text) if (seen := marks(_plain(each)))),
        key=lambda each: len(each[0]),
    )
    for seen, text, sentence in worst:
        print(f"{text.path.relative_to(ROOT)}:{text.line}: {sentence}\n    [{'; '.join(seen)}]")
    for path in paths:
        if path.suffix == ".py" and names(path):
            print(f"{path.relative_to(ROOT)}: names {', '.join(sorted(set(names(path))))}")
    print(
        *(f"{count:5} {kind}" for kind, count in Counter(mark for seen, *_ in worst for mark in seen).most_common()),
        sep="\n",
    )
    print(f"{rate(found):.1f} in 1,000 words")


MOST = {
    "packages/anygru": (15, 76),
    "packages/anygru-chainer": (1, 0),
    "packages/anygru-lab": (10, 5),
    "packages/anygru-mxnet": (1, 0),
    "packages/anygru-oneflow": (0.5, 0),
    "packages/anygru-paddle": (1.2, 0),
    "tests": (3, 6),
    "benchmarks": (8.5, 0),
    "docs": (12.5, 0),
}
"""The most marks per 1,000 words, and the most unclear names, of each part. Lower a figure when you can; never raise one."""


if __name__ == "__main__":
    main(sys.argv[1:])
