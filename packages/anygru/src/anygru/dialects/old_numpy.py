"""Restore NumPy 1 behaviour for scripts: removed names, `int()` of arrays of one number, ragged arrays, bytes, printing.

The originals ended with NumPy 1.23 at the latest. A script written for them uses `np.int`, `np.product`,
`int(loss.numpy())` for an array of shape [1], and `np.array(sentences)` for lists of different lengths; NumPy 1.24 to 2.4
took these away. `install` restores them for code of the
script: code outside of the standard library, installed packages and anygru. Packages see
NumPy unchanged, so that checks such as `hasattr(numpy, "int")` are right.
"""

import ctypes
import functools
import gc
import os
import sys
import warnings
from collections.abc import Callable
from typing import Any

import numpy

from .callers import is_called_by_script

NOTE = "ANYGRU_NUMPY_NOTE"
"""The environment variable that hides the note about promotion where it is "0"."""

# Old name -> present name.
RENAMED = {
    "Inf": "inf", "Infinity": "inf", "NAN": "nan", "NaN": "nan", "PINF": "inf", "alltrue": "all", "bool8": "bool_",
    "bytes0": "bytes_", "cfloat": "complex128", "clongfloat": "clongdouble", "complex_": "complex128",
    "cumproduct": "cumprod", "float_": "float64", "infty": "inf", "int0": "intp", "longcomplex": "clongdouble",
    "longfloat": "longdouble", "mat": "asmatrix", "object0": "object_", "product": "prod", "rank": "ndim",
    "round_": "round", "row_stack": "vstack", "singlecomplex": "complex64", "sometrue": "any", "str0": "str_",
    "string_": "bytes_", "trapz": "trapezoid", "typeDict": "sctypeDict", "uint0": "uintp", "unicode_": "str_",
    "void0": "void",
}  # fmt: skip


def asfarray(a: Any, dtype: Any = numpy.float64) -> numpy.ndarray:
    """An array of floating point numbers (NumPy 1.23)."""
    return numpy.asarray(a, dtype if numpy.issubdtype(dtype, numpy.inexact) else numpy.float64)


# Old name -> value.
REMOVED = {
    "NINF": -numpy.inf, "NZERO": -0.0, "PZERO": 0.0, "alen": lambda a: len(numpy.atleast_1d(a)),
    "asfarray": asfarray, "asscalar": lambda a: a.item(), "bool": bool, "complex": complex, "float": float,
    "in1d": lambda ar1, ar2, **options: numpy.isin(numpy.ravel(ar1), ar2, **options), "int": int, "long": int,
    "msort": lambda a: numpy.sort(a, axis=0), "object": object, "str": str, "unicode": str,
}  # fmt: skip


def install() -> None:
    """Bring the old NumPy back for the script, in this process. A second call changes nothing."""
    if not hasattr(numpy, "_anygru_getattr"):
        numpy._anygru_getattr = numpy.__getattr__  # type: ignore[attr-defined]
        numpy.__getattr__ = _getattr_for(numpy.__getattr__)  # type: ignore[method-assign]
        for name in ("array", "asanyarray", "asarray", "copy"):
            setattr(numpy, name, _taking_ragged(getattr(numpy, name)))
        numpy.fromstring = _taking_bytes(numpy.fromstring)
        if numpy.lib.NumpyVersion(numpy.__version__) >= "2.0.0":
            numpy.set_printoptions(
                legacy="1.25"
            )  # `[0.5]` for `[np.float32(0.5)]`; the only change visible to packages
            _print_promotion_note()
        for convert, slot in ((int, 16), (float, 18)):
            if _numpy_refuses(convert):
                _convert_arrays_of_one_number(f"__{convert.__name__}__", slot)


def _print_promotion_note() -> None:
    """Print once, for the program and all its processes, that NumPy 2 promotes dtypes differently (NEP 50).

    Old promotion cannot be restored from here. NumPy 2.2 removed its switch, and the arrays are made by the script with
    NumPy alone, so that `__array_ufunc__` of arrays that a dialect returns does not see the sum.
    """
    if os.environ.get(NOTE) != "0":
        os.environ[NOTE] = "0"  # the program's other processes inherit it
        print(
            f"anygru run: NumPy {numpy.__version__} makes float32_array * np.float64(2) float64; NumPy 1, with which the "
            f"program was written, kept float32. Its dtypes: pip install 'numpy<2' (Python 3.12 or older). Hide this: {NOTE}=0",
            file=sys.stderr,
        )


