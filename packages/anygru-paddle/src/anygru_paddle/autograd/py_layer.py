"""Functions with custom gradients: Paddle's PyLayer on torch's autograd.Function."""

from typing import Any

import torch

from ..framework.recording import refuse_own_gradients
from ..tensor.differentiable import wrap_gradient
from ..tensor.operation import wrap

__all__ = ["PyLayer", "PyLayerContext"]


class PyLayerContext:
    """The context that `forward` and `backward` share: the tensors saved, and any attribute set on it."""

    def __init__(self) -> None:
        self._saved: tuple[Any, ...] = ()
        self._not_differentiable: tuple[Any, ...] = ()
        self._materialize = True

    def save_for_backward(self, *tensors: Any) -> None:
        """Keep tensors for `backward`; a second call takes the place of the first."""
        self._saved = tensors

    def saved_tensor(self) -> Any:
        """The tensors that `forward` saved."""
        return self._saved

    def mark_not_inplace(self, *args: Any) -> None:
        """Nothing to do: an output that is an input is never changed in place here."""

    def mark_non_differentiable(self, *tensors: Any) -> None:
        """Outputs that get no gradient."""
        self._not_differentiable = tensors

    def set_materialize_grads(self, value: bool) -> None:
        """False gives `backward` None, not zeros, for outputs that the loss does not depend on."""
        self._materialize = bool(value)


