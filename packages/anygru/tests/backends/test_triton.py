"""The `triton` backend without a GPU: its kernels interpreted, its binaries read, its plans and its place among the backends."""

import os
import platform
import re
import subprocess
import sys
from pathlib import Path

import pytest
import torch

import anygru
from anygru import backends
from anygru.backends import triton as backend
from anygru.backends import triton_plan
from anygru.facts.formula import Formula
from anygru.facts.problem import Problem
from anygru.facts.weights import Layout

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
if sys.platform == "linux" and platform.machine() == "x86_64":
    import triton  # the dev extra has it there, so its absence is a failure
else:
    triton = pytest.importorskip("triton")

import triton.language as tl  # noqa: E402
from backends.triton_binaries import DEVICES, Binary, Call, build  # noqa: E402
from triton.backends.compiler import GPUTarget  # noqa: E402
from triton.compiler import ASTSource  # noqa: E402

from anygru.backends import triton_pieces  # noqa: E402

A100, H100 = DEVICES["sm_80"], DEVICES["sm_90"]


def problem(**facts: object) -> Problem:
    usual = Problem("cuda", torch.float32, Layout(), Formula("before"), False, False, False, False)
    return usual._replace(**facts)


def interpret(*options: str) -> None:
    environment = {**os.environ, "TRITON_INTERPRET": "1"}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *options]
    file = str(HERE / "triton_interpreted.py")
    done = subprocess.run([*command, file], cwd=ROOT, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-8000:] + done.stderr[-2000:]


def test_kernels_under_the_interpreter() -> None:
    interpret("-m", "not slow")


@pytest.mark.slow
def test_all_kernels_under_the_interpreter() -> None:
    interpret("-m", "slow")


def check(call: Call) -> Binary:
    """Compiles; the shared memory and the registers suffice, and no register is spilled."""
    found = build(call)
    assert found.shared <= call.room.shared, call
    assert found.spilled == 0, (call, found.spilled)
    assert found.registers <= 256, (call, found.registers)
    assert found.products, call
    return found


def test_a_binary_of_programs_that_meet() -> None:
    found = check(Call("sm_90", "forward", hidden=1024, batch=16, reset="before"))
    assert found.products == {"mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32"}
    # The three matrices go into shared memory before the first step and stay there.
    before, loop = found.intermediate.split("scf.for", 1)
    assert before.count("ttg.local_alloc") == 3
    assert "ttg.local_load" in loop
    # All threads wait; one thread signals with release, and reads with acquire until all have arrived.
    barriers = re.findall(
        r"bar\.sync\s+0;|(?:red|atom)\.global\.gpu\.release\.add|ld\.global\.gpu\.acquire", found.assembly
    )
    words = [barrier.split(".")[0] for barrier in barriers]
    arrivals = [index for index, word in enumerate(words) if word in ("red", "atom")]
    assert len(arrivals) == 2  # after r * h, and after the state
    assert all(words[index - 1] == "bar" and words[index + 1 : index + 4] == ["bar", "ld", "bar"] for index in arrivals)


@triton.jit
def store_and_meet(values, counter, AMD: tl.constexpr):
    tl.store(values + tl.arange(0, 1024), 1.0)
    triton_pieces.meet(counter, 4, AMD)


def test_on_amd_all_waves_finish_their_stores_before_one_tells_the_others() -> None:
    signature = {"values": "*fp32", "counter": "*i32", "AMD": "constexpr"}
    source = ASTSource(fn=store_and_meet, signature=signature, constexprs={(2,): True})
    binary = triton.compile(source, target=GPUTarget("hip", "gfx942", 64), options=DEVICES["gfx942"].options)
    found = re.search(r"_store_dword\w* v.*?global_atomic_add", binary.asm["amdgcn"], re.DOTALL)[0]
    words = re.findall(r"vmcnt\(0\)|s_barrier|buffer_wbl2 sc1", found)
    assert words[:2] == ["vmcnt(0)", "s_barrier"]
    assert words[-3:] == ["s_barrier", "buffer_wbl2 sc1", "vmcnt(0)"]


def test_a_binary_of_a_program_alone() -> None:
    found = check(Call("sm_80", "backward", hidden=64, batch=4, kind="fp32"))
    assert found.products == {"mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32"}
    assert "red.global" not in found.assembly


SIZES = [
    {"hidden": 128, "batch": 64},
    {"hidden": 1024, "batch": 16},
    {"hidden": 1024, "batch": 256},
    {"hidden": 512, "batch": 4, "directions": 2, "decay": True},
    {"hidden": 64, "batch": 256, "decay": True},
    {"hidden": 128, "batch": 64, "train": False},
    {"hidden": 2048, "batch": 64},
    {"hidden": 4096, "batch": 1, "train": False},
    {"hidden": 64, "batch": 64, "kind": "fp32"},
    {"hidden": 256, "batch": 16, "kind": "fp32"},
    {"hidden": 128, "batch": 16, "kind": "fp32", "rounded": True},
    {"hidden": 512, "batch": 64, "kind": "fp32", "rounded": True, "decay": True},
    {"hidden": 1024, "batch": 64, "kind": "fp32"},
    {"hidden": 256, "batch": 64, "kind": "fp16"},
]


