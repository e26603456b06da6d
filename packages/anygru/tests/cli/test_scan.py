"""`anygru scan`: GRUs in source code, found without running it."""

import json
import time

import pytest

from anygru.cli.scan import grus

CASES = {
    "import torch\ntorch.nn.GRU(1, 2)": [(2, "torch.nn.GRU")],
    "import torch.nn as nn\nx = nn.GRUCell(1, 2)": [(2, "torch.nn.GRUCell")],
    "from torch.nn import GRU as G\nG(1, 2)": [(2, "torch.nn.GRU")],
    "from torch import nn\nclass A(nn.GRU): pass": [(2, "torch.nn.GRU")],
    "from tensorflow.keras.layers import GRU\nGRU(3)": [(2, "tensorflow.keras.layers.GRU")],
    "import keras\nkeras.layers.GRU(3)": [(2, "keras.layers.GRU")],
    "import paddle.fluid as fluid\nfluid.dygraph.GRUCell(3)": [(2, "paddle.fluid.dygraph.GRUCell")],
    "from mxnet.gluon import rnn\nrnn.GRU(3)": [(2, "mxnet.gluon.rnn.GRU")],
    "import oneflow as flow\nflow.nn.GRU(3, 3)": [(2, "oneflow.nn.GRU")],
    "import chainer.links as L\nL.NStepGRU(1, 2, 3, 0)": [(2, "chainer.links.NStepGRU")],
    "import torch\nprint 'Python 2'\ntorch.nn.GRU(1, 2)  # GRU(": [(3, "torch.nn.GRU")],
    "import mxnet as mx\nmx.rnn.FusedRNNCell(3, mode='gru')\nmx.sym.RNN(mode='lstm')": [(2, "mxnet.rnn.FusedRNNCell")],
    "import mxnet as mx\nprint 2\nmx.sym.RNN(x, mode='gru')\nmx.sym.RNN(x, mode='lstm')": [(3, "mxnet.sym.RNN")],
    "from torch.nn import *\nGRU(1, 2)\nLSTM(1, 2)": [(2, "torch.nn.GRU")],
    "from mxnet.gluon import *\nrnn.GRU(3)": [(2, "mxnet.gluon.rnn.GRU")],
    "from torch.nn import *\nclass GRU: pass\nGRU(1, 2)": [],
    "import torch.nn as nn\nkinds = {'gru': nn.GRU, 'lstm': nn.LSTM}\nkinds['gru'](1, 2)": [(2, "torch.nn.GRU")],
    "from torch import nn\nmake = nn.GRU if fast else nn.LSTM": [(2, "torch.nn.GRU")],
    "from torch import nn\ngetattr(nn, 'GRU')(1, 2)\ngetattr(nn, name)(1, 2)": [(2, "torch.nn.GRU")],
    "from torch import nn\ndef f(g: nn.GRU) -> nn.GRU:\n    h: nn.GRU = g\n    return h": [],
    "from torch import nn\nisinstance(g, nn.GRU)\ntype(g) in (nn.GRU, nn.LSTM)\nnn.GRU.forward": [],
    "import torch\nok = run(torch.nn.GRU(1, 2)) == 3": [(2, "torch.nn.GRU")],
    "import tensorflow as tf\ntf.compat.v1.keras.layers.CuDNNGRU(3)": [(2, "tensorflow.keras.layers.CuDNNGRU")],
    "from paddle import fluid\nfluid.layers.dynamic_gru(x, 3)": [(2, "paddle.fluid.layers.dynamic_gru")],
    "from torch import nn\nx = '\\d'\nnn.GRU(1, 2)": [(3, "torch.nn.GRU")],
    "from torch import nn\na, b = nn.GRU(1, 2), nn.GRU(3, 4)": [(2, "torch.nn.GRU"), (2, "torch.nn.GRU")],
    "class GRU: pass\nGRU()": [],
    "from .layers import GRU\nGRU()": [],
    "import torch\ntorch.nn.LSTM(1, 2)\nname = 'torch.nn.GRU(1)'": [],
}


