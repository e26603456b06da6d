"""Packaging: links work on a package page, the lowest versions are tested, every package has one version."""

import importlib.util
import re
import subprocess
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


def test_every_package_has_its_licence_and_changelog() -> None:
    licence = (ROOT / "LICENSE").read_text()
    for package in PACKAGES:
        assert (package.parent / "LICENSE").read_text() == licence
        assert (package.parent / "README.md").is_file()
        assert (package.parent / "CHANGELOG.md").is_file() or package.parent.name == "anygru"


def test_every_package_and_extra_is_tested_with_its_lowest_versions() -> None:
    script = (ROOT / ".ci/versions").read_text()
    tested = re.findall(r"packages/(anygru(?:-\w+)?)(?:\[([\w,]+)\])?", script)
    extras = {(package, extra) for package, listed in tested for extra in listed.split(",") if extra}
    needed = set()
    for path in PACKAGES:
        block = re.search(r"^\[project.optional-dependencies\]$(.*?)^\[", path.read_text(), re.MULTILINE | re.DOTALL)
        for extra, requirements in re.findall(r"^(\w+) = \[(.*)\]$", block[1] if block else "", re.MULTILINE):
            if "anygru" not in requirements:
                needed.add((path.parent.name, extra))
    # A torch for CUDA asks for one version of Triton.
    assert extras == needed - {("anygru", "gpu")}
    assert {path.parent.name for path in PACKAGES} == {package for package, _ in tested}
    parts = re.findall(r"^(\w+)\)", script, re.MULTILINE)
    assert f"part: [{', '.join(parts)}]" in (ROOT / ".github/workflows/tests.yml").read_text()


def test_the_service_asks_for_what_its_group_asks_for() -> None:
    """The group `serve` of the repository, for tests, and the metadata of the script itself (PEP 723)."""
    group = re.search(r"^serve = \[.*?$(.*?)^\]$", (ROOT / "pyproject.toml").read_text(), re.MULTILINE | re.DOTALL)[1]
    script = (ROOT / "examples/serving/serve.py").read_text()
    header = re.match(r"# /// script\n(.*?)# ///\n", script, re.DOTALL)[1]
    asked = re.findall(r'^#     "(.*)",$', header, re.MULTILINE)
    assert asked == ["anygru", *re.findall(r'^    "(.*)",$', group, re.MULTILINE)]


def test_every_package_takes_its_version_from_the_core() -> None:
    """The version is in one file, and the range of the core that a package asks for includes it."""
    minor = int(anygru.__version__.split(".")[1])
    for package in PACKAGES:
        text = package.read_text()
        assert 'dynamic = ["version"]' in text
        source = re.search(r'^(?:path|input) = "(.*__init__\.py)"', text, re.MULTILINE)[1]
        assert (package.parent / source).resolve() == ROOT / "packages/anygru/src/anygru/__init__.py"
        assert package.parent.name == "anygru" or f'"anygru>=0.{minor},<0.{minor + 1}"' in text
    assert "\nversion:" not in (ROOT / "CITATION.cff").read_text()


@pytest.mark.parametrize("workflow", WORKFLOWS, ids=lambda path: path.name)
def test_actions_are_pinned_by_hash(workflow: Path) -> None:
    used = re.findall(r"uses: (\S+)", workflow.read_text())
    assert used or workflow.name == "title.yml"
    assert [action for action in used if not re.fullmatch(r"[\w./-]+@[0-9a-f]{40}", action)] == []


@pytest.mark.parametrize("workflow", WORKFLOWS, ids=lambda path: path.stem)
def test_workflows_keep_no_credentials_and_run_no_unknown_text(workflow: Path) -> None:
    """No token stays in a clone, and no text of a pull request is part of a shell line."""
    text = workflow.read_text()
    assert text.count("actions/checkout@") == text.count("persist-credentials: false")
    scripts = re.findall(r"run: ([|>]-?\n(?:(?: {10,}.*)?\n)+|.*)", text)
    assert [script for script in scripts if "${{ github." in script] == []


def test_tools_have_their_versions_in_the_file_that_dependabot_reads() -> None:
    pinned = re.findall(r"^([\w-]+)==[\d.]+$", (ROOT / ".ci/requirements.txt").read_text(), re.MULTILINE)
    scripts = [path for path in (ROOT / ".ci").iterdir() if path.is_file() and not path.suffix]
    texts = {path.name: path.read_text() for path in (*WORKFLOWS, *scripts)}
    asked = [re.findall(r"--constraint \S*\.ci/requirements\.txt\"? (.*)", text) for text in texts.values()]
    assert sorted({tool for lines in asked for line in lines for tool in line.split()}) == sorted(pinned)
    elsewhere = r"pipx|uv tool|(?:install|uvx|run) .*[\w\]]==\d"
    assert {name: found for name, text in texts.items() if (found := re.findall(elsewhere, text))} == {}


def test_editors_complete_the_names_of_a_clone() -> None:
    """Jedi asks the import system for the file, and refuses a loader without `get_source`."""
    for package in PACKAGES:
        spec = importlib.util.find_spec(package.parent.name.replace("-", "_"))
        assert spec.loader.get_filename() == spec.origin
        assert callable(type(spec.loader).get_source)


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


@pytest.mark.parametrize(
    ("file", "status"),
    [
        ("anygru-0.1.0-cp312-abi3-macosx_11_0_arm64.whl", 0),
        ("anygru_lab-0.1.0.tar.gz", 0),
        ("anygru_lab-0.1.1.tar.gz", 1),
        ("anygru_lab-0.1.0.1-py3-none-any.whl", 1),
    ],
)
def test_only_files_with_the_version_of_the_tag_are_published(file: str, status: int, tmp_path: Path) -> None:
    """The line of the workflow, as the runner's shell has it."""
    workflow = (ROOT / ".github/workflows/wheels.yml").read_text()
    line = re.search(r"has the version of the tag\n +run: >-\n((?: {10}.*\n)+)", workflow)[1]
    (tmp_path / "dist").mkdir()
    for name in ("anygru-0.1.0.tar.gz", file):
        (tmp_path / "dist" / name).touch()
    command = ["bash", "-e", "-c", " ".join(line.split())]
    done = subprocess.run(command, cwd=tmp_path, env={"GITHUB_REF_NAME": "v0.1.0"}, capture_output=True, text=True)
    assert done.returncode == status, done.stdout + done.stderr
    assert status == 0 or f"dist/{file} does not have the version" in done.stdout


def test_the_readme_is_short() -> None:
    assert (ROOT / "README.md").read_text().count("\n") <= 80
