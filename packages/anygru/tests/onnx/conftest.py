"""torch's exporter collects its operators once for all exports: that was half of an export's time."""

import functools

import pytest

try:
    from torch.onnx._internal.exporter._registration import ONNXRegistry
except ImportError:  # an older torch: each export collects them
    ONNXRegistry = None


@pytest.fixture(autouse=True, scope="session")
def _operators_are_collected_once():
    if not hasattr(ONNXRegistry, "from_torchlib"):
        yield
        return
    collected = functools.cache(ONNXRegistry.from_torchlib)

    def from_torchlib(cls, **options):
        first = collected(**options)
        registry = cls()
        registry._opset_version = first._opset_version
        registry.functions = {name: list(found) for name, found in first.functions.items()}  # exports add their own
        return registry

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ONNXRegistry, "from_torchlib", classmethod(from_torchlib))
        yield
