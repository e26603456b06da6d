"""Packaging: links work on a package page, the oldest versions are tested, the recipe agrees with pyproject.toml."""

import json
import re
import runpy
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

import anygru

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = sorted(ROOT.glob("packages/*/pyproject.toml"))
PROJECT = (ROOT / "packages/anygru/pyproject.toml").read_text()  # read by hand: Python 3.10 has no tomllib
HOMEPAGE = re.search(r'^Homepage = "(.*)"$', PROJECT, re.MULTILINE)[1]

SITE = "https://anygru.github.io/anygru/"
WORKFLOWS = sorted((ROOT / ".github/workflows").glob("*.yml"))


def floors(text: str, pattern: str) -> dict[str, tuple[int, ...]]:
    found = re.findall(pattern, text, re.MULTILINE)
    # 13 and 13.0.0 are the same version
    return {name: tuple(map(int, [*version.split("."), "0", "0"][:3])) for name, version in found}


def dependencies(package: Path) -> dict[str, tuple[int, ...]]:
    """The requirements of a package other than anygru."""
    block = re.search(r"^dependencies = \[(.*?)\]$", package.read_text(), re.MULTILINE | re.DOTALL)[1]
    return floors(block, r'"([\w-]+)>=([\d.]+)"')


def test_links_of_the_readme_work_on_a_package_page() -> None:
    text = re.sub(r"```.*?```|`[^`]*`", "", (ROOT / "README.md").read_text(), flags=re.DOTALL)
    targets = re.findall(r"\]\(([^)]*)\)", text) + re.findall(r"^\[[^\]]*\]: (\S+)$", text, re.MULTILINE)
    named = set(re.findall(r"\[([^\]]+)\](?!:|\(|\[)", text))
    assert len(targets) > 10
    assert [target for target in targets if not target.startswith(("https://", "#"))] == []
    files = [
        target.removeprefix(f"{HOMEPAGE}/blob/main/") for target in targets if target.startswith(f"{HOMEPAGE}/blob")
    ]
    assert [file for file in files if not (ROOT / file).is_file()] == []
    assert named <= set(re.findall(r"^\[([^\]]*)\]: ", text, re.MULTILINE))


def test_urls_are_one_repository() -> None:
    block = re.search(r"^\[project\.urls\]$(.*?)^\[", PROJECT, re.MULTILINE | re.DOTALL)[1]
    urls = re.findall(r'= "(.*)"', block)
    assert len(urls) >= 4
    assert [url for url in urls if not url.startswith((HOMEPAGE, SITE))] == []
    assert f"homepage: {HOMEPAGE}\n" in (ROOT / "conda/recipe.yaml").read_text()


def test_every_package_has_its_licence_and_changelog() -> None:
    licence = (ROOT / "LICENSE").read_text()
    for package in PACKAGES:
        assert (package.parent / "LICENSE").read_text() == licence
        assert (package.parent / "README.md").is_file()
        assert (package.parent / "CHANGELOG.md").is_file() or package.parent.name == "anygru"


def test_the_oldest_versions_are_the_floors() -> None:
    """Up to the minor version: torch 2.4.0 itself was replaced by 2.4.1."""
    oldest = floors((ROOT / "oldest.txt").read_text(), r"^([\w-]+)==([\d.]+)$")
    needed = dependencies(ROOT / "packages/anygru/pyproject.toml")
    assert {name: floor[:2] for name, floor in oldest.items()} == {name: floor[:2] for name, floor in needed.items()}


def test_the_recipe_asks_for_what_the_project_asks_for() -> None:
    recipe = (ROOT / "conda/recipe.yaml").read_text()
    run = floors(recipe[recipe.index("  run:") :], r"^    - ([\w-]+) >=([\d.]+)$")
    names = {"pytorch": "torch"}
    found = {names.get(name, name): version for name, version in run.items()}
    assert found.pop("python") == (3, 10, 0)
    assert found == dependencies(ROOT / "packages/anygru/pyproject.toml")
    assert re.search(r'version: "(.*)"', recipe)[1] == anygru.__version__


def test_the_service_asks_for_what_its_group_asks_for() -> None:
    """The group `serve` of the repository, for tests, and the metadata of the script itself (PEP 723)."""
    group = re.search(r"^serve = \[.*?$(.*?)^\]$", (ROOT / "pyproject.toml").read_text(), re.MULTILINE | re.DOTALL)[1]
    script = (ROOT / "examples/serving/serve.py").read_text()
    header = re.match(r"# /// script\n(.*?)# ///\n", script, re.DOTALL)[1]
    asked = re.findall(r'^#     "(.*)",$', header, re.MULTILINE)
    assert asked == ["anygru", *re.findall(r'^    "(.*)",$', group, re.MULTILINE)]


