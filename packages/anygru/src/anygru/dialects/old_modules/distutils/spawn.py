"""Programs."""

import shutil


def find_executable(executable: str, path: str | None = None) -> str | None:
    """The path of a program, None if there is none of this name."""
    return shutil.which(executable, path=path)
