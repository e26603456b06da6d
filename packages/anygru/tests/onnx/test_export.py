"""Exported models compute the layers' results in ONNX Runtime and in ONNX's own reference evaluator."""

import contextlib
import importlib.util
import io
import os
import threading
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest
import torch
from helpers import mostly_slow
from onnx.reference import ReferenceEvaluator
from onnx_programs import Wrapped, assert_same, run
from torch import nn
from torch.nn.utils.rnn import PackedSequence, pack_padded_sequence, pad_packed_sequence

import anygru
import anygru.onnx

pytestmark = [
    pytest.mark.compiles,
    pytest.mark.needs_torch(2, 6, because="anygru.onnx.export needs it"),
    # torch 2.8 leaves a log of its compiler open
    pytest.mark.filterwarnings("ignore:.*dedicated_log_torch_trace:pytest.PytestUnraisableExceptionWarning"),
]
STEPS, BATCH = torch.export.Dim("steps"), torch.export.Dim("batch")
LAYERS = {
    "three layers, two directions": lambda: anygru.GRU(3, 4, num_layers=3, bidirectional=True),
    "plain": lambda: anygru.GRU(3, 4),
    "reset before": lambda: anygru.GRU(3, 4, reset="before", bidirectional=True, bias=False),
    "activations": lambda: anygru.GRU(3, 4, 2, reset="before", activation="relu", gate_activation="hardsigmoid"),
    "torch": lambda: torch.nn.GRU(3, 4, 2, bidirectional=True),
    "torch, one direction": lambda: torch.nn.GRU(3, 4, bias=False),
}


@pytest.mark.parametrize("make", mostly_slow(LAYERS.values(), 4), ids=LAYERS)
def test_a_layer_is_one_node_with_its_weights_in_the_file_for_any_batch_and_length(make, caplog):
    layer = make()
    model = Wrapped(layer)
    program = anygru.onnx.export(model, (torch.randn(5, 2, 3),), dynamic_shapes=[({0: STEPS, 1: BATCH},)])
    assert "torchvision" not in caplog.text  # the exporter logs that it is missing
    graph = program.model_proto.graph
    nodes = [node for node in graph.node if node.op_type == "GRU"]
    stored = {tensor.name for tensor in graph.initializer}
    assert len(nodes) == layer.num_layers
    for node in nodes:
        given = {attribute.name: attribute for attribute in node.attribute}
        assert bool(given["linear_before_reset"].i) == (getattr(layer, "reset", "after") == "after")
        assert set(node.input[1:4]) - {""} <= stored
        assert node.name.startswith("encoder")
    for steps, batch in ((5, 2), (9, 4), (1, 1)):
        input = torch.randn(steps, batch, 3)
        assert_same(run(program, input), model(input))


@pytest.mark.needs_torch(2, 8, because="the exporter of torch 2.6 fails at some graphs")
@pytest.mark.parametrize("weights", mostly_slow(["int8", "bfloat16"]))
def test_frozen_layers_have_float32_weights_in_the_file(weights, tmp_path):
    layer = anygru.GRU(3, 4, 2, bidirectional=True).freeze(weights)
    lengths = torch.tensor([2, 5])
    program = anygru.onnx.export(Wrapped(layer), (torch.randn(5, 2, 3), None, lengths), tmp_path / "frozen.onnx")
    input = torch.randn(5, 2, 3)
    assert_same(run(program, input, lengths), layer.thaw().eval()(input, lengths=lengths))
    kinds = [node.op_type for node in program.model_proto.graph.node]
    assert kinds.count("GRU") == 2
    assert "DequantizeLinear" not in kinds
    (read,) = anygru.onnx.load(tmp_path / "frozen.onnx").values()
    for one, other in zip(read.parameters(), layer.thaw().parameters(), strict=True):
        assert torch.equal(one, other)
    step = anygru.onnx.export_step(anygru.GRU(3, 4).freeze(weights))
    assert [node.op_type for node in step.model_proto.graph.node].count("GRU") == 1
    with pytest.raises(ValueError, match="no activation for activation='gelu'"):
        anygru.onnx.export(anygru.GRU(3, 4, activation="gelu").freeze(weights), (input,))


