"""Reading files that a stranger may have made: what a file says of itself is checked before it is believed.

Nothing here follows a link or waits for a pipe, nothing is allocated before it was compared with what may be there, and
whatever is wrong becomes one ``Refused`` that names the file, the reason and, where there is one, the remedy.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import json
import math
import os
import re
import stat
import struct
import tomllib
import zipfile
import zlib
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np

from gaits.console import brief

JSON_BYTES, JSON_DEPTH, JSON_TEXT = 1_000_000, 16, 10_000
TOML_LETTERS, LINE_DOTS = 100_000, 1_000
"""Of a TOML file, and in a line of it: the parser takes the square of the time for a key of so many parts."""
TABLE_BYTES, LINE_BYTES, TABLE_LINES = 1 << 27, 20_000, 1_000_000
MEMBERS = 64
PACKED_BYTES, PACKED_RATIO = 1 << 28, 4
"""Arrays unpack to this much, or to so many times the file; ours are not packed at all."""
DTYPES = ("|b1", "|i1", "|u1", "<i4", "<i8", "<f4", "<f8")
"""All numbers that files of gaits are made of, as NumPy's files spell them."""

_HEADER = re.compile(r"\{'descr': '([<|][a-z][0-9])', 'fortran_order': (True|False), 'shape': \(([0-9, ]{0,200})\), \} *\n")
_DIRECTORY_BYTES = 1 << 16
_CHUNK = 1 << 24


class Refused(ValueError):
    """A file that is not read, or not used, and why; ``reason`` is the part of the message that says why."""

    def __init__(self, message: str, reason: str | None = None) -> None:
        super().__init__(message)
        self.reason = message if reason is None else reason


def _refuse(path: Path, reason: str, what: str = "is not read") -> Refused:
    reason = brief(reason)
    return Refused(f"{path} {what}: {reason}.", reason)


def open_regular(path: Path, limit: int | None = None) -> IO[bytes]:
    """Open a file for reading: a regular file of at most ``limit`` bytes, no link, no pipe, no device.

    A file that is not there is a FileNotFoundError, as everywhere; all else is Refused.
    """
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    try:
        descriptor = os.open(path, flags)
    except (FileNotFoundError, NotADirectoryError):
        raise
    except (OSError, ValueError) as error:
        linked = getattr(error, "errno", None) == errno.ELOOP
        reason = "it is a link, and links are not followed; put the file itself there" if linked else _reason(error)
        raise _refuse(path, reason) from None
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise _refuse(path, "it is not a regular file")
        if limit is not None and status.st_size > limit:
            raise _refuse(path, f"it has {status.st_size:,} bytes, and at most {limit:,} can be right")
        return os.fdopen(descriptor, "rb")
    except BaseException:
        os.close(descriptor)
        raise


def _reason(error: Exception) -> str:
    return str(getattr(error, "strerror", None) or error)


def read_bytes(path: Path, limit: int) -> bytes:
    """All of a regular file, which has at most ``limit`` bytes, also if it grows meanwhile."""
    with open_regular(path, limit) as file:
        content = file.read(limit + 1)
    if len(content) > limit:
        raise _refuse(path, f"it has more than {limit:,} bytes")
    return content


# --- JSON -----------------------------------------------------------------------------------------------------------------


def read_json(path: Path, limit: int = JSON_BYTES) -> Any:
    """The content of a JSON file, of bounded size and depth, without keys that come twice."""
    content = read_bytes(path, limit)
    try:
        return parse_json(content)
    except ValueError as error:
        raise _refuse(path, str(error), "cannot be used") from None


def parse_json(content: bytes) -> Any:
    try:
        value = json.loads(content.decode(), object_pairs_hook=_once)
    except RecursionError:
        raise ValueError("its JSON is nested too deep") from None
    except UnicodeDecodeError:
        raise ValueError("it is not text") from None
    except json.JSONDecodeError as error:
        raise ValueError(f"it is not JSON ({error})") from None
    _check_json(value, JSON_DEPTH)
    return value


def parse_toml(text: str) -> dict[str, Any]:
    if len(text) > TOML_LETTERS or max(line.count(".") for line in text.split("\n")) > LINE_DOTS:
        raise ValueError(f"This is no file of ours: it has {len(text):,} letters, or a key of too many parts.")
    try:
        value = tomllib.loads(text)
        _check_json(value, JSON_DEPTH)
        return value
    except tomllib.TOMLDecodeError as error:
        end = f"at line {text.count(chr(10)) + 1}, the end of the file"
        raise ValueError(f"This is not TOML: {str(error).replace('at end of document', end)}.") from None
    except RecursionError:
        raise ValueError("This is no file of ours: it is nested too deeply.") from None


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    table = dict(pairs)
    if len(table) < len(pairs):
        raise ValueError("it says something twice")
    return table


