"""Names of OneFlow's C++ module and of its settings: shared functions, and the way out of each refused name."""

import sys

import pytest

import anygru_oneflow as flow
from anygru.dialects import NotCoveredError
from anygru.dialects.finder import DialectFinder
from anygru.extend import names


def test_functions_of_the_extension_are_the_functions_of_the_package() -> None:
    x = flow.arange(6.0).reshape(2, 3)
    assert flow._C.stack([x, x]).shape == (2, 2, 3)
    assert flow._C.sort(x, 1)[1].dtype is flow.int32
    assert flow._C.hardtanh is flow.nn.functional.hardtanh
    with pytest.raises(AttributeError, match="stak"):
        flow._C.stak([x, x])


@pytest.mark.parametrize("name", names("oneflow").refused["oneflow._C"])
def test_a_refused_function_names_the_way_out(name: str) -> None:
    refusal = names("oneflow").refused["oneflow._C"][name]
    assert refusal.instead
    if refusal.instead.startswith("oneflow."):
        way: object = flow
        for part in refusal.instead.split(" ")[0].strip(",").split(".")[1:]:
            way = getattr(way, part)
    with pytest.raises(NotCoveredError) as error:
        getattr(flow._C, name)()
    assert refusal.instead in str(error.value)


def test_settings_of_communication_take_the_types_of_oneflow() -> None:
    settings = flow.boxing.nccl
    settings.set_fusion_max_ops_num(10)
    settings.enable_use_compute_stream(True)
    with pytest.raises(AssertionError, match="set_stream_num: val must be of type int, got True"):
        settings.set_stream_num(True)
    with pytest.raises(AssertionError, match="allow_fuse_reduce: val must be of type bool, got 1"):
        settings.allow_fuse_reduce(1)


@pytest.mark.parametrize(
    "statement",
    ["import oneflow.typing as tp", "from oneflow import typing", "import oneflow.compatible.single_client as flow"]
    + [f"import oneflow; oneflow.{use}" for use in ("global_function", "FunctionConfig()", "config.gpu_device_num(1)")],
)
def test_the_first_error_of_a_lazy_program_names_the_way(statement: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "meta_path", [DialectFinder(), *sys.meta_path])
    known = set(sys.modules)
    for name in [name for name in known if name.startswith("anygru_oneflow")]:
        for value in [value for value in vars(sys.modules[name]).values() if isinstance(value, type)]:
            if value.__module__ == name:  # which the import replaces by the original's name
                monkeypatch.setattr(value, "__module__", name)
    try:
        with pytest.raises((ImportError, NotCoveredError), match=r"oneflow\..*0\.3 to 0\.6.*use a oneflow\.nn\.Module"):
            exec(statement, {})
    finally:
        for each in [each for each in set(sys.modules) - known if each.partition(".")[0] == "oneflow"]:
            del sys.modules[each]