def _getattr_for(present: Callable[[str], Any]) -> Callable[[str], Any]:
    def __getattr__(name: str) -> Any:
        if (name in RENAMED or name in REMOVED) and is_called_by_script(sys._getframe(1)):
            return getattr(numpy, RENAMED[name]) if name in RENAMED else REMOVED[name]
        return present(name)

    return __getattr__


def _taking_ragged(present: Callable[..., numpy.ndarray]) -> Callable[..., numpy.ndarray]:
    """Wrap a function of NumPy: for the script, sequences of different lengths become an array of objects, as before 1.24."""
    as_objects = numpy.array

    @functools.wraps(present)
    def call(*args: Any, **kwargs: Any) -> numpy.ndarray:
        try:
            return present(*args, **kwargs)
        except ValueError as error:
            given = args[0] if len(args) == 1 and "dtype" not in kwargs else None
            if given is None or "inhomogeneous" not in str(error) or not is_called_by_script(sys._getframe(1)):
                raise
        return present(as_objects(given, dtype=object), **kwargs)

    return call


def _taking_bytes(present: Callable[..., numpy.ndarray]) -> Callable[..., numpy.ndarray]:
    """`numpy.fromstring` that accepts bytes from the script, as before 2.3; `frombuffer` does so since."""

    @functools.wraps(present)
    def fromstring(string: Any, dtype: Any = float, count: int = -1, sep: str = "", **kwargs: Any) -> numpy.ndarray:
        if sep == "" and not kwargs and is_called_by_script(sys._getframe(1)):
            raw = string.encode("latin-1") if isinstance(string, str) else string
            return numpy.frombuffer(raw, dtype, count).copy()
        return present(string, dtype, count, sep=sep, **kwargs)

    return fromstring


def _numpy_refuses(convert: type[int] | type[float]) -> bool:
    """Whether this NumPy takes no array of one axis: NumPy 2.4 and later do so, earlier ones warn."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            convert(numpy.ones(1))
        except TypeError:
            return True
    return False


def _convert_arrays_of_one_number(name: str, slot: int) -> None:
    """Let `int()` or `float()` take any array of one number where the script calls it.

    NumPy's class cannot be changed by Python's own means, and rewriting the script's source would miss `"%d" % a` and the
    main file, which plain Python runs. So the method goes into the dictionary of the class, and the class gets the C
    function by which CPython calls methods that Python code defines. It stays for the life of the process. Two test
    classes verify the memory layout first; if it differs, nothing is changed.

    Args:
        name: the method's name.
        slot: place of its C function in CPython's `PyNumberMethods`, which is the same from Python 3.3 on.
    """
    if sys.implementation.name != "cpython" or not getattr(sys, "_is_gil_enabled", lambda: True)():
        return
    present = getattr(numpy.ndarray, name)

    def convert(array: numpy.ndarray) -> Any:
        if array.ndim and array.size == 1 and is_called_by_script(sys._getframe(1)):
            array = array.reshape(())
        return present(array)

    convert.__name__ = name
    with_method, without = type("With", (), {name: convert}), type("Without", (), {})
    methods = gc.get_referents(numpy.ndarray.__dict__)[0]
    if not (_number_methods(with_method)[slot] and not _number_methods(without)[slot] and methods.get(name) is present):
        return
    methods[name] = convert
    ctypes.pythonapi.PyType_Modified(ctypes.py_object(numpy.ndarray))
    _number_methods(numpy.ndarray)[slot] = _number_methods(with_method)[slot]


def _number_methods(cls: type) -> Any:
    """The C functions of a class for numbers: `PyTypeObject.tp_as_number`, after the head and nine other pointers."""
    word = ctypes.sizeof(ctypes.c_void_p)
    place = id(cls) + object.__basicsize__ + word + 9 * word
    return ctypes.cast(ctypes.c_void_p.from_address(place).value, ctypes.POINTER(ctypes.c_void_p))  # type: ignore[arg-type]