def _check_json(value: Any, depth: int) -> None:
    if depth < 0:
        raise ValueError(f"it is nested deeper than {JSON_DEPTH}")
    if isinstance(value, str) and len(value) > JSON_TEXT:
        raise ValueError(f"it has a text of {len(value):,} letters, and at most {JSON_TEXT:,} can be right")
    if isinstance(value, dict):
        _check_json(list(value), depth)
    for item in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        _check_json(item, depth - 1)


# --- CSV ------------------------------------------------------------------------------------------------------------------


def read_lines(path: Path) -> list[bytes]:
    """The lines of a table, each with its end, of bounded number and length."""
    content = read_bytes(path, TABLE_BYTES)
    if content.count(b"\n") + content.count(b"\r") > TABLE_LINES:
        raise _refuse(path, f"it has more than {TABLE_LINES:,} lines")
    lines = content.splitlines(keepends=True)
    longest = max(map(len, lines), default=0)
    if longest > LINE_BYTES:
        raise _refuse(path, f"it has a line of {longest:,} bytes, and at most {LINE_BYTES:,} can be right")
    return lines


# --- npz ------------------------------------------------------------------------------------------------------------------

Shapes = dict[str, tuple[tuple[int, ...], str]]
"""What arrays claim to be: shape and dtype by name."""


def read_arrays(
    path: Path,
    wanted: Collection[str] | None = None,
    check: Callable[[Shapes], None] | None = None,
) -> dict[str, np.ndarray]:
    """Arrays of an npz by name, those ``wanted`` or all. ``check`` sees every shape before any number is read.

    A file that is not there is a FileNotFoundError; all else that can be wrong is Refused.
    """
    with _open_npz(path, check) as (file, members, size):
        chosen = {name: member for name, member in members.items() if wanted is None or name in wanted}
        total, limit = sum(member.info.file_size for member in chosen.values()), max(PACKED_BYTES, PACKED_RATIO * size)
        if total > limit:
            raise Refused(f"its arrays would take {total:,} bytes, and at most {limit:,} can be right")
        return {name: _read_array(file, member) for name, member in chosen.items()}


def read_row(path: Path, key: str, value: int, wanted: Collection[str]) -> dict[str, np.ndarray] | None:
    """The row, of each array wanted that is there, where the array ``key`` has a value; None if it is nowhere.

    A row is read alone where the file is not packed, and has no checksum of its own: check the whole before.
    """
    with _open_npz(path) as (file, members, _):
        rows = np.flatnonzero(_read_array(file, members[key]) == value)
        found = {name: members[name] for name in wanted if name in members}
        return {name: _read_one(file, member, int(rows[0])) for name, member in found.items()} if rows.size else None


@dataclass(frozen=True)
class _Member:
    """An array in an npz, by what is said of it."""

    info: zipfile.ZipInfo
    shape: tuple[int, ...]
    dtype: str
    fortran: bool
    skip: int
    """Bytes before its numbers."""


@contextlib.contextmanager
def _open_npz(
    path: Path, check: Callable[[Shapes], None] | None = None
) -> Iterator[tuple[zipfile.ZipFile, dict[str, _Member], int]]:
    """The file, what it says of its arrays, and its size. Whatever goes wrong while it is open becomes Refused."""
    with open_regular(path) as raw:
        try:
            _check_directory(raw)
            with zipfile.ZipFile(raw) as file:
                size = os.fstat(raw.fileno()).st_size
                members = _read_members(file, size)
                if check is not None:
                    check({name: (member.shape, member.dtype) for name, member in members.items()})
                yield file, members, size
        except Refused as error:
            raise _refuse(path, str(error), "cannot be used") from None
        except (OSError, ValueError, LookupError, EOFError, RuntimeError, NotImplementedError, struct.error) as error:
            raise _refuse(path, _reason(error) or type(error).__name__, "is not a readable npz") from None
        except (zipfile.BadZipFile, zlib.error) as error:
            raise _refuse(path, str(error), "is damaged") from None


def _check_directory(raw: IO[bytes]) -> None:
    """Refuse a zip with more members than any of ours, before a library makes an object of each."""
    size = raw.seek(0, os.SEEK_END)
    tail_size = min(size, 22 + 20 + 56)
    raw.seek(size - tail_size)
    tail = raw.read(tail_size)
    if tail[-22:-18] != b"PK\5\6":
        raise Refused("it is not an npz, or it is cut short")
    count, directory = struct.unpack("<HI", tail[-12:-6])
    counts, sizes = [count], [directory]
    if tail[-42:-38] == b"PK\6\7":  # then zip64 says it again, in 64 bits
        if tail[-98:-94] != b"PK\6\6":
            raise Refused("its end is damaged")
        count, directory = struct.unpack("<QQ", tail[-66:-50])
        counts.append(count)
        sizes.append(directory)
    if max(counts) > MEMBERS or max(sizes) > _DIRECTORY_BYTES:
        raise Refused(f"it says it has {max(counts):,} members, and at most {MEMBERS} can be right")


