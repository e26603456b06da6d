"""Links, paths and `make` targets in pages, docstrings and comments lead to something that exists."""

import ast
import re
from functools import cache
from pathlib import Path

import pytest
from documents import PAGES, ROOT, contents, files
from test_language import comments

SUFFIXES = [
    ".py", ".pyi", ".md", ".txt", ".toml", ".yml", ".yaml", ".cpp", ".hpp", ".c", ".js", ".json", ".ipynb", ".svg",
]  # fmt: skip
WRITTEN = [
    path
    for path in [*files(ROOT, ".py", ".md", ".toml", ".yml", ".yaml", ".txt", ".cpp", ".hpp"), ROOT / "Makefile"]
    if "conformance" not in path.parts and path != Path(__file__)
]
DIALECT = re.compile(r"packages/anygru-(?:paddle|oneflow|mxnet|chainer)/")
"""In a dialect a path may be a file of the original or of a program that was tried; its own begin as `OWN`."""
OWN = re.compile(r"(?:packages|benchmarks|anygru\w*)/")
ELSEWHERE = {
    "docs/accelerate.md": "test_modules.py test_nn.py test_expanded_weights.py test_stateless.py",  # of torch
    "docs/deploy.md": "amplifier.js amplifier-worklet.js",  # written by the command
    "docs/dialects.md": "src/anygru_toynet/__init__.py src/anygru_toynet/nn.py src/anygru_toynet/names.txt",
    "docs/formulas.md": "ppo_walker_rnn.yaml MMM2_rnn.yaml",
    "docs/run.md": "requires.txt",  # of an egg
    "docs/training.md": "checkpoint.json previous/",  # of a run's folder
    "packages/anygru-lab/src/anygru_lab/language_model/checkpoint.py": "checkpoint.json",
    "packages/anygru-lab/src/anygru_lab/language_model/index.py": "checkpoint.json",
    "packages/anygru/src/anygru/checkpoints/formats/keras.py": "config.json metadata.json",
    "packages/anygru/src/anygru/cli/watching.py": "watched.json",
    "packages/anygru/src/anygru/dialects/finder.py": "anygru.py",  # of a user
}
"""Paths outside of the repository, by the file that names them."""
_ENDING = re.compile(r"(?:\.[a-z]\w*)+")
"""An ending of files, such as .json, and no path."""
_PATH = re.compile(r"`(\.{0,2}\w[\w.-]*(?:/[\w.-]+)*/?)`")


@cache
def ends(package: str) -> frozenset[str]:
    """All files and folders and the ends of their paths; names of modules alone only outside of other dialects."""
    hidden = [path for name in (".ci", ".github") for path in (ROOT / name).rglob("*")]
    found, near = set[str](), set[str]()
    for path in [*files(ROOT), *hidden]:
        parts = path.relative_to(ROOT).parts
        found |= {"/".join(parts[i:j]) for j in range(1, len(parts) + 1) for i in range(j)}
        dialect = DIALECT.match("/".join(parts))
        if not dialect or dialect[0].startswith(package):
            near.add(path.name)
    return frozenset(near | {name for name in found if "/" in name or not name.endswith(".py")})


@cache
def prose(path: Path) -> str:
    """Pages whole, docstrings and comments of Python files, comments of other files."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".md":
        return text
    if path.suffix == ".py":
        constants = (node.value for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Expr))
        docstrings = [
            each.value for each in constants if isinstance(each, ast.Constant) and isinstance(each.value, str)
        ]
        return "\n".join([*docstrings, *(comment for _, comment in comments(text))])
    return "\n".join(re.findall(r"(?:#|//).*", text))


def missing(path: Path, text: str) -> list[str]:
    """The paths in backquotes that do not exist."""
    name = path.relative_to(ROOT).as_posix()
    known = {*ELSEWHERE.get(name, "").split()}
    if path.suffix == ".md":
        known |= {item.name for item in contents(path) if hasattr(item, "name")}
    package = DIALECT.match(name)
    about_dialects = name in ("docs/architecture.md", "docs/dialects.md")
    here = ends(package[0] if package else "packages/" if about_dialects else "none")
    found = []
    for each in _PATH.findall(text):
        if not each.endswith(("/", *SUFFIXES)) or _ENDING.fullmatch(each) or (package and not OWN.match(each)):
            continue
        pattern = re.search(r"THREADS|MACHINE|NAME|PREFIX", each)
        if not pattern and each not in known and each.rstrip("/") not in here and not (path.parent / each).exists():
            found.append(each)
    return found


@pytest.mark.parametrize("kind", sorted({path.suffix or path.name for path in WRITTEN}))
def test_paths_exist(kind: str) -> None:
    found = {
        path.relative_to(ROOT).as_posix(): missing(path, prose(path))
        for path in WRITTEN
        if path.name.endswith(kind) and missing(path, path.read_text(encoding="utf-8"))  # fast, without parsing
    }
    assert {name: paths for name, paths in found.items() if paths} == {}


def test_a_missing_path_is_seen() -> None:
    page = ROOT / "CONTRIBUTING.md"
    text = "Read `packages/anygru/src/anygru/dialects/README.md`, `layers.py`, `tests/`, `Makefile` and `docs/run.md`."
    assert missing(page, text) == ["packages/anygru/src/anygru/dialects/README.md", "layers.py"]
    names = ROOT / "packages/anygru-oneflow/src/anygru_oneflow/names.txt"
    assert missing(names, "`anygru/_hook/names.py` describes the lines of `nn/layer/rnn.py`") == [
        "anygru/_hook/names.py"
    ]


def without_blocks(page: Path) -> str:
    """The text of a page without its blocks of code."""
    return re.sub(r"^```.*?^```", "", page.read_text(), flags=re.MULTILINE | re.DOTALL)


def anchors(page: Path) -> set[str]:
    """The anchors that GitHub gives the headings of a page."""
    headings = re.findall(r"^#+ (.*)", without_blocks(page), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_links_lead_to_a_file_and_a_heading(page: Path) -> None:
    """The site shows the files of the repository, so that relative links work in both."""
    links = re.findall(r"\]\((?!https?:|mailto:)([^)#\s]*)(?:#([^)\s]+))?", without_blocks(page))
    for link, anchor in links:
        target = page.parent / link if link else page
        assert target.exists(), link
        if anchor and target.suffix == ".md":
            assert anchor in anchors(target), f"{link}#{anchor}"


def test_make_targets_exist() -> None:
    targets = set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    for path in WRITTEN:
        if set(re.findall(r"make ([a-z][\w-]+)", path.read_text(encoding="utf-8"))) <= targets:
            continue  # most files, which are not parsed
        found = set(re.findall(r"(?:^ {4,}|`)make ([a-z][\w-]+)(?=[` ]|$)", prose(path), re.MULTILINE))
        blocks = re.findall(r"^```sh\n(.*?)^```", prose(path), re.MULTILINE | re.DOTALL)
        found |= set(re.findall(r"^make ([a-z][\w-]+)", "\n".join(blocks), re.MULTILINE))
        assert found <= targets or path.name == "Makefile", f"{path.relative_to(ROOT)}: {found - targets}"
