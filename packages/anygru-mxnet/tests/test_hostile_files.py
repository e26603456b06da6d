"""Symbol files and optimizer states that are damaged or hostile: an MXNetError that names the file, in little memory."""

import json
import os
import resource
import struct
from pathlib import Path

import pytest

import anygru_mxnet as mx
from anygru_mxnet.base import MXNetError


def node(op: str = "null", name: str = "x", inputs: object = (), **attrs: str) -> dict:
    return {"op": op, "name": name, "attrs": attrs, "inputs": inputs}


BAD = {
    "an empty input": {"nodes": [node(), node("relu", "y", [[]])], "heads": [[1, 0, 0]]},
    "an empty head": {"nodes": [node()], "heads": [[]]},
    "a head of text": {"nodes": [node()], "heads": ["00"]},
    "no heads": {"nodes": [node()]},
    "nodes of numbers": {"nodes": [1], "heads": []},
    "many outputs": {
        "nodes": [node(), node("SliceChannel", "y", [[0, 0]], num_outputs="1000000000")],
        "heads": [[1, 0]],
    },
    "an operator that is a list": {"nodes": [{"op": [], "name": "x", "inputs": []}], "heads": []},
    "an input of many digits": {"nodes": [node("relu", "y", [[int("9" * 4000), 0]])], "heads": []},
}


@pytest.mark.parametrize("name", BAD)
def test_a_bad_symbol_is_refused(name: str, tmp_path: Path) -> None:
    text = json.dumps(BAD[name])
    with pytest.raises(MXNetError):
        mx.sym.load_json(text)
    (tmp_path / "x-symbol.json").write_text(text)
    with pytest.raises(MXNetError, match="x-symbol.json"):
        mx.sym.load(str(tmp_path / "x-symbol.json"))


def test_text_nested_without_end_is_refused(tmp_path: Path) -> None:
    for text in ("[" * 100_000, '{"nodes":' + "[[]," * 3_000_000):
        with pytest.raises(MXNetError):
            mx.sym.load_json(text)
    deep = {"nodes": [node("_zeros", shape="(" * 5000)], "heads": [[0, 0]]}
    with pytest.raises(MXNetError):
        mx.sym.load_json(json.dumps(deep)).infer_shape()


@pytest.mark.parametrize(
    ("record", "shapes"),
    [
        (node("Embedding", "y", [[0, 0], [1, 0]], output_dim="3"), {"x": (2, 3)}),
        (node("_zeros", "y", shape="(2,)", dtype="nothing"), {}),
        (node("Reshape", "y", [[0, 0]], shape="(a, b)"), {"x": (2,)}),
    ],
)
def test_bad_attributes_are_named(record: dict, shapes: dict) -> None:
    text = json.dumps({"nodes": [node(), node(name="w"), record], "heads": [[2, 0, 0]]})
    symbol = mx.sym.load_json(text)
    with pytest.raises(MXNetError):
        symbol.infer_shape(**shapes)


def test_a_bad_dtype_is_named() -> None:
    text = json.dumps({"nodes": [node(), node("Cast", "y", [[0, 0]], dtype="nothing")], "heads": [[1, 0, 0]]})
    with pytest.raises(MXNetError, match="Cast y: .*nothing"):
        mx.sym.load_json(text).infer_type()


def test_a_declared_shape_that_is_none_is_refused() -> None:
    for shape in ("(", "1" + "0" * 5000, "'abc'", "None"):
        symbol = mx.sym.load_json(json.dumps({"nodes": [node(__shape__=shape)], "heads": [[0, 0, 0]]}))
        with pytest.raises(MXNetError):
            symbol.infer_shape()


@pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="the limit on memory needs Linux")
@pytest.mark.parametrize("operator", ["_ones", "_zeros", "_full"])
def test_a_shape_takes_no_memory(operator: str) -> None:
    record = node(operator, "y", shape="(800000000,)")
    symbol = mx.sym.load_json(json.dumps({"nodes": [record], "heads": [[0, 0, 0]]}))
    old = resource.getrlimit(resource.RLIMIT_AS)
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + (200 << 20), old[1]))
    try:
        assert symbol.infer_shape()[1] == [(800000000,)]
    finally:
        resource.setrlimit(resource.RLIMIT_AS, old)


def test_shapes_of_what_is_made() -> None:
    for symbol in (
        mx.sym.zeros((2, 3)),
        mx.sym.ones((2, 3)),
        mx.sym.random.uniform(shape=(2, 3)),
        mx.sym.random.normal(shape=(2, 3)),
    ):
        assert symbol.infer_shape()[1] == [(2, 3)]
    assert mx.sym.arange(0, 6).infer_shape()[1] == [(6,)]


def trainer() -> mx.gluon.Trainer:
    net = mx.gluon.nn.Dense(2, in_units=3)
    net.initialize()
    return mx.gluon.Trainer(net.collect_params(), "sgd", {"momentum": 0.9})


