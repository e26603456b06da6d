"""Time a step of GRU + Linear(1) in nanoseconds: files of anygru.export_c, RTNeural, and ONNX Runtime's C API.

python benchmarks/c_export.py [--rtneural FOLDER] [--onnxruntime FOLDER] [--compiler g++] [--options=-O2] [--cells 1x8]

Each implementation is a separate program. The programs take turns, and the median of their minima is printed. RTNeural is a
checkout with submodules (its two backends are compiled with -ffast-math, as in its own builds). ONNX Runtime is an unpacked
release for C with `include` and `lib`. Without them only anygru is measured.
"""

import argparse
import statistics
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

import torch

import anygru

CELLS = ["1x8", "1x16", "1x32", "1x64", "64x64", "128x128", "128x256", "512x512"]
FORMATS = ("float32", "bfloat16", "int8")
TIMED = """
#include <stdio.h>
#include <time.h>
static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}
#define STEPS 200
static float input[STEPS * INPUTS];
static void prepare(void) {
    for (int i = 0; i < STEPS * INPUTS; ++i) input[i] = (float)(i * 7919 % 1000) / 500.0f - 1.0f;
}
#define MEASURE(step) \\
    double best = 1e30; \\
    prepare(); \\
    for (int round = 0; round < 60; ++round) { \\
        const double start = now(); \\
        for (int t = 0; t < STEPS; ++t) { step; } \\
        const double each = (now() - start) / STEPS; \\
        best = each < best ? each : best; \\
    } \\
    printf("%.1f\\n", best);
"""
OURS = """
#include "net.h"
__attribute__((noinline)) static void step(net_state *state, const float *x, float *y) { net_step(state, x, y); }
int main(void) {
    static net_state state;
    static float output;
    net_reset(&state);
    MEASURE(step(&state, input + t * INPUTS, &output))
    return 0;
}
"""
RTNEURAL = """
#include <RTNeural/RTNeural.h>
static RTNeural::ModelT<float, INPUTS, 1, RTNeural::GRULayerT<float, INPUTS, HIDDEN>, RTNeural::DenseT<float, HIDDEN, 1>> model;
using Matrix = std::vector<std::vector<float>>;
static Matrix random_matrix(int rows, int columns) {
    Matrix found(rows, std::vector<float>(columns));
    for (auto& row : found) for (auto& x : row) x = (float)rand() / RAND_MAX * 0.2f - 0.1f;
    return found;
}
int main() {
    auto& gru = model.get<0>();
    gru.setWVals(random_matrix(INPUTS, 3 * HIDDEN));
    gru.setUVals(random_matrix(HIDDEN, 3 * HIDDEN));
    gru.setBVals(random_matrix(2, 3 * HIDDEN));
    model.get<1>().setWeights(random_matrix(1, HIDDEN));
    float bias[1] = {0.1f};
    model.get<1>().setBias(bias);
    model.reset();
    volatile float sink = 0.0f;
    alignas(64) float x[INPUTS];
    MEASURE(std::copy(input + t * INPUTS, input + (t + 1) * INPUTS, x); sink = sink + model.forward(x))
    return 0;
}
"""
ONNX_RUNTIME = """
#include <onnxruntime_c_api.h>
#include <stdlib.h>
#define CHECK(call) if (call) { fprintf(stderr, "%s\\n", #call); return 1; }
int main(void) {
    const OrtApi *api = OrtGetApiBase()->GetApi(ORT_API_VERSION);
    OrtEnv *environment; OrtSessionOptions *options; OrtSession *session; OrtMemoryInfo *memory; OrtValue *values[2];
    OrtValue *results[2] = {NULL, NULL};
    static float state[HIDDEN];
    const int64_t shape[2] = {1, INPUTS}, state_shape[3] = {1, 1, HIDDEN};
    const char *names[2] = {"input", "state"}, *output_names[2] = {"output", "new_state"};
    CHECK(api->CreateEnv(ORT_LOGGING_LEVEL_ERROR, "net", &environment))
    CHECK(api->CreateSessionOptions(&options))
    CHECK(api->SetIntraOpNumThreads(options, 1))
    CHECK(api->CreateSession(environment, "step.onnx", options, &session))
    CHECK(api->CreateCpuMemoryInfo(OrtArenaAllocator, OrtMemTypeDefault, &memory))
    CHECK(api->CreateTensorWithDataAsOrtValue(memory, input, 4 * INPUTS, shape, 2, ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT, values))
    CHECK(api->CreateTensorWithDataAsOrtValue(memory, state, 4 * HIDDEN, state_shape, 3,
                                              ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT, values + 1))
    MEASURE(
        if (api->Run(session, NULL, names, (const OrtValue *const *)values, 2, output_names, 2, results)) return 1;
        api->ReleaseValue(results[0]); api->ReleaseValue(results[1]); results[0] = results[1] = NULL)
    return 0;
}
"""


