"""Mistakes that type checkers find, one in each line; see test_types.py."""

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
anygru.GRU(3, 4, backend="cpus")  # mistake
anygru.GRU(3, 4, norm="batch")  # mistake
anygru.GRU(3, 4, activation="tahn")  # mistake
anygru.GRU(3, 4, recurrent_dropout_on="states")  # mistake
anygru.GRUCell(3, 4, gate_activation="sigmoide")  # mistake
anygru.FrozenGRU(3, 4, backend="gpu")  # mistake
anygru.functional.gru(torch.zeros(5, 2, 3), None, layer.flat_weights, backend="gpu")  # mistake
anygru.functional.gru(torch.zeros(5, 2, 3), None, layer.flat_weights, norm="batch")  # mistake
anygru.functional.gru(torch.zeros(5, 2, 3), None, layer.flat_weights, recurrent_dropout_on="units")  # mistake
anygru.functional.gru_cell(torch.zeros(2, 3), None, *layer.flat_weights[:2], activation="tahn")  # mistake
