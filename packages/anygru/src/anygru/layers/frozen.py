"""The common base of `FrozenGRU` and `FrozenGRUCell`: weights that are stored in a portable form and packed once.

The stored weights are buffers, named as the parameters of the layer; an int8 matrix has a second buffer for its scale,
named `..._scale`. Where a backend has packed them they are not in memory twice: the buffers are unpacked when someone
reads them (a state_dict, a copy to a device, an export) and let go at the next call.
"""

import os
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from .. import backends
from ..errors import ArgumentError
from ..facts.entries import FORMULA_ENTRY, HALF_ENTRY, SCALE
from ..facts.formula import Activation, Formula
from ..facts.problem import BackendName, Options
from ..facts.quantization import DTYPES, Stored, WeightFormat, check, check_format
from ..facts.weights import MATRICES, Layout
from ..operator.active_modes import is_recorded
from ..operator.frozen_weights import FrozenWeights
from .shared import check_size, layer_repr, refuse_script

_lock = threading.RLock()
"""Guards the buffers of all layers, which are created and dropped."""
if hasattr(os, "register_at_fork"):  # another thread may hold it while a child is forked
    os.register_at_fork(after_in_child=lambda: globals().update(_lock=threading.RLock()))


class Frozen(nn.Module):
    """A layer or cell without parameters.

    Args:
        sizes: I and H.
        names: of the flat weights, in their order.
        weights: the format of the matrices, a name of `quantization.DTYPES`.
        layout, formula, backend, device: as of the layer.
    """

    _defaults: ClassVar[Mapping[str, Any]]
    """The options that `repr` shows, with their defaults."""
    dropout = 0.0
    batch_first = False
    batch_first_states = False
    __prepare_scriptable__ = refuse_script
    _options: Options
    _weights: FrozenWeights
    _entries: frozenset[str]
    """The names of the buffers."""
    _table: dict[str, Tensor]
    """The buffers, for the compiler."""

    def __init__(
        self,
        sizes: tuple[int, int],
        layout: Layout,
        names: Sequence[str],
        weights: WeightFormat,
        formula: Formula,
        backend: BackendName | None,
        device: torch.device | str | int | None,
    ) -> None:
        super().__init__()
        if backend is not None:
            backends.check_name(backend)
        dtype = check_format(weights)
        self.input_size = check_size("input_size", sizes[0])
        self.hidden_size = check_size("hidden_size", sizes[1])
        self._format, self._backend = weights, backend
        self._keeps_shown = False  # in every layer, since torch.export refuses an attribute that a call makes
        self.layout = layout
        self.formula = formula
        self._names = tuple(names)
        stored = []
        for place, shape in enumerate(layout.shapes(*sizes)):
            own = dtype if layout.kinds()[place % layout.per_direction()] in MATRICES else torch.float32
            values = torch.zeros(shape, dtype=own, device=device)
            ones = torch.ones(shape[:-1], dtype=torch.float32, device=device) if own is torch.int8 else None
            stored.append(Stored(values, ones))
        self.replace_weights(stored)
        self.eval()
        self._options = self._make_options()

    def _make_options(self) -> Options:
        return Options(
            self.formula,
            self.layout._replace(num_layers=1),
            self.dropout if self.training else 0.0,
            self.backend,
            batch_first=self.batch_first,
            batch_first_states=self.batch_first_states,
        )

    @property
    def options(self) -> Options:
        """The options of a call, made again only when one of the attributes changes."""
        return self._options

    @property
    def weights(self) -> WeightFormat:
        """The format of the weight matrices."""
        return self._format

    @property
    def _precision(self) -> str:
        return "bfloat16" if self._format == "bfloat16_rows" else "highest"

    @property
    def backend(self) -> BackendName | None:
        return self._backend

    @property
    def reset(self) -> str:
        return self.formula.reset

    @property
    def gate_activation(self) -> Activation:
        return self.formula.gate_activation

    @property
    def activation(self) -> Activation:
        return self.formula.activation

    @property
    def bias(self) -> bool:
        return self.layout.bias

    @property
    def groups(self) -> int:
        return self.layout.groups

    @property
    def input_groups(self) -> int:
        return self.layout.groups if self.layout.splits_input else 1

    @property
    def frozen_weights(self) -> FrozenWeights:
        """The weights as a call takes them."""
        if torch.compiler.is_compiling():
            self._show_for_good()
            return self._from_buffers(self._table, False)
        if self._shown is None:
            return self._weights
        if is_recorded():
            return self._from_buffers(self._buffers, False)
        return self._repack()

    def stored(self) -> list[Stored]:
        """The stored weights, in the order of a layer's flat weights."""
        return self.frozen_weights.stored()

    # The buffers, and when they exist.

    _shown: list[tuple[str, Tensor, int]] | None = None
    """The buffers that were unpacked, with their versions; None while the packed copy is the only one."""
    _keeps_shown = False
    """Whether the buffers exist from now on, since a compiled graph reads them."""

    @property
    def _buffers(self) -> dict[str, Tensor | None]:
        if "_weights" in self.__dict__ and not torch.compiler.is_dynamo_compiling():
            self._show()
        found: dict[str, Tensor | None] = self.__dict__["_buffers"]
        return found

    @_buffers.setter
    def _buffers(self, value: dict[str, Tensor | None]) -> None:
        # The compilers of torch up to 2.10 confuse an entry of `__dict__` with a property of that name.
        self.__dict__["_buffers"] = self.__dict__["_table"] = value

    def __setattr__(self, name: str, value: Any) -> None:
        if name in self.__dict__.get("_entries", ()):
            self._show()
        super().__setattr__(name, value)
        if "_options" in self.__dict__ and (name in self._defaults or name == "training"):
            self._options = self._make_options()

    def __getattr__(self, name: str) -> Any:
        if name in self.__dict__.get("_entries", ()):
            self._show()
        return super().__getattr__(name)

    def _show(self) -> None:
        with _lock:
            if self._shown is None:
                entries = self._make_entries(self._weights.stored())
                self._buffers = {**self.__dict__["_buffers"], **entries}
                self._shown = [(name, tensor, _version(tensor)) for name, tensor in entries.items()]

    def _show_for_good(self) -> None:
        self._show()
        self._keeps_shown = True

    # torch.compiler.assume_constant_result sets this mark: the compiler runs the method while it traces.
    _show_for_good._dynamo_marked_constant = True  # type: ignore[attr-defined]

    def _repack(self) -> FrozenWeights:
        """Packs the buffers again if they were changed since they were unpacked, and drops them."""
        with _lock:
            if self._shown is None:
                return self._weights
            buffers: dict[str, Tensor] = self.__dict__["_buffers"]
            if any(
                buffers.get(name) is not tensor or _version(tensor) != version for name, tensor, version in self._shown
            ):
                self._weights = self._from_changed(buffers)
                self._shown = [(name, buffers[name], _version(buffers[name])) for name, _, _ in self._shown]
            if not self._keeps_shown:
                self._buffers = {name: value for name, value in buffers.items() if name not in self._entries}
                self._shown = None
            return self._weights

    def _make_entries(self, stored: Sequence[Stored]) -> dict[str, Tensor]:
        entries = {}
        for name, (values, scale) in zip(self._names, stored, strict=True):
            entries[name] = values
            if scale is not None:
                entries[name + SCALE] = scale
        marks = {
            FORMULA_ENTRY: self.reset != "after",
            HALF_ENTRY: DTYPES[self.weights] is torch.bfloat16 and not self.bias,
        }
        for name, holds in marks.items():
            if holds:
                entries[name] = torch.ones((), dtype=torch.uint8, device=stored[0].values.device)
        return entries

    def _from_buffers(self, buffers: Mapping[str, Any], packs: bool) -> FrozenWeights:
        stored = [Stored(buffers[name], buffers.get(name + SCALE)) for name in self._names]
        return FrozenWeights(stored, self.layout, self.formula, self.backend, self._precision, packs)

    def _from_changed(self, buffers: Mapping[str, Any]) -> FrozenWeights:
        """The weights that buffers hold which a caller has changed.

        Raises:
            ArgumentError: an entry does not fit (the message names it); the buffers stay unchanged.
        """
        wrong = self._wrong_in(self._make_entries(self._weights.stored()), buffers, self.__class__.__name__ + ".")
        if wrong:
            raise ArgumentError("; ".join(wrong))
        return self._from_buffers(buffers, True)

    def _wrong_in(self, expected: Mapping[str, Tensor], given: Mapping[str, Any], prefix: str) -> list[str]:
        """The faults of the tensors `given` for the entries in `expected`."""
        wrong = [
            f"{prefix}{name}: {reason}"
            for name, tensor in expected.items()
            for reason in _reasons(given.get(name), tensor, self.weights)
        ]
        if wrong:
            return wrong
        stored = [Stored(given[name], given.get(name + SCALE)) for name in self._names]
        return [
            f"{prefix}{name}{part}: {reason}"
            for name, one in zip(self._names, stored, strict=True)
            for part, reason in check(one)
        ]

    def replace_weights(self, stored: Sequence[Stored]) -> None:
        """Replaces the weights by others of the same shapes, and packs them."""
        found = FrozenWeights(stored, self.layout, self.formula, self.backend, self._precision)
        with _lock:
            foreign = self.__dict__["_buffers"]
            if "_entries" in self.__dict__:
                foreign = {name: value for name, value in foreign.items() if name not in self._entries}
            self._entries = frozenset(self._make_entries(stored))
            self._buffers = foreign
            self._weights, self._shown = found, None
        if self._keeps_shown:
            self._show()

    # Copies, files, devices.

    def __getstate__(self) -> dict[str, Any]:
        self._repack()
        state = dict(self.__dict__)
        if self._shown is not None:
            foreign = {name: value for name, value in state["_buffers"].items() if name not in self._entries}
            state.update(_buffers=foreign, _table=foreign, _shown=None, _keeps_shown=False)
        return state

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> "Frozen":
        """Moves the weights to another device; they keep their dtypes, which follow from `weights`."""
        before = self.frozen_weights.stored()
        after = [Stored(_moved(fn, values), None if scale is None else _moved(fn, scale)) for values, scale in before]
        with_foreign = self.__dict__["_buffers"]
        self._buffers = {
            name: value if value is None or name in self._entries else fn(value) for name, value in with_foreign.items()
        }
        same = all(old.values is new.values and old.scale is new.scale for old, new in zip(before, after, strict=True))
        if not same:
            self.replace_weights(after)
        return self

    def load_state_dict(self, state_dict: Mapping[str, Any], strict: bool = True, assign: bool = False) -> Any:
        """As torch.nn.Module's. If it raises, the weights stay unchanged."""
        before = self.frozen_weights
        try:
            return super().load_state_dict(state_dict, strict, assign)
        except RuntimeError:
            if self._weights is not before:
                self.replace_weights(before.stored())
            raise

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
        """Takes all of the weights or, where anything about one is wrong, none."""
        for hook in self._load_state_dict_pre_hooks.values():
            hook(state_dict, prefix, local_metadata, strict, missing, unexpected, errors)
        own = prefix[:-1] or type(self).__name__
        entries = self._make_entries(self.stored())
        if self.reset == "after" and prefix + FORMULA_ENTRY in state_dict:
            errors.append(f"{own} has reset='after', the weights are for reset='before': build the layer with that")
            return
        given = {name: state_dict.get(prefix + name, tensor) for name, tensor in entries.items()}
        missing += [prefix + name for name in entries if prefix + name not in state_dict]
        if strict:
            start = len(prefix)
            names = [key[start:] for key in state_dict if key.startswith(prefix)]
            unexpected += [prefix + name for name in names if "." not in name and name not in entries]
        assigned = local_metadata.get("assign_to_params_buffers", False)
        wrong = self._wrong_in(entries, given, prefix)
        if not assigned:
            wrong += [
                f"{prefix}{name}: has no values, since it is on the device meta"
                for name, tensor in entries.items()
                if not tensor.is_meta and getattr(given[name], "is_meta", False)
            ]
        if wrong:
            errors += wrong
            return
        whole = {
            name: given[name].detach().to(given[name].device if assigned else tensor.device, copy=True)
            for name, tensor in entries.items()
        }
        self.replace_weights([Stored(whole[name], whole.get(name + SCALE)) for name in self._names])

    def extra_repr(self) -> str:
        return layer_repr(self)


def _version(tensor: Tensor) -> int:
    return 0 if tensor.is_inference() else tensor._version


def _moved(fn: Callable[[Tensor], Tensor], tensor: Tensor) -> Tensor:
    found = fn(tensor)
    return found if found.dtype is tensor.dtype else tensor.to(found.device)


def _reasons(given: object, expected: Tensor, weights: str) -> list[str]:
    """Why an entry of a state_dict does not fit a layer with such weights."""
    if not isinstance(given, Tensor):
        return [f"must be a tensor, got {type(given).__name__}"]
    if given.shape != expected.shape:
        return [f"must be {list(expected.shape)}, got {list(given.shape)}"]
    if given.dtype is not expected.dtype:
        return [f"must be {expected.dtype} in a layer with weights={weights!r}, got {given.dtype}"]
    return []
