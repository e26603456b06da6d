"""Helpers for tests of models: comparing arrays, test cases with parameters or fixed random numbers, marks for pytest."""

import contextlib
import functools
import importlib
import inspect
import itertools
import random
import sys
import unittest
import unittest.mock
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import numpy
import torch

from .backends import _cpu
from .configuration import __version__
from .serializers import load_hdf5, load_npz, save_hdf5, save_npz
from .utils.helpers import force_array, tempdir
from .variable import as_array

__all__ = [
    "assert_allclose", "assert_warns", "fix_random", "generate_seed", "parameterize", "patch", "product",
    "product_dict", "run_module", "save_and_load", "save_and_load_hdf5", "save_and_load_npz", "with_requires",
    "without_requires",
]  # fmt: skip


def assert_allclose(x: Any, y: Any, atol: float = 1e-5, rtol: float = 1e-4, verbose: bool = True) -> None:
    """Raise AssertionError unless two arrays or Variables are close, with both in the message."""
    x, y = (_cpu.array_to_cpu(force_array(as_array(value))) for value in (x, y))
    numpy.testing.assert_allclose(x, y, atol=atol, rtol=rtol, verbose=verbose)


Test = TypeVar("Test", bound=Callable[..., Any])


def is_available() -> bool:
    """Whether pytest is installed."""
    return importlib.util.find_spec("pytest") is not None


def _mark(name: str) -> Callable[[Test], Test]:
    def mark(test: Test) -> Test:
        marked: Test = getattr(importlib.import_module("pytest").mark, name)(test)
        return marked

    mark.__doc__ = f"Mark a test as one of `-m {name}`."
    return mark


chainerx, cudnn, ideep, slow = _mark("chainerx"), _mark("cudnn"), _mark("ideep"), _mark("slow")


def multi_gpu(gpu_num: int) -> Callable[[Test], Test]:
    """Mark a test that needs `gpu_num` GPUs; it is skipped on machines with fewer."""
    skip = unittest.skipUnless(torch.cuda.device_count() >= gpu_num, f"{gpu_num} GPUs required")
    return lambda test: skip(_mark("gpu")(test))


def gpu(test: Test) -> Test:
    """Mark a test that needs a GPU; it is skipped where there is none."""
    return multi_gpu(1)(test)


Method = Callable[..., None]


def repeat_with_success_at_least(times: int, min_success: int) -> Callable[[Method], Method]:
    """Run a test method up to `times` times; AssertionError unless `min_success` runs pass."""
    if times < min_success:
        raise AssertionError(f"times must be at least min_success, got {times} and {min_success}")

    def decorate(test: Method) -> Method:
        @functools.wraps(test)
        def run(self: Any, *args: Any, **kwargs: Any) -> None:
            passed = 0
            errors: list[Exception] = []
            while passed < min_success and len(errors) <= times - min_success:
                if passed or errors:  # the runner has set up the first run
                    getattr(self, "tearDown", list)()
                    getattr(self, "setUp", list)()
                try:
                    test(self, *args, **kwargs)
                    passed += 1
                except Exception as error:
                    errors.append(error)
            if passed < min_success:
                raise AssertionError(f"Fail: {len(errors)}, Success: {passed}") from errors[0]

        return run

    return decorate


def repeat(times: int) -> Callable[[Method], Method]:
    """All of `times` runs have to pass."""
    return repeat_with_success_at_least(times, times)


def retry(times: int) -> Callable[[Method], Method]:
    """One of up to `times` runs has to pass."""
    return repeat_with_success_at_least(times, 1)


Parameters = Mapping[str, Any]


def product(parameter: Mapping[str, Sequence[Any]] | Sequence[Sequence[Parameters]]) -> list[dict[str, Any]]:
    """All combinations: of the values of each name, or of one dict from each list."""
    if isinstance(parameter, Mapping):
        return product_dict(*[_choices(names, values) for names, values in sorted(parameter.items())])
    if not isinstance(parameter, list):
        raise TypeError(f"parameter must be either dict or list. Actual: {type(parameter)}")
    if not all(isinstance(one, dict) for choices in parameter for one in choices):
        raise TypeError("parameter must be list of lists of dicts")
    return product_dict(*parameter)


def _choices(names: str, values: Sequence[Any]) -> list[dict[str, Any]]:
    """The values of a name, or of several that are joined by commas, as dicts."""
    if "," not in names:
        return [{names: value} for value in values]
    return [dict(zip(names.split(","), value, strict=True)) for value in values]


