"""`names.txt` says what is there: names with a plus can be taken, names with a minus are refused with a reason."""

import importlib
import importlib.resources

import pytest

import grus.dialects.paddle as paddle

TEXT = (importlib.resources.files("grus.dialects.paddle") / "names.txt").read_text()


def entries():
    module, covered, refused = "", [], []
    for line in TEXT.splitlines():
        if line.startswith("["):
            module = line.strip("[]")
        elif line.startswith("+ "):
            covered += [(module, name) for name in line[2:].split()]
        elif line.startswith("- "):
            name, _, why = line[2:].partition(": ")
            refused.append((module, name, why))
    return covered, refused


COVERED, REFUSED = entries()


def module_of(name):
    return importlib.import_module(f"grus.dialects.{name}")


@pytest.mark.parametrize("module", sorted({module for module, _ in COVERED}))
def test_what_is_listed_is_there(module):
    offered = module_of(module)
    assert [name for listed, name in COVERED if listed == module and not hasattr(offered, name)] == []


@pytest.mark.parametrize("module", sorted({module for module, _, _ in REFUSED}))
def test_every_other_name_is_refused_with_a_reason(module):
    for listed, name, why in REFUSED:
        if listed == module:
            assert why
            with pytest.raises(AttributeError):
                getattr(module_of(module), name)


def test_a_refusal_names_the_torch_way():
    with pytest.raises(AttributeError, match=r"paddle\.nn\.LSTM is not covered.*torch\.nn\.LSTM"):
        _ = paddle.nn.LSTM


def test_torchs_own_meaning_of_a_paddle_method_is_refused():
    with pytest.raises(AttributeError, match="not covered"):
        _ = paddle.ones([2, 2]).stft