def test_every_package_has_the_version_of_the_core() -> None:
    for package in PACKAGES:
        given = re.search(r'^version = "(.*)"$', package.read_text(), re.MULTILINE)
        assert (given[1] if given else None) == (None if package.parent.name == "anygru" else anygru.__version__)
    assert f"\nversion: {anygru.__version__}\n" in (ROOT / "CITATION.cff").read_text()


@pytest.mark.parametrize("workflow", WORKFLOWS, ids=lambda path: path.name)
def test_actions_are_pinned_by_hash(workflow: Path) -> None:
    used = re.findall(r"uses: (\S+)", workflow.read_text())
    assert used or workflow.name == "title.yml"
    assert [action for action in used if not re.fullmatch(r"[\w./-]+@[0-9a-f]{40}", action)] == []


@pytest.mark.parametrize("workflow", WORKFLOWS, ids=lambda path: path.stem)
def test_workflows_keep_no_credentials_and_run_no_unknown_text(workflow: Path) -> None:
    """No token stays in a clone, a tool has a version, and no text of a pull request is part of a shell line."""
    text = workflow.read_text()
    assert text.count("actions/checkout@") == text.count("persist-credentials: false")
    tools = re.findall(r"pipx run (?:--\S+ \S+ )*(\S+)", text)
    assert [tool for tool in tools if "==" not in tool] == []
    scripts = re.findall(r"run: ([|>]-?\n(?:(?: {10,}.*)?\n)+|.*)", text)
    assert [script for script in scripts if "${{ github." in script] == []


def test_every_package_names_its_page_of_the_site() -> None:
    for package in PACKAGES:
        url = re.search(r'^Documentation = "(.*)"$', package.read_text(), re.MULTILINE)[1]
        assert url.startswith(SITE)
        page = url.removeprefix(SITE).replace(".html", ".md") or "index.md"
        assert (ROOT / "docs" / page).is_file()


def test_dependabot_sees_every_project_and_leaves_floors_alone() -> None:
    text = (ROOT / ".github/dependabot.yml").read_text()
    pip = text[text.index("package-ecosystem: pip") :]
    patterns = re.search(r"directories: \[(.*)\]", pip)[1].replace('"', "").split(", ")
    seen = {ROOT, *(folder for pattern in patterns if pattern != "/" for folder in ROOT.glob(pattern[1:]))}
    tracked = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()
    own = {(ROOT / name).parent for name in tracked if re.search(r"(^|/)(pyproject\.toml|requirements\w*\.txt)$", name)}
    assert len(own) > len(PACKAGES)
    assert own - seen == set()
    assert "versioning-strategy: increase-if-necessary" in pip


@pytest.mark.parametrize(("tag", "status"), [(f"v{anygru.__version__}", 0), ("v0.0.9", 1), ("", 1)])
def test_a_tag_names_the_version_of_every_package(tag: str, status: int) -> None:
    done = subprocess.run([sys.executable, ROOT / ".ci/tag_version.py", tag], capture_output=True, text=True)
    assert done.returncode == status, done.stderr


def test_the_readme_is_short() -> None:
    assert (ROOT / "README.md").read_text().count("\n") <= 80


GOOD = {
    "anygru/_native.abi3.so": "",
    **{f"anygru-0.1.0.dist-info/licenses/{name}": "" for name in ("LICENSE", "x/nanobind.txt", "x/robin_map.txt")},
    "anygru-0.1.0.dist-info/sboms/sbom.cdx.json": json.dumps(
        {"bomFormat": "CycloneDX", "components": [{"name": "nanobind"}, {"name": "robin_map"}]}
    ),
}


@pytest.mark.parametrize(
    ("changed", "fault"),
    [
        ({}, None),
        ({"anygru/_native.abi3.so": None}, "no native module"),
        ({"anygru/csrc/call.hpp": ""}, "it has anygru/csrc/call.hpp"),
        ({"anygru-0.1.0.dist-info/licenses/x/nanobind.txt": None}, "lacks the licence nanobind.txt"),
        ({"anygru-0.1.0.dist-info/sboms/sbom.cdx.json": None}, "bill of materials names []"),
        ({"anygru/large.bin": "x" * 3_000_001}, "more than 3000000"),
    ],
)
def test_a_wheel_that_must_not_be_published_is_seen(changed, fault, tmp_path) -> None:
    with zipfile.ZipFile(tmp_path / "a.whl", "w") as archive:
        for name, text in {**GOOD, **changed}.items():
            if text is not None:
                archive.writestr(name, text)
    found = runpy.run_path(str(ROOT / ".ci/wheel_contents.py"))["faults"](tmp_path / "a.whl")
    assert len(found) == (fault is not None)
    assert fault is None or fault in found[0]
