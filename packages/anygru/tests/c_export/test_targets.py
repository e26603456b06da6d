"""Machines that need no Python: 64-bit Arm, WebAssembly in node and in a browser."""

import http.server
import json
import re
import shutil
import subprocess
import sys
import threading
from functools import partial
from pathlib import Path

import pytest
import torch
from c_programs import compiled, tool
from helpers import mostly_slow
from torch import nn

import anygru
from anygru.c_export import Residual, ToolMissingError, checking, export_wasm
from anygru.c_export import wasm as wasm_file
from anygru.c_export.exporting import source_of
from anygru.checkpoints import save_checkpoint
from anygru.cli import main

FORMATS = ["float32", "bfloat16", "int8"]


@pytest.mark.parametrize(
    ("weights", "options"),
    mostly_slow([("float32", ""), ("bfloat16", ""), ("int8", ""), ("int8", "-march=armv8.2-a+dotprod")]),
)
def test_64_bit_arm(weights: str, options: str) -> None:
    compiler = tool("aarch64-linux-gnu-gcc", "gcc-aarch64-linux-gnu")
    emulator = tool("qemu-aarch64", "qemu-user")
    model = nn.Sequential(anygru.GRU(3, 21, 2), nn.Linear(21, 2), nn.GELU())
    source = source_of(model, "model", weights, False).source
    input = torch.randn(200, 3)
    found = checking.run(source, input, [compiler, "-O3", "-static", *options.split()], [emulator])
    expected = checking.outputs_of(checking.prepared(model, weights), input)
    torch.testing.assert_close(found, expected, rtol=0, atol=checking.BOUNDS[weights])


def wasm(folder: Path, model: nn.Module, weights: str | None = None, name: str = "net") -> None:
    try:
        export_wasm(model, folder, weights=weights, name=name)
    except ToolMissingError as error:
        pytest.skip(str(error))


@pytest.mark.parametrize("name", ["worklet", "index", "NAME"])
def test_no_name_takes_the_place_of_another_file(name: str, tmp_path: Path) -> None:
    wasm(tmp_path, anygru.GRU(1, 4), name=name)
    worklet = (tmp_path / f"{name}-worklet.js").read_text()
    assert f'from "./{name}.js"' in worklet
    assert "export class Model" in (tmp_path / f"{name}.js").read_text()
    assert f'addModule("{name}-worklet.js")' in (tmp_path / "index.html").read_text()
    assert len(list(tmp_path.iterdir())) == 5


SCRIPT = """
import { readFileSync } from "node:fs";
import { load } from "./net.js";
const model = await load(readFileSync("net.wasm"));
const { input, resets, split } = JSON.parse(readFileSync("input.json"));
const values = Float32Array.from(input);
const at = split * model.inputs;
const outputs = model.hasSteps
  ? [model.step(values.subarray(0, model.inputs)), model.run(values.subarray(model.inputs, at)), model.run(values.subarray(at))]
  : [model.run(values)];
model.reset();
outputs.push(model.run(values, Uint8Array.from(resets)));
const wrong = [];
const mistakes = [new Float32Array(model.inputs + 1), values, [1, 2], undefined];
for (const call of mistakes.map((input) => () => model.run(input, input === values ? [1] : undefined))) {
  try { call(); } catch (error) { wrong.push(error.name); }
}
console.log(JSON.stringify({ outputs: outputs.map((each) => Array.from(each)).flat(), wrong }));
"""


