"""Updaters: one update of the models at a time, on one device or several of one process."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ... import backend
from ...dataset import Iterator, call_converter, concat_examples
from ...function import force_backprop_mode
from ...optimizer import Optimizer
from ...serializer import AbstractSerializer
from ...types import DeviceSpec
from ...utils import argument

if TYPE_CHECKING:
    from ..trainer import Trainer

__all__ = ["ParallelUpdater", "StandardUpdater", "Updater"]


class Updater:
    """Does one update of the models at a time."""

    def connect_trainer(self, trainer: "Trainer") -> None:
        """Called with the trainer that will use it."""

    def finalize(self) -> None:
        """Release its resources."""
        raise NotImplementedError

    def get_optimizer(self, name: str) -> Any:
        """The optimizer of a name."""
        raise NotImplementedError

    def get_all_optimizers(self) -> dict[str, Any]:
        """All optimizers by name."""
        raise NotImplementedError

    def update(self) -> None:
        """Do one update."""
        raise NotImplementedError

    def serialize(self, serializer: AbstractSerializer) -> None:
        """Save or load the state."""
        raise NotImplementedError


class StandardUpdater(Updater):
    """Converts a batch to arrays, and updates the optimizer's target by the loss.

    Args:
        iterator: iterator of the training set, or a dictionary of them with "main".
        optimizer: optimizer, or a dictionary of them with "main".
        converter: converts a batch to arrays.
        device: the device of models and arrays; None: they are not moved.
        loss_func: gives the loss instead of the optimizer's target.
        loss_scale: see `Optimizer.set_loss_scale`.
        auto_new_epoch: call the optimizer's `new_epoch` at the end of each epoch.
        input_device: the device of the arrays, by default `device`.
    """

    def __init__(
        self,
        iterator: Iterator | dict[str, Iterator],
        optimizer: Optimizer | dict[str, Optimizer],
        converter: Callable[..., Any] = concat_examples,
        device: DeviceSpec = None,
        loss_func: Callable[..., Any] | None = None,
        loss_scale: float | None = None,
        auto_new_epoch: bool = True,
        **kwargs: Any,
    ) -> None:
        (input_device,) = argument.parse_kwargs(kwargs, ("input_device", None))
        self._device = None if device is None else backend.get_device(device)
        self._input_device = self._device if input_device is None else backend.get_device(input_device)
        self._iterators: dict[str, Any] = {"main": iterator} if isinstance(iterator, Iterator) else iterator
        self._optimizers = optimizer if isinstance(optimizer, dict) else {"main": optimizer}
        for one in self._optimizers.values():
            if self._device is not None:
                one.target.to_device(self._device)
            if loss_scale is not None:
                one.set_loss_scale(loss_scale)
            if auto_new_epoch:
                one.use_auto_new_epoch = True
        self.converter = converter
        self.loss_func = loss_func
        self.loss_scale = loss_scale
        self.auto_new_epoch = auto_new_epoch
        self.iteration = 0

    device = property(lambda self: self._device, doc="The device of the models; None if they were not moved.")

    @property
    def input_device(self) -> Any:
        """The device of the arrays; None if they are not moved."""
        return self._input_device

    epoch = property(lambda self: self._iterators["main"].epoch, doc="Number of epochs done.")

    @property
    def epoch_detail(self) -> float:
        """Number of epochs done, with the fraction of the present one."""
        return self._iterators["main"].epoch_detail

    @property
    def previous_epoch_detail(self) -> float | None:
        """`epoch_detail` before the last update; None before the first."""
        return self._iterators["main"].previous_epoch_detail

    @property
    def is_new_epoch(self) -> bool:
        """Whether the last update ended an epoch."""
        return self._iterators["main"].is_new_epoch

    def finalize(self) -> None:
        for iterator in self._iterators.values():
            iterator.finalize()

    def get_optimizer(self, name: str) -> Any:
        return self._optimizers[name]

    def get_all_optimizers(self) -> dict[str, Any]:
        return dict(self._optimizers)

    def get_iterator(self, name: str) -> Any:
        """The iterator of a name."""
        return self._iterators[name]

    def update(self) -> None:
        self.update_core()
        self.iteration += 1

    def update_core(self) -> None:
        """One update; override it for other procedures."""
        iterator = self._iterators["main"]
        arrays = call_converter(self.converter, iterator.next(), self.input_device)
        optimizer = self._optimizers["main"]
        lossfun = self.loss_func or optimizer.target
        args, kwargs = as_arguments(arrays)
        optimizer.update(lossfun, *args, **kwargs)
        if self.auto_new_epoch and iterator.is_new_epoch:
            optimizer.new_epoch(auto=True)

    def serialize(self, serializer: AbstractSerializer) -> None:
        for name, iterator in self._iterators.items():
            iterator.serialize(serializer["iterator:" + name])
        for name, optimizer in self._optimizers.items():
            optimizer.serialize(serializer["optimizer:" + name])
            optimizer.target.serialize(serializer["model:" + name])
        self.iteration = serializer("iteration", self.iteration)


def as_arguments(arrays: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """How a converter's result is handed over: a tuple as arguments, a dictionary as keywords."""
    if isinstance(arrays, dict):
        return (), arrays
    return (arrays if isinstance(arrays, tuple) else (arrays,)), {}


