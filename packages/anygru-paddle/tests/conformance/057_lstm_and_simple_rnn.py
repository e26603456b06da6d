"""LSTM, SimpleRNN and their cells: initial draws, names, outputs, states, gradients, dropout, lengths."""
import numpy as np
from recorder import record, record_error

import paddle
from paddle import nn

x = np.linspace(-1, 1, 2 * 4 * 3).reshape(2, 4, 3).astype("float32")


def flat(value):
    return [each for part in value for each in flat(part)] if isinstance(value, (tuple, list)) else [value]


for kind in ("LSTM", "SimpleRNN"):
    for number, options in enumerate(
        [{}, {"direction": "bidirect", "num_layers": 2}, {"time_major": True}, {"num_layers": 2, "dropout": 0.5}]
    ):
        paddle.seed(7)
        layer = getattr(nn, kind)(3, 5, **options)
        name = kind + str(number)
        record(name + "_keys", list(layer.state_dict()))
        record(name + "_repr", repr(layer))
        record(name + "_names", [parameter.name for parameter in layer.parameters()])
        inputs = paddle.to_tensor(x, stop_gradient=False)
        out, states = layer(inputs)
        record(name + "_out", out)
        record(name + "_states", flat(states))
        (out.sum() + flat(states)[0].square().sum()).backward()
        record(name + "_gradient", inputs.grad)
        if number < 2:
            out, states = layer(inputs, None, paddle.to_tensor([4, 2]))
            record(name + "_ragged", [out] + flat(states))
        state = paddle.full([layer.num_directions * layer.num_layers, 4 if number == 2 else 2, 5], 0.3)
        if number < 3:
            out, states = layer(inputs, (state, state * 0.5) if kind == "LSTM" else state)
            record(name + "_from_state", [out] + flat(states))

for kind in ("LSTMCell", "SimpleRNNCell", "GRUCell"):
    paddle.seed(3)
    cell = getattr(nn, kind)(3, 5)
    inputs = paddle.to_tensor(x)
    record(kind + "_step", flat(cell(inputs[:, 0])))
    record(kind + "_repr", repr(cell))
    record(kind + "_state_shape", str(cell.state_shape))
    for reverse in (False, True):
        along = nn.RNN(cell, is_reverse=reverse)
        record("%s_along_%s" % (kind, reverse), flat(along(inputs)))
        record("%s_ragged_%s" % (kind, reverse), flat(along(inputs, None, paddle.to_tensor([4, 2]))))
    both = nn.BiRNN(getattr(nn, kind)(3, 5), getattr(nn, kind)(3, 5))
    record(kind + "_both", flat(both(inputs)))

record("relu", repr(nn.SimpleRNN(3, 5, activation="relu")))
record_error("cell_activation", lambda: nn.SimpleRNNCell(2, 3, activation="x"))
record_error("layer_activation", lambda: nn.SimpleRNN(2, 3, activation="x"))
record_error("direction", lambda: nn.LSTM(2, 3, direction="x"))

# Without initial states they have the default dtype.
paddle.set_default_dtype("float64")
for kind in ("LSTMCell", "SimpleRNNCell", "GRUCell"):
    paddle.seed(3)
    cell = getattr(nn, kind)(3, 5)
    record("double_" + kind, flat(nn.RNN(cell)(paddle.to_tensor(x.astype("float64")))))
    record("double_both_" + kind, flat(nn.BiRNN(cell, cell)(paddle.to_tensor(x.astype("float64")))))
