"""Reading a run's files while it may be writing them."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import pandas as pd


class NotThere(ValueError):
    """Something that was asked for does not exist."""


class NotNow(ValueError):
    """A file of a run is missing or half there; it may come."""


def stamp(path: Path) -> str:
    """Changes when the file does."""
    try:
        found = path.lstat()
    except OSError:
        return "0"
    return f"{found.st_mtime_ns:x}.{found.st_ctime_ns:x}.{found.st_size:x}.{found.st_ino:x}"


def read_table(lines: list[bytes]) -> pd.DataFrame:
    """The complete rows of a CSV of numbers that may be growing; empty if there are none yet."""
    text = b"".join(line for line in lines if line.endswith(b"\n")).decode()
    return pd.read_csv(io.StringIO(text), dtype=float) if text else pd.DataFrame()


def read_last_row(lines: list[bytes]) -> dict[str, float]:
    """The last complete row of such a CSV; empty if there is none, or if it is not what a run writes."""
    try:
        header, *rows = (line.decode() for line in (*lines[:1], *lines[1:][-2:]) if line.endswith(b"\n"))
        (row,) = csv.DictReader([header, rows[-1]])
        return {name: float(value) for name, value in row.items()}
    except (LookupError, ValueError, TypeError):
        return {}
