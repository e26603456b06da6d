"""The file itself: how it compiles, how it is used, and when it is refused."""

import re
import subprocess
from pathlib import Path

import pytest
import torch
from c_programs import WARNINGS, compiled, floats, random_model, tool
from helpers import mostly_slow
from torch import nn

import anygru
from anygru.c_export import CheckError, Residual, checking
from anygru.c_export.arrays import literal
from anygru.c_export.exporting import source_of
from anygru.c_export.identifiers import KEYWORDS, name_from

LANGUAGES = {
    "C99, gcc": ("gcc", ["-std=c99"]),
    "C++17, gcc": ("g++", ["-std=c++17"]),
    "C99, clang": ("clang", ["-std=c99"]),
    "C++17, clang": ("clang++", ["-std=c++17"]),
    "C++11, gcc": ("g++", ["-std=c++11"]),
}


@pytest.mark.parametrize("language", mostly_slow(LANGUAGES, 2))
def test_compiles_without_warnings(language: str, tmp_path: Path) -> None:
    name, options = LANGUAGES[language]
    compiler = tool(name, name.replace("clang++", "clang"))
    program = ""
    for seed in range(30):
        model, weights = random_model(seed)
        anygru.export_c(model, tmp_path / f"m{seed}.h", weights=weights, check=False)
        program += f'#include "m{seed}.h"\n'
    ending = "cpp" if "++" in name else "c"
    compiled(tmp_path, program + "int main(void) { return 0; }\n", compiler, *options, *WARNINGS, "-O1", ending=ending)


@pytest.mark.parametrize("level", ["-O0", "-O2"])
def test_a_program_that_runs_a_model_compiles_without_warnings(level: str, tmp_path: Path) -> None:
    """A compiler looks at static functions closely only where something calls them."""
    models = [
        (Residual(anygru.GRU(1, 16), torch.nn.Linear(16, 1)), "int8"),
        (torch.nn.Sequential(anygru.GRU(3, 70), torch.nn.Linear(70, 5)), None),
        (anygru.GRU(2, 24), "bfloat16"),
    ]
    heads, calls = "", ""
    for number, (model, weights) in enumerate(models):
        anygru.export_c(model, tmp_path / f"m{number}.h", weights=weights, check=False)  # type: ignore[arg-type]
        heads += f'#include "m{number}.h"\nstatic m{number}_state s{number};\n'
        calls += f"m{number}_run(&s{number}, x, NULL, 20, y);\n"
    program = f"{heads}static float x[20 * 3], y[20 * 24];\nint main(void) {{ {calls} return y[0] > 0; }}\n"
    compiled(tmp_path, program, tool("gcc", "gcc"), "-Wall", "-Wextra", "-Werror", level)


