"""Every example program and every program and command line of the pages runs and prints the documented output.
`documents.py` finds them."""

import os
import re
import shlex
import shutil
import socket
import subprocess
import sys
import urllib.request
from collections.abc import Callable
from pathlib import Path

import pytest
from documents import PAGES, ROOT, Command, Program, checking, contents, difference, matches, name_of
from warm_python import WarmPythons

from anygru import dialects

# Commands that cannot run here, by their beginnings, and why.
NOT_RUN = {
    "pip install": "changes the environment of the tests",
    "make ": "installs; test_make_targets_exist in test_paths.py looks for the target",
    "anygru launch --nnodes 2": "needs two machines; test_train_launched.py runs it on two network namespaces",
    "anygru run -m paddle.distributed.launch --master": "needs two machines",
    "python -m venv": "installs",
    "python benchmarks/": "measures for minutes",
    "python examples/serving/": "a service and its client, which test_the_service_of_the_page runs",
    "curl ": "asks the service",
}
# Options that make a command short enough for a test, by its beginning.
SHORTER = {
    "anygru train --evaluate": "",
    "anygru try": "--rounds 1",
    "anygru train": "--steps 2 --hidden 8 --embedding 8 --batch 2 --bptt 16 --no-xz --threads 1",
}
# Commands that start a new interpreter; only the slow tests run them.
STARTERS = ("anygru run", "anygru launch", "anygru try")
# Programs that write the files a page assumes.
TRAIN = "from pathlib import Path; Path('train.py').write_text('import sys; print(sys.argv)')"
NOTES = """
from pathlib import Path
Path("notes").mkdir()
for name in "ab":
    Path(f"notes/{name}.txt").write_text("\\n\\n".join(f"{name} {i} " + chr(97 + i % 26) * 50 for i in range(200)))
"""
MODEL = r"""
from pathlib import Path
Path("my_model.py").write_text(
    "import torch\ndef build(): return torch.nn.Sequential(torch.nn.GRU(3, 4)), torch.randn(5, 1, 3)"
)
"""
PREPARED = {
    "try.md": f"""
import torch, anygru
{MODEL}
Path("script.py").write_text("import torch; torch.nn.GRU(3, 4)(torch.randn(5, 1, 3))")
anygru.onnx.export(anygru.GRU(3, 4).eval(), (torch.randn(5, 1, 3),), "model.onnx")
""",
    "anygru-paddle": TRAIN,
    "README.md": MODEL,
    "anygru-mxnet": TRAIN,
    "parallel.md": TRAIN,
    "run.md": TRAIN + "; Path('package').mkdir(); Path('package/train.py').write_text('print(1)')",
    "training.md": NOTES,
    "anygru-lab": NOTES,
    "keras.md": """
import torch
import anygru
layers = {"first": torch.nn.GRU(3, 16, bidirectional=True), "second": torch.nn.GRU(32, 8)}
anygru.save_checkpoint(torch.nn.ModuleDict(layers), "trained.safetensors")
""",
    "checkpoints.md": """
import torch
from torch.nn import GRU, Embedding, Linear
import anygru
net = torch.nn.ModuleDict({"encoder": GRU(8, 16, num_layers=2, bidirectional=True), "head": Linear(32, 4)})
for name in ("model.params", "old.npz"):
    anygru.save_checkpoint(net, name)
net["decoder"] = torch.nn.ModuleDict({"proj": Linear(4, 4, bias=False)})
net["heads"] = torch.nn.ModuleList([Linear(4, 2, bias=False)])
net["codebook"] = Linear(4, 4, bias=False)
anygru.save_checkpoint(net, "model.pdparams")
""",
}

Run = Callable[[str, Path, bool], str]


def environment() -> dict[str, str]:
    """For the commands and programs; optimizers and exports import torch's compiler, which takes a second each time."""
    variables = {"OMP_NUM_THREADS": "1", "MPLBACKEND": "agg", "PYTHONPATH": "", "ANYGRU_WARM_MODULES": "torch._dynamo"}
    return dict(os.environ, COLUMNS="100", TERM="dumb", **variables)


