"""Settings of communication among GPUs. They change the speed of OneFlow's scheduler and no number; here they have no effect."""

from collections.abc import Callable

from anygru.extend import names

__all__ = [*names("oneflow").covered["oneflow.boxing.nccl"]]


def _setting(name: str, kind: type) -> Callable[[object], None]:
    def accept(val: object = False) -> None:
        """Accepted without effect. Raises AssertionError for a value of another type than OneFlow takes."""
        assert type(val) is kind, f"boxing.nccl.{name}: val must be of type {kind.__name__}, got {val!r}"

    accept.__name__ = accept.__qualname__ = name
    return accept


globals().update({name: _setting(name, int if name.startswith("set_") else bool) for name in __all__})
