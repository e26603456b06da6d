"""Update rules, as operators and as optimizers, linear algebra and PCC: numbers recorded from MXNet 1.9.1 on the CPU.

`data/updates.json` has the results of this file's functions under MXNet: `python test_updates.py FILE` writes such a file.
"""

import json
import pathlib
import sys
import warnings

import numpy as np

if __name__ == "__main__":
    import mxnet as mx
else:
    import pytest

    import anygru_mxnet as mx

nd = mx.nd
_rng = np.random.RandomState(7)
WEIGHT, GRADIENT = (_rng.uniform(-1, 1, (3, 4)).astype("float32") for _ in range(2))
STATES = [_rng.uniform(0.1, 1, (3, 4)).astype("float32") for _ in range(4)]
USUAL = {"lr": 0.1, "wd": 0.05, "rescale_grad": 0.5, "clip_gradient": 0.3}
BETAS = {"beta1": 0.8, "beta2": 0.9, "epsilon": 1e-3}
# Operator, states, whether it has a float32 copy, and further attributes.
OPERATORS = [
    ("sgd_update", 0, False, {}),
    ("sgd_mom_update", 1, False, {"momentum": 0.9}),
    ("mp_sgd_update", 0, True, {}),
    ("mp_sgd_mom_update", 1, True, {"momentum": 0.9}),
    ("nag_mom_update", 1, False, {"momentum": 0.9}),
    ("mp_nag_mom_update", 1, True, {"momentum": 0.9}),
    ("signsgd_update", 0, False, {}),
    ("signum_update", 1, False, {"momentum": 0.9, "wd_lh": 0.01}),
    ("adam_update", 2, False, BETAS),
    ("rmsprop_update", 1, False, {"gamma1": 0.9, "epsilon": 1e-3, "clip_weights": 0.7}),
    ("rmspropalex_update", 3, False, {"gamma1": 0.9, "gamma2": 0.8, "epsilon": 1.0}),
    ("ftrl_update", 2, False, {"lamda1": 0.02, "beta": 0.7}),
]
SCHEDULED = {"momentum": 0.9, "eta": 0.01, "lr_scheduler": (2, 0.5, 0.1)}
LARGE = {"momentum": 0.9, "batch_scale": 2, "warmup_epochs": 1, "updates_per_epoch": 3, "learning_rate": 0.1}
# Optimizers, whether on float16 weights with float32 copies, and options.
OPTIMIZERS = [
    *((name, half, {}) for name in ("lars", "lbsgd", "ftml", "lamb", "nag", "adam") for half in (False, True)),
    *(
        (name, False, {"clip_gradient": 0.2})
        for name in ("lars", "dcasgd", "lamb", "signum", "rmsprop", "ftrl", "nadam")
    ),
    *((name, False, {}) for name in ("adamax", "adadelta", "adagrad")),
    ("lars", False, {"momentum": 0.9, "learning_rate": 0.1}),
    ("lars", True, {"momentum": 0.9, "learning_rate": 0.1}),
    ("lars", False, SCHEDULED),
    *(("lbsgd", False, {**LARGE, "warmup_strategy": kind}) for kind in ("linear", "power2", "sqrt", "lars")),
    ("lbsgd", True, {"momentum": 0.9, "batch_scale": 2}),
    ("lamb", False, {"lower_bound": 0.1, "upper_bound": 0.5}),
    ("lamb", True, {"bias_correction": False, "learning_rate": 0.1}),
    ("lamb", True, {"clip_gradient": 0.3, "learning_rate": 0.1}),
    ("rmsprop", False, {"centered": True}),
    ("rmsprop", False, {"clip_weights": 0.5}),
]


def array(values, half=False):
    return nd.array(values, dtype="float16" if half else "float32")


def lists(*arrays):
    return [np.asarray(a.asnumpy(), dtype="float64").round(5).tolist() for a in arrays]


def operator(name, states, half, given):
    weight, gradient = array(WEIGHT, half), array(GRADIENT, half)
    kept = [array(s) for s in STATES[:states]] + ([weight.astype("float32")] if half else [])
    getattr(nd, name)(weight, gradient, *kept, out=weight, **{**USUAL, **given})
    return lists(weight, *kept)


def several(preloaded, half, momentum):
    name = f"{'preloaded_' if preloaded else ''}multi_{'mp_' if half else ''}sgd_{'mom_' if momentum else ''}update"
    weights, arrays, kept = [array(WEIGHT, half), array(WEIGHT[::-1].copy(), half)], [], []
    for place, weight in enumerate(weights):
        own = [array(STATES[place])] * momentum + ([weight.astype("float32")] if half else [])
        kept += own
        arrays += [weight, array(GRADIENT, half), *own]
    given = {"rescale_grad": 0.5, "clip_gradient": 0.3, "num_weights": 2, "out": weights}
    if momentum:
        given["momentum"] = 0.9
    if preloaded:
        arrays += [array([0.1, 0.2]), array([0.0, 0.05])]
    else:
        given.update(lrs=(0.1, 0.2), wds=(0.0, 0.05))
    getattr(nd, name)(*arrays, **given)
    return lists(*weights, *kept)