@pytest.mark.parametrize(
    "content",
    [
        b"cbuiltins\nbytearray\n\x8a\x05\x00\xe4\x0bT\x02\x85R.",
        b"cnumpy\nfloat32\n(" + b"N" * 1000 + b"l\x85R.",
        b"}.",
        b"N.",
        b"garbage",
    ],
)
def test_states_that_are_none_are_refused_by_the_files_name(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "trainer.states"
    path.write_bytes(b"\x80\x04" + content)
    if content == b"}.":
        trainer().load_states(str(path))
        return
    with pytest.raises(MXNetError, match=r"trainer\.states"):
        trainer().load_states(str(path))


def test_states_of_one_array_many_times_are_refused(tmp_path: Path) -> None:
    record = struct.pack("<Iiiq", 0xF993FAC9, 0, 1, 250_000) + struct.pack("<iii", 1, 0, 0) + bytes(1_000_000)
    state = b"}X\x06\x00\x00\x00handleB" + struct.pack("<I", len(record)) + record + b"s\x940"
    again = b"h\x01)Rh\x00b"
    content = b"\x80\x04" + state + b"cmxnet.ndarray.ndarray\nNDArray\n\x940(" + again * 500 + b"l."
    (tmp_path / "x.states").write_bytes(content)
    with pytest.raises(MXNetError, match="bytes of memory would be made"):
        trainer().load_states(str(tmp_path / "x.states"))


def test_a_fifo_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "x.states")
    with pytest.raises(MXNetError, match="not a regular file"):
        trainer().load_states(str(tmp_path / "x.states"))
    with pytest.raises(MXNetError, match="not a regular file"):
        mx.sym.load(str(tmp_path / "x.states"))
    with pytest.raises(FileNotFoundError):
        trainer().load_states(str(tmp_path / "nothing"))


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("(" + "1," * 1_000_000 + ")", "shape"),
        ("(" + "1," * 1_000_000 + ")", "__shape__"),
        ("-" * 100_000 + "1", "shape"),
        ("-" * 100_000 + "1", "__shape__"),
        ("9" * 1_000_000, "shape"),
    ],
)
def test_an_attribute_that_is_too_long_is_one_clear_error(text: str, place: str) -> None:
    """Python's parser would take a gigabyte for a tuple of a million entries, and RecursionError for signs."""
    nodes = [node(), node("Reshape", "y", [[0, 0]], shape="(1, 2)")]
    nodes[place == "shape"]["attrs"][place] = text
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(MXNetError, match=f"attribute {place} has {len(text)} letters .* at most 65536") as found:
        mx.sym.load_json(json.dumps({"nodes": nodes, "heads": [[1, 0]]})).infer_shape()
    assert len(str(found.value)) < 200
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 100 << 10


def test_shapes_have_a_bounded_number_of_axes() -> None:
    x = mx.sym.var("x")
    with pytest.raises(MXNetError, match="x has 1000000 axes, at most 64"):
        mx.sym.reshape(x, shape=(-1,)).infer_shape(x=(1,) * 1_000_000)
    with pytest.raises(MXNetError, match="1000 axes, at most 64"):
        mx.nd.ones((1,)).reshape((1,) * 1000)


def test_shapes_of_a_long_chain_take_time_in_proportion() -> None:
    y = x = mx.sym.var("x")
    for _ in range(3000):
        y = -y
    assert y.infer_shape(x=(2, 3))[1] == [(2, 3)]
    assert x.list_arguments() == y.list_arguments()


def recurrent(inputs: int = 3, **attrs: str) -> str:
    """The text of a GRU of the symbol API."""
    variables = [node(name=f"x{number}") for number in range(inputs)]
    attrs = {"state_size": "4", "num_layers": "1", "mode": "gru", **attrs}
    made = node("RNN", "y", [[number, 0, 0] for number in range(inputs)], **attrs)
    return json.dumps({"nodes": [*variables, made], "heads": [[inputs, 0, 0]]})


#: Texts that Python could convert to a flag or a number, and that are errors in MXNet 1.9.1 (recorded).
NO_VALUES = [
    {"bidirectional": "yes"}, {"bidirectional": "2"}, {"bidirectional": "tru"}, {"state_outputs": "1.0"},
    {"use_sequence_length": "t"}, {"state_size": "4.0"}, {"state_size": "4abc"}, {"state_size": "(4,)"},
    {"num_layers": "True"},
]  # fmt: skip


@pytest.mark.parametrize("attrs", NO_VALUES, ids=str)
def test_a_value_of_another_kind_is_refused_by_the_attributes_name(attrs: dict[str, str]) -> None:
    (name,) = attrs
    with pytest.raises(MXNetError, match=f"Invalid Parameter format for {name} expect (int|boolean) but value="):
        mx.sym.load_json(recurrent(**attrs))