class ParallelUpdater(StandardUpdater):
    """Each batch is divided among copies of the model on several devices, and their gradients are added.

    Args:
        models: models by name, "main" among them; by default copies of the optimizer's target.
        devices: devices by name, one of them "main".
        Other arguments: see `StandardUpdater`.
    """

    def __init__(
        self,
        iterator: Iterator | dict[str, Iterator],
        optimizer: Optimizer | dict[str, Optimizer],
        converter: Callable[..., Any] = concat_examples,
        models: dict[str, Any] | None = None,
        devices: dict[str, Any] | None = None,
        loss_func: Callable[..., Any] | None = None,
        loss_scale: float | None = None,
        auto_new_epoch: bool = True,
    ) -> None:
        super().__init__(iterator, optimizer, converter, None, loss_func, loss_scale, auto_new_epoch)
        if models is None:
            if devices is None:
                raise ValueError("either models or devices must be specified")
            if "main" not in devices:
                raise KeyError("'devices' must contain a 'main' key.")
        named = {name: backend.get_device(d) for name, d in (devices or {}).items()}
        main = self._optimizers["main"].target
        if models is None:
            models = {"main": main, **{name: main.copy("copy") for name in named if name != "main"}}
        for name, device in named.items():
            models[name].to_device(device)
        self._models = models
        self._devices = named

    def connect_trainer(self, trainer: "Trainer") -> None:
        """Let the copies report under the name of the model."""
        for name, model in self._models.items():
            if name != "main":
                trainer.reporter.add_observer(name, model)
                trainer.reporter.add_observers(name, model.namedlinks(skipself=True))

    def update_core(self) -> None:
        optimizer, main = self._optimizers["main"], self._models["main"]
        iterator = self.get_iterator("main")
        batch = iterator.next()
        names, losses = list(self._models), []
        parts = {name: part for i, name in enumerate(names) if (part := batch[i :: len(names)])}
        arrays = {name: call_converter(self.converter, part, self._devices.get(name)) for name, part in parts.items()}
        for model in self._models.values():
            model.cleargrads()
        for name, given in arrays.items():
            args, kwargs = as_arguments(given)
            with force_backprop_mode(), self._models[name].device.create_context():
                losses.append((self.loss_func or self._models[name])(*args, **kwargs))
        for model in self._models.values():
            model.cleargrads()  # of parameters that the forward pass has initialized
        for loss in losses:
            loss.backward(loss_scale=self.loss_scale)
        for name, model in self._models.items():
            if name != "main":
                main.addgrads(model)
        optimizer.update()
        for name, model in self._models.items():
            if name != "main":
                model.copyparams(main)
        if self.auto_new_epoch and iterator.is_new_epoch:
            optimizer.new_epoch(auto=True)
