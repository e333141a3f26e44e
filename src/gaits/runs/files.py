"""Files that are there whole or not at all, and never in place of a run's own."""

from __future__ import annotations

import contextlib
import os
import secrets
from collections.abc import Callable
from pathlib import Path
from typing import IO

RUN_FILES = (
    "config.json",
    "metrics.csv",
    "archive.npz",
    "history.npz",
    "evaluation.npz",
    "evaluation.json",
    "manifest.json",
)


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
    """Write a file through ``write``; whatever happens, ``path`` holds the old content or all of the new.

    The temporary file has a name that nobody can know and is made by us or not at all; a link at ``path`` is replaced,
    never followed.
    """
    part = path.with_name(f".{path.name}.{secrets.token_hex(8)}.part")
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
    with os.fdopen(os.open(part, flags, 0o666), "wb") as file:
        try:
            write(file)
            file.flush()
            os.fsync(file.fileno())
            file.close()
            os.replace(part, path)
        except BaseException:
            with contextlib.suppress(OSError):
                part.unlink(missing_ok=True)
            raise
    _sync_folder(path.parent)


def drop_parts(folder: Path) -> None:
    """Delete what a process that was killed while it wrote left behind; only for the holder of the folder's lock."""
    for part in folder.glob(".*.part"):
        with contextlib.suppress(OSError):
            part.unlink()


def sync(path: Path) -> None:
    """Make what was appended to a file last through a power cut; nothing to do where it does not exist yet."""
    with contextlib.suppress(FileNotFoundError):
        descriptor = os.open(path, os.O_WRONLY | getattr(os, "O_NOFOLLOW", 0))
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _sync_folder(folder: Path) -> None:
    """Make a rename last through a power cut, where the system lets a folder be synced."""
    with contextlib.suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