def _read_members(file: zipfile.ZipFile, size: int) -> dict[str, _Member]:
    members: dict[str, _Member] = {}
    for info in file.infolist():
        name = info.filename.removesuffix(".npy")
        if name == info.filename or not name.isidentifier() or len(name) > 64:
            raise Refused(f"it has a member {info.filename[:64]!r}, which is no array of ours")
        if name in members:
            raise Refused(f"it has two members {name}")
        if info.flag_bits & 1 or info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise Refused(f"its {name} is encrypted or packed in an unknown way")
        if info.compress_size > size or (info.compress_type == zipfile.ZIP_STORED and info.file_size != info.compress_size):
            raise Refused(f"its {name} says it is larger than the file")
        with file.open(info) as stream:
            members[name] = _Member(info, *_read_head(name, stream, info.file_size))
    return members


def _read_head(name: str, stream: IO[bytes], size: int) -> tuple[tuple[int, ...], str, bool, int]:
    """Shape, dtype, order and length of the header of a npy file of this size."""
    start = stream.read(10)
    if len(start) < 10 or start[:8] != b"\x93NUMPY\x01\x00":
        raise Refused(f"its {name} is no array")
    length = int.from_bytes(start[8:], "little")
    found = _HEADER.fullmatch(stream.read(length).decode("latin-1"))
    if found is None or found[1] not in DTYPES:
        raise Refused(f"its {name} is no array of plain numbers")
    shape = tuple(int(n) for n in found[3].replace(" ", "").split(",") if n)
    if len(shape) > 8 or math.prod(shape) * int(found[1][2]) != size - 10 - length:
        raise Refused(f"its {name} has a shape that does not fit its size")
    return shape, found[1], found[2] == "True", 10 + length


def _read_array(file: zipfile.ZipFile, member: _Member) -> np.ndarray:
    array = np.empty(member.shape, member.dtype, order="F" if member.fortran else "C")
    with file.open(member.info) as stream:
        stream.read(member.skip)
        read_into(stream, array)
        if stream.read(1):  # also makes zipfile compare the checksum
            raise Refused("it is longer than it says")
    return array


def _read_one(file: zipfile.ZipFile, member: _Member, row: int) -> np.ndarray:
    """One row of an array; without reading the others where they are not packed."""
    if member.info.compress_type != zipfile.ZIP_STORED or member.fortran or not 0 <= row < (*member.shape, 0)[0]:
        return _read_array(file, member)[row]
    array, raw = np.empty(member.shape[1:], member.dtype), file.fp
    assert raw is not None, "it is open"
    raw.seek(member.info.header_offset + 26)  # the lengths of its name and of an extra field, which follow
    before = sum(struct.unpack("<HH", raw.read(4)))
    raw.seek(member.info.header_offset + 30 + before + member.skip + row * array.nbytes)
    read_into(raw, array)
    return array


def read_into(stream: IO[bytes], array: np.ndarray) -> None:
    """Fill a contiguous array from a stream."""
    flat = array.reshape(-1, order="A").view(np.uint8).data if array.size else memoryview(b"")
    for start in range(0, len(flat), _CHUNK):
        part = stream.read(min(_CHUNK, len(flat) - start))
        if len(part) != min(_CHUNK, len(flat) - start):
            raise Refused("it is cut short")
        flat[start : start + len(part)] = part


# --- digests --------------------------------------------------------------------------------------------------------------


def digest_arrays(arrays: dict[str, np.ndarray]) -> dict[str, str]:
    """SHA-256 of every array: its numbers, shape and dtype, whatever file it is in."""
    return {name: digest_array(array) for name, array in sorted(arrays.items())}


def digest_array(array: np.ndarray) -> str:
    digest = hashlib.sha256(f"{array.dtype.str} {array.shape} ".encode())
    digest.update(np.ascontiguousarray(array).data if array.size else b"")
    return digest.hexdigest()


def digest_json(value: Any) -> str:
    """SHA-256 of a value's canonical JSON."""
    return hashlib.sha256(json.dumps(value, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


def digest_lines(lines: Iterable[bytes]) -> str:
    digest = hashlib.sha256()
    for line in lines:
        digest.update(line)
    return digest.hexdigest()