def programs(folder: Path, inputs: int, hidden: int, args: argparse.Namespace) -> dict[str, Path]:
    """Compile the programs of a cell and return them by name."""
    sizes = [f"-DINPUTS={inputs}", f"-DHIDDEN={hidden}"]
    fast = args.options.split()
    found = {}

    def compiled(name: str, text: str, ending: str, options: Sequence[object]) -> None:
        source = folder / f"{name}{ending}"
        source.write_text(TIMED + text)
        found[name] = folder / name
        compiler = args.compiler if ending == ".cpp" else {"g++": "gcc", "clang++": "clang"}[args.compiler]
        subprocess.run([compiler, *map(str, options), *sizes, *fast, "-o", found[name], source, *libraries], check=True)

    libraries: list[str] = []
    gru = anygru.GRU(inputs, hidden).eval()
    model = torch.nn.Sequential(gru, torch.nn.Linear(hidden, 1))
    for weights in FORMATS:
        (folder / weights).mkdir()
        anygru.export_c(model, folder / weights / "net.h", weights=weights, check=False)
        compiled(f"anygru_{weights}", OURS, ".c", ["-I", folder / weights])
    if args.rtneural is not None and hidden <= 128:  # larger layers overflow the stack of its Eigen backend
        modules = args.rtneural / "modules"
        common = [
            "-std=c++17",
            "-ffast-math",
            "-DRTNEURAL_DEFAULT_ALIGNMENT=32",
            "-I",
            args.rtneural,
            "-I",
            modules / "json",
        ]
        eigen = ["-DRTNEURAL_USE_EIGEN=1", "-DEIGEN_STACK_ALLOCATION_LIMIT=0", "-I", modules / "Eigen"]
        xsimd = ["-DRTNEURAL_USE_XSIMD=1", "-I", modules / "xsimd" / "include"]
        compiled("rtneural_eigen", RTNEURAL, ".cpp", [*common, *eigen])
        compiled("rtneural_xsimd", RTNEURAL, ".cpp", [*common, *xsimd])
    if args.onnxruntime is not None:
        anygru.onnx.export_step(gru, folder / "step.onnx")
        library = args.onnxruntime / "lib"
        libraries = [f"-L{library}", "-lonnxruntime", f"-Wl,-rpath,{library}"]
        compiled("onnxruntime", ONNX_RUNTIME, ".c", ["-I", args.onnxruntime / "include"])
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rtneural", type=Path)
    parser.add_argument("--onnxruntime", type=Path)
    parser.add_argument("--compiler", default="g++", choices=("g++", "clang++"), help="C is compiled by its sibling")
    parser.add_argument("--options", default="-O3 -march=native")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--cells", nargs="+", default=CELLS, metavar="INPUTSxHIDDEN")
    args = parser.parse_args()
    torch.manual_seed(0)
    for inputs, hidden in (map(int, cell.split("x")) for cell in args.cells):
        with tempfile.TemporaryDirectory() as name:
            found = programs(Path(name), inputs, hidden, args)
            times: dict[str, list[float]] = {each: [] for each in found}
            for _ in range(args.repeats):
                for each, program in found.items():
                    done = subprocess.run([program], cwd=name, capture_output=True, text=True, check=True)
                    times[each].append(float(done.stdout))
        medians = {each: statistics.median(values) for each, values in times.items()}
        row = ", ".join(f"{each} {value:,.0f}" for each, value in medians.items())
        ratio = medians["anygru_float32"] / medians["anygru_int8"]
        print(f"({inputs}, {hidden}): {row}; float32 / int8 {ratio:.2f}", flush=True)


if __name__ == "__main__":
    main()