def ftml():
    weight, kept = array(WEIGHT), [array(s) for s in STATES[:3]]
    given = {"lr": 0.1, "wd": 0.05, "rescale_grad": 0.5, "clip_grad": 0.3, "beta1": 0.5, "beta2": 0.9, "epsilon": 1e-3}
    nd.ftml_update(weight, array(GRADIENT), *kept, out=weight, t=3, **given)
    return lists(weight, *kept)


def lamb(half):
    weight, kept = array(WEIGHT, half), [array(s) for s in STATES[:2]]
    given = {"wd": 0.05, "rescale_grad": 0.5, "clip_gradient": 0.3, "t": 3, "bias_correction": not half, **BETAS}
    if half:
        master = weight.astype("float32")
        step = nd.mp_lamb_update_phase1(weight, array(GRADIENT, half), *kept, master, **given)
        nd.mp_lamb_update_phase2(weight, step, master.norm(), step.norm(), master, lr=0.1, out=weight)
        return lists(step, weight, master, *kept)
    step = nd.lamb_update_phase1(weight, array(GRADIENT), *kept, **given)
    sizes = weight.norm(), step.norm()
    return lists(step, nd.lamb_update_phase2(weight, step, *sizes, lr=0.1, lower_bound=0.1, upper_bound=1.5), *kept)


def adamw(half):
    weight, kept = array(WEIGHT, half), [array(s) for s in STATES[:2]]
    given = {"lr": 0.1, "eta": 0.7, "wd": 0.05, "clip_gradient": 0.3, "out": weight, **BETAS}
    masters = [weight.astype("float32")] if half else []
    name = "mp_adamw_update" if half else "adamw_update"
    getattr(nd.contrib, name)(weight, array(GRADIENT, half), *kept, *masters, array([0.5]), **given)
    return lists(weight, *masters, *kept)


def lists_of_weights(rule, half):
    """The functions of contrib for lists: two weights, each with a rate, a decay and a count."""
    weights, gradients = [array(WEIGHT, half), array(WEIGHT[::-1].copy(), half)], [array(GRADIENT, half)] * 2
    means, variances = ([array(s) for s in STATES[place : place + 2]] for place in (0, 2))
    columns = [weights, gradients, means, variances]
    masters = [weight.astype("float32") for weight in weights] if half else []
    rest = {"lrs": (0.1, 0.2), "wds": (0.0, 0.05), "clip_gradient": 0.3, "out": weights, **BETAS}
    if rule == "lamb":
        rest.update(step_count=(2, 3), rescale_grad=0.5, lower_bound=0.1, upper_bound=1.5)
    else:
        rest.update(rescale_grad=0.5, etas=(0.7, 0.9))
    name = f"multi_{'mp_' if half else ''}{rule}_update"
    getattr(nd.contrib, name)(*columns, *([masters] if half else []), **rest)
    return lists(*weights, *masters, *means, *variances)


def helpers():
    rates = array([0.1, 0.2, 0.3]), array([4.0, 0.0, 9.0]), array([1.0, 1.0, 4.0]), array([0.1, 0.1, 0.2])
    finite, infinite = array([1.0, 2.0]), array([1.0, float("inf")])
    return lists(
        nd.multi_sum_sq(array(WEIGHT), array(GRADIENT), num_arrays=2),
        nd.multi_lars(*rates, eta=0.01, eps=1e-3, rescale_grad=0.5),
        nd.all_finite(finite),
        nd.all_finite(infinite),
        nd.multi_all_finite(finite, infinite, num_arrays=2),
    )


def optimizer(name, half, given):
    given = dict(given)
    if "lr_scheduler" in given:
        step, factor, rate = given["lr_scheduler"]
        given["lr_scheduler"] = mx.lr_scheduler.FactorScheduler(step=step, factor=factor, base_lr=rate)
    names = {0: "a_weight", 1: "a_bias"}
    rule = mx.optimizer.create(name, param_idx2name=names, wd=0.05, rescale_grad=0.5, multi_precision=half, **given)
    update, rng = mx.optimizer.get_updater(rule), np.random.RandomState(3)
    weights = [array(WEIGHT, half), array(WEIGHT[0], half)]
    for _ in range(4):
        for index, weight in enumerate(weights):
            update(index, array(rng.uniform(-1, 1, weight.shape), half), weight)
    return lists(*weights)