class _Call:
    """One call of `apply`: the layer, its context, and the positions of the tensors among the arguments."""

    def __init__(self, layer: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self.layer = layer
        self.context = PyLayerContext()
        self.args, self.kwargs = list(args), dict(kwargs)
        self.places: list[int | str] = [place for place, each in enumerate(args) if isinstance(each, torch.Tensor)]
        self.places += [key for key, each in kwargs.items() if isinstance(each, torch.Tensor)]
        self.outputs: Any = None
        self.tensor_outputs: list[int] = []

    def tensors(self) -> list[torch.Tensor]:
        return [self.kwargs[place] if isinstance(place, str) else self.args[place] for place in self.places]

    def forward(self) -> Any:
        return self.layer.forward(self.context, *self.args, **self.kwargs)


class _Bridge(torch.autograd.Function):
    """The torch function behind every PyLayer."""

    @staticmethod
    def forward(ctx: Any, call: _Call, *tensors: torch.Tensor) -> Any:
        outputs = call.forward()
        several = isinstance(outputs, (tuple, list))
        values = list(outputs) if several else [outputs]
        call.tensor_outputs = [place for place, each in enumerate(values) if isinstance(each, torch.Tensor)]
        if not call.tensor_outputs:
            raise ValueError("(InvalidArgument) At least one output of `PyLayer.forward` is a `Tensor`.")
        call.outputs = outputs
        for place in call.tensor_outputs:
            given = any(values[place] is each for each in call.tensors())
            if given and values[place].is_leaf and values[place].requires_grad:
                raise ValueError(
                    f"(InvalidArgument) Leaf Var ({getattr(values[place], '_name', '')}) that doesn't stop gradient can't use "
                    "inplace strategy."
                )
        results = []
        for place in call.tensor_outputs:
            value = values[place]
            # torch refuses changes in place of an output that is an input or a view.
            copied = value._is_view() or any(value is each for each in tensors)
            results.append(torch.Tensor.clone(value) if copied else value)
        saved = call.context._saved
        # torch keeps the saved tensors and lets them go with the graph; `backward` puts them back.
        call.context._saved = ()
        ctx.plan = [isinstance(each, torch.Tensor) for each in saved]
        # Saved or marked tensors must be the tensors that torch got, not the program's aliases.
        replaced = {id(values[place]): result for place, result in zip(call.tensor_outputs, results, strict=True)}
        ctx.save_for_backward(*(replaced.get(id(each), each) for each in saved if isinstance(each, torch.Tensor)))
        ctx.others = [each for each in saved if not isinstance(each, torch.Tensor)]
        ctx.layer, ctx.context = call.layer, call.context
        ctx.inputs = [list(each.shape) for each in tensors]
        ctx.attributes = [each.__dict__ for each in tensors]  # a tensor itself would keep the graph behind it alive
        ctx.set_materialize_grads(call.context._materialize)
        if call.context._not_differentiable:
            ctx.mark_non_differentiable(*(replaced.get(id(each), each) for each in call.context._not_differentiable))
        call.context._not_differentiable = ()
        return tuple(results)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        others, tensors = iter(ctx.others), iter(ctx.saved_tensors)
        ctx.context._saved = tuple(wrap(next(tensors)) if is_tensor else next(others) for is_tensor in ctx.plan)
        try:
            found = ctx.layer.backward(ctx.context, *(None if grad is None else wrap_gradient(grad) for grad in grads))
        finally:
            ctx.context._saved = ()
        gradients = _gradients(ctx.layer.__name__, found, ctx.needs_input_grad[1:], ctx.inputs)
        for attributes, gradient in zip(ctx.attributes, gradients, strict=True):
            if gradient is not None:
                attributes["_gradient_stops"] = wrap(gradient).stop_gradient
        return (None, *gradients)


def _gradients(name: str, found: Any, needed: Any, inputs: list[Any]) -> list[Any]:
    """The gradients from the user's `backward`, checked against the inputs of `forward`."""
    if found is None and len(inputs) == 1:
        return [None]
    values = list(found) if isinstance(found, tuple) else [found]
    for each in values:
        if each is not None and not isinstance(each, torch.Tensor):
            raise ValueError(
                "(InvalidArgument) We can only support Tensor or None for backward output, but got "
                f"{type(each).__name__}, please check your PyLayer code and make it fits"
            )
    if len(values) > len(inputs):
        raise ValueError(
            f"(InvalidArgument) {name}.backward should return {len(inputs)} gradients, one for each tensor that forward "
            f"was given, but it returned {len(values)}"
        )
    out = []
    for place, shape in enumerate(inputs):
        value = values[place] if place < len(values) else None
        if not needed[place]:
            if value is not None:
                raise ValueError(
                    f"(InvalidArgument) {name}'s backward function should return None at {place} position, because its "
                    "forward Tensor's stop_gradient is true."
                )
        elif place >= len(values):
            raise ValueError(
                f"(InvalidArgument) {name}'s backward function should not return empty at {place} position."
            )
        elif value is not None and list(value.shape) != shape:
            raise ValueError(
                f"(InvalidArgument) {name}'s backward function should return shape {shape} at {place} position, got "
                f"{list(value.shape)}"
            )
        out.append(value)
    return out


class PyLayer:
    """A function with a custom gradient.

    Subclasses give two static methods: `forward(ctx, *args, **kwargs)`, and `backward(ctx, *gradients)`, which returns a
    gradient (or None) for each tensor that `forward` was given. Call it by `apply`.
    """

    @staticmethod
    def forward(ctx: PyLayerContext, *args: Any, **kwargs: Any) -> Any:
        """The function; to be given by subclasses."""
        raise NotImplementedError("You must implement the forward function for PyLayer.")

    @staticmethod
    def backward(ctx: PyLayerContext, *args: Any) -> Any:
        """Its gradient; to be given by subclasses."""
        # Paddle 2.6.2 passes Python's error on through its engine, which makes an OSError of it (recorded).
        raise OSError("(External) NotImplementedError: You must implement the backward function for PyLayer.")

    @classmethod
    def apply(cls, *args: Any, **kwargs: Any) -> Any:
        """Call `forward`, and remember `backward` for the tensors among the arguments.

        Raises:
            ValueError: if `forward` gives no tensor; in the backward pass, if `backward` gives gradients that do not fit.
        """
        refuse_own_gradients("a PyLayer")
        call = _Call(cls, args, kwargs)
        recorded = torch.is_grad_enabled() and any(each.requires_grad for each in call.tensors())
        results = [wrap(each) for each in _Bridge.apply(call, *call.tensors())]
        for result in results:
            if recorded and not (result.is_floating_point() or result.is_complex()):
                result.stop_gradient = False  # integers too (recorded, 2.6.2), where torch has no gradient
        if not isinstance(call.outputs, (list, tuple)):
            return results[0]
        outputs = list(call.outputs)
        for place, result in zip(call.tensor_outputs, results, strict=True):
            outputs[place] = result
        return type(call.outputs)(outputs)


LegacyPyLayer = PyLayer
