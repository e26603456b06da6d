"""`anygru sample` and its parts."""

import json
import subprocess

import pytest
import safetensors.torch
import torch
from cli.command_line import start

import anygru as package
from anygru_lab.language_model.checkpoint import RunFolder, read_model
from anygru_lab.language_model.generate import build, generate, write_text
from anygru_lab.language_model.lanes import BOUNDARY
from anygru_lab.language_model.model import LanguageModel, Shape


def model(seed=0, sharpness=8.0):
    """A model with random weights, scaled up so that its next byte is rarely a matter of chance."""
    torch.manual_seed(seed)
    made = LanguageModel(Shape(layers=2, hidden=12, embedding=6))
    with torch.no_grad():
        made.head.weight *= sharpness
    return made.eval()


def likeliest_by_torch(made, prompt, length):
    """Greedy continuation by torch.nn.GRU, which reads the whole text again for every byte."""
    peer = torch.nn.GRU(6, 12, 2)
    peer.load_state_dict(made.gru.state_dict())
    text = list(prompt)
    out = b""
    while length:
        with torch.no_grad():
            output, _ = peer(made.embed(torch.tensor([BOUNDARY, *text])))
            logits = made.head(output[-1])
        if not text:
            logits[BOUNDARY] = -torch.inf
        symbol = int(logits.argmax())
        if symbol == BOUNDARY:
            text, out = [], out + b"\n\n"
        else:
            text, out, length = [*text, symbol], out + bytes([symbol]), length - 1
    return out


@pytest.mark.parametrize("prompt", [b"", b"green", bytes([0, 255])])
def test_a_stream_gives_what_the_whole_text_gives(prompt):
    for seed in range(3):
        made = model(seed)
        assert b"".join(generate(made, prompt, 40, 0, 0)) == likeliest_by_torch(made, prompt, 40)


def test_where_a_document_ends_the_next_begins_from_zero():
    made = model()
    with torch.no_grad():
        made.head.bias[BOUNDARY] = 100.0  # a document of one byte, always
    text = b"".join(generate(made, b"", 6, 0, 0))
    byte = text[:1]
    assert text == b"\n\n".join([byte] * 6)
    assert text == likeliest_by_torch(made, b"", 6)


def test_draws_follow_the_softmax():
    made = model(sharpness=0.0)
    with torch.no_grad():
        made.head.bias.fill_(-50.0)
        made.head.bias[[65, 66]] = torch.tensor([0.0, 0.7])
    for temperature in (0.5, 1.0, 2.0):
        text = b"".join(generate(made, b"", 4000, temperature, 1))
        expected = torch.sigmoid(torch.tensor(0.7 / temperature))
        assert text.count(b"B") / 4000 == pytest.approx(float(expected), abs=0.03)


def test_a_seed_gives_the_same_text_again():
    made = model(sharpness=1.0)
    one, again, other = (b"".join(generate(made, b"", 50, 1.0, seed)) for seed in (1, 1, 2))
    assert one == again != other


def test_bytes_come_one_at_a_time():
    parts = generate(model(), b"", 10**9, 1.0, 0)
    assert [len(next(parts)) for _ in range(3)] <= [2, 2, 2]


def test_text_for_a_terminal_cannot_steer_it(capfd):
    write_text([b"a\x1b[2J", "é".encode()[:1], "é".encode()[1:], b"\xff\r\tb\n", "é".encode()[:1]])
    assert capfd.readouterr().out == "a�[2Jé��\tb\n�"


def test_weights_are_the_best_models(finished):
    shape, weights = read_model(finished)
    best = RunFolder(finished).read().best
    assert shape == Shape(layers=1, hidden=8, embedding=4)
    file = finished / best.file.file
    assert {name: weight.shape for name, weight in weights.items()} == {
        name: weight.shape for name, weight in safetensors.torch.load_file(file).items()
    }
    for other in (file, finished / "checkpoint.json"):
        again = read_model(other)
        assert again[0] == shape
        assert all(torch.equal(again[1][name], weights[name]) for name in weights)
    assert isinstance(build(shape, weights, file).gru, package.GRU)


@pytest.mark.usefixtures("warm_python")
def test_a_process_streams_bytes_and_prints_its_speed(finished):
    arguments = ["sample", finished, "--prompt", "ten green", "--length", 30, "--seed", 5, "--temperature", 1]
    process = start(*arguments, "--bytes", errors="surrogateescape")
    out, error = process.communicate(timeout=600)
    assert process.returncode == 0, error
    shape, weights = read_model(finished)
    expected = b"".join(generate(build(shape, weights, finished), b"ten green", 30, 1.0, 5))
    assert out.encode("utf-8", "surrogateescape") == b"ten green" + expected + b"\n"
    assert error.startswith("30 bytes in ")
    assert "bytes/s; seed 5" in error


def test_without_bytes_the_text_is_utf_8(anygru, finished):
    """At a temperature of 100 nearly every byte is as likely as any other."""
    result = anygru("sample", finished, "--length", 300, "--seed", 5, "--temperature", 100)
    assert "\N{REPLACEMENT CHARACTER}" in result.out


def test_frozen_weights(anygru, finished, tmp_path):
    arguments = ["--length", 20, "--seed", 5, "--bytes"]
    plain = anygru("sample", finished, *arguments)
    assert anygru("sample", finished, *arguments, "--weights", "float32").out == plain.out
    index = json.loads((finished / "checkpoint.json").read_text())
    small = tmp_path / "small.safetensors"
    assert anygru("convert", finished / index["best"]["file"]["file"], small, "--weights", "int8").status == 0
    assert anygru("sample", finished, *arguments, "--weights", "int8").out == anygru("sample", small, *arguments).out
    only_line(anygru("sample", small, "--weights", "bfloat16"), "holds int8 weights, which cannot become bfloat16")


