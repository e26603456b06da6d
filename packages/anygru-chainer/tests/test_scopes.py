"""The scopes that are open when user code is called, as in Chainer 7.8.1."""

import pytest
import scope_cases

import anygru_chainer as chainer

# Callback -> train, enable_backprop, type_check, in_recomputing, number of reporters; recorded by `python scope_cases.py`.
RECORDED = {
    "after an inner init_scope": True,
    "Extension.initialize": [True, True, True, False, 0],
    "extension before training": [True, True, True, False, 1],
    "stop trigger": [True, True, True, False, 0],
    "converter of an updater": [True, True, True, False, 1],
    "model in a Trainer": [True, True, True, False, 1],
    "optimizer hook, pre": [True, True, True, False, 1],
    "update rule's hook": [True, True, True, False, 1],
    "optimizer hook, post": [True, True, True, False, 1],
    "Extension.__call__": [True, True, True, False, 1],
    "trigger": [True, True, True, False, 1],
    "extension": [True, True, True, False, 1],
    "Extension.finalize": [True, True, True, False, 0],
    "ParallelUpdater in no_backprop_mode": [True, True, True, False, 0],
    "second model": [True, True, True, False, 0],
    "Extension.on_error": [True, True, True, False, 0],
    "eval_hook": [False, True, True, False, 1],
    "converter of an Evaluator": [False, True, True, False, 1],
    "model in an Evaluator": [False, False, True, False, 1],
    "FunctionNode.forward": [True, True, True, False, 0],
    "FunctionNode.backward, double backprop False": [True, False, True, False, 0],
    "FunctionNode.backward, double backprop True": [True, True, True, False, 0],
    "forget, first call": [True, False, True, False, 0],
    "forget, second call": [True, True, True, True, 0],
    "numerical_grad": [True, True, False, False, 0],
    "function hook, forward": [False, True, True, False, 0],
    "link hook": [False, True, True, False, 0],
    "model in using_config": [False, True, True, False, 0],
    "function hook, backward": [False, False, True, False, 0],
}


@pytest.fixture(scope="module")
def found():
    return scope_cases.rows(chainer)


@pytest.mark.parametrize("callback", RECORDED)
def test_a_callback_runs_in_chainers_scopes(found, callback):
    assert found[callback] == RECORDED[callback]


def test_all_callbacks_are_compared(found):
    assert found.keys() == RECORDED.keys()
