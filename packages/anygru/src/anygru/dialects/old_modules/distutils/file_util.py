"""Files."""

import os
import shutil


def copy_file(src: str, dst: str, preserve_mode: int = 1, preserve_times: int = 1) -> tuple[str, bool]:
    """Copy a file to a path or into a folder; (path, True)."""
    if os.path.isdir(dst):
        dst = os.path.join(dst, os.path.basename(src))
    (shutil.copy2 if preserve_times else shutil.copy if preserve_mode else shutil.copyfile)(src, dst)
    return dst, True


def move_file(src: str, dst: str) -> str:
    """Move a file to a path or into a folder; its path."""
    return str(shutil.move(src, dst))