@pytest.mark.usefixtures("warm_python")
def test_a_reader_that_leaves_is_no_error(finished):
    process = start("sample", finished, "--length", 1_000_000)
    process.stdout.buffer.read(10)
    process.stdout.close()
    process.stdout = None
    try:
        _, error = process.communicate(timeout=600)
    except subprocess.TimeoutExpired:
        process.kill()
        raise
    assert process.returncode == 0
    assert "Traceback" not in error
    assert "Exception" not in error


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--length", -1], "--length must be at least 0, got -1"),
        (["--temperature", -0.5], "--temperature must be at least 0, got -0.5"),
        (["--temperature", "nan"], "--temperature must be at least 0, got nan"),
        (["--seed", -1], "--seed must be from 0"),
        (["--threads", 0], "--threads must be from 1"),
        (["--backend", "abacus"], "backend must be one of"),
    ],
)
def test_a_bad_option_is_named(anygru, finished, arguments, words):
    only_line(anygru("sample", finished, *arguments), words)


def only_line(result, words):
    assert result.status == 2
    assert result.error.startswith("anygru sample: error: ")
    assert result.error.count("\n") == 1
    assert words in result.error


def test_a_model_that_is_none_is_named(anygru, finished, copy, tmp_path):
    only_line(anygru("sample", tmp_path / "absent"), "there is no file")
    only_line(anygru("sample", tmp_path), "holds no run of `anygru train`")
    text = tmp_path / "text.txt"
    text.write_text("not a model, but long enough for a header")
    only_line(anygru("sample", text), "damaged or no safetensors file")
    other = tmp_path / "other.safetensors"
    safetensors.torch.save_file({"weight": torch.zeros(3)}, other)
    only_line(anygru("sample", other), "is not a model of `anygru train`")
    state = RunFolder(finished).read().state
    only_line(anygru("sample", finished / state.file), "is not a model of `anygru train`")
    best = RunFolder(copy).read().best
    file = copy / best.file.file
    data = file.read_bytes()
    for damaged in (data[:-1], data[:20], b""):
        file.write_bytes(damaged)
        only_line(anygru("sample", copy), "damaged")
        only_line(anygru("sample", file), "damaged")


@pytest.mark.parametrize("shape", ['{"layers": 1, "hidden": 65536, "embedding": 65536}', '{"layers": 1}', "7", "{"])
def test_a_shape_that_does_not_fit_is_refused_before_memory_is_taken(anygru, finished, tmp_path, shape):
    _, weights = read_model(finished)
    path = tmp_path / "model.safetensors"
    safetensors.torch.save_file(weights, path, metadata={"anygru language model": shape})
    result = anygru("sample", path)
    assert result.status == 2
    assert result.error.count("\n") == 1


def test_weights_that_are_not_finite_are_refused(anygru, finished, tmp_path):
    _, weights = read_model(finished)
    weights["head.bias"][3] = torch.nan
    path = tmp_path / "model.safetensors"
    metadata = {"anygru language model": '{"layers": 1, "hidden": 8, "embedding": 4}'}
    safetensors.torch.save_file(weights, path, metadata=metadata)
    only_line(anygru("sample", path), "not finite")


def test_top_k_and_top_p_leave_the_unlikely_bytes_out():
    made = model(sharpness=0.0)
    with torch.no_grad():
        made.head.bias.fill_(-50.0)
        made.head.bias[[65, 66, 67]] = torch.tensor([0.5, 0.3, 0.2]).log()
    counts = {}
    for options in ({}, {"top_k": 2}, {"top_p": 0.5}, {"top_p": 0.51}, {"top_k": 3, "top_p": 0.7}):
        text = b"".join(generate(made, b"", 2000, 1.0, 1, **options))
        counts[str(options)] = [text.count(byte) / 2000 for byte in (b"A", b"B", b"C")]
    expected = [[0.5, 0.3, 0.2], [0.625, 0.375, 0], [1, 0, 0], [0.625, 0.375, 0], [0.625, 0.375, 0]]
    for found, shares in zip(counts.values(), expected, strict=True):
        assert found == pytest.approx(shares, abs=0.04)


def test_several_texts_each_with_a_seed_of_its_own(anygru, finished):
    one = anygru("sample", finished, "--prompt", "ten", "--length", 20, "--seed", 3)
    both = anygru("sample", finished, "--prompt", "ten", "--prompt", "six", "--length", 20, "--seed", 3)
    two = anygru("sample", finished, "--prompt", "ten", "--num", 2, "--length", 20, "--seed", 3)
    assert both.out.startswith("--- 1 of 2\n" + one.out)
    assert "\n--- 2 of 2\nsix" in both.out
    assert two.out.startswith("--- 1 of 2\n" + one.out)
    assert "40 bytes in" in two.error


def test_texts_without_end(anygru, finished, monkeypatch):
    """The texts are made one by one, however many there are to come."""
    written = []

    def stop(pieces):
        written.extend(pieces)
        if len(written) > 20:
            raise KeyboardInterrupt

    monkeypatch.setattr("anygru_lab.language_model.generate.write_text", stop)
    assert anygru("sample", finished, "--num", 10**30, "--length", 1).status == 130


@pytest.mark.parametrize(("option", "value"), [("--num", 0), ("--top-k", -1), ("--top-p", 0), ("--top-p", 1.5)])
def test_a_bad_number_is_named(anygru, finished, option, value):
    result = anygru("sample", finished, option, value)
    assert result.status == 2
    assert f"{option} must be" in result.error
