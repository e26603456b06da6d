"""A user's wishes for a parameter: name, initial values, learning rate, regularizer."""

from typing import Any, TypeAlias

from ..nn.initializer.initializer import Initializer
from ..regularizer import WeightDecayRegularizer

__all__ = ["ParamAttr"]


class ParamAttr:
    """Wishes for a parameter, accepted wherever a layer takes `weight_attr`, `bias_attr` or `param_attr`.

    Args:
        name: the parameter's name, used once; by default made from the layer's name.
        initializer: gives the initial values; default: the layer's.
        learning_rate: factor on the optimizer's learning rate.
        regularizer: weight decay of this parameter, instead of the optimizer's.
        trainable: False freezes the parameter.
        do_model_average: kept for scripts; model averaging is not covered.
        need_clip: False exempts the parameter from gradient clipping.
    """

    def __init__(
        self,
        name: str | None = None,
        initializer: Any = None,
        learning_rate: float = 1.0,
        regularizer: Any = None,
        trainable: bool = True,
        do_model_average: bool = True,
        need_clip: bool = True,
    ) -> None:
        self.name = name
        self.initializer = initializer
        self.learning_rate = learning_rate
        self.regularizer = regularizer
        self.trainable = trainable
        self.do_model_average = do_model_average
        self.need_clip = need_clip

    def with_name(self, name: str | None) -> "ParamAttr":
        """The same wishes under another name."""
        return ParamAttr(
            name, self.initializer, self.learning_rate, self.regularizer, self.trainable, self.do_model_average,
            self.need_clip,
        )  # fmt: skip

    @staticmethod
    def _to_attr(value: Any) -> Any:
        """The meaning of a layer's `..._attr` argument: False means no parameter; any other value becomes a ParamAttr.

        Raises:
            TypeError: unless it is None, a bool, a name, an initializer, a regularizer or a ParamAttr.
        """
        if isinstance(value, (list, tuple)):
            return [ParamAttr._to_attr(each) for each in value]
        if value is None or value is True:
            return ParamAttr()
        if isinstance(value, ParamAttr):
            return value
        if isinstance(value, str):
            return ParamAttr(name=value)
        if isinstance(value, Initializer):
            return ParamAttr(initializer=value)
        if isinstance(value, WeightDecayRegularizer):
            return ParamAttr(regularizer=value)
        if value is False:
            return False
        raise TypeError(f"{type(value)} cast to ParamAttr")


Attribute: TypeAlias = "ParamAttr | Initializer | WeightDecayRegularizer | str | bool | None"
"""A layer's argument `weight_attr`, `bias_attr` and `param_attr`."""