def linear_algebra():
    rng, la, results = np.random.RandomState(9), nd.linalg, []
    a, b = (rng.uniform(-1, 1, (2, 3, 3)).astype("float32") for _ in range(2))
    positive = a @ a.transpose(0, 2, 1) + 2 * np.eye(3, dtype="float32")
    for case in range(8):
        transpose, rightside, lower = (bool(case >> bit & 1) for bit in range(3))
        triangle = array((np.tril(a) if lower else np.triu(a)) + 2 * np.eye(3))
        given = {"transpose": transpose, "rightside": rightside, "lower": lower, "alpha": 1.5}
        results += [la.trsm(triangle, array(b), **given), la.trmm(triangle, array(b), **given)]
    a, b, positive = array(a), array(b), array(positive)
    results += [la.potrf(positive), la.potri(la.potrf(positive)), la.inverse(positive), la.det(a), *la.slogdet(a)]
    results += [la.gemm(a, b, positive, transpose_a=True, alpha=2.0, beta=0.5), la.gemm2(a, b, transpose_b=True)]
    results += [la.syrk(a, alpha=2.0), la.syrk(a, transpose=True), la.sumlogdiag(positive)]
    return lists(*results, la.extractdiag(a, offset=1), la.makediag(a[:, 0], offset=-1))


def pcc():
    metric, rng = mx.metric.PCC(), np.random.RandomState(5)
    for _ in range(2):
        metric.update([array(rng.randint(0, 3, 8))], [array(rng.uniform(0, 1, (8, 3)))])
    return [round(float(metric.get()[1]), 5)]


CASES = {
    **{case[0]: (operator, *case) for case in OPERATORS},
    **{f"several {a}{b}{c}": (several, a, b, c) for a in (0, 1) for b in (0, 1) for c in (0, 1)},
    **{
        f"optimizer {name} {half} {sorted(given.items())}": (optimizer, name, half, given)
        for name, half, given in OPTIMIZERS
    },
    **{f"{function.__name__} {half}": (function, half) for function in (lamb, adamw) for half in (False, True)},
    **{f"lists {rule} {half}": (lists_of_weights, rule, half) for rule in ("adamw", "lamb") for half in (False, True)},
    **{function.__name__: (function,) for function in (ftml, helpers, linear_algebra, pcc)},
}


def results():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # float16 without float32 copies
        return {name: function(*given) for name, (function, *given) in CASES.items()}


if __name__ == "__main__":
    with open(sys.argv[1], "w") as file:
        json.dump(results(), file, separators=(",", ":"))
        file.write("\n")
else:
    RECORDED = json.loads((pathlib.Path(__file__).parent / "data" / "updates.json").read_text())

    @pytest.mark.parametrize("name", CASES)
    def test_same_numbers_as_mxnet(name):
        function, *given = CASES[name]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = function(*given)
        for ours, theirs in zip(found, RECORDED[name], strict=True):
            np.testing.assert_allclose(np.array(ours), np.array(theirs), atol=2.5e-5)

    def test_an_update_in_a_graph_changes_its_state():
        names = ("weight", "grad", "mom")
        step = mx.sym.sgd_mom_update(*map(mx.sym.var, names), momentum=0.9, **USUAL)
        values = dict(zip(names, [array(WEIGHT), array(GRADIENT), array(STATES[0])], strict=True))
        found = lists(*step.eval(ctx=mx.cpu(), **values), values["mom"])
        np.testing.assert_allclose(found, RECORDED["sgd_mom_update"], atol=2.5e-5)

    def test_finite_so_far():
        flag = nd.array([0.0])
        nd.multi_all_finite(array(WEIGHT), num_arrays=1, init_output=False, out=flag)
        assert flag.asscalar() == 0
        nd.all_finite(array(WEIGHT), out=flag)
        assert flag.asscalar() == 1

    def test_an_update_names_what_it_does_not_take():
        with pytest.raises(mx.MXNetError, match="Cannot find argument 'speed'"):
            nd.sgd_update(array(WEIGHT), array(GRADIENT), lr=0.1, speed=3)
        with pytest.raises(mx.MXNetError, match="missing a required argument: 'lr'"):
            nd.sgd_update(array(WEIGHT), array(GRADIENT))
        one = [[array(WEIGHT)], [array(GRADIENT)], [array(WEIGHT)], [array(WEIGHT)]]
        with pytest.raises(mx.MXNetError, match="Cannot find argument 'eta'"):
            nd.contrib.multi_adamw_update(*one, 1.0, [0.1], [0.0], [1.0], eta=0.5)
        with pytest.raises(mx.MXNetError, match="Cannot find argument 't'"):
            nd.contrib.multi_lamb_update(*one, [1], [0.1], [0.0], t=3)


def test_adadelta_scales_the_gradient_itself_and_others_do_not():
    """MXNet 1.9.1's numbers (recorded)."""
    for name, expected in (("adadelta", [0.2, -1]), ("nadam", [0.4, -2]), ("adagrad", [0.4, -2]), ("sgd", [0.4, -2])):
        rule = mx.optimizer.create(name, rescale_grad=0.5)
        weight, gradient = nd.array([1, -2]), nd.array([0.4, -2])
        rule.update(0, weight, gradient, rule.create_state(0, weight))
        np.testing.assert_allclose(gradient.asnumpy(), expected, rtol=1e-6)


def test_ftrl_without_a_rate_gives_nan_as_in_mxnet():
    rule = mx.optimizer.create("ftrl", learning_rate=0.0)
    weight = nd.array([1, -2])
    rule.update(0, weight, nd.array([0.4, -2]), rule.create_state(0, weight))
    assert np.isnan(weight.asnumpy()).all()
