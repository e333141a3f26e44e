"""Files that are there whole or not at all, and never in place of a run's own."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import IO

RUN_FILES = ("config.json", "metrics.csv", "archive.npz", "history.npz", "evaluation.npz", "evaluation.json")


def check_output(path: Path) -> None:
    """Raise unless a result can be written to this file: to be asked before the work, not after it."""
    if path.name in RUN_FILES and (path.parent / "config.json").exists():
        raise ValueError(f"{path} is a file of the run itself. Choose another --out.")
    try:
        if path.is_dir():
            raise IsADirectoryError(0, "it is a folder")
        path.parent.mkdir(parents=True, exist_ok=True)
        probe = path.with_name(f".{path.name}.part")
        probe.touch()
        probe.unlink()
    except OSError as error:
        raise ValueError(f"Cannot write to {path}: {error.strerror}. Choose another --out.") from None


def write_whole(path: Path, write: Callable[[IO[bytes]], object]) -> None:
    """Write a file through ``write``; whatever happens, ``path`` holds the old content or all of the new."""
    part = path.with_name(f".{path.name}.part")
    try:
        with open(part, "wb") as file:
            write(file)
            file.flush()
            os.fsync(file.fileno())
        os.replace(part, path)
    except BaseException:
        with contextlib.suppress(OSError):
            part.unlink(missing_ok=True)
        raise
    _sync_folder(path.parent)


def _sync_folder(folder: Path) -> None:
    """Make a rename last through a power cut, where the system lets a folder be synced."""
    with contextlib.suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
