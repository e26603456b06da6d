"""Predictors over the programs that `paddle.jit.save` wrote."""

import os
from collections.abc import Callable
from typing import Any

import numpy as np

from anygru.extend import not_covered

from ..jit.translated_layer import INFER_MODEL_SUFFIX, INFER_PARAMS_SUFFIX, TranslatedLayer, read
from ..tensor.creation import to_tensor
from ..utils.layers_utils import flatten

__all__ = ["Config", "Predictor", "Tensor", "create_predictor", "get_version"]

_WITHOUT_EFFECT = """delete_pass disable_glog_info disable_gpu disable_mkldnn enable_memory_optim enable_mkldnn enable_profile
    set_cpu_math_library_num_threads set_mkldnn_cache_capacity set_optim_cache_dir switch_ir_debug switch_ir_optim
    switch_specify_input_names switch_use_feed_fetch_ops"""
"""Options that change the speed and not the results."""


class Config:
    """The files of a program. Options that only change the speed are accepted and ignored.

    Args:
        prog_file: `NAME.pdmodel`, or the beginning of the names of both files.
        params_file: `NAME.pdiparams`.

    Raises:
        NotCoveredError: for the parameters of another program.
    """

    disable_gpu: Callable[..., None]

    def __init__(self, prog_file: str = "", params_file: str | None = None) -> None:
        self.set_model(prog_file, params_file)

    def set_model(self, prog_file: str, params_file: str | None = None) -> None:
        """Replace the files."""
        name = os.fspath(prog_file).removesuffix(INFER_MODEL_SUFFIX)
        if params_file is not None and os.fspath(params_file) != name + INFER_PARAMS_SUFFIX:
            raise not_covered("paddle.inference.Config with files of different names", "the names of paddle.jit.save")
        self._name = name

    def prog_file(self) -> str:
        """The file of the program."""
        return self._name + INFER_MODEL_SUFFIX

    def params_file(self) -> str:
        """The file of the weights."""
        return self._name + INFER_PARAMS_SUFFIX

    def use_gpu(self) -> bool:
        """Always False: a predictor computes at the place of new tensors."""
        return False

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        raise not_covered(f"paddle.inference.Config.{name}", "paddle.set_device, and paddle.jit.load for the layer")


def _ignored(name: str) -> Callable[..., None]:
    def option(self: Config, *args: Any, **kwargs: Any) -> None:
        return None

    option.__name__, option.__doc__ = name, "No effect on results."
    return option


for _name in _WITHOUT_EFFECT.split():
    setattr(Config, _name, _ignored(_name))


class Tensor:
    """An input or output of a predictor, by name."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._value: np.ndarray | None = None

    def name(self) -> str:
        """The name."""
        return self._name

    def reshape(self, shape: Any) -> None:
        """Announce the shape of the next input; `copy_from_cpu` brings its own."""

    def copy_from_cpu(self, data: np.ndarray) -> None:
        """Set an input.

        Raises:
            TypeError: unless `data` is an array.
        """
        if not isinstance(data, np.ndarray):
            raise TypeError("In copy_from_cpu, we only support numpy ndarray and list[str] data type.")
        self._value = data.copy()

    def copy_to_cpu(self) -> np.ndarray:
        """A copy of the values.

        Raises:
            RuntimeError: before they are set.
        """
        return self._known().copy()

    def shape(self) -> list[int]:
        """The lengths of the axes.

        Raises:
            RuntimeError: before the values are set.
        """
        return list(self._known().shape)

    def _known(self) -> np.ndarray:
        if self._value is None:
            raise RuntimeError(f"(PreconditionNotMet) {self._name} has no values: call copy_from_cpu and run first")
        return self._value


class Predictor:
    """Runs the program of a config in evaluation.

    Raises:
        RuntimeError: if there is no such program.
    """

    def __init__(self, config: Config) -> None:
        if not os.path.isfile(config.prog_file()):
            raise RuntimeError(
                f"(NotFound) Cannot open file {config.prog_file()}, please confirm whether the file is normal."
            )
        self._layer: TranslatedLayer = read(config.prog_file().removesuffix(INFER_MODEL_SUFFIX))
        names = [spec.name or f"x{number}" for number, spec in enumerate(self._layer._input_spec())]
        self._inputs = {name: Tensor(name) for name in names}
        self._outputs: dict[str, Tensor] = {}

    def get_input_names(self) -> list[str]:
        """The names of the inputs, in order."""
        return list(self._inputs)

    def get_output_names(self) -> list[str]:
        """The names of the outputs, in order; [] before the first `run`."""
        return list(self._outputs)

    def get_input_handle(self, name: str) -> Tensor:
        """The input of a name.

        Raises:
            RuntimeError: for another name.
        """
        return self._handle(self._inputs, name)

    def get_output_handle(self, name: str) -> Tensor:
        """The output of a name.

        Raises:
            RuntimeError: for another name, or before the first `run`.
        """
        return self._handle(self._outputs, name)

    def _handle(self, handles: dict[str, Tensor], name: str) -> Tensor:
        if name not in handles:
            raise RuntimeError(
                f"(PreconditionNotMet) The variable named {name} is not found; there are {list(handles)}"
            )
        return handles[name]

    def run(self, inputs: Any = None) -> Any:
        """Compute the outputs from the inputs that were set; True. Given tensors, return a list of tensors instead.

        Raises:
            RuntimeError: if an input was not set.
            ValueError: for inputs that do not fit the program.
        """
        given = inputs if inputs is not None else [to_tensor(each.copy_to_cpu()) for each in self._inputs.values()]
        found = flatten(self._layer(*given))
        if inputs is not None:
            return found
        for number, value in enumerate(found):
            name = f"save_infer_model/scale_{number}.tmp_0"
            self._outputs.setdefault(name, Tensor(name))._value = value.numpy()
        return True

    def clear_intermediate_tensor(self) -> None:
        """Nothing to free."""

    def try_shrink_memory(self) -> int:
        """Nothing to free: 0."""
        return 0


def create_predictor(config: Config) -> Predictor:
    """The predictor of a config.

    Raises:
        RuntimeError: if there is no such program.
        NotCoveredError: for a program that Paddle itself wrote.
    """
    return Predictor(config)


def get_version() -> str:
    """The version of Paddle that is followed."""
    return "version: 2.6.2\n"
