"""The hint that names an extra is right for an installation from the index and for a clone."""

import json

import pytest

from anygru.errors import how_to_install


class Distribution:
    requires = (
        "torch>=2.4",
        'anygru-mxnet; extra == "mxnet"',
        'anygru-lab; extra == "lab"',
        'anygru-lab[wandb]; extra == "wandb"',
        'onnx>=1.17; extra == "onnx"',
        'anygru[chainer,lab]; extra == "all"',
    )

    def __init__(self, origin):
        self.origin = origin

    def read_text(self, name):
        assert name == "direct_url.json"
        return self.origin


@pytest.fixture
def clone(tmp_path):
    for name in ("anygru", "anygru-lab", "anygru-mxnet"):
        (tmp_path / "packages" / name).mkdir(parents=True)
        (tmp_path / "packages" / name / "pyproject.toml").touch()
    return tmp_path


@pytest.mark.parametrize(
    ("extra", "there"),
    [
        ("onnx", "packages/anygru[onnx]"),
        ("mxnet", "packages/anygru-mxnet"),
        ("wandb", "packages/anygru-lab[wandb]"),
        ("lab", "packages/anygru-lab"),
    ],
)
def test_the_command_fits_the_installation(extra, there, clone, tmp_path_factory, monkeypatch):
    def installed(origin):
        monkeypatch.setattr("importlib.metadata.distribution", lambda name: Distribution(origin))

    installed(None)
    assert how_to_install(extra) == f"pip install 'anygru[{extra}]'"
    installed(json.dumps({"url": (clone / "packages/anygru").as_uri(), "dir_info": {"editable": True}}))
    monkeypatch.chdir(clone)
    assert how_to_install(extra) == f"pip install --editable '{there}'"
    monkeypatch.chdir(tmp_path_factory.mktemp("elsewhere"))
    assert how_to_install(extra) == f"pip install --editable '{clone}/{there}'"
    installed(json.dumps({"url": (clone / "packages/anygru").as_uri(), "dir_info": {}}))
    assert how_to_install(extra) == f"pip install '{clone}/{there}'"
    installed(json.dumps({"url": "https://example.org/anygru.whl"}))
    assert how_to_install(extra) == f"pip install 'anygru[{extra}]'"
