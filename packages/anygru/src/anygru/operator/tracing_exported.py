"""A layer under torch.export: one node, which `run_decompositions` decomposes into torch's operators.

The node is an overload of the operators of `tracing` and `tracing_frozen`, and has their results if anygru is imported.
Programs for AOTInductor, ExecuTorch and other exporters run without anygru. When torch decomposes a program it calls
each operator's kernel for composite operators, here `decomposed.run`.

torch.compile asks the same kernel, and would compile every step of a sequence: it traces another overload.
"""

from typing import Any

import torch
from torch import Tensor

from ..backends import decomposed
from ..facts import torch_private
from ..facts.problem import Call, Problem
from ..facts.quantization import dequantize_all
from . import tracing, tracing_frozen
from .frozen_weights import rounds_rows

_library = torch.library.Library("anygru", "FRAGMENT")
_library.define(
    f"gru.exported(Tensor input, Tensor h_0, Tensor[] weights, {tracing.FACTS}) -> (Tensor, Tensor)",
    tags=torch.Tag.pt2_compliant_tag,
)
_library.define(
    f"frozen_gru.exported({tracing_frozen.ARGUMENTS}) -> (Tensor, Tensor)", tags=torch.Tag.pt2_compliant_tag
)


def _forward(input: Tensor, h_0: Tensor, weights: list[Tensor], *rest: Any) -> tuple[Tensor, Tensor]:
    output, h_n, *_ = torch.ops.anygru.gru.default(input, h_0, weights, *rest, torch.is_grad_enabled())
    return output, h_n


def _frozen_forward(*call: Any) -> tuple[Tensor, Tensor]:
    found: tuple[Tensor, Tensor] = torch.ops.anygru.frozen_gru.default(*call)
    return found


def _fake_forward(input: Tensor, h_0: Tensor, weights: list[Tensor], *rest: Any) -> tuple[Tensor, Tensor]:
    return tracing.fake_results(input, h_0, tracing.read_facts(tracing.read_rest(rest[1:])[1])[0])


def _fake_frozen_forward(
    input: Tensor, h_0: Tensor, values: list[Tensor], scales: list[Tensor], *rest: Any
) -> tuple[Tensor, Tensor]:
    return _fake_forward(input, h_0, values, *rest)


def _is_recorded() -> bool:
    """Whether a graph is being recorded. Elsewhere torch asks an operator for its parts to find shapes, which are known."""
    return torch.fx.experimental.proxy_tensor.get_proxy_mode() is not None


def _parts(input: Tensor, h_0: Tensor, weights: list[Tensor], *rest: Any) -> Any:
    """The node in torch's operators."""
    return _decomposed(input, h_0, weights, False, *rest) if _is_recorded() else NotImplemented


def _decomposed(
    input: Tensor, h_0: Tensor, weights: list[Tensor], rounds_rows: bool, sizes: Tensor | None, *rest: Any
) -> tuple[Tensor, Tensor]:
    modifiers, flat = tracing.read_rest(rest)
    layout, formula, _ = tracing.read_facts(flat)
    problem = Problem("", input.dtype, layout, formula, sizes is not None, False, False, True, rounds_rows=rounds_rows)
    return decomposed.run(problem, Call(input, h_0, weights, sizes, modifiers))


def _frozen_parts(input: Tensor, h_0: Tensor, values: list[Tensor], scales: list[Tensor], *rest: Any) -> Any:
    """The same with weights in float32."""
    if not _is_recorded():
        return NotImplemented
    weights = dequantize_all(tracing_frozen.join(values, scales))
    backend = rest[-2]
    return _decomposed(input, h_0, weights, rounds_rows(values[1], backend), *rest)


for _name, _compute, _fake, _own in (
    ("gru", _forward, _fake_forward, _parts),
    ("frozen_gru", _frozen_forward, _fake_frozen_forward, _frozen_parts),
):
    _library.impl(f"{_name}.exported", _compute, "CompositeExplicitAutograd")
    _library.impl(f"{_name}.exported", _compute, "Autograd")  # the gradients of the other overload
    torch.library.register_fake(f"anygru::{_name}.exported", _fake, lib=_library)
    if torch_private.COMPOSITE is not None:
        getattr(torch.ops.anygru, _name).exported.py_impl(torch_private.COMPOSITE)(_own)
