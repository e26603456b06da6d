"""The updater for copies of a model on several devices of one process."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ... import backend
from ...dataset import convert
from ...dataset.base import Iterator
from ...optimizer import Optimizer
from .standard_updater import StandardUpdater, as_arguments

if TYPE_CHECKING:
    from ..trainer import Trainer

__all__ = ["ParallelUpdater"]


class ParallelUpdater(StandardUpdater):
    """Each batch is dealt out to copies of the model on several devices, whose gradients are added up.

    Args:
        models: models by name, "main" among them; by default copies of the optimizer's target.
        devices: devices by name, one of them "main".
        For the others see `StandardUpdater`.
    """

    def __init__(
        self,
        iterator: Iterator | dict[str, Iterator],
        optimizer: Optimizer | dict[str, Optimizer],
        converter: Callable[..., Any] = convert.concat_examples,
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
        names = list(self._models)
        for model in self._models.values():
            model.cleargrads()
        losses = []
        for i, name in enumerate(names):
            part = batch[i :: len(names)]
            if not part:
                continue
            model = self._models[name]
            arrays = convert.call_converter(self.converter, part, self._devices.get(name))
            args, kwargs = as_arguments(arrays)
            losses.append((self.loss_func or model)(*args, **kwargs))
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
