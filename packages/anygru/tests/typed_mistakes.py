"""Mistakes that type checkers find, one a line; see test_types.py."""

import torch

import anygru

layer = anygru.GRU(3, 4)
anygru.GRU(3, 4, reset="befor")  # mistake
anygru.GRUCell(3, 4, reset=True)  # mistake
layer("text")  # mistake
layer.forward("text")  # mistake
layer.freeze("int4")  # mistake
anygru.freeze(layer, weights="float16")  # mistake
anygru.FrozenGRU(3, 4, weights="int16")  # mistake
anygru.export_c(layer, "model.h", weights="int2")  # mistake
anygru.acelerate(layer)  # mistake
layer(torch.zeros(5, 2, 3), length=[5, 3])  # mistake
anygru.functional.gru(torch.zeros(5, 2, 3), None, layer.flat_weights, reset="befor")  # mistake
