"""`gru` and `gru_cell`: check once, choose a backend, compute. Every GRU of anygru ends here."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.autograd import forward_ad
from torch.nn import ParameterList

from . import backends, sequences, tracing
from .backends.problem import Problem
from .errors import ArgumentError, ArgumentTypeError
from .formula import Activation, Formula, make_formula
from .sequences import Batch, Lengths

_STANDARD = Formula()
DTYPES = frozenset((torch.float32, torch.float64, torch.bfloat16, torch.float16))
"""What a GRU is computed in."""
_any_autocast = torch._C._is_any_autocast_enabled
_functorch_stack = torch._C._functorch.peek_interpreter_stack
_dispatch_modes = torch._C._len_torch_dispatch_stack
_plain_types: dict[type, bool] = {}


def gru(
    input: Batch,
    h_0: Tensor | None,
    weights: Sequence[Tensor],
    *,
    lengths: Lengths | None = None,
    batch_first: bool = False,
    bidirectional: bool = False,
    bias: bool = True,
    dropout: float = 0.0,
    training: bool = False,
    reset: str = "after",
    gate_activation: Activation = "sigmoid",
    activation: Activation = "tanh",
    backend: str | None = None,
) -> tuple[Any, Tensor]:
    """A GRU of one or more layers and one or two directions over a batch of sequences.

    The formulas and their sources stand in `anygru.formula`. T is the sequence length, B the batch size, I the input size, H the
    hidden size, L the number of layers, D the number of directions.

    Arguments:
        input: [T, B, I] ([B, T, I] if batch_first), or one sequence [T, I]; or a ragged batch: a list or tuple of [L_b, I]
            tensors in any order, a PackedSequence, a nested tensor [B, (L_b), I], or a padded tensor with lengths. No step is
            computed for padding. Sequences of length 0 and batches of size 0 are legal. float32, float64, bfloat16 or float16.
        h_0: the initial state [L*D, B, H] ([L*D, H] for one sequence) in the caller's order of sequences; None: zeros.
        weights: flat, in torch's order: for each layer, for each direction, weight_ih [3H, I] (the input size of a layer above
            the first is D*H), weight_hh [3H, H], and with bias bias_ih [3H], bias_hh [3H]; rows in the order reset, update,
            candidate. L follows from their number.
        lengths: int [B], in steps, for a padded tensor; output past a sequence's end is zero.
        bias: whether weights holds biases.
        dropout: probability of zeroing an element of the output of each layer but the last, when training.
        reset: "after" (cuDNN, torch) or "before" (Cho et al. 2014).
        gate_activation, activation: a name of `anygru.formula.ACTIVATIONS` or a callable on tensors.
        backend: None for the fastest that can, or a name of `anygru.backends.NAMES`.

    Returns:
        output in the form of the input, with D*H features, and h_n [L*D, B, H] ([L*D, H] for one sequence): the state after
        each sequence's own last step (for the reverse direction, its first).

    Raises:
        ArgumentError (a ValueError): a shape, number or name that does not fit; the message names the argument.
        ArgumentTypeError (a TypeError): a type, dtype or device that does not fit.
        BackendError (a RuntimeError): the named backend cannot take the call; the message has its reason.
    """
    formula = choose_formula(reset, gate_activation, activation)
    _check_tensors(h_0, "h_0", weights)
    if dropout != 0.0:
        check_dropout(dropout)
    options = Options(formula, bidirectional, bias, dropout if training else 0.0, backend)
    return compute(input, h_0, weights, lengths, batch_first, options)


def compute(
    input: Batch,
    h_0: Tensor | None,
    weights: Sequence[Tensor],
    lengths: Lengths | None,
    batch_first: bool,
    options: Options,
) -> tuple[Any, Tensor]:
    """`gru` with checked options, and with weights and a state that are tensors."""
    if lengths is None and isinstance(input, Tensor) and not input.is_nested:
        return _dense(input, h_0, weights, batch_first, options)
    rows = sequences.enter(input, lengths, batch_first)
    h_0 = None if h_0 is None else rows.sort_state(_check_state(h_0, weights, options, rows.batch))
    output, h_n = _run(rows.data, h_0, weights, rows.batch, rows.batch_sizes, options)
    return rows.restore(output), rows.unsort_state(h_n)


def gru_cell(
    input: Tensor,
    h: Tensor | None,
    w_ih: Tensor,
    w_hh: Tensor,
    b_ih: Tensor | None = None,
    b_hh: Tensor | None = None,
    *,
    reset: str = "after",
    gate_activation: Activation = "sigmoid",
    activation: Activation = "tanh",
    backend: str | None = None,
) -> Tensor:
    """One step of a GRU: the state after input [B, I] (or [I]) from state h [B, H] (or [H]; None: zeros).

    Weights as for `gru`; both biases or none. Raises what `gru` raises.
    """
    if (b_ih is None) != (b_hh is None):
        raise ArgumentError("b_ih and b_hh must both be given or both be None")
    weights = (w_ih, w_hh) if b_ih is None or b_hh is None else (w_ih, w_hh, b_ih, b_hh)
    _check_tensors(h, "h", weights)
    if not isinstance(input, Tensor):
        raise ArgumentTypeError(f"input must be a tensor [B, I] or [I], got {type(input).__name__}")
    if input.dim() not in (1, 2):
        raise ArgumentError(f"input must be [B, I] or [I], got {list(input.shape)}")
    if h is not None and h.dim() != input.dim():
        raise ArgumentError(f"h must have {input.dim()} dimensions as input has, got {list(h.shape)}")
    options = Options(choose_formula(reset, gate_activation, activation), False, b_ih is not None, 0.0, backend)
    if not _autocast_enabled(input) and not torch.compiler.is_compiling():
        found = _direct("direct_cell", input, h, weights, options)
        if found is not None:
            return found
    if input.dim() == 2:
        state = None if h is None else h.unsqueeze(0)
        return _run(input.unsqueeze(0), state, weights, input.shape[0], None, options)[1].squeeze(0)
    state = None if h is None else h[None, None]
    return _run(input[None, None], state, weights, 1, None, options)[1][0, 0]


def _check_tensors(state: Tensor | None, name: str, weights: Sequence[Tensor]) -> None:
    if state is not None:
        check_state_type(state, name)
    if not isinstance(weights, (list, tuple, ParameterList)):
        raise ArgumentTypeError(f"weights must be a list or tuple of tensors, got {type(weights).__name__}")
    for index, weight in enumerate(weights):
        if not isinstance(weight, Tensor):
            raise ArgumentTypeError(f"weights[{index}] must be a tensor, got {type(weight).__name__}")


def check_state_type(state: Any, argument: str) -> None:
    """Raises ArgumentTypeError if it is no tensor."""
    if not isinstance(state, Tensor):
        raise ArgumentTypeError(f"{argument} must be a tensor or None, got {type(state).__name__}")


def check_dropout(dropout: float) -> float:
    """The probability as a float.

    Raises:
        ArgumentTypeError: no number.
        ArgumentError: not between 0 and 1.
    """
    if isinstance(dropout, bool) or not isinstance(dropout, (int, float)):
        raise ArgumentTypeError(f"dropout must be a probability between 0 and 1, got {type(dropout).__name__}")
    if not 0.0 <= dropout <= 1.0:
        raise ArgumentError(f"dropout must be a probability between 0 and 1, got {dropout}")
    return float(dropout)


def choose_formula(reset: str, gate_activation: Activation, activation: Activation) -> Formula:
    """As `make_formula`, without a look at the usual names."""
    if reset == "after" and gate_activation == "sigmoid" and activation == "tanh":
        return _STANDARD
    return make_formula(reset, gate_activation, activation)


class Options(NamedTuple):
    """The arguments that travel together; dropout is 0 unless training."""

    formula: Formula
    bidirectional: bool
    bias: bool
    dropout: float
    backend: str | None


def _dense(
    input: Tensor, h_0: Tensor | None, weights: Sequence[Tensor], batch_first: bool, options: Options
) -> tuple[Tensor, Tensor]:
    """Sequences of one length, in one tensor."""
    dimensions = input.dim()
    if dimensions == 2:
        if h_0 is not None:
            if h_0.dim() != 2:
                raise ArgumentError(f"h_0 must be [L*D, H] for one sequence [T, I], got {list(h_0.shape)}")
            h_0 = h_0.unsqueeze(1)
        output, h_n = _run(input.unsqueeze(1), h_0, weights, 1, None, options)
        return output.squeeze(1), h_n.squeeze(1)
    if dimensions != 3:
        raise ArgumentError(f"input must have 2 or 3 dimensions, got {list(input.shape)}")
    if batch_first:
        output, h_n = _run(input.transpose(0, 1), h_0, weights, input.shape[0], None, options)
        return output.transpose(0, 1), h_n
    return _run(input, h_0, weights, input.shape[1], None, options)


def _run(
    input: Tensor,
    h_0: Tensor | None,
    weights: Sequence[Tensor],
    batch: int,
    batch_sizes: Tensor | None,
    options: Options,
) -> tuple[Tensor, Tensor]:
    """[T, B, I], or packed rows with batch_sizes, through checks, choice and backend."""
    if _autocast_enabled(input):
        input, h_0, weights = _autocast(input, h_0, weights)
        # What was cast is cast: products inside are not cast again.
        with torch.autocast(input.device.type, enabled=False):
            return _run(input, h_0, weights, batch, batch_sizes, options)
    if batch_sizes is None and not options.dropout and not torch.compiler.is_compiling():
        found = _direct("direct", input, h_0, weights, options)
        if found is not None:
            return found
    layers = _check_weights(input, weights, options)
    if h_0 is None:
        h_0 = input.new_zeros((layers * (2 if options.bidirectional else 1), batch, weights[1].shape[1]))
    else:
        _check_state(h_0, weights, options, batch)
        if h_0.dtype is not input.dtype or h_0.device != input.device:
            raise ArgumentTypeError(
                f"h_0 must be {input.dtype} on {input.device} as input is, got {h_0.dtype} on {h_0.device}"
            )
    if options.dropout and layers > 1:
        return _layer_by_layer(input, h_0, weights, batch_sizes, layers, options)
    return _compute(input, h_0, weights, batch_sizes, layers, options)


def _autocast_enabled(input: Tensor) -> bool:
    if not _any_autocast():
        return False
    kind = input.device.type
    return kind != "meta" and torch.is_autocast_enabled(kind)


def _direct(name: str, input: Tensor, h_0: Tensor | None, weights: Sequence[Tensor], options: Options) -> Any:
    """The shortest way, for one call in a loop of many: a backend that checks and computes at once; None if none can.

    Arguments:
        name: "direct", for a dense call as `gru` takes it, or "direct_cell".
    """
    compute = backends.direct(name, options.backend)
    if compute is None or _needs_grad(input, h_0, weights) or _inside_transform():
        return None
    return compute(input, h_0, weights, options)


def _needs_grad(input: Tensor, h_0: Tensor | None, weights: Sequence[Tensor]) -> bool:
    return torch.is_grad_enabled() and (
        input.requires_grad
        or (h_0 is not None and h_0.requires_grad)
        or any(weight.requires_grad for weight in weights)
    )


def _inside_transform() -> bool:
    """Under torch.func, forward-mode AD or a dispatch mode, where a tensor is more than its storage."""
    return _functorch_stack() is not None or forward_ad._current_level >= 0 or _dispatch_modes() > 0


def _layer_by_layer(
    input: Tensor,
    h_0: Tensor,
    weights: Sequence[Tensor],
    batch_sizes: Tensor | None,
    layers: int,
    options: Options,
) -> tuple[Tensor, Tensor]:
    """With dropout between the layers, drawn as torch draws it."""
    directions = 2 if options.bidirectional else 1
    per_layer = len(weights) // layers
    final = []
    for layer in range(layers):
        own = weights[layer * per_layer : (layer + 1) * per_layer]
        state = h_0[layer * directions : (layer + 1) * directions]
        input, h_n = _compute(input, state, own, batch_sizes, 1, options)
        final.append(h_n)
        if layer < layers - 1:
            input = F.dropout(input, options.dropout)
    return input, torch.cat(final)


def _compute(
    input: Tensor,
    h_0: Tensor,
    weights: Sequence[Tensor],
    batch_sizes: Tensor | None,
    layers: int,
    options: Options,
) -> tuple[Tensor, Tensor]:
    if torch.compiler.is_compiling():
        facts = (options.bidirectional, options.bias, options.formula)
        return tracing.run(input, h_0, weights, batch_sizes, *facts, options.backend)
    problem = make_problem(input, h_0, weights, batch_sizes, layers, options)
    return backends.choose(problem, options.backend).run(problem, input, h_0, weights, batch_sizes)


def make_problem(
    input: Tensor,
    h_0: Tensor,
    weights: Sequence[Tensor],
    batch_sizes: Tensor | None,
    layers: int,
    options: Options,
) -> Problem:
    """The facts of a checked call."""
    transformed = _inside_transform() or not _all_plain(input, h_0, *weights)
    return Problem(
        input.device.type,
        input.dtype,
        layers,
        options.bidirectional,
        options.bias,
        options.formula,
        batch_sizes is not None,
        input.numel() == 0 or h_0.numel() == 0,
        _needs_grad(input, h_0, weights),
        transformed,
    )


def _all_plain(*tensors: Tensor) -> bool:
    """Whether each tensor is storage that a kernel may read, not a subclass that intercepts torch's operators."""
    for tensor in tensors:
        kind = type(tensor)
        plain = _plain_types.get(kind)
        if plain is None:
            plain = kind.__torch_dispatch__ is Tensor.__torch_dispatch__
            _plain_types[kind] = plain
        if not plain:
            return False
    return True