@pytest.mark.slow
@pytest.mark.parametrize("size", SIZES, ids=lambda size: " ".join(f"{name}={value}" for name, value in size.items()))
@pytest.mark.parametrize("reset", ["after", "before"])
@pytest.mark.parametrize("kernel", ["forward", "backward"])
@pytest.mark.parametrize("device", DEVICES)
def test_binaries(device: str, kernel: str, reset: str, size: dict) -> None:
    check(Call(device, kernel, reset=reset, **size))


@pytest.mark.parametrize("device", DEVICES.values(), ids=DEVICES)
@pytest.mark.parametrize("itemsize", [2, 4])
def test_plans_fit_the_device(device: triton_plan.Device, itemsize: int) -> None:
    for hidden in (1, 16, 17, 64, 100, 128, 129, 256, 500, 1000, 1024, 1500, 2048, 5000):
        for batch in (1, 16, 17, 64, 300, 5000):
            for directions in (1, 2):
                plan = triton_plan.plan(hidden, batch, directions, itemsize, device)
                sizes = plan.constants
                if plan.alone:
                    assert sizes["BH"] >= hidden
                    assert plan.programs * sizes["BM"] >= batch
                    assert plan.directions == directions
                    continue
                tiles = -(-hidden // sizes["BN"])
                # All programs that meet are on the device at once.
                assert 0 < plan.programs * plan.directions <= device.processors
                assert directions % plan.directions == 0
                if sizes["RESIDENT"]:
                    assert sizes["BK"] * sizes["SLICES"] >= hidden
                    assert plan.programs % tiles == 0, "a program has the same units in all of its tiles"


def test_plans() -> None:
    def kind(hidden: int, itemsize: int, device: triton_plan.Device) -> str:
        plan = triton_plan.plan(hidden, 16, 1, itemsize, device)
        return "alone" if plan.alone else "resident" if plan.constants["RESIDENT"] else "streamed"

    found = [[kind(hidden, 2, device) for hidden in (128, 256, 1024, 2048)] for device in (A100, H100)]
    assert found == [["alone", "resident", "resident", "streamed"]] * 2
    assert [kind(hidden, 4, A100) for hidden in (64, 128, 256, 512)] == ["alone", "resident", "resident", "streamed"]
    assert [kind(hidden, 4, H100) for hidden in (64, 128, 256, 512)] == ["alone", "resident", "resident", "resident"]


def test_it_takes_what_only_the_reference_would_take(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backend, "_missing", lambda: None)
    backends.choose.cache_clear()
    try:
        assert backends.choose(problem()).name == "triton"
        after = Formula("after")
        assert backends.choose(problem(formula=after)).name == "cudnn"
        assert backends.choose(problem(formula=after, modified=("decay",))).name == "triton"
        assert backends.choose(problem(formula=after), "triton").name == "triton"
        assert backends.choose(problem(dtype=torch.float64)).name == "reference"
    finally:
        backends.choose.cache_clear()


@pytest.mark.parametrize(
    ("facts", "words"),
    [
        ({"device_type": "cpu"}, "it computes on CUDA, and the input is on cpu"),
        ({"dtype": torch.float64}, "float32, bfloat16 and float16, and the input is torch.float64"),
        ({"formula": Formula("before", activation="relu")}, "sigmoid and tanh only"),
        ({"modified": ("decay", "mask")}, "it knows resets and decay, and the call has recurrent dropout"),
        ({"modified": ("zoneout",)}, "it knows resets and decay, and the call has zoneout"),
        ({"layout": Layout(norm=True)}, "it knows no layer norm"),
        ({"empty": True}, "it refuses empty batches"),
        ({"recorded": True}, "cannot record"),
        ({"transformed": True}, "torch.func transforms"),
    ],
)
def test_refusals(facts: dict, words: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backend, "_missing", lambda: None)
    assert words in backend.refuse(problem(**facts))


def test_what_a_machine_lacks_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    backend._missing.cache_clear()
    with monkeypatch.context() as patch:
        patch.setattr(triton, "__version__", "3.6.0")
        assert "it needs Triton 3.7 or newer, and 3.6.0 is installed" in backend.refuse(problem())
    backend._missing.cache_clear()
    monkeypatch.setattr(backend.shutil, "which", lambda name: None)
    assert "Triton needs a C compiler" in backend.refuse(problem())
    backend._missing.cache_clear()
    monkeypatch.setattr(backend.importlib.util, "find_spec", lambda name: None)
    assert "anygru[gpu]'" in backend.refuse(problem())
    backend._missing.cache_clear()
    explained = anygru.explain(anygru.GRU(3, 4), torch.zeros(5, 2, 3))
    assert "triton     no: it computes on CUDA" in str(explained)
