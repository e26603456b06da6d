"""Wrong arguments for every recurrent layer, cell and function of the four dialects raise the original framework's error.

torch's kernels check little: `torch.lstm` on a CPU reads and writes past the end of memory where widths do not fit.
"""

import random
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

I, H, B, T = 3, 5, 2, 4  # noqa: E741
DRAWS = 12
Arrays = dict[str, Any]


def _draw(rng: random.Random, shapes: dict[str, tuple[int, ...]]) -> tuple[str, Arrays]:
    """Float32 arrays of `shapes`, where a width, a number of axes or a dtype can be wrong, and a description of the change."""
    arrays: Arrays = {name: np.ones(shape, "float32") for name, shape in shapes.items()}
    name = rng.choice(sorted(shapes))
    shape = shapes[name]
    change = rng.choice(("width", "width", "axes", "dtype"))
    if change == "width":
        # A bias of one number is repeated.
        wrong = [n for n in (1, 2, 4, 6, 7, 64) if n != shape[-1] and (n > 1 or len(shape) > 1)]
        arrays[name] = np.ones((*shape[:-1], rng.choice(wrong)), "float32")
    elif change == "axes":
        arrays[name] = np.ones((1, 1, *shape), "float32")
    else:
        arrays[name] = arrays[name].astype("float64")
    return f"{name}: {change}, {arrays[name].shape} {arrays[name].dtype}", arrays


Entry = tuple[str, dict[str, tuple[int, ...]], Callable[[Arrays], Any]]


def _paddle() -> Iterator[Entry]:
    import anygru_paddle as paddle

    tensor, nn = paddle.to_tensor, paddle.nn
    layers = {"GRU": 1, "LSTM": 2, "SimpleRNN": 1}
    for name, count in layers.items():
        for depth, direction in ((1, "forward"), (2, "bidirect")):
            for lengths in (None, [T, 1], [T, 0]):
                layer = getattr(nn, name)(I, H, depth, direction)
                rows = depth * layer.num_directions
                shapes = {"x": (B, T, I), **{f"h{n}": (rows, B, H) for n in range(count)}}

                def call(a: Arrays, layer: Any = layer, count: int = count, lengths: Any = lengths) -> Any:
                    states = [tensor(a[f"h{n}"]) for n in range(count)]
                    own = None if lengths is None else tensor(lengths)
                    return layer(tensor(a["x"]), states[0] if count == 1 else tuple(states), own)

                yield f"nn.{name}({depth}, {direction}, {lengths})", shapes, call
        cell = getattr(nn, f"{name}Cell")(I, H)
        shapes = {"x": (B, I), **{f"h{n}": (B, H) for n in range(count)}}

        def step(a: Arrays, cell: Any = cell, count: int = count) -> Any:
            states = [tensor(a[f"h{n}"]) for n in range(count)]
            return cell(tensor(a["x"]), states[0] if count == 1 else tuple(states))

        yield f"nn.{name}Cell", shapes, step
        run = nn.RNN(cell)
        yield f"nn.RNN({name}Cell)", {"x": (B, T, I)}, lambda a, run=run: run(tensor(a["x"]))
        both = nn.BiRNN(cell, getattr(nn, f"{name}Cell")(I, H))
        yield f"nn.BiRNN({name}Cell)", {"x": (B, T, I)}, lambda a, both=both: both(tensor(a["x"]))


