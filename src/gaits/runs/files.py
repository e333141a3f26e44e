"""Files that are there whole or not at all, and never in place of a run's own.

A run may come from a stranger, with links in it that lead anywhere. Nothing is written through a link: new content goes to a
file that did not exist, under a name nobody can guess, which then takes the place of whatever had the name before.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import stat
from collections.abc import Callable, Iterator
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


NO_LINKS = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)


def check_output(path: Path) -> None:
    """Raise unless a result can be written to this file: to be asked before the work, not after it."""
    if path.name in RUN_FILES and (path.parent / "config.json").exists():
        raise ValueError(f"{path} is a file of the run itself. Choose another --out.")
    try:
        if path.is_dir():
            raise IsADirectoryError(0, "it is a folder")
        if path.exists() and not path.is_file():
            raise OSError(0, "it is not a regular file")
        path.parent.mkdir(parents=True, exist_ok=True)
        _make_part(path).unlink()
    except OSError as error:
        raise ValueError(f"Cannot write to {path}: {error.strerror}. Choose another --out.") from None


def make_folder(path: Path) -> Path:
    """A folder inside a run or a comparison, made if need be. A link in its place could lead out of it, and is refused."""
    check_folder(path)
    path.mkdir(parents=True, exist_ok=True)
    return path


def check_folder(path: Path) -> None:
    """Raise if a link is where such a folder should be."""
    if path.is_symlink():
        raise ValueError(f"{path} is a link, and nothing is written through links. Remove it, then try again.")


@contextlib.contextmanager
def writing(path: Path) -> Iterator[Path]:
    """An empty file to write to, for programs that want a name; it becomes ``path`` if the block ends well."""
    part = _make_part(path)
    try:
        yield part
        with open(part, "rb+") as file:
            os.fsync(file.fileno())
        os.replace(part, path)
    except BaseException:
        with contextlib.suppress(OSError):
            part.unlink(missing_ok=True)
        raise
    _sync_folder(path.parent)


def write_whole(path: Path, write: Callable[[IO[bytes]], object]) -> None:
    """Write a file through ``write``; whatever happens, ``path`` holds the old content or all of the new."""
    with writing(path) as part, open(part, "wb") as file:
        write(file)


def write_text(path: Path, text: str) -> None:
    """The same for a text."""
    write_whole(path, lambda file: file.write(text.encode()))


def open_to_change(path: Path) -> IO[str]:
    """A file of the run's own, to be read and appended to; made if there is none. A link is refused."""
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | getattr(os, "O_NONBLOCK", 0) | NO_LINKS, 0o666)
    except OSError as error:
        if path.is_symlink() or (path.exists() and not path.is_file()):
            raise ValueError(_not_own(path)) from None
        raise ValueError(f"Cannot write to {path}: {error.strerror}. Choose another folder.") from None
    found = os.fstat(descriptor)
    if path.is_symlink() or not stat.S_ISREG(found.st_mode) or found.st_nlink > 1:
        os.close(descriptor)
        raise ValueError(_not_own(path))
    return os.fdopen(descriptor, "r+")


def _not_own(path: Path) -> str:
    return f"{path} is a link or no regular file, and nothing is written through those. Remove it, then try again."


def _make_part(path: Path) -> Path:
    """A new empty file beside ``path``, with its ending, which tells some programs the format."""
    part = path.with_name(f".{path.name[:100]}.{secrets.token_hex(8)}.part{path.suffix}")
    os.close(os.open(part, os.O_RDWR | os.O_CREAT | os.O_EXCL | NO_LINKS, 0o666))
    return part


def drop_parts(folder: Path) -> None:
    """Delete what a process that was killed while it wrote left behind; only for the holder of the folder's lock."""
    for part in folder.glob(".*.part*"):
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
