"""`TranslatedLayer`: a saved forward pass with its weights, and the files that hold it.

`NAME.pdmodel` is a zip archive of anygru's own: `anygru.json` describes the program's inputs, and `eval.pt2` and `train.pt2`
are
programs of torch.export. `NAME.pdiparams` holds the weights by name, as `paddle.save` writes them.
"""

import io
import json
import os
import zipfile
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch.export.passes import move_to_device_pass

from anygru.extend import not_covered, open_for_replace

from ..base import unique_name
from ..base.core import expected_place
from ..base.framework import EagerParamBase, make_parameter
from ..framework.dtype import as_dtype, torch_dtype
from ..framework.io import load, save
from ..nn.layer.layers import Layer
from ..static.input import InputSpec
from ..tensor.operation import as_torch, plain, wrap_all

__all__ = ["INFER_MODEL_SUFFIX", "INFER_PARAMS_SUFFIX", "TranslatedLayer"]

INFER_MODEL_SUFFIX = ".pdmodel"
INFER_PARAMS_SUFFIX = ".pdiparams"
_FACTS = "anygru.json"
_MOST_FACTS = 16 << 20  # bytes; a damaged file may claim any size
_MARK = {"format": "anygru's own file of paddle.jit.save", "version": 1}
Program = Callable[[list[torch.Tensor], list[torch.Tensor]], Any]


class TranslatedLayer(Layer):
    """The result of `paddle.jit.load`: a layer with a saved program as its forward pass.

    Args:
        programs: by the mode, "eval" or "train"; or the reason why there is no program.
        persistable_vars: the weights by name.
        specs: the inputs.
    """

    def __init__(self, programs: dict[str, Any], persistable_vars: dict[str, Any], specs: list[InputSpec]) -> None:
        super().__init__()
        self._programs = programs
        self._specs = specs
        self._persistable_var_name_dict: dict[str, str] = {}
        with unique_name.guard():
            for name, weight in persistable_vars.items():
                is_parameter = isinstance(weight, EagerParamBase)
                own = unique_name.generate("param" if is_parameter else "buffer")
                self._persistable_var_name_dict[name] = own
                (self.add_parameter if is_parameter else self.register_buffer)(own, weight)
        self.eval()

    def forward(self, *inputs: Any) -> Any:
        """The results of the saved forward pass, in training with gradients, as in Paddle 2.6.2 (recorded).

        Raises:
            ValueError: for inputs that do not fit the `input_spec` of `paddle.jit.save`.
            NotCoveredError: in training, if the layer's training pass could not be saved.
        """
        mode = "train" if self.training else "eval"
        program = self._programs[mode]
        if isinstance(program, str):
            raise not_covered(f"paddle.jit.load(...).train() of this layer ({program})", "eval()")
        given = [plain(as_torch(each)) for each in inputs]
        self._check(given)
        held = [getattr(self, own) for own in self._persistable_var_name_dict.values()]
        weights = [plain(each.detach() if each.stop_gradient else each) for each in held]
        with torch.set_grad_enabled(torch.is_grad_enabled() and self.training):
            return wrap_all(program(weights, given))

    def _check(self, given: list[torch.Tensor]) -> None:
        if len(given) != len(self._specs):
            raise ValueError(f"(InvalidArgument) the saved layer takes {len(self._specs)} inputs, got {len(given)}")
        for each, spec in zip(given, self._specs, strict=True):
            fits = each.dim() == len(spec.shape) and all(
                wanted in (-1, length) for wanted, length in zip(spec.shape, each.shape, strict=True)
            )
            if not fits or torch_dtype(spec.dtype) != each.dtype:
                raise ValueError(
                    f"(InvalidArgument) the saved layer takes {spec}, got shape {list(each.shape)} and {each.dtype}; None in the "
                    "input_spec of paddle.jit.save leaves a length open"
                )

    def _input_spec(self, method_name: str = "forward") -> list[InputSpec]:
        """The inputs that the program takes."""
        return self._specs


def write(path: str, programs: dict[str, Any], weights: dict[str, Any], specs: Sequence[InputSpec]) -> None:
    """Write a pair of files; `programs` are torch's exported programs, or reasons why there is none."""
    contents = {f"{mode}.pt2": each for mode, each in programs.items() if not isinstance(each, str)}
    reasons = {mode: each for mode, each in programs.items() if isinstance(each, str)}
    described = [
        {"shape": list(each.shape), "dtype": str(as_dtype(each.dtype)).rpartition(".")[2], "name": each.name}
        for each in specs
    ]
    parameters = [name for name, each in weights.items() if isinstance(each, EagerParamBase)]
    trained = [name for name in parameters if not weights[name].stop_gradient]
    facts = {"input_spec": described, "weights": list(weights), "parameters": parameters, "trained": trained}
    text = json.dumps({**_MARK, **facts, "reasons": reasons})
    if os.path.dirname(path):
        os.makedirs(os.path.dirname(path), exist_ok=True)
    if weights:
        save(weights, path + INFER_PARAMS_SUFFIX)
    with open_for_replace(path + INFER_MODEL_SUFFIX) as file, zipfile.ZipFile(file, "w") as archive:
        archive.writestr(_FACTS, text)
        for name, program in contents.items():
            buffer = io.BytesIO()
            torch.export.save(program, buffer)
            archive.writestr(name, buffer.getvalue())


def read(path: str) -> TranslatedLayer:
    """The layer in a pair of files that `write` wrote.

    Raises:
        ValueError: if there are no such files.
        NotCoveredError: for a program that another framework wrote.
    """
    model = path + INFER_MODEL_SUFFIX
    if not os.path.isfile(model):
        raise ValueError(f"The ``path`` ({path}) to load model not exists.")
    if not _is_own(model):
        raise not_covered(
            f"paddle.jit.load of {model}, no program that anygru wrote",
            "paddle.save of layer.state_dict() where it was made",
        )
    with zipfile.ZipFile(model) as archive:
        facts = json.loads(archive.read(_FACTS)) if archive.getinfo(_FACTS).file_size <= _MOST_FACTS else {}
        if {key: facts.get(key) for key in _MARK} != _MARK:
            raise ValueError(f"{model} is of another version of anygru, or damaged: version {facts.get('version')}")
        programs: dict[str, Any] = dict(facts["reasons"])
        for mode in {"eval", "train"} - set(programs):
            program = torch.export.load(io.BytesIO(archive.read(f"{mode}.pt2")))
            programs[mode] = move_to_device_pass(program, expected_place().device).module()
    state = load(path + INFER_PARAMS_SUFFIX) if facts["weights"] else {}
    weights = {name: _weight(name, state[name], facts) for name in facts["weights"]}
    specs = [InputSpec(each["shape"], each["dtype"], each["name"]) for each in facts["input_spec"]]
    return TranslatedLayer(programs, weights, specs)


def _is_own(model: str) -> bool:
    if not zipfile.is_zipfile(model):
        return False
    with zipfile.ZipFile(model) as archive:
        return _FACTS in archive.namelist()


def _weight(name: str, value: Any, facts: dict[str, Any]) -> Any:
    if name not in facts["parameters"]:
        return value
    stem = name.rpartition("_")[0] or name
    return make_parameter(plain(value), unique_name.generate(stem), name in facts["trained"])
