"""A user's functions are called within the scopes that MXNet 1.9.1 opens around them (recorded by `callback_scopes.py`)."""

import json
import pathlib
import subprocess
import sys

import pytest

HERE = pathlib.Path(__file__).parent
RECORDED = json.loads((HERE / "data" / "callback_scopes.json").read_text())


def within(name):
    return {"__outer__": "1", "__subgraph_name__": name}


BUCKETS = ["sym_gen of BucketingModule(...)", "sym_gen of switch_bucket"]
BLOCK = ["__init__ within name_scope", "hybrid_forward, hybridized (traced)", "hybrid_forward, symbols (traced)"]
HYBRID = ["hybrid_forward, arrays", "hybrid_forward, hybridized (traced)", "HybridLambda"]
CUSTOM = ["CustomOp.forward", "CustomOp.backward"]
# Scopes that MXNet opens around callbacks: its lines, the values that show the scope, and the callbacks.
PLACES = {
    "new names": ("module/bucketing_module.py:112", {"names": "fresh"}, BUCKETS),
    "the prefix of a block": ("gluon/block.py:86, 1059, 1504", {"prefix": "b_"}, BLOCK),
    "the context of a hybrid block": ("gluon/block.py:1491, 1493", {"context": "cpu(1)"}, HYBRID),
    "the context of unroll": ("gluon/rnn/rnn_cell.py:47", {"context": "cpu(1)"}, ["begin_state of unroll"]),
    "deferred initialization": ("gluon/parameter.py:338", {"recording": False}, ["Initializer, deferred"]),
    "a function": ("autograd.py:439", {"recording": False}, ["Function.forward"]),
    "a thread of the engine": (
        "autograd.py:451",
        {"attributes": {}, "recording": False},
        ["Function.backward", *CUSTOM],
    ),
    "the context of an operator": ("operator.py:1002, 1040", {"context": "cpu(1)"}, CUSTOM),
    "foreach": ("symbol/contrib.py:285", {"attributes": within("foreach0")}, ["foreach, symbols"]),
    "while_loop": ("symbol/contrib.py:487", {"attributes": within("while_loop_func0")}, ["while_loop func, symbols"]),
    "cond": ("symbol/contrib.py:646", {"attributes": within("cond_else0")}, ["cond else, symbols"]),
    "training": ("gluon/contrib/estimator/batch_processor.py:98", {"recording": True}, ["net in Estimator.fit"]),
    "grad_and_loss": ("contrib/autograd.py:187", {"training": True}, ["contrib.autograd.grad_and_loss"]),
    "use_np": ("util.py:296, 480", {"numpy": [True, True]}, ["use_np"]),
    "a worker": ("gluon/data/dataloader.py:662", {"numpy": [True, True]}, ["Dataset.__getitem__ in a worker"]),
}


@pytest.fixture(scope="module")
def found():
    command = "import sys; from anygru.cli import main; sys.exit(main(sys.argv[1:]))"
    done = subprocess.run(
        [sys.executable, "-c", command, "run", str(HERE / "callback_scopes.py")], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("callback", RECORDED)
def test_a_callback_sees_mxnets_scopes(callback, found):
    assert found[callback] == RECORDED[callback]


@pytest.mark.parametrize("place", PLACES)
def test_callbacks_see_each_scope_that_mxnet_opens(place, found):
    _, shown, callbacks = PLACES[place]
    assert [{key: found[callback][key] for key in shown} for callback in callbacks] == [shown] * len(callbacks)
