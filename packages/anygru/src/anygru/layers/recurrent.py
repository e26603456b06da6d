"""The common base of `GRU` and `GRUCell`: the formula and its mark in a state_dict, the options of a call, initial values."""

import math
import warnings
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import torch
from torch import Tensor, nn
from torch.nn.parameter import UninitializedParameter

from .. import backends
from ..errors import AnygruError, ArgumentTypeError
from ..facts import gates
from ..facts.arguments import check_dropout, check_groups, check_norm, check_update_bias, make_noise
from ..facts.entries import FORMULA_ENTRY, FORMULA_MARK
from ..facts.formula import Activation, Formula, Reset, activation_name, make_formula
from ..facts.modifiers import DropoutOn
from ..facts.problem import BackendName, Options
from ..facts.quantization import WeightFormat, check_format, rounded
from ..facts.weights import MATRICES, Layout
from ..operator.casting import DTYPES
from .shared import layer_repr, refuse_script


class Recurrent(nn.Module):
    """The common base of layer and cell: a formula, a backend's name, torch's initialisation."""

    _defaults: ClassVar[Mapping[str, Any]]
    """The options with their defaults: the optional arguments of `__init__`, and freezes_to."""
    hidden_size: int
    input_size: int
    num_layers: int
    """Of a layer; a cell has no such argument, as torch's."""
    bias: bool
    bidirectional = False
    batch_first = False
    batch_first_states = False
    dropout = 0.0
    norm: Literal["layer"] | None
    zoneout: float
    recurrent_dropout: float
    recurrent_dropout_on: DropoutOn
    weight_dropout = 0.0
    groups: int
    input_groups: int
    gradient_clipping: float | None
    update_bias: float | None
    freezes_to: WeightFormat | None = None
    """The format of the frozen layer that this one is trained for: calls read the weights rounded to it. See
    `anygru.freeze_aware`."""
    _options: Options
    _weight_names: tuple[str, ...]
    __prepare_scriptable__ = refuse_script

    def __init__(
        self,
        reset: Reset,
        gate_activation: Activation,
        activation: Activation,
        backend: BackendName | None,
        dtype: torch.dtype | None,
    ) -> None:
        super().__init__()
        if backend is not None:
            backends.check_name(backend)
        if dtype is not None and dtype not in DTYPES:
            raise ArgumentTypeError(f"dtype must be float32, float64, bfloat16 or float16, got {dtype!r}")
        formula = make_formula(reset, gate_activation, activation)
        self.reset = formula.reset
        self.gate_activation = formula.gate_activation
        self.activation = formula.activation
        self.backend = backend

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Tensor:
            """Parameters have names by layer, direction and kind: weight_ih_l0, bias_hh_l1_reverse, ..."""

    def __setattr__(self, name: str, value: Any) -> None:
        if name == "qconfig":  # set by torch.ao.quantization on every module of a model
            self._answer_quantization(value)
        if "_options" not in self.__dict__ or not (name in self._defaults or name == "training"):
            super().__setattr__(name, value)
            return
        before = getattr(self, name)
        super().__setattr__(name, value)
        try:
            self._update_options()
        except AnygruError:  # the layer does not change
            super().__setattr__(name, before)
            raise

    def _update_options(self) -> None:
        self._options = self._make_options()
        if self.reset == "after":
            self._buffers.pop(FORMULA_ENTRY, None)
        elif FORMULA_ENTRY not in self._buffers:
            device = next(self.parameters()).device
            self.register_buffer(FORMULA_ENTRY, torch.ones((), dtype=torch.uint8, device=device))

    def _make_options(self) -> Options:
        """The options of a call. They are made when an attribute changes, since making them at every call would be slow."""
        formula = make_formula(self.reset, self.gate_activation, self.activation, self.gradient_clipping)
        if self.backend is not None:
            backends.check_name(self.backend)
        dropout = check_dropout(self.dropout)
        check_dropout(self.weight_dropout, "weight_dropout")
        if self.freezes_to is not None:
            check_format(self.freezes_to)
        check_norm(self.norm)
        check_update_bias(self.update_bias, self.bias)
        check_groups(self.groups, self.input_groups)
        return Options(
            formula,
            self._layout._replace(num_layers=1),
            dropout if self.training else 0.0,
            self.backend,
            make_noise(self.zoneout, self.recurrent_dropout, self.recurrent_dropout_on, self.training),
            batch_first=self.batch_first,
            batch_first_states=self.batch_first_states,
        )

    @property
    def _layout(self) -> Layout:
        return Layout(
            getattr(self, "num_layers", 1),
            self.bidirectional,
            self.bias,
            norm=self.norm is not None,
            groups=self.groups,
            splits_input=self.input_groups > 1,
        )

    @property
    def options(self) -> Options:
        """The arguments of a call that are not tensors."""
        return self._options

    @property
    def formula(self) -> Formula:
        """The formula, as `functional.gru` takes it."""
        return self._options.formula

    def reset_parameters(self) -> None:
        """Every parameter uniform in +-1/sqrt(H), as torch.nn.GRU does it (and with the same draws); gains of a norm 1.

        With groups, H is the number of units in a group. With `update_bias` the update gate's biases are set afterwards.
        """
        bound = 1.0 / math.sqrt(self.hidden_size // self.groups)
        for name, parameter in self.named_parameters():
            if name.startswith("gain_"):
                nn.init.ones_(parameter)
            elif not isinstance(parameter, UninitializedParameter):
                nn.init.uniform_(parameter, -bound, bound)
        if self.update_bias is not None:
            for name, parameter in self.named_parameters():
                if name.startswith("bias_"):
                    value = self.update_bias if name.startswith("bias_ih") else 0.0
                    nn.init.constant_(parameter.unflatten(-1, (3, -1)).select(-2, gates.ORDER.index("z")), value)

    def _adopt(self, weights: dict[str, Tensor]) -> None:
        """Replaces the parameters. A plain tensor becomes a parameter that shares its memory."""
        for name, tensor in weights.items():
            shared = tensor if isinstance(tensor, nn.Parameter) else nn.Parameter(tensor.detach(), tensor.requires_grad)
            setattr(self, name, shared)

    def _current(self, names: Sequence[str]) -> list[Any]:
        """The weights that a call reads, by name."""
        found = self._exact(names)
        if self.freezes_to is None:
            return found
        form, size = self.freezes_to, len(MATRICES[0])
        return [rounded(w, form) if name[:size] in MATRICES else w for name, w in zip(names, found, strict=True)]

    @property
    def flat_weights(self) -> list[Tensor]:
        """The present weights, as `functional.gru` takes them."""
        return self._current(self._weight_names)

    def _exact(self, names: Sequence[str]) -> list[Any]:
        """Weights by name; finds parameters without nn.Module's slow attribute lookup."""
        own = self._parameters
        try:
            found = [own[name] for name in names]
        except KeyError:
            # A parametrized or weight-normalised weight is not a parameter any more, but still an attribute.
            found = [getattr(self, name) for name in names]
        if type(found[0]).__name__ == "ExpandedWeight":
            raise ArgumentTypeError(
                f"anygru.{type(self).__name__} takes no expanded weights (call_for_per_sample_grads); for gradients of each "
                "sample use torch.func: vmap(grad(loss)) with functional_call"
            )
        return found

    def _save_to_state_dict(self, destination: Any, prefix: str, keep_vars: bool) -> None:
        super()._save_to_state_dict(destination, prefix, keep_vars)
        formula = {"reset": self.reset, "gate_activation": self.gate_activation, "activation": self.activation}
        usual = Formula()._asdict()
        mark = {
            key: value if isinstance(value, str) else f"the function {activation_name(value)}"
            for key, value in formula.items()
            if value != usual[key]
        }
        if getattr(self, "zoneout", 0.0):
            mark["zoneout"] = repr(float(self.zoneout))
        if mark and hasattr(destination, "_metadata"):  # the tensors have the same names in all formulas
            destination._metadata[prefix[:-1]][FORMULA_MARK] = mark

    def _load_from_state_dict(
        self,
        state_dict: dict[str, Any],
        prefix: str,
        local_metadata: dict[str, Any],
        strict: bool,
        missing: list[str],
        unexpected: list[str],
        errors: list[str],
    ) -> None:
        entry = prefix + FORMULA_ENTRY
        marked = local_metadata.get(FORMULA_MARK, {}).get("reset") == "before"
        if self.reset == "after" and (marked or entry in state_dict):
            own = prefix[:-1] or type(self).__name__
            errors.append(f"{own} has reset='after', the weights are for reset='before': build the layer with that")
        for name in self._parameters:
            given = state_dict.get(prefix + name)
            if isinstance(given, Tensor) and given.dtype is torch.int8:  # would be copied without its scale
                errors.append(
                    f"{prefix}{name} is of a frozen layer: load it into Frozen{type(self).__name__}(..., weights='int8')"
                )
                return
        super()._load_from_state_dict(state_dict, prefix, local_metadata, strict, missing, unexpected, errors)
        if marked and entry in missing:  # the metadata had the formula
            missing.remove(entry)

    def register_forward_hook(self, hook: Any, **options: Any) -> Any:
        """As torch.nn.Module's.

        Raises:
            ArgumentTypeError: the hook is Opacus's, whose gradients of each sample would be wrong: it differentiates the layer by
                the first argument alone, without its state, and takes layers with one result.
        """
        if str(getattr(hook, "__module__", "")).startswith("opacus."):
            raise ArgumentTypeError(
                f"Opacus cannot compute the gradients of each sample of anygru.{type(self).__name__}: train "
                "opacus.layers.DPGRU, or DPGRUCell, and load its state_dict into this class; or use torch.func: "
                "vmap(grad(loss)) with functional_call"
            )
        return super().register_forward_hook(hook, **options)

    def _answer_quantization(self, chosen: object) -> None:
        """`chosen` is the configuration for this layer, None if only others were named."""
        words = f"torch.ao.quantization has no quantized form of anygru.{type(self).__name__}"
        remedy = "anygru.freeze(model, weights='int8') stores its weights as int8"
        if chosen is not None:
            raise ArgumentTypeError(f"{words}: {remedy}; leave it out of the configuration")
        warnings.warn(f"{words}, which does not change: {remedy}", UserWarning, stacklevel=2)

    def extra_repr(self) -> str:
        return layer_repr(self)