def _oneflow() -> Iterator[Entry]:
    import anygru_oneflow as flow

    tensor, nn = flow.tensor, flow.nn
    for name, kind, gates in (("GRU", "gru", 3), ("LSTM", "lstm", 4), ("RNN", "rnn_tanh", 1), ("RNN", "rnn_relu", 1)):
        count = 2 if name == "LSTM" else 1
        for depth, both in ((1, False), (2, True)):
            options = {"nonlinearity": kind[4:]} if name == "RNN" else {}
            layer = getattr(nn, name)(I, H, depth, bidirectional=both, **options)
            rows = depth * (2 if both else 1)
            shapes = {"x": (T, B, I), **{f"h{n}": (rows, B, H) for n in range(count)}}

            def call(a: Arrays, layer: Any = layer, count: int = count) -> Any:
                states = tuple(tensor(a[f"h{n}"]) for n in range(count))
                return layer(tensor(a["x"]), states if count == 2 else states[0])

            yield f"nn.{name}({kind}, {depth}, {both})", shapes, call
            weight = next(iter(layer.named_parameters()))[0]
            with_weight = {"x": (T, B, I), "w": tuple(layer.weight_ih_l0.shape)}

            def call_with(a: Arrays, layer: Any = layer, weight: str = weight) -> Any:
                kept = getattr(layer, weight)
                setattr(layer, weight, nn.Parameter(tensor(a["w"])))
                try:
                    return layer(tensor(a["x"]))
                finally:
                    setattr(layer, weight, kept)

            yield f"nn.{name}({kind}, {depth}, {both}) with another weight", with_weight, call_with
        own = {"w": (gates * H, I), "u": (gates * H, H), "b": (gates * H,), "c": (gates * H,)}
        shapes = {"x": (T, B, I), **{f"h{n}": (1, B, H) for n in range(count)}, **own}

        def function(a: Arrays, kind: str = kind, count: int = count) -> Any:
            states = [tensor(a[f"h{n}"]) for n in range(count)]
            weights = [tensor(a[key]) for key in "wubc"]
            hidden = states if count == 2 else states[0]
            return getattr(flow._C, kind)(tensor(a["x"]), hidden, weights, True, 1, 0.0, False, False, False)

        yield f"_C.{kind}", shapes, function

        def of_rows(a: Arrays, kind: str = kind, count: int = count) -> Any:
            states = [tensor(a[f"h{n}"]) for n in range(count)]
            weights = [tensor(a[key]) for key in "wubc"]
            hidden = states if count == 2 else states[0]
            sizes = tensor([2, 2, 1])
            return getattr(flow._C, kind)(tensor(a["x"]), sizes, hidden, weights, True, 1, 0.0, False, False)

        yield f"_C.{kind} of packed rows", {**shapes, "x": (5, I)}, of_rows
        cell = getattr(nn, f"{name}Cell")(I, H, **({"nonlinearity": kind[4:]} if name == "RNN" else {}))
        shapes = {"x": (B, I), **{f"h{n}": (B, H) for n in range(count)}}

        def step(a: Arrays, cell: Any = cell, count: int = count) -> Any:
            states = tuple(tensor(a[f"h{n}"]) for n in range(count))
            return cell(tensor(a["x"]), states if count == 2 else states[0])

        yield f"nn.{name}Cell({kind})", shapes, step

        def function_step(a: Arrays, kind: str = kind, count: int = count) -> Any:
            states = [tensor(a[f"h{n}"]) for n in range(count)]
            weights = [tensor(a[key]) for key in "wubc"]
            return getattr(flow._C, f"{kind}_cell")(tensor(a["x"]), states if count == 2 else states[0], *weights)

        yield f"_C.{kind}_cell", {**shapes, **own}, function_step


def _mxnet() -> Iterator[Entry]:
    import anygru_mxnet as mx

    array, rnn = mx.nd.array, mx.gluon.rnn

    def nd(value: np.ndarray) -> Any:
        return array(value, dtype=value.dtype)

    for name, kind in (
        ("GRU", "gru"),
        ("LSTM", "lstm"),
        ("RNN", "rnn_tanh"),
        ("RNN", "rnn_relu"),
        ("LSTM", "projected"),
    ):
        count = 2 if name == "LSTM" else 1
        for depth, both in ((1, False), (2, True)):
            options = (
                {"activation": kind[4:]} if name == "RNN" else {"projection_size": 2} if kind == "projected" else {}
            )
            layer = getattr(rnn, name)(H, depth, bidirectional=both, input_size=I, **options)
            layer.initialize()
            rows = depth * (2 if both else 1)
            sizes = [2, H] if kind == "projected" else [H, H]
            shapes = {"x": (T, B, I), **{f"h{n}": (rows, B, sizes[n]) for n in range(count)}}

            def call(a: Arrays, layer: Any = layer, count: int = count) -> Any:
                return layer(nd(a["x"]), [nd(a[f"h{n}"]) for n in range(count)])

            yield f"gluon.rnn.{name}({kind}, {depth}, {both})", shapes, call
        if kind == "projected":
            continue
        gates = {"gru": 3, "lstm": 4}.get(kind, 1)
        shapes = {"x": (T, B, I), "p": (gates * H * (I + H + 2),), **{f"h{n}": (1, B, H) for n in range(count)}}

        def operator(a: Arrays, kind: str = kind, count: int = count) -> Any:
            states = dict(zip(("state", "state_cell"), [nd(a[f"h{n}"]) for n in range(count)], strict=False))
            return mx.nd.RNN(nd(a["x"]), nd(a["p"]), mode=kind, state_size=H, num_layers=1, **states)

        yield f"nd.RNN({kind})", shapes, operator
        cell = getattr(rnn, f"{name}Cell")(H, input_size=I)
        cell.initialize()
        shapes = {"x": (B, I), **{f"h{n}": (B, H) for n in range(count)}}

        def step(a: Arrays, cell: Any = cell, count: int = count) -> Any:
            return cell(nd(a["x"]), [nd(a[f"h{n}"]) for n in range(count)])

        yield f"gluon.rnn.{name}Cell", shapes, step


