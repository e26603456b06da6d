"""Names that are given once: `linear_0`, `linear_0.w_0`, `generated_tensor_3`."""

import contextlib
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

__all__ = ["generate", "generate_with_ignorable_key", "guard", "switch"]


class UniqueNameGenerator:
    """Counts each key from 0; `prefix` is the prefix of every name."""

    def __init__(self, prefix: str | None = None) -> None:
        self.ids: dict[str, int] = defaultdict(int)
        self.prefix = prefix or ""

    def __call__(self, key: str) -> str:
        number = self.ids[key]
        self.ids[key] += 1
        return f"{self.prefix}{key}_{number}"


class DygraphParameterNameChecker:
    """Remembers the parameter names of this numbering, so that names are unique."""

    def __init__(self) -> None:
        self._names: set[str] = set()

    def __call__(self, name: str) -> bool:
        """True if `name` has been used before; afterwards it counts as used."""
        used = name in self._names
        self._names.add(name)
        return used


generator = UniqueNameGenerator()
dygraph_parameter_name_checker = DygraphParameterNameChecker()


def generate(key: str) -> str:
    """The next name of the form `key_N`."""
    return generator(key)


generate_with_ignorable_key = generate


def switch(new_generator: Any = None, new_para_name_checker: Any = None) -> tuple[Any, Any]:
    """Replace the counters (by fresh ones, unless given) and return the old ones."""
    global generator, dygraph_parameter_name_checker
    old = generator, dygraph_parameter_name_checker
    generator = UniqueNameGenerator() if new_generator is None else new_generator
    dygraph_parameter_name_checker = (
        DygraphParameterNameChecker() if new_para_name_checker is None else new_para_name_checker
    )
    return old


@contextlib.contextmanager
def guard(new_generator: Any = None) -> Iterator[None]:
    """Number from 0 within the block; a string becomes the prefix of every name."""
    if isinstance(new_generator, bytes):
        new_generator = new_generator.decode()
    if isinstance(new_generator, str):
        new_generator = UniqueNameGenerator(new_generator)
    old = switch(new_generator)
    try:
        yield
    finally:
        switch(*old)


def parameter_name_taken(name: str) -> bool:
    """Register a parameter's name; True if this numbering has it already."""
    return dygraph_parameter_name_checker(name)