@pytest.mark.needs_torch(2, 8, because="the exporter of torch 2.6 fails at some graphs")
def test_arguments_that_are_no_tensors_are_refused():
    with pytest.raises(TypeError, match="args must be a tensor or a tuple of the arguments of a call, got float"):
        anygru.onnx.export(anygru.GRU(3, 4), 3.0, io.BytesIO())


def test_initial_states_batch_first_and_a_head():
    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.gru = anygru.GRU(3, 4, 2, batch_first=True)
            self.head = torch.nn.Linear(4, 2)

        def forward(self, input, h_0):
            output, h_n = self.gru(input, h_0)
            return self.head(output[:, -1]), h_n

    model, inputs = Model().eval(), (torch.randn(2, 5, 3), torch.randn(2, 2, 4))
    program = anygru.onnx.export(model, inputs, dynamic_shapes=({0: BATCH, 1: STEPS}, {1: BATCH}))
    inputs = (torch.randn(6, 7, 3), torch.randn(2, 6, 4))
    assert_same(run(program, *inputs), model(*inputs))


def test_cells_and_parametrized_weights():
    cell = torch.nn.GRUCell(3, 4)
    torch.nn.utils.parametrizations.weight_norm(cell, "weight_hh")

    class Twice(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.second = cell, anygru.GRUCell(4, 5, reset="before")

        def forward(self, input, h):
            return self.second(self.first(input, h))

    model, inputs = Twice().eval(), (torch.randn(2, 3), torch.randn(2, 4))
    program = anygru.onnx.export(model, inputs, dynamic_shapes=({0: BATCH}, {0: BATCH}))
    inputs = (torch.randn(7, 3), torch.randn(7, 4))
    assert_same(run(program, *inputs), [model(*inputs)])


def test_a_parametrized_layer_of_torch_is_exported_as_computed():
    layer = torch.nn.GRU(3, 4)
    torch.nn.utils.parametrizations.weight_norm(layer, "weight_hh_l0")
    with torch.no_grad():
        layer.parametrizations.weight_hh_l0.original0.mul_(2)  # its list of flat weights still holds the weight before
    input = torch.randn(5, 2, 3)
    assert_same(run(anygru.onnx.export(Wrapped(layer), (input,)), input), layer(input))


@pytest.mark.parametrize("reset", mostly_slow(["after", "before"]))
def test_a_step_carries_its_state(reset, tmp_path: Path):
    layer = anygru.GRU(3, 4, 2, reset=reset)
    anygru.onnx.export_step(layer, tmp_path / "step.onnx")
    found = onnxruntime.InferenceSession(tmp_path / "step.onnx", providers=["CPUExecutionProvider"])
    stream, state = layer.stream(batch_size=5), np.zeros((2, 5, 4), np.float32)
    for input in torch.randn(4, 5, 3):
        output, state = found.run(["output", "new_state"], {"input": input.numpy(), "state": state})
        assert_same([output], [stream.step(input)])


def test_onnx_itself_agrees():
    """ONNX's reference evaluator, which was written from the specification (it computes one direction)."""
    for layer in (anygru.GRU(3, 4, 2), anygru.GRU(3, 4, reset="before")):
        program = anygru.onnx.export(Wrapped(layer), (input := torch.randn(5, 2, 3),))
        name = program.model_proto.graph.input[0].name
        assert_same(ReferenceEvaluator(program.model_proto).run(None, {name: input.numpy()}), layer(input))


@pytest.mark.needs_torch(2, 8, because="the exporter of torch 2.6 fails at some graphs")
@pytest.mark.filterwarnings("ignore:.*LeafSpec:FutureWarning")
def test_torchs_own_export_with_our_translations():
    layer = Wrapped(anygru.GRU(3, 4, reset="before"))
    table = anygru.onnx.translations()
    program = torch.onnx.export(
        layer, (input := torch.randn(5, 2, 3),), dynamo=True, custom_translation_table=table, verbose=False
    )
    assert_same(run(program, input), layer(input))


@pytest.mark.parametrize(
    ("layer", "words"),
    [
        (
            lambda: anygru.GRU(3, 4, activation=lambda x: x.clamp(-1, 1)),
            "encoder: .* no activation for activation='<lambda>'",
        ),
        (lambda: anygru.GRU(3, 4, gate_activation="gelu"), "no activation for gate_activation='gelu'; it has sigmoid"),
        (lambda: torch.nn.GRU(3, 4, dtype=torch.float32), None),
    ],
    ids=["callable", "unknown", "packed"],
)
def test_what_onnx_cannot_say_is_named(layer, words):
    input = torch.randn(5, 2, 3)
    if words is None:
        input = torch.nn.utils.rnn.pack_sequence([torch.randn(3, 3), torch.randn(2, 3)])
        words = "PackedSequence"
    with pytest.raises((anygru.ArgumentError, torch.onnx.errors.OnnxExporterError), match=words):
        anygru.onnx.export(Wrapped(layer()), (input,))
    assert torch.nn.GRU.forward.__module__ == "torch.nn.modules.rnn", "the patch is undone"


def test_a_stream_of_two_directions_is_refused():
    with pytest.raises(anygru.ArgumentError, match="must have one direction"):
        anygru.onnx.export_step(anygru.GRU(3, 4, bidirectional=True))
    with pytest.raises(anygru.ArgumentError, match="bidirectional GRU reads the future"):
        anygru.onnx.export_step(torch.nn.GRU(3, 4, bidirectional=True))
    with pytest.raises(TypeError, match=r"model must be a torch\.nn\.Module, got int"):
        anygru.onnx.export_step(3)


class Ragged(torch.nn.Module):
    def __init__(self, encoder):
        super().__init__()
        self.encoder = encoder
        self.eval()

    def forward(self, input, lengths):
        return self.encoder(input, lengths=lengths)


@pytest.mark.parametrize("sequence_lens", mostly_slow([True, False]), ids=["sequence_lens", "masks"])
@pytest.mark.parametrize("batch_first", mostly_slow([True, False]))
@pytest.mark.parametrize("layers", mostly_slow([2, 1]))
def test_lengths_become_sequence_lens_or_masks(layers, batch_first, sequence_lens):
    model = Ragged(anygru.GRU(3, 4, layers, bidirectional=True, reset="before", batch_first=batch_first))
    shape = (2, 5, 3) if batch_first else (5, 2, 3)
    axes = {0: BATCH, 1: STEPS} if batch_first else {0: STEPS, 1: BATCH}
    call = (torch.randn(shape), torch.tensor([5, 3]))
    program = anygru.onnx.export(model, call, dynamic_shapes=(axes, {0: BATCH}), sequence_lens=sequence_lens)
    inputs = (torch.randn((4, 7, 3) if batch_first else (7, 4, 3)), torch.tensor([2, 7, 0, 5]))
    assert_same(run(program, *inputs), model(*inputs))
    nodes = [node for node in program.model_proto.graph.node if node.op_type == "GRU"]
    assert len(nodes) == layers * (1 if sequence_lens else 2)
    assert all(bool(node.input[4]) == sequence_lens for node in nodes)


def run_openvino(program, *inputs):
    import openvino

    file = io.BytesIO()
    onnx.save(program.model_proto, file)
    file.seek(0)
    core = openvino.Core()
    # Without the hint, the CPU plugin computes in bfloat16 where the CPU can.
    model = core.compile_model(core.read_model(file), "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
    return list(model([value.numpy() for value in inputs]).values())


FORMS = {
    "open, masks": ({"sequence_lens": False}, True, True),
    "open, no lengths": ({}, True, False),
    "fixed, no lengths": ({}, False, False),
    "fixed, sequence_lens": ({}, False, True),
    "fixed, masks": ({"sequence_lens": False}, False, True),
}
"""The cases that OpenVINO computes correctly. With sequence_lens and open sizes, 2026.4 does not."""


@pytest.mark.parametrize(("options", "is_open", "ragged"), mostly_slow(FORMS.values()), ids=FORMS)
@pytest.mark.parametrize("make", mostly_slow([LAYERS["three layers, two directions"], lambda: anygru.GRU(3, 4),
                                              lambda: anygru.GRU(3, 4, reset="before").freeze("int8")]))  # fmt: skip
def test_runtimes(make, options, is_open, ragged):
    layer = make()
    model = Ragged(layer) if ragged else Wrapped(layer)
    call = (torch.randn(5, 3, 3), *((torch.tensor([5, 3, 1]),) if ragged else ()))
    shapes = ({0: STEPS, 1: BATCH}, {0: BATCH}) if ragged else [({0: STEPS, 1: BATCH},)]
    program = anygru.onnx.export(model, call, dynamic_shapes=shapes if is_open else None, **options)
    if is_open:
        call = (torch.randn(9, 4, 3), *((torch.tensor([2, 9, 1, 5]),) if ragged else ()))
    exact = layer.thaw().eval() if hasattr(layer, "thaw") else layer
    expected = exact(call[0], lengths=call[1]) if ragged else exact(call[0])
    assert_same(run(program, *call), expected)
    if importlib.util.find_spec("openvino"):
        assert_same(run_openvino(program, *call), expected)


REFUSED = {
    "resets": (lambda **k: anygru.GRU(3, 4, **k), {"resets": torch.rand(5, 2) < 0.4}, "no resets and no decay"),
    "decay": (lambda **k: anygru.GRU(3, 4, **k), {"decay": torch.rand(5, 2, 1)}, "no resets and no decay"),
    "norm": (lambda **k: anygru.GRU(3, 4, norm="layer", **k), {}, "no layer norm"),
    "zoneout": (lambda **k: anygru.GRU(3, 4, zoneout=0.3, **k), {}, "no zoneout"),
}


@pytest.mark.parametrize(("make", "call", "words"), REFUSED.values(), ids=REFUSED)
def test_what_the_operator_lacks_is_refused_at_once(make, call, words):
    input = torch.randn(5, 2, 3)
    with pytest.raises(anygru.ArgumentError, match=f"{words}.* with backend='reference' is exported step by step"):
        anygru.onnx.export(make().eval(), (input,), kwargs=call)


@pytest.mark.parametrize(("make", "call", "words"), mostly_slow(REFUSED.values(), 2), ids=REFUSED)
def test_what_the_operator_lacks_is_exported_step_by_step(make, call, words):
    input = torch.randn(5, 2, 3)
    layer = make(backend="reference").eval()
    program = anygru.onnx.export(layer, input, kwargs=call)  # the only input needs no tuple
    assert_same(run(program, input, *call.values()), layer(input, **call))


def test_states_of_all_layers():
    layer = anygru.GRU(3, 4, 2, bidirectional=True).eval()
    program = anygru.onnx.export(layer, (input := torch.randn(5, 2, 3),), kwargs={"return_states": True})
    assert_same(run(program, input), layer(input, return_states=True))


class Packing(torch.nn.Module):
    """The usual way of torch to compute a ragged batch."""

    def __init__(self, gru, batch_first, total, fill):
        super().__init__()
        self.gru, self.batch_first, self.total, self.fill = gru, batch_first, total, fill
        self.head = torch.nn.Linear(gru.hidden_size * (1 + gru.bidirectional), 2)
        self.eval()

    def forward(self, input, lengths):
        packed = pack_padded_sequence(input, lengths.cpu(), batch_first=self.batch_first, enforce_sorted=False)
        output, h_n = self.gru(packed)
        total = input.size(1 if self.batch_first else 0) if self.total else None
        output, lengths = pad_packed_sequence(output, self.batch_first, self.fill, total)
        return self.head(output), h_n, lengths


@pytest.mark.needs_torch(2, 10, because="an older exporter asks for the longest length of a packed batch")
@pytest.mark.parametrize(("batch_first", "total", "fill"), mostly_slow([(True, False, 2.5), (False, True, 0.0)]))
@pytest.mark.parametrize(
    "make",
    mostly_slow(
        [
            lambda **options: torch.nn.GRU(3, 4, 2, bidirectional=True, **options),
            lambda **options: anygru.GRU(3, 4, reset="before", **options),
            lambda **options: anygru.GRU(3, 4, **options).freeze("bfloat16"),
        ]
    ),
)
def test_a_packed_batch_becomes_sequence_lens(make, batch_first, total, fill):
    layer = make(batch_first=batch_first)
    model = Packing(layer, batch_first, total, fill)
    call = (torch.randn((2, 5, 3) if batch_first else (5, 2, 3)), torch.tensor([5, 3]))
    axes = {0: BATCH, 1: STEPS} if batch_first else {0: STEPS, 1: BATCH}
    program = anygru.onnx.export(model, call, dynamic_shapes=(axes, {0: BATCH}))
    nodes = [node for node in program.model_proto.graph.node if node.op_type == "GRU"]
    assert len(nodes) == layer.num_layers
    assert all(node.input[4] for node in nodes)
    # No sequence has all steps, so that without a total length the output is shorter than the input.
    inputs = (torch.randn((4, 7, 3) if batch_first else (7, 4, 3)), torch.tensor([2, 6, 1, 5]))
    if hasattr(layer, "thaw"):
        model.gru = layer.thaw().eval()
    assert_same(run(program, *inputs), model(*inputs))
    assert pack_padded_sequence(torch.zeros(3, 2, 1), [3, 2]).data.shape == (5, 1), "torch's function is itself again"


@pytest.mark.needs_torch(2, 10, because="an older exporter asks for the longest length of a packed batch")
@pytest.mark.parametrize(
    "use",
    mostly_slow(
        [
            lambda packed: packed.data,
            lambda packed: tuple(packed),
            lambda packed: packed[0],
            lambda packed: torch.nn.LSTM(3, 4)(packed)[1],
        ]
    ),
    ids=["data", "unpacked", "index", "lstm"],
)
def test_other_uses_of_a_packed_batch_are_refused(use):
    class Model(torch.nn.Module):
        def forward(self, input, lengths):
            return use(pack_padded_sequence(input, lengths, enforce_sorted=False))

    with pytest.raises(anygru.ArgumentError, match="give a packed sequence to GRUs and to pad_packed_sequence only"):
        anygru.onnx.export(Model().eval(), (torch.randn(5, 2, 3), torch.tensor([5, 3])))


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs FIFOs")
def test_a_place_that_is_no_regular_file_is_refused(tmp_path):
    os.mkfifo(tmp_path / "fifo")
    for place in (tmp_path / "fifo", Path("/dev/null")):
        with pytest.raises(anygru.CheckpointError, match="cannot be written: it exists and is not a regular file"):
            anygru.onnx.export(torch.nn.Linear(2, 3).eval(), (torch.zeros(1, 2),), place)
    assert (tmp_path / "fifo").is_fifo()
    assert Path("/dev/null").is_char_device()


def test_an_export_that_fails_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "m.onnx"
    anygru.onnx.export(torch.nn.Linear(2, 3).eval(), (torch.zeros(1, 2),), path)
    old = path.read_bytes()

    def save(program, target):
        Path(target).write_bytes(b"half")
        raise OSError("no space")

    monkeypatch.setattr(torch.onnx.ONNXProgram, "save", save)
    with pytest.raises(OSError, match="no space"):
        anygru.onnx.export(torch.nn.Linear(2, 3).eval(), (torch.zeros(1, 2),), path)
    assert path.read_bytes() == old
    assert [each.name for each in tmp_path.iterdir()] == ["m.onnx"]


def test_other_threads_notice_nothing_of_an_export() -> None:
    """Another thread packs sequences and runs layers of torch and of anygru all the while."""
    model, others = nn.Sequential(nn.GRU(3, 4)).eval(), [nn.LSTM(3, 4), nn.GRU(3, 4), anygru.GRU(3, 4)]
    x, lengths = torch.randn(3, 2, 3), torch.tensor([3, 2])
    done, errors, calls = threading.Event(), [], []
    code = pack_padded_sequence.__code__

    def use() -> None:
        while not done.is_set():
            try:
                with torch.no_grad():
                    packed = pack_padded_sequence(x, lengths)
                    assert type(packed) is PackedSequence
                    assert {type(other(packed)[0]) for other in others} == {PackedSequence}
                    calls.append(pad_packed_sequence(packed)[1])
            except Exception as error:
                errors.append(error)

    thread = threading.Thread(target=use)
    thread.start()
    try:
        anygru.onnx.export(model, (torch.randn(5, 1, 3),))
    finally:
        done.set()
        thread.join()
    assert not errors
    assert calls
    assert pack_padded_sequence.__code__ is code
    assert "forward" not in vars(model[0])


class First(nn.GRU):
    """A subclass that calls torch's method."""

    def forward(self, input: torch.Tensor) -> torch.Tensor:  # type: ignore[override]
        return super().forward(input)[0]


def test_a_subclass_of_torchs_layer_is_one_node() -> None:
    program = anygru.onnx.export(First(3, 4).eval(), (torch.randn(5, 1, 3),))
    assert [node.op_type for node in program.model.graph].count("GRU") == 1


class Packed(nn.Module):
    """A layer between torch's functions of packing."""

    def __init__(self) -> None:
        super().__init__()
        self.gru = nn.GRU(3, 4)

    def forward(self, x: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
        packed = pack_padded_sequence(x, lengths, enforce_sorted=False)
        return pad_packed_sequence(self.gru(packed)[0])[0]


@pytest.mark.parametrize("version", [17, 18, 20])
def test_a_version_of_the_operators_is_obeyed_or_refused(version: int) -> None:
    x = torch.randn(5, 2, 3)
    program = anygru.onnx.export(nn.GRU(3, 4).eval(), (x,), opset_version=version)
    onnx.checker.check_model(program.model_proto, full_check=True)
    assert [each.version for each in program.model_proto.opset_import if not each.domain] == [version]
    packed = (x, torch.tensor([5, 3]))
    if version < 18:
        with pytest.raises(anygru.ArgumentError, match="opset_version: no valid model with version 17"):
            anygru.onnx.export(Packed().eval(), packed, opset_version=version)
    else:
        anygru.onnx.export(Packed().eval(), packed, opset_version=version)


@pytest.mark.needs_torch(2, 13, because="an older torch refuses such an LSTM, or keeps its axis open")
@pytest.mark.filterwarnings("ignore")  # torch's own, in its export of an LSTM
def test_an_axis_that_torch_closes_is_refused(tmp_path: Path) -> None:
    class Mixed(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.gru, self.lstm = nn.GRU(4, 5), nn.LSTM(5, 3)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.lstm(self.gru(x)[0])[0]

    model, call, axes = Mixed().eval(), (torch.randn(7, 2, 4),), ({0: STEPS, 1: BATCH},)
    with contextlib.suppress(anygru.errors.ArgumentError):  # torch keeps the axis open in the first export of a process
        anygru.onnx.export(model, call, dynamic_shapes=axes)
    with pytest.raises(anygru.errors.ArgumentError, match="names 2 axes, and torch's export left 1 of them open"):
        anygru.onnx.export(model, call, tmp_path / "mixed.onnx", dynamic_shapes=axes)
    assert not (tmp_path / "mixed.onnx").exists()


class ByCells(nn.Module):
    """A loop of a cell, which torch's export takes apart into the steps of the example."""

    def __init__(self) -> None:
        super().__init__()
        self.cell = nn.GRUCell(4, 5)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        h = torch.zeros(x.shape[0], 5)
        return torch.stack([h := self.cell(step, h) for step in x.unbind(1)], 1)


@pytest.mark.needs_torch(2, 13, because="an older torch names the axis itself")
@pytest.mark.filterwarnings("ignore")  # torch's own, about the axis
def test_a_loop_over_the_steps_is_named_where_it_closes_their_axis():
    with pytest.raises(anygru.errors.ArgumentError, match="left 0 of them open. A loop over the steps"):
        anygru.onnx.export(ByCells().eval(), torch.randn(2, 3, 4), dynamic_shapes=({1: torch.export.Dim("steps")},))