def _autocast(
    input: Tensor, h_0: Tensor | None, weights: Sequence[Tensor]
) -> tuple[Tensor, Tensor | None, Sequence[Tensor]]:
    """The dtypes of torch's own GRU under autocast: on CUDA the autocast dtype, on the CPU that of the weights."""
    device = input.device.type
    dtype = torch.get_autocast_dtype(device) if device == "cuda" else weights[0].dtype
    if dtype is torch.float64 or input.dtype is torch.float64:
        return input, h_0, weights
    cast = [weight if weight.dtype is dtype else weight.to(dtype) for weight in weights]
    return input.to(dtype), None if h_0 is None else h_0.to(dtype), cast


def _check_state(h_0: Tensor, weights: Sequence[Tensor], options: Options, batch: int) -> Tensor:
    directions = 2 if options.bidirectional else 1
    tensors = directions * (4 if options.bias else 2)
    layers, hidden_size = len(weights) // tensors, weights[1].shape[-1]
    if h_0.dim() != 3 or tuple(h_0.shape) != (layers * directions, batch, hidden_size):
        raise ArgumentError(
            f"h_0 must be [L*D, B, H] = [{layers * directions}, {batch}, {hidden_size}], got {list(h_0.shape)}"
        )
    return h_0


def _check_weights(input: Tensor, weights: Sequence[Tensor], options: Options) -> int:
    """The number of layers; raises if a weight does not fit the input or the others."""
    dtype, device = input.dtype, input.device
    if dtype not in DTYPES:
        raise ArgumentTypeError(f"input must be float32, float64, bfloat16 or float16, got {dtype}")
    if input.layout is not torch.strided:
        raise ArgumentTypeError(f"input must be a dense tensor, got {input.layout}")
    per_direction = 4 if options.bias else 2
    per_layer = 2 * per_direction if options.bidirectional else per_direction
    count = len(weights)
    if count == 0 or count % per_layer:
        raise ArgumentError(
            f"weights must hold {per_layer} tensors a layer (bias={options.bias}, "
            f"bidirectional={options.bidirectional}), got {count} tensors"
        )
    if weights[1].dim() != 2 or weights[1].shape[1] == 0:
        raise ArgumentError(f"weights[1] (weight_hh of layer 0) must be [3*H, H], got {list(weights[1].shape)}")
    size = weights[1].shape[1]
    rows = 3 * size
    features = input.shape[-1]
    for index, weight in enumerate(weights):
        place = index % per_direction
        expected = (rows,) if place > 1 else (rows, size if place else features)
        if weight.shape != expected:
            raise _weight_error(weights, index, per_layer, expected, features, size)
        if weight.dtype is not dtype or weight.device != device:
            raise ArgumentTypeError(
                f"weights[{index}] must be {dtype} on {device} as input is, got {weight.dtype} on {weight.device}"
            )
        if index % per_layer == per_layer - 1:
            features = 2 * size if options.bidirectional else size
    return count // per_layer


def _weight_error(
    weights: Sequence[Tensor], index: int, per_layer: int, expected: tuple[int, ...], features: int, size: int
) -> ArgumentError:
    per_direction = 4 if weights[2:] and weights[2].dim() == 1 else 2
    name = ("weight_ih", "weight_hh", "bias_ih", "bias_hh")[index % per_direction]
    symbols = {"weight_ih": "[3*H, I]", "weight_hh": "[3*H, H]"}.get(name, "[3*H]")
    source = "input" if index < per_layer else "the layer below"
    return ArgumentError(
        f"weights[{index}] ({name} of layer {index // per_layer}) must be {symbols} = {list(expected)}, "
        f"got {list(weights[index].shape)}; H is {size} from weights[1] (weight_hh), I is {features} from {source}"
    )