@pytest.mark.parametrize(("weights", "both"), mostly_slow([("int8", False), (None, False), (None, True)]))
def test_in_node(weights: str | None, both: bool, tmp_path: Path) -> None:
    node = tool("node", "nodejs")
    layer = anygru.GRU(2, 9, 2, bidirectional=both)
    model = nn.Sequential(layer, nn.Linear(18 if both else 9, 3), nn.Softplus())
    wasm(tmp_path, model, weights)
    input, resets = torch.randn(1500, 2), torch.rand(1500) < 0.01
    (tmp_path / "package.json").write_text('{"type": "module"}')
    (tmp_path / "input.json").write_text(
        json.dumps({"input": input.flatten().tolist(), "resets": resets.int().tolist(), "split": 1100})
    )
    (tmp_path / "run.js").write_text(SCRIPT)
    done = subprocess.run([node, "run.js"], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[:2000]
    result = json.loads(done.stdout)
    assert result["wrong"] == ["RangeError", "RangeError", "TypeError", "TypeError"]
    used = checking.prepared(model, weights)
    gru = used[0][0] if weights else used[0]
    head = used[0][1:] if weights else used[1:]
    expected = torch.cat([head(gru(input, resets=each)[0]).flatten() for each in (None, resets)])
    torch.testing.assert_close(
        torch.tensor(result["outputs"]), expected, rtol=0, atol=2e-6 if weights is None else 1e-5
    )


class Strided(nn.Module):
    """clang 14 gives wrong numbers for such a convolution in WebAssembly, if it may make vectors of plain statements (5 units)
    or of loops (20 units)."""

    def __init__(self, units: int, width: int) -> None:
        super().__init__()
        self.gru = nn.GRU(1, units, batch_first=True)
        self.conv = nn.Conv2d(1, 4, (2, width), stride=(1, 2))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        frames = nn.functional.pad(self.gru(x)[0].unsqueeze(1), (0, 0, 1, 0))
        return self.conv(frames).transpose(1, 2).flatten(2)


@pytest.mark.needs_torch(2, 6, because="graphs need it")
@pytest.mark.parametrize(("units", "width"), [(5, 1), (20, 3)])
def test_a_strided_convolution_in_a_page(units: int, width: int, tmp_path: Path) -> None:
    tool("node", "nodejs")
    try:
        pages = export_wasm(Strided(units, width).eval(), tmp_path, example=torch.randn(1, 8, 1), time_axis=1)
    except ToolMissingError as error:
        pytest.skip(str(error))
    assert pages.verdict is not None
    assert pages.verdict.by == "node"


REPORT = """<script>
const wait = setInterval(() => {
  if (!document.body.dataset.done) return;
  clearInterval(wait);
  const words = { ...document.body.dataset, message: document.getElementById("message").textContent };
  fetch("/report", { method: "POST", body: JSON.stringify({ ...words, time: document.getElementById("time").textContent }) });
}, 20);
</script></body>"""


class Server(http.server.SimpleHTTPRequestHandler):
    """A static server that keeps the reports of the page."""

    def do_POST(self) -> None:
        self.server.report = json.loads(self.rfile.read(int(self.headers["Content-Length"])))  # type: ignore[attr-defined]
        self.send_response(204)
        self.end_headers()
        self.server.reported.set()  # type: ignore[attr-defined]

    def log_message(self, *args: object) -> None:
        pass


@pytest.mark.slow
def test_the_page_in_a_browser(tmp_path: Path) -> None:
    browser = shutil.which("google-chrome") or tool("chromium", "chromium")
    model = Residual(anygru.GRU(1, 12), nn.Linear(12, 1))
    wasm(tmp_path / "site", model)
    page = tmp_path / "site" / "index.html"
    page.write_text(page.read_text().replace("</body>", REPORT))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), partial(Server, directory=tmp_path / "site")) as server:
        server.reported = threading.Event()  # type: ignore[attr-defined]
        threading.Thread(target=server.serve_forever, daemon=True).start()
        options = ["--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={tmp_path / 'profile'}"]
        address = f"http://127.0.0.1:{server.server_address[1]}/index.html"
        command = [browser, *options, "--remote-debugging-port=0", address]
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            assert server.reported.wait(60), "the page did not finish"  # type: ignore[attr-defined]
        finally:
            process.terminate()
            process.wait(30)
            server.shutdown()
        report = server.report  # type: ignore[attr-defined]
    assert report["message"] == ""
    assert re.fullmatch(r"A block of 128 steps takes [\d.]+ microseconds\.", report["time"])
    input, output = (torch.tensor([float(each) for each in report[key].split()]) for key in ("input", "output"))
    expected = model(input.view(-1, 1)).flatten()
    assert len(output) == 1024
    torch.testing.assert_close(output, expected.detach(), rtol=0, atol=2e-6)


def test_a_page_is_checked_as_a_file_is(tmp_path: Path) -> None:
    tool("gcc", "gcc")
    for name in ("clang", "wasm-ld"):
        tool(name, "clang, lld, wasi-libc")
    pages = export_wasm(anygru.GRU(1, 4), tmp_path / "my site")
    assert "from the model over 1000 steps" in str(pages)
    assert "--directory '" in str(pages), "the command works in a shell"
    assert export_wasm(anygru.GRU(1, 4), tmp_path / "site", check=False).verdict is None
    with pytest.raises(TypeError, match="folder must be a str or os.PathLike, got NoneType"):
        export_wasm(anygru.GRU(1, 4), None)  # type: ignore[arg-type]