@pytest.mark.parametrize("flag", ["True", "true", "1", "False", "0", " False "])
def test_flags_may_be_written_as_mxnet_writes_and_reads_them(flag: str) -> None:
    shapes, _, _ = mx.sym.load_json(recurrent(bidirectional=flag)).infer_shape_partial(x0=(5, 2, 3))
    assert shapes[1] == ((216,) if flag.lower() in ("true", "1") else (108,))


@pytest.mark.parametrize("name", ["ctx_group", "weight_lr_mult", "__anything__"])
def test_what_older_files_say_of_a_node_is_no_attribute_of_its_operator(name: str) -> None:
    assert mx.sym.load_json(recurrent(**{name: "1"})).list_arguments() == ["x0", "x1", "x2"]


@pytest.mark.parametrize("mode", ["gru", "lstm"])
def test_sequences_of_no_given_length_are_refused(mode: str) -> None:
    states = 1 + (mode == "lstm")
    size = 36 * (3 if mode == "gru" else 4)
    arrays = [mx.nd.ones((5, 2, 3)), mx.nd.ones((size,)), *(mx.nd.ones((1, 2, 4)) for _ in range(states))]
    symbol = mx.sym.load_json(recurrent(2 + states, mode=mode, use_sequence_length="True"))
    with pytest.raises(MXNetError, match="sequence_length"):
        symbol.bind(mx.cpu(), {f"x{number}": array for number, array in enumerate(arrays)}).forward()
    with pytest.raises(MXNetError, match="sequence_length"):
        mx.nd.RNN(*arrays, mode=mode, state_size=4, num_layers=1, use_sequence_length=True)


def test_every_flag_and_number_of_every_operator_refuses_what_it_is_not() -> None:
    from anygru_mxnet.operators.registry import OPERATORS

    for operator in set(OPERATORS.values()):
        for name in operator.kinds:
            with pytest.raises(MXNetError, match=f"Invalid Parameter format for {name} "):
                operator.parse({name: "perhaps"})
        if operator.attributes:
            with pytest.raises(MXNetError, match="Cannot find argument 'perhaps'"):
                operator.parse({"perhaps": "1"})


@pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="the limit on memory needs Linux")
@pytest.mark.parametrize("record", [pytest.param("none", marks=pytest.mark.slow), "one byte"])
def test_a_file_of_many_small_arrays_takes_no_more_memory_than_promised(record: str, tmp_path: Path) -> None:
    """Of arrays that were never filled, which take 12 bytes each, and of single bytes."""
    empty = struct.pack("<IiI", 0xF993FAC9, 0, 0)
    single = struct.pack("<IiiqiiiB", 0xF993FAC9, 0, 1, 1, 1, 0, 3, 7)
    count = 60_000
    body = (empty if record == "none" else single) * count
    data = struct.pack("<QQQ", 0x112, 0, count) + body + struct.pack("<Q", 0)
    path = str(tmp_path / "many.params")
    Path(path).write_bytes(data)
    old = resource.getrlimit(resource.RLIMIT_AS)
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + 2 * ((64 << 20) + 32 * len(data)), old[1]))
    try:
        for read in (lambda: mx.nd.load(path), lambda: mx.nd.load_frombuffer(data)):
            with pytest.raises(MXNetError, match="bytes of memory would be made"):
                read()
    finally:
        resource.setrlimit(resource.RLIMIT_AS, old)


def test_a_saved_block_nested_without_end_is_refused(tmp_path: Path) -> None:
    prefix = str(tmp_path / "b")
    net = mx.gluon.nn.Dense(2, in_units=3)
    for text in ("[" * 100_000, '{"a":' * 100_000, "{" + '"k": [' + "[]," * 3_000_000):
        Path(f"{prefix}-model.json").write_text(text)
        with pytest.raises(MXNetError, match="b-model.json"):
            net.load(prefix)


@pytest.mark.parametrize("part", ["a name that is a number", "a name twice", "a damaged graph", "an operator"])
def test_a_damaged_block_is_refused_and_nothing_is_changed(part: str, tmp_path: Path) -> None:
    net = mx.gluon.nn.HybridSequential()
    net.add(mx.gluon.nn.Dense(2, in_units=3), mx.gluon.nn.Dense(1, in_units=2))
    net.initialize()
    net.hybridize()
    net(mx.nd.ones((1, 3)))
    net.save(str(tmp_path / "b"))
    file = tmp_path / "b-model.json"
    tree = json.loads(file.read_text())
    (entry,) = tree.values()
    names = entry["children"]
    if "name" in part:
        names[list(names)[1]] = 7 if "number" in part else next(iter(names.values()))
    else:
        entry["symbol"] = "[" if "graph" in part else entry["symbol"].replace("FullyConnected", "none")
    file.write_text(json.dumps(tree))
    before = dict(net._children), net._cached_graph
    with pytest.raises(MXNetError, match="b-model.json"):
        net.load(str(tmp_path / "b"))
    assert (dict(net._children), net._cached_graph) == before