@pytest.mark.parametrize("code", CASES)
def test_names_are_resolved_through_imports(anygru, tmp_path, code):
    (tmp_path / "a.py").write_text(code)
    found = [json.loads(line) for line in anygru("scan", tmp_path, "--json").out.splitlines()]
    assert [(each["line"], each["name"]) for each in found] == CASES[code]


def test_folders_notebooks_and_files_that_are_none(anygru, tmp_path):
    (tmp_path / "venv").mkdir()
    (tmp_path / "venv/b.py").write_text("import torch\ntorch.nn.GRU(1, 2)")
    cells = [
        {"cell_type": "code", "source": ["%matplotlib inline\n", "import torch\r\n"]},
        {"cell_type": "markdown", "source": "# torch.nn.GRU(1, 2)"},
        {"cell_type": "code", "source": ["x = 1\n", "torch.nn.GRU(1, 2)\n"]},
    ]
    (tmp_path / "n.ipynb").write_text(json.dumps({"cells": cells}))
    (tmp_path / "broken.ipynb").write_text("{}")
    (tmp_path / "deep.py").write_text("(" * 5000)
    (tmp_path / "old.py").write_text("import torch\nprint 'Python 2'\nself.gru = torch.nn.GRU(1, 2)")
    (tmp_path / "sum.py").write_text("import torch\nx = torch.nn.GRU(1, 2)" + " + 1" * 3000)
    (tmp_path / "large.py").write_text(" " * (5 << 20))
    result = anygru("scan", tmp_path)
    assert result.status == 0
    assert "n.ipynb:cell 3:2  torch.nn.GRU  anygru.accelerate(model)" in result.out
    assert "venv" not in result.out
    assert "broken.ipynb: no notebook" in result.out
    assert "large.py: more than 4 MB" in result.out
    assert f"read word by word, since Python cannot parse it: {tmp_path / 'old.py'}: line 2: " in result.out
    assert f"{tmp_path / 'old.py'}:3  torch.nn.GRU" in result.out
    assert result.out.splitlines()[-1] == "3 GRUs in 6 files"
    assert "there is no file" in anygru("scan", tmp_path / "nowhere").error


@pytest.mark.parametrize(
    "text",
    [
        "import torch\nprint 'Python 2'\n" + "a." * 500_000 + "\nGRU",
        "import torch\nprint 'Python 2'\n" + "\n" * 500_000 + "GRU",
        "import torch\nGRU\n" + ("f()" + ".a" * 900 + "\n") * 200,
        "import GRU" + ".a" * 500_000 + "\n",
        "import GRU." + "a" * 500_000 + " as x\n" + "x\n" * 200_000,
        "from GRU" + "a" * 500_000 + " import x\n" + "x\n" * 200_000,
    ],
    ids=["dots", "lines", "chains", "parts", "names", "members"],
)
def test_a_hostile_source_takes_time_in_proportion_to_its_size(text, tmp_path):
    """Time in proportion to the square of the size would be minutes to hours for most of them."""
    (tmp_path / "a.py").write_text(text)
    begin = time.process_time()
    grus(tmp_path / "a.py")
    assert time.process_time() - begin < 20


def test_what_is_not_read_is_said_and_ends_nothing(tmp_path, anygru):
    (tmp_path / "deep.ipynb").write_text("[" * 100_000)
    (tmp_path / "large.py").write_bytes(b"#" * (4 << 20) + b"\n")
    (tmp_path / "good.py").write_text("import torch\ntorch.nn.GRU(1, 2)\n")
    found = anygru("scan", tmp_path, "--json")
    assert [json.loads(line)["line"] for line in found.out.splitlines()] == [2]
    assert "deep.ipynb: no notebook" in found.error
    assert "large.py: more than 4 MB" in found.error
    table = anygru("scan", tmp_path)
    assert "large.py: more than 4 MB" in table.out
    assert "1 GRU in 3 files" in table.out
