"""Programs that scripts create to set seeds; they contain no operators."""

from anygru.extend import not_covered

__all__ = ["default_main_program", "default_startup_program"]


class Program:
    """A placeholder for the program of a static graph: it has a `random_seed`, only."""

    random_seed = 0

    def __getattr__(self, name: str) -> object:
        if name.startswith("__"):
            raise AttributeError(name)
        raise not_covered(f"paddle.static.Program.{name}")


_main, _startup = Program(), Program()


def default_main_program() -> Program:
    """The program that would be built; in a dynamic graph its seed has no effect, as in 2.6."""
    return _main


def default_startup_program() -> Program:
    """The program that would make parameters."""
    return _startup