def _chainer() -> Iterator[Entry]:
    import anygru_chainer as chainer

    links = chainer.links
    for name, count in (("GRU", 1), ("LSTM", 2), ("RNNTanh", 1), ("RNNReLU", 1)):
        for depth, both in ((1, False), (2, True)):
            link = getattr(links, f"NStep{'Bi' if both else ''}{name}")(depth, I, H, 0.0)
            rows = depth * (2 if both else 1)
            shapes = {"x": (T, I), "y": (2, I), **{f"h{n}": (rows, 2, H) for n in range(count)}}

            def call(a: Arrays, link: Any = link, count: int = count) -> Any:
                dtype = np.result_type(a["x"], a["y"])  # Chainer copies all sequences in the dtype of the longest one
                return link(*[a[f"h{n}"] for n in range(count)], [a[key].astype(dtype) for key in "xy"])

            yield f"NStep{name}({depth}, {both})", shapes, call
    for name, states in (("StatelessGRU", 1), ("StatelessLSTM", 2), ("StatefulGRU", 0), ("LSTM", 0)):
        shapes = {"x": (B, I), **{f"h{n}": (B, H) for n in range(states)}}

        def step(a: Arrays, name: str = name, states: int = states) -> Any:
            return getattr(links, name)(I, H)(*[a[f"h{n}"] for n in range(states)], a["x"])

        yield name, shapes, step


def _errors(dialect: str) -> tuple[type[Exception], ...]:
    if dialect == "mxnet":
        from anygru_mxnet.base import MXNetError

        return (MXNetError, ValueError)  # Gluon's layers raise ValueError for states
    if dialect == "chainer":
        from anygru_chainer.utils.type_check import InvalidType

        return (InvalidType,)
    return (ValueError,) if dialect == "paddle" else (RuntimeError, AssertionError)  # OneFlow's cells assert


ENTRIES = {"paddle": _paddle, "oneflow": _oneflow, "mxnet": _mxnet, "chainer": _chainer}


@pytest.mark.parametrize("dialect", ENTRIES)
def test_wrong_arguments_raise_the_dialects_error(dialect: str) -> None:
    rng, errors, wrong = random.Random(7), _errors(dialect), []
    for name, shapes, call in ENTRIES[dialect]():
        assert call({key: np.ones(shape, "float32") for key, shape in shapes.items()}) is not None
        for _ in range(DRAWS):
            what, arrays = _draw(rng, shapes)
            raised: Exception | None = None
            try:
                call(arrays)
            except Exception as error:
                raised = error
            if not isinstance(raised, errors) or not str(raised).strip():
                wrong.append(f"{name}, {what}: {raised!r}")
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize(
    ("dialect", "call", "near"),
    [
        ("paddle", lambda paddle: paddle.nn.GRU(I, H, num_layer=2), "num_layers"),
        ("paddle", lambda paddle: paddle.nn.Conv2D(3, 3, 1, paddin=1), "padding"),
        ("paddle", lambda paddle: paddle.nn.Softmax(axs=1), "axis"),
        ("paddle", lambda paddle: paddle.fluid.optimizer.Adam(lerning_rate=1), "learning_rate"),
        ("paddle", lambda paddle: paddle.fluid.layers.reduce_sum(paddle.ones([2]), dimm=0), "dim"),
        ("mxnet", lambda mx: mx.nd.FullyConnected(mx.nd.ones((2, 3)), num_hiden=3), "num_hidden"),
        ("mxnet", lambda mx: mx.np.sort(mx.np.ones(3), axs=0), "axis"),
        ("chainer", lambda chainer: chainer.optimizers.Adam(alfa=1), "alpha"),
        ("chainer", lambda chainer: chainer.functions.leaky_relu(np.ones(3, "float32"), slop=1), "slope"),
        ("oneflow", lambda flow: flow.utils.data.DataLoader([1], batchsize=1), "batch_size"),
    ],
)
def test_a_misspelt_keyword_names_the_near_one(dialect: str, call: Callable[[Any], Any], near: str) -> None:
    """Python does it for functions with a signature since 3.13; these have a table."""
    with pytest.raises(Exception, match=rf"argument '\w+'.*did you mean {near}\?$"):
        call(pytest.importorskip(f"anygru_{dialect}"))
