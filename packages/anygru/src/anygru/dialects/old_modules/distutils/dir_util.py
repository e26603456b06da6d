"""Folders."""

import os
import shutil


def mkpath(name: str, mode: int = 0o777, verbose: int = 1, dry_run: int = 0) -> list[str]:
    """Make a folder and those above it; the folders that were made."""
    missing = []
    while name and not os.path.isdir(name):
        missing.append(name)
        name = os.path.dirname(name)
    if not dry_run and missing:
        os.makedirs(missing[0], mode, exist_ok=True)
    return missing[::-1]


def copy_tree(
    src: str, dst: str, preserve_mode: int = 1, preserve_times: int = 1, preserve_symlinks: int = 0
) -> list[str]:
    """Copy all files below a folder into another, which may exist; the files that were written."""
    if not os.path.isdir(src):
        raise OSError(f"cannot copy tree '{src}': not a directory")
    shutil.copytree(
        src,
        dst,
        symlinks=bool(preserve_symlinks),
        copy_function=shutil.copy2 if preserve_times else shutil.copy if preserve_mode else shutil.copyfile,
        dirs_exist_ok=True,
    )
    places = [(os.path.join(dst, os.path.relpath(folder, src)), files) for folder, _, files in os.walk(src)]
    return [os.path.normpath(os.path.join(folder, file)) for folder, files in places for file in files]


def remove_tree(directory: str, verbose: int = 1, dry_run: int = 0) -> None:
    """Remove a folder with all in it."""
    if not dry_run:
        shutil.rmtree(directory)