@pytest.mark.parametrize(
    ("weights", "vectors"),
    [
        ("int8", "-march=native"),
        ("float32", ""),
        *(
            pytest.param(weights, vectors, marks=pytest.mark.slow)
            for weights, vectors in (
                ("int8", ""),
                ("float32", "-march=native"),
                ("bfloat16", "-march=native"),
                ("bfloat16", ""),
            )
        ),
    ],
)
def test_sanitizers_find_nothing(weights: str, vectors: str) -> None:
    compiler = tool("gcc", "gcc")
    for model in (anygru.GRU(3, 19, bidirectional=True), anygru.GRUCell(37, 7, reset="before")):
        exported = source_of(model, "model", weights, False)
        command = [compiler, "-O1", "-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
        input = torch.randn(50, exported.source.inputs)
        input[7, 0], input[20, 1], input[21, 1] = float("nan"), float("inf"), 1e38
        found = checking.run(exported.source, input, [*command, *vectors.split()])
        assert found[:7].isfinite().all() or exported.source.steps is False


def test_nan_and_infinity_pass_as_in_the_layer() -> None:
    tool("gcc", "gcc")
    layer = anygru.GRU(2, 5)
    for weights in ("float32", "int8"):
        input = torch.randn(9, 2)
        input[4, 0], input[6, 1] = float("inf"), float("nan")
        expected = layer.freeze(weights)(input)[0]
        found = checking.run(source_of(layer, "model", weights, False).source, input, ["gcc", "-O2"])
        torch.testing.assert_close(found, expected, rtol=0, atol=1e-5, equal_nan=True)
        assert not found[6:].isfinite().any()


def test_two_models_states_resets_and_chunks(tmp_path: Path) -> None:
    """A program as a user writes it: two files, several states, a state copied, one step, a chunk in place, resets."""
    compiler = tool("gcc", "gcc")
    layer, other = anygru.GRU(2, 6, 2), Residual(anygru.GRU(1, 4), nn.Linear(4, 1))
    anygru.export_c(layer, tmp_path / "first.h", check=False)
    anygru.export_c(other, tmp_path / "second.h", check=False)
    program = """
#include "first.h"
#include "second.h"
#include <stdio.h>
static void print(const float *values, int count) { for (int i = 0; i < count; ++i) printf("%.9g\\n", (double)values[i]); }
int main(void) {
    const float input[8] = {0.1f, -0.5f, 1.0f, 0.3f, -0.7f, 0.2f, 0.9f, -1.0f};
    const unsigned char resets[4] = {0, 0, 1, 0};
    float output[4 * FIRST_OUTPUTS], in_place[8];
    first_state one, two;
    second_state amplifier;
    first_reset(&one);
    first_step(&one, input, output);
    two = one;
    first_run(&two, input + 2, NULL, 3, output + FIRST_OUTPUTS);
    print(output, 4 * FIRST_OUTPUTS);
    first_reset(&two);
    for (int i = 0; i < 12; ++i) (&two.h0[0][0])[i] = 0.05f * (float)i; /* h_0 [2][6] */
    first_run(&two, input, resets, 4, output);
    print(output, 4 * FIRST_OUTPUTS);
    print(&two.h0[0][0], 12);
    second_reset(&amplifier);
    for (int i = 0; i < 8; ++i) in_place[i] = input[i];
    second_run(&amplifier, in_place, NULL, 8, in_place);
    print(in_place, 8);
    return 0;
}
"""
    binary = compiled(tmp_path, program, compiler, "-std=c99", *WARNINGS, "-O2", "-fsanitize=undefined")
    found = floats(subprocess.run([binary], capture_output=True, text=True, check=True).stdout)
    values = torch.tensor([0.1, -0.5, 1.0, 0.3, -0.7, 0.2, 0.9, -1.0])
    input, h_0 = values.view(4, 2), 0.05 * torch.arange(12.0).view(2, 6)
    resets = torch.tensor([False, False, True, False])
    whole, _ = layer(input)
    started, h_n = layer(input, h_0, resets=resets)
    amplified = other(values.view(8, 1))
    expected = torch.cat([each.flatten() for each in (whole, started, h_n, amplified)])
    torch.testing.assert_close(found, expected.detach(), rtol=0, atol=2e-6)


def test_both_directions_resets_and_states(tmp_path: Path) -> None:
    compiler = tool("gcc", "gcc")
    layer = anygru.GRU(1, 3, 2, bidirectional=True)
    anygru.export_c(layer, tmp_path / "both.h", check=False)
    program = """
#include "both.h"
#include <stdio.h>
int main(void) {
    const float input[5] = {0.1f, -0.5f, 1.0f, 0.3f, -0.7f};
    const unsigned char resets[5] = {0, 0, 0, 1, 0};
    float output[5 * BOTH_OUTPUTS], scratch[BOTH_SCRATCH(5)];
    both_state state;
    for (int i = 0; i < 12; ++i) (&state.h0[0][0])[i] = 0.05f * (float)i;
    both_run(&state, input, resets, 5, output, scratch);
    for (int i = 0; i < 5 * BOTH_OUTPUTS; ++i) printf("%.9g\\n", (double)output[i]);
    for (int i = 0; i < 12; ++i) printf("%.9g\\n", (double)(&state.h0[0][0])[i]);
    return 0;
}
"""
    binary = compiled(tmp_path, program, compiler, "-std=c99", "-O2")
    found = floats(subprocess.run([binary], capture_output=True, text=True, check=True).stdout)
    input, h_0 = torch.tensor([[0.1], [-0.5], [1.0], [0.3], [-0.7]]), 0.05 * torch.arange(12.0).view(4, 3)
    output, h_n = layer(input, h_0, resets=torch.tensor([False, False, False, True, False]))
    torch.testing.assert_close(found, torch.cat((output.flatten(), h_n.flatten())).detach(), rtol=0, atol=2e-6)


@pytest.mark.parametrize(("weights", "each"), [("float32", 4), ("bfloat16", 2), ("int8", 1)])
def test_the_numbers_take_what_their_format_takes(weights: str, each: int) -> None:
    source = source_of(anygru.GRU(8, 16, 2), "model", weights, False).source
    matrices = 48 * (8 + 16 + 16 + 16)
    biases, scales = 2 * (48 + 16), 2 * 2 * 48 * (weights == "int8")  # r and z have the sum of both biases
    assert source.constants == each * matrices + 4 * biases + 4 * scales
    assert source.state == 4 * 2 * 16


def test_checks_and_says_so(tmp_path: Path) -> None:
    tool("gcc", "gcc")
    path = tmp_path / "a.h"
    exported = anygru.export_c(anygru.GRU(3, 4), path, check=True)
    assert exported.verdict is not None
    assert exported.verdict.difference <= 2e-6
    assert "from the model over 1000 steps" in str(exported)
    assert path.read_text() == exported.source.text


def test_other_numbers_than_the_layer_are_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tool("gcc", "gcc")
    path = tmp_path / "a.h"
    path.write_text("old")
    real = checking.outputs_of
    monkeypatch.setattr(checking, "outputs_of", lambda model, input: real(model, input) + 1e-4)
    with pytest.raises(CheckError, match="computes other numbers"):
        anygru.export_c(anygru.GRU(3, 4), path, check=True)
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_names_that_differ_only_in_case_are_an_error_of_the_compiler(tmp_path: Path) -> None:
    compiler = tool("gcc", "gcc")
    for name in ("wake", "Wake"):
        anygru.export_c(anygru.GRU(2, 3), tmp_path / f"{name}.file.h", name=name, check=False)
    (tmp_path / "both.c").write_text('#include "wake.file.h"\n#include "Wake.file.h"\n#include "wake.file.h"\n')
    command = [compiler, "-fsyntax-only", str(tmp_path / "both.c")]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode != 0
    assert "names that differ only in case" in done.stderr
    (tmp_path / "both.c").write_text('#include "wake.file.h"\n#include "wake.file.h"\n')
    assert subprocess.run(command, capture_output=True, text=True).returncode == 0


def test_without_a_compiler_nothing_is_checked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CC", raising=False)
    with pytest.warns(UserWarning, match="a.h was not compared with the model.*set the environment variable CC"):
        exported = anygru.export_c(anygru.GRU(3, 4), tmp_path / "a.h")
    assert exported.verdict is None
    assert "NOT CHECKED: nothing was run" in str(exported)
    with pytest.raises(ValueError, match="needs a C compiler"):
        anygru.export_c(anygru.GRU(3, 4), tmp_path / "a.h", check=True)


def test_the_compiler_of_the_environment_is_used_with_its_options(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    compiler = tool("gcc", "gcc")
    monkeypatch.setenv("CC", f"{compiler} -finvalid-option")
    with pytest.raises(CheckError, match=r"does not compile.*finvalid-option.*check=False"):
        anygru.export_c(anygru.GRU(3, 4), tmp_path / "a.h")
    monkeypatch.setenv("CC", f"{compiler} -O1")
    anygru.export_c(anygru.GRU(3, 4), tmp_path / "a.h")


@pytest.mark.parametrize("chosen", ["no-such-compiler", "/no/such -O2"])
def test_a_compiler_that_is_not_there_is_an_error(chosen: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CC", chosen)
    with pytest.raises(ValueError, match=f"CC must name a C compiler, got '{chosen.split()[0]}'.*check=False"):
        anygru.export_c(anygru.GRU(3, 4), tmp_path / "a.h")
    anygru.export_c(anygru.GRU(3, 4), tmp_path / "a.h", check=False)


def test_a_program_that_cannot_run_here_is_an_error(tmp_path: Path) -> None:
    source = source_of(anygru.GRU(3, 4), "model", None, False).source
    compiler = tmp_path / "compiler.sh"  # "compiles" to a text, which no machine runs
    compiler.write_text("""
for word; do case "$last" in -o) out="$word";; esac; last="$word"; done
echo text > "$out"
chmod +x "$out"
""")
    with pytest.raises(CheckError, match="does not run: .*check=False"):
        checking.run(source, torch.randn(3, 3), ["sh", str(compiler)])


def growing(**options: bool) -> anygru.GRU:
    """A layer with states that grow at every step."""
    gru = anygru.GRU(2, 3, activation="relu", **options)
    with torch.no_grad():
        for parameter in gru.parameters():
            parameter.fill_(1.0)
            parameter[3:6] = -1.0  # the update gate keeps nothing
    return gru


def test_a_model_that_grows_is_compared_while_it_is_finite() -> None:
    tool("gcc", "gcc")
    verdict = source_of(growing(), "model", None, True).verdict
    assert verdict is not None
    assert 10 < verdict.steps < 1000
    with pytest.raises(CheckError, match="own outputs .* are infinite or NaN.*check=False"):
        source_of(growing(bidirectional=True), "model", None, True)


@pytest.mark.parametrize("eps", [0.0, 1e-50, 1, 3e38])
def test_numbers_beyond_those_of_c_are_rounded(eps: float, tmp_path: Path) -> None:
    model = nn.Sequential(anygru.GRU(3, 4), nn.LayerNorm(4, eps=eps))
    anygru.export_c(model, tmp_path / "a.h", check=False)
    compiled(tmp_path, '#include "a.h"\nint main(void) { return 0; }\n', tool("gcc", "gcc"), "-std=c99", *WARNINGS)


@pytest.mark.parametrize("path", [None, 3, ["a.h"]])
def test_what_is_no_path(path: object) -> None:
    with pytest.raises(TypeError, match="path must be a str or os.PathLike, got"):
        anygru.export_c(anygru.GRU(3, 4), path)  # type: ignore[arg-type]


def test_a_path_in_bytes(tmp_path: Path) -> None:
    exported = anygru.export_c(anygru.GRU(3, 4), str(tmp_path / "wake.h").encode(), check=False)  # type: ignore[arg-type]
    assert exported.path == str(tmp_path / "wake.h")
    assert exported.source.name == "wake"


def test_what_is_written_is_named(tmp_path: Path) -> None:
    assert "a_step\n" in str(anygru.export_c(anygru.GRU(3, 4), tmp_path / "a.h", check=False))
    both = anygru.GRU(3, 4, bidirectional=True)
    assert "a_run (whole sequences only)\n" in str(anygru.export_c(both, tmp_path / "a.h", check=False))


@pytest.mark.parametrize("name", ["int", "template", "3d", "a-b", "_a", "a__b", "a_", "", "é", "a" * 40, 'x" */'])
def test_names_that_no_model_can_have(name: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="name must"):
        anygru.export_c(anygru.GRU(3, 4), tmp_path / "a.h", name=name)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("stem", ["3-d model (final)", "for", "gru", "--", "été", "x" * 90, "_a__b_"])
def test_a_name_made_from_a_file_is_one(stem: str) -> None:
    assert re.fullmatch("[A-Za-z][A-Za-z0-9]*(_[A-Za-z0-9]+)*", name_from(f"{stem}.h"))
    assert name_from(f"{stem}.h") not in KEYWORDS


def test_literals_are_read_back_as_the_same_number() -> None:
    values = torch.cat((torch.randn(1000), torch.tensor([0.0, -0.0, 1.0, -3.0, 1e-45, 3.4e38, 1e10, 16777216.0])))
    for value in values.tolist():
        text = literal(value)
        assert re.fullmatch(r"-?\d+(\.\d+)?(e[+-]?\d+)?f", text)
        assert re.search("[.e]", text)
        assert torch.tensor(float(text[:-1])).item() == value