def process(command: list[str], folder: Path, variables: dict[str, str] | None = None) -> str:
    variables = variables or environment()
    done = subprocess.run(command, cwd=folder, env=variables, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


# Keras hands its variables to h5py in the manner of NumPy 1; torch.export uses names of torch that are deprecated.
IGNORED = (
    "__array__ implementation:DeprecationWarning",
    "`isinstance(treespec, LeafSpec)`:FutureWarning",
    "`torch.jit.script_method`:DeprecationWarning",
)
STRICT = ["-W", "error", *(word for each in IGNORED for word in ("-W", f"ignore:{each}"))]


@pytest.fixture
def forked(warm_pythons: WarmPythons) -> Run:
    """Runs a script in a process that begins with torch imported, and returns its output."""

    def run(text: str, folder: Path, of_a_dialect: bool = False) -> str:
        variables = dialects.environment(environment()) if of_a_dialect else environment()
        script = folder / "_script.py"
        script.write_text(text)
        options = [] if of_a_dialect else STRICT
        return process([warm_pythons.start(variables), *options, str(script)], folder, variables)

    return run


def check(program: Program, folder: Path, forked: Run) -> None:
    """Run a program and compare its output with its comments."""
    script, promises = checking(program.text)
    found = difference(promises, forked(script, folder, program.of_a_dialect))
    assert found is None, f"{program.name}: {found}"


def run_command(command: Command, folder: Path, forked: Run) -> None:
    """Run a command line of anygru in a fork and compare its output."""
    arguments = shlex.split(f"{command.line} {shorter(command.line)}")
    assert arguments.pop(0) == "anygru", command.line
    found = [[str(path.relative_to(folder)) for path in folder.glob(word)] if "*" in word else [] for word in arguments]
    arguments = [each for word, files in zip(arguments, found, strict=True) for each in files or [word]]
    output = forked(f"import sys\nfrom anygru.cli import main\nsys.exit(main({arguments!r}))", folder, False)
    assert output.strip(), command.line
    assert command.output is None or matches(command.output, output), f"{command.line} printed\n{output}"


def shorter(line: str) -> str:
    return next((options for beginning, options in SHORTER.items() if line.startswith(beginning)), "")


def prepare(page: Path, folder: Path, forked: Run) -> None:
    """Write the files that a page's commands take for granted, and its programs under their names."""
    if name_of(page) in PREPARED:
        forked(PREPARED[name_of(page)], folder, False)
    for item in contents(page):
        if isinstance(item, Program):
            (folder / item.name).write_text(item.text)


@pytest.mark.parametrize("path", sorted((ROOT / "examples").glob("*.py")), ids=lambda path: path.stem)
def test_example(path: Path, tmp_path: Path, forked: Run) -> None:
    for program in path.parent.glob(f"{path.stem}.c"):
        shutil.copy(program, tmp_path)
    assert forked(path.read_text(), tmp_path, False).strip()


@pytest.mark.parametrize("page", [page for page in PAGES if contents(page)], ids=name_of)
def test_page(page: Path, tmp_path: Path, forked: Run) -> None:
    """The programs and commands of a page, in one folder, since they share files."""
    prepare(page, tmp_path, forked)
    for item in contents(page):
        if isinstance(item, Program):
            check(item, tmp_path, forked)
        elif not item.line.startswith((*NOT_RUN, *STARTERS)):
            run_command(item, tmp_path, forked)


@pytest.mark.slow
@pytest.mark.parametrize(
    "page", [page for page in PAGES if any(item.line.startswith(STARTERS) for item in contents(page))], ids=name_of
)
def test_started(page: Path, tmp_path: Path, forked: Run) -> None:
    """Commands that start programs, as a shell would."""
    prepare(page, tmp_path, forked)
    for item in contents(page):
        if item.line.startswith(STARTERS) and not item.line.startswith(tuple(NOT_RUN)):
            output = process([sys.executable, "-m", *shlex.split(item.line)], tmp_path)
            if isinstance(item, Command) and item.output is not None:
                assert matches(item.output, output), f"{item.line} printed\n{output}"


def test_the_service_of_the_page(tmp_path: Path, forked: Run) -> None:
    """Its client's steps are counted in its metrics."""
    pytest.importorskip("uvicorn")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    lines = [
        item.line.replace("8000", port) for item in contents(ROOT / "docs/serving.md") if isinstance(item, Command)
    ]
    serve, client, curl = (
        shlex.split(line.replace("examples", str(ROOT / "examples"))) for line in lines if "pip" not in line
    )
    forked("import anygru; anygru.save_checkpoint(anygru.GRU(64, 128), 'model.safetensors')", tmp_path, False)
    with subprocess.Popen([sys.executable, *serve[1:]], cwd=tmp_path, stderr=subprocess.DEVNULL) as service:
        try:
            assert process([sys.executable, *client[1:]], tmp_path).startswith("100 steps in ")
            with urllib.request.urlopen(curl[1], timeout=30) as answer:
                assert re.search(rb"steps_total 100\.0", answer.read())
        finally:
            service.terminate()


def without_blocks(page: Path) -> str:
    """The text of a page without its blocks of code."""
    return re.sub(r"^```.*?^```", "", page.read_text(), flags=re.MULTILINE | re.DOTALL)


def test_every_command_is_in_a_block_that_is_run() -> None:
    """A command in an indented block would not be run."""
    for page in PAGES:
        assert (
            re.findall(r"^    +(?:\$ )?(?:anygru|make|pip|python) (?!\w+:).*", without_blocks(page), re.MULTILINE) == []
        ), page.name


def test_a_wrong_comment_is_found() -> None:
    script, promises = checking("for i in (1, 2):\n    print(i)  # 1\n")
    assert promises == ["1"]
    assert difference(promises, "\x000\n1\n\x00\n\x000\n1\n\x00\n") is None
    assert difference(promises, "\x000\n1\n\x00\n\x000\n2\n\x00\n") == "printed '2', the page says '1'"
    assert difference(promises, "") == "never came to ['1']"
    assert matches("a ... c", "a b\n  c")
    assert not matches("a ... c", "a b")