def product_dict(*parameters: Sequence[Parameters]) -> list[dict[str, Any]]:
    """All combinations of one dict from each list."""
    return [{key: value for part in parts for key, value in part.items()} for parts in itertools.product(*parameters)]


def parameterize(*params: Parameters) -> Callable[[type], type]:
    """A class of tests runs once for each dict, with its items as attributes. Decorators of this kind may be stacked."""

    def decorate(case: type) -> type:
        variants: list[type] = case.__dict__.get("_variants", [case])
        module = sys.modules[case.__module__]
        made = []
        for variant, (number, given) in itertools.product(variants, enumerate(params)):
            vars(module).pop(variant.__name__, None)
            shown = ", ".join(f"{key}={value!r}" for key, value in sorted(given.items()))
            name = f"{variant.__name__}_param_{number}_{{{shown}}}"
            members = {key: _unbound(value) for key, value in given.items()}
            members |= {"__module__": case.__module__, "__test__": True}
            made.append(type(name, (variant,), members))
            setattr(module, name, made[-1])
        case.__test__ = False  # type: ignore[attr-defined]
        case._variants = made  # type: ignore[attr-defined]
        if issubclass(case, unittest.TestCase):  # unittest ignores `__test__`
            return type(case.__name__, (), {"_variants": made, "__module__": case.__module__, "__test__": False})
        return case

    return decorate


def _unbound(value: Any) -> Any:
    """A value as a class attribute; a function must not become a method."""
    return staticmethod(value) if inspect.isfunction(value) else value


def fix_random() -> Callable[[Any], Any]:
    """The test, or each test of a class, draws the same random numbers at every run."""

    def fixed(test: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(test)
        def run(*args: Any, **kwargs: Any) -> Any:
            states = random.getstate(), numpy.random.get_state()
            numpy.random.seed(100)
            try:
                return test(*args, **kwargs)
            finally:
                random.setstate(states[0])
                numpy.random.set_state(states[1])

        return run

    def decorate(test: Any) -> Any:
        if not isinstance(test, type):
            return fixed(test)
        for name, value in list(vars(test).items()):
            if name.startswith("test") and callable(value):
                setattr(test, name, fixed(value))
        return test

    return decorate


def generate_seed() -> int:
    """A seed, drawn from NumPy's generator."""
    return int(numpy.random.randint(0xFFFFFFFF, dtype=numpy.uint32))


def _are_met(requirements: Sequence[str]) -> bool:
    version = importlib.import_module("packaging.requirements").Requirement
    for requirement in map(version, requirements):
        try:
            found = __version__  # of Chainer: no package of that name is installed
            if requirement.name != "chainer":
                found = importlib.import_module("importlib.metadata").version(requirement.name)
        except ImportError:
            return False
        if found not in requirement.specifier:
            return False
    return True


def with_requires(*requirements: str) -> Callable[[Any], Any]:
    """Skip a test unless packages fulfil requirements such as "numpy>=1.10"."""
    return unittest.skipUnless(_are_met(requirements), f"requires: {','.join(requirements)}")


def without_requires(*requirements: str) -> Callable[[Any], Any]:
    """Skip a test if packages fulfil the requirements."""
    return unittest.skipIf(_are_met(requirements), f"requires: {','.join(requirements)}")


@contextlib.contextmanager
def assert_warns(expected: type[Warning]) -> Iterator[None]:
    """AssertionError unless a warning of this class is given inside the block."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield
    if not any(isinstance(one.message, expected) for one in caught):
        raise AssertionError(f"{expected.__name__} not raised")


def patch(*args: Any, **kwargs: Any) -> Any:
    """`unittest.mock.patch`, which calls the real object if `wraps` is given."""
    return unittest.mock.patch(*args, **kwargs)


def run_module(name: str, file: str) -> None:
    """Run the tests of a file if it is the program."""
    if name == "__main__":
        importlib.import_module("pytest").main([file, "-vvs", "-x", "--pdb"])


def save_and_load(src: Any, dst: Any, filename: str, saver: Callable[..., None], loader: Callable[..., None]) -> None:
    """Save one object to a file of this name in a temporary folder, and load it into another."""
    with tempdir() as folder:
        path = str(Path(folder) / filename)
        saver(path, src)
        loader(path, dst)


def save_and_load_npz(src: Any, dst: Any) -> None:
    """`save_and_load` with NPZ files."""
    save_and_load(src, dst, "tmp.npz", save_npz, load_npz)


def save_and_load_hdf5(src: Any, dst: Any) -> None:
    """`save_and_load` with HDF5 files."""
    save_and_load(src, dst, "tmp.h5", save_hdf5, load_hdf5)