def test_a_page_that_nobody_ran_is_not_checked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The file in C may be right where the module is wrong."""
    tool("gcc", "gcc")
    for name in ("clang", "wasm-ld"):
        tool(name, "clang, lld, wasi-libc")
    monkeypatch.setattr(wasm_file, "NODE", "no-node")
    with pytest.warns(UserWarning, match="site was not compared with the model"):
        pages = export_wasm(anygru.GRU(1, 4), tmp_path / "site")
    assert pages.verdict is None
    assert "NOT CHECKED" in str(pages)
    save_checkpoint(anygru.GRU(1, 4), tmp_path / "gru.safetensors")
    assert main(["export-c", str(tmp_path / "gru.safetensors"), "--wasm", str(tmp_path / "site")]) == 1
    with pytest.raises(ValueError, match="check=True of a page needs no-node"):
        export_wasm(anygru.GRU(1, 4), tmp_path / "other", check=True)
    assert not (tmp_path / "other").exists()


def test_a_missing_tool_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setitem(sys.modules, "ziglang", None)
    with pytest.raises(ToolMissingError, match=r"apt install clang lld wasi-libc; everywhere: pip install .*\[wasm\]'"):
        export_wasm(anygru.GRU(1, 4), tmp_path / "site")
    assert not (tmp_path / "site").exists()


def test_a_program_for_the_processor_of_an_arduino_is_c_plus_plus(tmp_path: Path) -> None:
    """An Arduino sketch is C++, compiled as gnu++11 or newer and for size."""
    compiler = tool("g++", "g++")
    anygru.export_c(anygru.GRU(3, 8), tmp_path / "wake.h", weights="int8", check=False)
    sketch = """
#include "wake.h"
static wake_state state;
int main() { float input[WAKE_INPUTS] = {}, output[WAKE_OUTPUTS]; wake_reset(&state); wake_step(&state, input, output); }
"""
    compiled(tmp_path, sketch, compiler, "-std=gnu++11", "-Os", "-Wall", "-Wextra", ending="cpp")


@pytest.mark.parametrize("outputs", [5, 20_000])
def test_a_page_is_judged_by_its_module_in_node(outputs: int, tmp_path: Path) -> None:
    """20,000 outputs took more stack than a module has by default, and wrote over the constants."""
    tool("node", "nodejs")
    try:
        pages = export_wasm(nn.Sequential(anygru.GRU(16, 32), nn.Linear(32, outputs)), tmp_path / "site")
    except ToolMissingError as error:
        pytest.skip(str(error))
    assert pages.verdict is not None
    assert pages.verdict.by == "node"
    assert pages.verdict.difference < 1e-6


@pytest.fixture(params=["clang", pytest.param("ziglang", marks=pytest.mark.slow)])
def compiler(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """One of the two ways to WebAssembly."""
    tool("node", "nodejs")
    if request.param == "ziglang":
        pytest.importorskip("ziglang")
        monkeypatch.setattr(wasm_file, "HEADERS", "/absent")
    try:
        wasm_file.find_tools()
    except ToolMissingError as error:
        pytest.skip(str(error))


@pytest.mark.usefixtures("compiler")
def test_the_compilers_for_a_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both give the model's numbers, import nothing, and stop where the stack ends."""
    model = nn.Sequential(anygru.GRU(3, 16), nn.Linear(16, 2))
    pages = export_wasm(model, tmp_path, weights="int8")
    assert pages.verdict is not None
    assert pages.verdict.by == "node"
    script = "WebAssembly.Module.imports(new WebAssembly.Module(require('fs').readFileSync(process.argv[1]))).length"
    command = [tool("node", "nodejs"), "--print", script, str(tmp_path / "model.wasm")]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout == "0\n"
    monkeypatch.setattr(wasm_file, "_STACK", -300)  # of a frame of 384 bytes
    with pytest.raises(checking.CheckError, match="memory access out of bounds"):
        export_wasm(model, tmp_path)


def test_a_module_that_computes_something_else_is_not_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tool("node", "nodejs")
    program = wasm_file._PROGRAM.replace("steps, output);\n}", "steps, output);\n    output[0] += 1.0f;\n}")
    monkeypatch.setattr(wasm_file, "_PROGRAM", program)
    try:
        with pytest.raises(checking.CheckError, match=r"the module of WebAssembly .* in step 0 .* 1 apart"):
            export_wasm(anygru.GRU(2, 3), tmp_path / "site")
    except ToolMissingError as error:
        pytest.skip(str(error))
    assert not (tmp_path / "site").exists()
