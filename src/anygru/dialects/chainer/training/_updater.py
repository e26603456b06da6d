"""The base class of updaters."""

from __future__ import annotations

from typing import Any


class Updater:
    """Does one update of the models at a time."""

    def connect_trainer(self, trainer: Any) -> None:
        """Called with the trainer that will use it."""

    def finalize(self) -> None:
        """Give back what it holds."""
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

    def serialize(self, serializer: Any) -> None:
        """Save or load the state."""
        raise NotImplementedError
