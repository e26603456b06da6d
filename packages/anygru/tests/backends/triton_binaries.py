"""Compiles the GPU kernels ahead of time, for GPUs that need not be there. `test_triton.py` checks the output."""

import re
import subprocess
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource, CompiledKernel

from anygru.backends import triton_alone, triton_plan, triton_spread
from anygru.backends.triton_pieces import Backward, Forward

TOOLS = Path(triton.__file__).parent / "backends/nvidia/bin"
DEVICES = {
    "sm_80": triton_plan.Device(108, 163 << 10, "tf32x3"),
    "sm_90": triton_plan.Device(132, 227 << 10, "tf32x3"),
    "sm_100": triton_plan.Device(148, 227 << 10, "tf32x3"),
    "gfx942": triton_plan.Device(304, 64 << 10, "ieee", amd=True),
}
"""Processors and shared memory of an A100, H100, B200 and MI300X."""


class Call(NamedTuple):
    """The facts that a launch depends on."""

    device: str
    kernel: str
    hidden: int
    batch: int
    kind: str = "bf16"
    reset: str = "after"
    rounded: bool = False
    """float32 in tf32"""
    decay: bool = False
    train: bool = True
    directions: int = 1

    @property
    def room(self) -> triton_plan.Device:
        found = DEVICES[self.device]
        return found._replace(precision="tf32") if self.rounded and not found.amd else found

    @property
    def plan(self) -> triton_plan.Plan:
        itemsize = 4 if self.kind == "fp32" else 2
        return triton_plan.plan(self.hidden, self.batch, self.directions, itemsize, self.room)


class Binary(NamedTuple):
    """The compiler's output for a kernel."""

    shared: int
    registers: int
    spilled: int
    """Bytes, or registers, of a thread that do not fit into its registers."""
    products: set[str]
    assembly: str
    intermediate: str


def build(call: Call) -> Binary:
    plan = call.plan
    constants: dict[str, Any] = {"BEFORE": call.reset == "before", **plan.constants}
    if not plan.alone:
        constants |= {"MEETS": True, "PHASES": 7}
    function = getattr(triton_alone if plan.alone else triton_spread, call.kernel)
    options = {**call.room.options, "launch_cooperative_grid": not plan.alone}
    if call.device.startswith("gfx"):
        target = GPUTarget("hip", call.device, 64)
    else:
        target = GPUTarget("cuda", int(call.device[3:]), 32)
    compiled = triton.compile(_source(function, call, constants), target=target, options=options)
    return _measure_amd(compiled) if call.room.amd else _measure(compiled)


def _source(function: Any, call: Call, constants: dict[str, Any]) -> ASTSource:
    """The kernel with the types of its arguments, as a launch on fresh tensors of 16 n units would specialize them."""
    operands, fixed, aligned = _operands(call), {}, [["tt.divisibility", 16]]
    signature: dict[str, Any] = {}
    attributes = {}
    for index, name in enumerate(function.arg_names):
        if name == "op":
            signature[name] = operands
            for place, (field, kind) in enumerate(zip(operands._fields, operands, strict=True)):
                if kind == "constexpr":
                    fixed[index, place] = 0 if field in ("decay_state", "decay_row") else None
                elif kind.startswith("*"):
                    attributes[index, place] = aligned
        elif name in constants:
            signature[name], fixed[(index,)] = "constexpr", constants[name]
        else:
            signature[name] = "*i32" if name == "counters" else "i32"
            if name in ("width", "hidden"):
                attributes[(index,)] = aligned
    return ASTSource(fn=function, signature=signature, constexprs=fixed, attrs=attributes)


def _operands(call: Call) -> Forward | Backward:
    values = f"*{call.kind}"
    decay = ("*i64", values, "i32", "i32", "constexpr") if call.decay else ("constexpr",) * 5
    if call.kernel == "backward":
        return Backward(*(values,) * 7, "*fp32", values if call.decay else "constexpr", *decay)
    bias, read = (values, "constexpr") if call.reset == "after" else ("constexpr", values)
    kept = values if call.train else "constexpr"
    return Forward(values, values, bias, values, values, kept, read, "*fp32", *decay)


def _measure(compiled: CompiledKernel) -> Binary:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "kernel.cubin"
        file.write_bytes(compiled.asm["cubin"])
        usage = subprocess.run(
            [TOOLS / "cuobjdump", "-res-usage", file], capture_output=True, text=True, check=True
        ).stdout
    assembly = compiled.asm["ptx"]
    found = {name: int(value) for name, value in re.findall(r"(REG|STACK|LOCAL):(\d+)", usage)}
    products = set(re.findall(r"mma\.sync\.\S+", assembly))
    spilled = found["STACK"] + found["LOCAL"]
    return Binary(compiled.metadata.shared, found["REG"], spilled, products, assembly, compiled.asm["ttgir"])


def _measure_amd(compiled: CompiledKernel) -> Binary:
    assembly = compiled.asm["amdgcn"]
    found = {name: int(value) for name, value in re.findall(r"\.(vgpr_count|\wgpr_spill_count):\s*(\d+)", assembly)}
    spilled = found["vgpr_spill_count"]  # scalar registers spill into vector registers, not into memory
    products = set(re.findall(r"v_mfma_\w+", assembly))
    return Binary(compiled.metadata.shared, found["vgpr_count"], spilled, products, assembly, compiled.asm["ttgir"])
