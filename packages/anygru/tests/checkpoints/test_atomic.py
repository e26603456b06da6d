"""A crash, a kill or a full disk leaves the old file unchanged."""

import os
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch
from samples import ENDINGS, assert_same, model

from anygru.checkpoints import load_checkpoint, save_checkpoint
from anygru.checkpoints.output.atomic import open_for_replace, resolved
from anygru.errors import CheckpointError


def test_new_content_takes_the_place_of_the_old(tmp_path: Path) -> None:
    path = tmp_path / "file"
    for content in (b"first", b"second"):
        with open_for_replace(path) as file:
            file.write(content)
        assert path.read_bytes() == content
    assert os.listdir(tmp_path) == ["file"]


def test_text_is_written_as_utf8(tmp_path: Path) -> None:
    with open_for_replace(tmp_path / "file", "w") as file:
        file.write("déjà vu")
    assert (tmp_path / "file").read_bytes() == "déjà vu".encode()


def test_an_error_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"old")
    with pytest.raises(TypeError), open_for_replace(path) as file:
        file.writelines([b"new", "text where bytes belong"])
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["file"]


def test_permissions_stay_and_new_files_obey_the_mask(tmp_path: Path) -> None:
    path = tmp_path / "old"
    path.write_bytes(b"old")
    path.chmod(0o640)
    mask = os.umask(0o027)
    try:
        for name in ("old", "new"):
            with open_for_replace(tmp_path / name) as file:
                file.write(b"x")
    finally:
        os.umask(mask)
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert stat.S_IMODE((tmp_path / "new").stat().st_mode) == 0o640


def test_a_link_keeps_pointing_to_the_file_behind_it(tmp_path: Path) -> None:
    (tmp_path / "real").write_bytes(b"old")
    (tmp_path / "link").symlink_to("real")
    with open_for_replace(tmp_path / "link") as file:
        file.write(b"new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_bytes() == b"new"


def test_other_modes_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="mode must be 'wb' or 'w', got 'a'"), open_for_replace(tmp_path / "x", "a"):
        pass


def test_progress_counts_every_byte_in_pieces(tmp_path: Path) -> None:
    counted: list[int] = []
    with open_for_replace(tmp_path / "file", progress=counted.append) as file:
        file.write(bytes(40 << 20))
    assert sum(counted) == 40 << 20
    assert max(counted) <= 16 << 20


_WRITE_FOREVER = """
import sys, torch
from anygru.checkpoints import save_checkpoint
while True:
    for value in (1.0, 2.0):
        save_checkpoint({"first": torch.full((300_000,), value), "second": torch.full((300_000,), value)}, sys.argv[1])
        print(".", flush=True)
"""


@pytest.mark.slow
@pytest.mark.parametrize("format", ENDINGS)
def test_sigkill_leaves_the_old_or_the_new_file(format: str, tmp_path: Path) -> None:
    path = tmp_path / ("model" + ENDINGS[format])
    for attempt in range(3):
        process = subprocess.Popen([sys.executable, "-c", _WRITE_FOREVER, str(path)], stdout=subprocess.PIPE)
        assert process.stdout is not None
        process.stdout.read(1)  # the first file is whole
        time.sleep(0.011 + 0.007 * attempt)
        process.send_signal(signal.SIGKILL)
        process.wait()
        process.stdout.close()
        tensors = load_checkpoint(path).tensors
        assert float(tensors["first"][0]) in (1.0, 2.0)
        assert torch.equal(tensors["first"], tensors["second"])
        assert len(set(tensors["first"].tolist())) == 1


_LIMITED = """
import resource, signal, sys, torch
from anygru.checkpoints import save_checkpoint
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
try:
    save_checkpoint({"big": torch.rand(100_000), "more": torch.rand(100_000)}, sys.argv[1])
except Exception as error:
    print(type(error).__name__)
"""


@pytest.mark.slow
@pytest.mark.parametrize("format", ENDINGS)
def test_a_full_disk_leaves_the_old_file_and_nothing_else(format: str, tmp_path: Path) -> None:
    path = tmp_path / ("model" + ENDINGS[format])
    save_checkpoint(model(), path)
    before = load_checkpoint(path)
    files = sorted(os.listdir(tmp_path))
    inside = sorted(os.listdir(path)) if path.is_dir() else None
    done = subprocess.run([sys.executable, "-c", _LIMITED, str(path)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip(), "the file was written although there was no room"
    assert_same(before, load_checkpoint(path))
    assert sorted(os.listdir(tmp_path)) == files
    assert inside is None or sorted(os.listdir(path)) == inside


def test_the_mask_of_the_process_is_never_set(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Files that other threads make at that moment would get other permissions."""
    monkeypatch.setattr(os, "umask", None)
    with open_for_replace(tmp_path / "new") as file:
        file.write(b"x")
    assert [path.name for path in tmp_path.iterdir()] == ["new"]


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root can make another user's link")
@pytest.mark.parametrize("name", ["file", "folder/file", "link"])
def test_no_link_of_another_user_is_followed_in_a_folder_of_everybodys(name: str, tmp_path: Path) -> None:
    shared, private = tmp_path / "shared", tmp_path / "private"
    private.mkdir()
    shared.mkdir()
    shared.chmod(0o1777)
    (private / "file").write_text("old")
    (shared / "file").symlink_to(private / "file")
    (shared / "folder").symlink_to(private)
    (shared / "link").symlink_to("file")
    for planted in shared.iterdir():
        os.chown(planted, 12345, 12345, follow_symlinks=False)
    with pytest.raises(CheckpointError, match="a link of another user"), open_for_replace(shared / name):
        pass
    assert (private / "file").read_text() == "old"
    os.chown(shared / "file", os.geteuid(), -1, follow_symlinks=False)
    with open_for_replace(shared / "file") as file:
        file.write(b"mine")
    assert (private / "file").read_text() == "mine"


def test_links_are_followed_as_the_system_follows_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a/b").mkdir(parents=True)
    (tmp_path / "c").symlink_to("a/b")
    (tmp_path / "a/b/d").symlink_to("../e")
    (tmp_path / "loop").symlink_to("loop")
    monkeypatch.chdir(tmp_path / "a")
    for path in ("../c/d", "../c/../x", tmp_path / "c/d", "b/./new", "../c"):
        assert str(resolved(path)) == os.path.realpath(path)
    with pytest.raises(OSError, match="[Ss]ymbolic"):
        resolved(tmp_path / "loop/x")
