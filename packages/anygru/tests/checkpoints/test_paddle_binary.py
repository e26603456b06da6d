"""Tensors of Paddle's programs, written by Paddle 2.6.2; the operators were taken out of the two `.pdmodel` files."""

import contextlib
import shutil
from pathlib import Path

import numpy as np
import pytest
import torch
from samples import DATA

from anygru.checkpoints import load_checkpoint
from anygru.errors import CheckpointError

PADDLE = DATA / "paddle"


def test_the_weights_of_jit_save_are_the_layers_state() -> None:
    found, expected = load_checkpoint(PADDLE / "inference.pdiparams"), load_checkpoint(PADDLE / "inference.pdparams")
    assert found.format == "paddle_binary"
    # A program has one name for each tensor, and only the tensors that it needs.
    for name, stored in found.stored.items():
        assert stored.same_bits(expected.stored[name]), name
    assert len(found.stored) == 23
    assert [found_gru.path for found_gru in found.gru_layers] == ["gru"]
    x = torch.randn(2, 3, 3)
    for mine, theirs in zip(found.gru("gru")(x), expected.gru("gru")(x), strict=True):
        assert torch.equal(mine, theirs)


def test_a_static_program_names_its_variables() -> None:
    names = [
        "fc_0.b_0",
        "fc_0.w_0",
        *(f"gru_cell_0.{part}" for part in ("bias_ih", "bias_hh", "weight_ih", "weight_hh")),
    ]
    found = load_checkpoint(PADDLE / "static_inference.pdiparams")
    assert list(found.stored) == names
    folder = load_checkpoint(PADDLE / "persistables")
    assert set(folder.stored) == {*names, "gru_0.w_0"}
    assert folder.stored["gru_cell_0.weight_ih"].values.shape == (12, 3)


def test_a_folder_with_one_file_of_all_values(tmp_path: Path) -> None:
    shutil.copy(PADDLE / "static_inference.pdmodel", tmp_path / "__model__")
    shutil.copy(PADDLE / "static_inference.pdiparams", tmp_path / "__params__")
    found, expected = load_checkpoint(tmp_path), load_checkpoint(PADDLE / "static_inference.pdiparams")
    assert list(found.stored) == list(expected.stored)


def test_one_tensor_has_the_name_of_its_file() -> None:
    found = load_checkpoint(PADDLE / "binary.pdtensor")
    expected = load_checkpoint(PADDLE / "inference.pdparams").stored["fc.weight"]
    assert found.stored["binary"].same_bits(expected)


def test_without_the_program_tensors_are_numbered(tmp_path: Path) -> None:
    shutil.copy(PADDLE / "static_inference.pdiparams", tmp_path / "m.pdiparams")
    assert list(load_checkpoint(tmp_path / "m.pdiparams").stored) == [f"tensor_{number}" for number in range(6)]


def test_another_program_is_refused(tmp_path: Path) -> None:
    shutil.copy(PADDLE / "static_inference.pdiparams", tmp_path / "m.pdiparams")
    shutil.copy(PADDLE / "inference.pdmodel", tmp_path / "m.pdmodel")
    with pytest.raises(CheckpointError, match="6 tensors, but the program has 23 variables"):
        load_checkpoint(tmp_path / "m.pdiparams")


@pytest.mark.parametrize("suffix", ["pdiparams", "pdmodel"])
def test_damaged_files_are_read_or_refused(suffix: str, tmp_path: Path) -> None:
    for name in ("pdiparams", "pdmodel", "pdiparams.info"):
        shutil.copy(PADDLE / f"inference.{name}", tmp_path / f"m.{name}")
    target = tmp_path / f"m.{suffix}"
    whole = target.read_bytes()
    rng = np.random.default_rng(5)
    for _ in range(300):
        damaged = bytearray(whole)
        if rng.random() < 0.3:
            del damaged[rng.integers(len(damaged)) :]
        else:
            damaged[rng.integers(len(damaged))] = rng.integers(256)
        target.write_bytes(damaged)
        with contextlib.suppress(CheckpointError):
            load_checkpoint(tmp_path / "m.pdiparams")
