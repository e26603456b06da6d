"""Time GRU + Linear(1) as WebAssembly in node: files of anygru.export_c, and onnxruntime-web with one thread.

npm install --prefix FOLDER onnxruntime-web
python benchmarks/c_export_wasm.py --onnxruntime-web FOLDER/node_modules/onnxruntime-web [--repeats 5] [--cells 1x16 1x128]

It measures one step per call (a stream) and a block of 128 steps per call (audio). Each implementation is a separate program. The
programs take turns. The output has the median of their minima and the ratio of onnxruntime-web to float32. Both keep the state
between calls; outputs are compared first. Needs node, clang, lld and wasi-libc.
"""

import argparse
import json
import statistics
import subprocess
import tempfile
from pathlib import Path

import torch
from torch import Tensor, nn

import anygru
from anygru.c_export import export_wasm
from anygru.facts.quantization import WeightFormat

CELLS = ["1x16", "1x32", "1x64", "1x128", "40x32", "64x64", "128x128"]
FORMATS: tuple[WeightFormat, ...] = ("float32", "bfloat16", "int8")
CALLS = {"step": 1, "block": 128}
STEPS = 1024
TOLERANCE = {"float32": 1e-5, "bfloat16": 2e-2, "int8": 2e-2, "onnxruntime-web": 1e-5}
"""For outputs in float32; narrow weights are not compared."""
MEASURE = """
import { readFileSync } from "node:fs";
const [, , name, each, library] = process.argv;
const bytes = readFileSync("input");
const input = new Float32Array(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length));
const size = input.length / STEPS * Number(each);
const blocks = Array.from({ length: STEPS / Number(each) }, (_, i) => input.slice(i * size, (i + 1) * size));
async function report(run) {
  const outputs = [];
  for (const block of blocks) outputs.push(...(await run(block)));
  let best = Infinity;
  for (const end = performance.now() + 1500; performance.now() < end; ) {
    const start = performance.now();
    for (const block of blocks) await run(block);
    best = Math.min(best, (performance.now() - start) / blocks.length);
  }
  console.log(JSON.stringify({ outputs, microseconds: 1000 * best }));
}
"""
OURS = """
const { load } = await import(`./${name}/net.js`);
const model = await load(readFileSync(`${name}/net.wasm`));
await report((block) => model.run(block));
"""
PEER = """
const ort = await import(library);
ort.env.wasm.numThreads = 1;
const session = await ort.InferenceSession.create(readFileSync(`${name}-${each}.onnx`), { executionProviders: ["wasm"] });
const steps = Number(each);
let state = new ort.Tensor("float32", new Float32Array(HIDDEN), [1, 1, HIDDEN]);
await report(async (block) => {
  const found = await session.run({ input: new ort.Tensor("float32", block, [steps, 1, INPUTS]), state });
  state = found.new_state;
  return found.output.data;
});
"""


class Stream(nn.Module):
    """A GRU with a head; its state is an input and an output."""

    def __init__(self, gru: anygru.GRU, head: nn.Linear) -> None:
        super().__init__()
        self.gru, self.head = gru, head

    def forward(self, input: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
        output, new_state = self.gru(input, state)
        return self.head(output), new_state


def prepare(folder: Path, inputs: int, hidden: int, library: str | None) -> Tensor:
    """Write the programs of a cell and their input; return the outputs of the model."""
    gru, head = anygru.GRU(inputs, hidden).eval(), nn.Linear(hidden, 1)
    for weights in FORMATS:
        export_wasm(nn.Sequential(gru, head), folder / weights, weights=weights, name="net", check=False)
    (folder / "package.json").write_text('{"type": "module"}')
    measure = MEASURE.replace("STEPS", str(STEPS))
    (folder / "ours.js").write_text(measure + OURS)
    (folder / "peer.js").write_text(measure + PEER.replace("HIDDEN", str(hidden)).replace("INPUTS", str(inputs)))
    if library is not None:
        for steps in CALLS.values():
            example = (torch.zeros(steps, 1, inputs), torch.zeros(1, 1, hidden))
            anygru.onnx.export(
                Stream(gru, head).eval(),
                example,
                folder / f"onnxruntime-web-{steps}.onnx",
                input_names=["input", "state"],
                output_names=["output", "new_state"],
                external_data=False,
            )
    input = torch.rand(STEPS, 1, inputs) * 2 - 1
    (folder / "input").write_bytes(input.numpy().tobytes())
    with torch.no_grad():
        output: Tensor = head(gru(input)[0])
    return output.flatten()


def measured(folder: Path, name: str, steps: int, library: str | None, expected: Tensor) -> float:
    """Return the microseconds of a call.

    Raises:
        RuntimeError: the outputs of the program and the model differ.
    """
    script = "ours.js" if name in FORMATS else "peer.js"
    command = ["node", script, name, str(steps), library or ""]
    done = subprocess.run(command, cwd=folder, stdout=subprocess.PIPE, text=True, check=True)
    result = json.loads(done.stdout)
    apart = (torch.tensor(result["outputs"]) - expected).abs().max().item()
    if not apart <= TOLERANCE[name]:
        raise RuntimeError(f"{name}: {apart:.2g} from the model")
    return float(result["microseconds"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--onnxruntime-web", type=Path, metavar="FOLDER", help="where npm put the package")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--cells", nargs="+", default=CELLS, metavar="INPUTSxHIDDEN")
    args = parser.parse_args()
    library = None
    if args.onnxruntime_web is not None:
        library = (args.onnxruntime_web / "dist" / "ort.node.min.mjs").resolve(strict=True).as_uri()
    torch.manual_seed(0)
    names = [*FORMATS, *["onnxruntime-web"] * (library is not None)]
    for cell in args.cells:
        inputs, hidden = map(int, cell.split("x"))
        with tempfile.TemporaryDirectory() as name:
            expected = prepare(Path(name), inputs, hidden, library)
            for call, steps in CALLS.items():
                times: dict[str, list[float]] = {each: [] for each in names}
                for _ in range(args.repeats):
                    for each in names:
                        times[each].append(measured(Path(name), each, steps, library, expected))
                medians = {each: statistics.median(values) for each, values in times.items()}
                row = ", ".join(f"{each} {value:,.2f}" for each, value in medians.items())
                ratio = f"; ratio {medians['onnxruntime-web'] / medians['float32']:.1f}" if library else ""
                print(f"({inputs}, {hidden}), a {call}: {row}{ratio}", flush=True)


if __name__ == "__main__":
    main()
