"""Operators of Paddle 1.x that scripts call by their type: `layer._helper.append_op(type="linear_chain_crf", ...)`."""

from collections.abc import Callable
from typing import Any

from anygru.extend import not_covered

from ..base.layer_helper import LayerHelper
from ..nn.functional.operators import OPERATORS
from .layers import crf, functions

Inputs = dict[str, Any]


def _first(value: Any) -> Any:
    return value[0] if isinstance(value, (list, tuple)) else value


def _crf(inputs: Inputs, attrs: Inputs) -> Inputs:
    names = ("Emission", "Transition", "Label", "Length")
    return {"LogLikelihood": crf.linear_chain_crf(*(_first(inputs.get(name)) for name in names))}


def _decoding(inputs: Inputs, attrs: Inputs) -> Inputs:
    names = ("Emission", "Transition", "Label", "Length")
    return {"ViterbiPath": crf.crf_decoding(*(_first(inputs.get(name)) for name in names))}


def _chunks(inputs: Inputs, attrs: Inputs) -> Inputs:
    names = ("Precision", "Recall", "F1-Score", "NumInferChunks", "NumLabelChunks", "NumCorrectChunks")
    tags, labels, lengths = (_first(inputs.get(name)) for name in ("Inference", "Label", "SeqLength"))
    return dict(zip(names, crf.chunk_eval(tags, labels, seq_length=lengths, **attrs), strict=True))


def _of_layers(name: str, arguments: str, options: str = "") -> Any:
    """The operator computed by a function of `fluid.layers.functions`."""
    return _of(getattr(functions, name), name, arguments, options)


def _of(function: Callable[..., Any], name: str, arguments: str, options: str = "") -> Any:
    """The operator computed by a function: its inputs in order, and the attributes that it takes.

    It refuses other attributes, except attributes that choose a library.
    """

    def operator(inputs: Inputs, attrs: Inputs) -> Inputs:
        unknown = attrs.keys() - options.split() - {"use_cudnn", "use_mkldnn"}
        if unknown:
            raise not_covered(
                f"paddle's operator {name!r} with the attribute {min(unknown)!r}", f"paddle.fluid.layers.{name}"
            )
        values = [inputs[key] if name in ("concat", "sum") else _first(inputs[key]) for key in arguments.split()]
        return {"Out": function(*values, **{key: attrs[key] for key in options.split() if key in attrs})}

    return operator


LayerHelper.operators.update(
    linear_chain_crf=_crf, crf_decoding=_decoding, chunk_eval=_chunks, sum=_of_layers("sum", "X")
)
LayerHelper.operators["mul"] = _of_layers("mul", "X Y", "x_num_col_dims y_num_col_dims")
LayerHelper.operators["concat"] = _of_layers("concat", "X", "axis")
for _name in ("add", "sub", "mul", "div", "max", "min", "pow"):
    LayerHelper.operators[f"elementwise_{_name}"] = _of_layers(f"elementwise_{_name}", "X Y", "axis")
LayerHelper.operators["softmax"] = _of_layers("softmax", "X", "axis")
LayerHelper.operators["leaky_relu"] = _of_layers("leaky_relu", "X", "alpha")
LayerHelper.operators["gelu"] = _of_layers("gelu", "X", "approximate")
LayerHelper.operators["mean"] = _of_layers("mean", "X")
for _name, _function in OPERATORS.items():
    LayerHelper.operators.setdefault(_name, _of(_function, _name, "X"))
