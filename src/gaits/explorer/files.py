"""Reading a run's files while it may be writing them."""

from __future__ import annotations

import csv
import io
import os
import zipfile
from pathlib import Path
from typing import IO, Any

import numpy as np
import pandas as pd

from gaits.reading import open_regular, read_lines


class NotThere(ValueError):
    """Something that was asked for does not exist."""


class NotNow(ValueError):
    """A file of a run is missing or half there; it may come."""


def open_file(path: Path) -> IO[bytes]:
    try:
        return open_regular(path)
    except FileNotFoundError:
        raise NotNow(f"{path.parent.name} has no {path.name} yet: a run writes it with its first checkpoint.") from None
    except (OSError, ValueError) as error:
        raise NotNow(f"{path.name} of {path.parent.name} cannot be read: {error}") from None


def stamp(path: Path) -> str:
    """Changes when the file does."""
    try:
        found = path.lstat()
    except OSError:
        return "0"
    return f"{found.st_mtime_ns:x}.{found.st_size:x}"


def read_row(raw: IO[bytes], file: Any, name: str, row: int) -> np.ndarray:
    """One row of an array in an npz; without reading the others where the file is not compressed."""
    member = file.zip.getinfo(f"{name}.npy")
    if member.compress_type != zipfile.ZIP_STORED:
        return file[name][row]
    raw.seek(member.header_offset)
    local = raw.read(30)  # then the name and an extra field, whose lengths are its last four bytes
    raw.seek(int.from_bytes(local[26:28], "little") + int.from_bytes(local[28:30], "little"), os.SEEK_CUR)
    major, _ = np.lib.format.read_magic(raw)
    read = np.lib.format.read_array_header_1_0 if major == 1 else np.lib.format.read_array_header_2_0
    shape, fortran, dtype = read(raw)
    if fortran or not 0 <= row < shape[0]:
        raise ValueError(f"{name} has an unexpected layout")
    count = int(np.prod(shape[1:]))
    raw.seek(row * count * dtype.itemsize, os.SEEK_CUR)
    # A copy can be written to: Numba would compile everything again for arrays that cannot.
    return np.frombuffer(raw.read(count * dtype.itemsize), dtype, count).reshape(shape[1:]).copy()


def read_table(path: Path) -> pd.DataFrame:
    """The complete rows of a CSV of numbers that may be growing; empty if there are none yet."""
    try:
        text = b"".join(read_lines(path)).decode()
        text = text[: text.rfind("\n") + 1]
        return pd.read_csv(io.StringIO(text), dtype=float) if text else pd.DataFrame()
    except FileNotFoundError:
        return pd.DataFrame()
    except (OSError, ValueError) as error:
        raise NotNow(f"{path.name} of {path.parent.name} cannot be read ({error}).") from None


def read_last_row(path: Path, tail: int = 8192) -> dict[str, float]:
    """The last complete row of such a CSV, without reading all of it; empty if there is none."""
    try:
        with open_regular(path) as file:
            header = file.readline(tail).decode()
            file.seek(max(file.tell(), file.seek(0, os.SEEK_END) - tail))
            lines = file.read().decode()
        whole = lines[: lines.rfind("\n") + 1].splitlines()
        (row,) = csv.DictReader([header, *whole[-1:]])
        return {name: float(value) for name, value in row.items()}
    except (OSError, ValueError, TypeError):  # none yet, cut short, or not what a run writes
        return {}
