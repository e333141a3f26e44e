"""The exact state of a search in one file of plain numbers: a line of JSON, then the raw bytes of its arrays.

The line has the format's version, the run, what the run's other files hold at that moment, every value that is not an
array by its path, the dtype and shape of every array, and a checksum of it all. Nothing in it names a class or a module.
A file is read against the state of a search that our code built from the configuration: what it claims is compared with
that before anything is allocated. See ``gaits.states``.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import re
from pathlib import Path
from typing import IO, Any

import numpy as np

from gaits.console import brief
from gaits.reading import DTYPES, Refused, open_regular, parse_json, read_into
from gaits.runs.files import write_whole
from gaits.states import Misfit, check, flatten, give, rebuild, take

FORMAT = "gaits checkpoint"
VERSION = 3
LAST_UNSAFE = "0.1"
"""The last gaits that reads checkpoints of versions 1 and 2, which could run code."""
KEEP = 2
NAME = re.compile(r"[0-9]{9,12}\.ckpt", re.ASCII)
HEADER_BYTES = 1 << 20


class CheckpointError(ValueError):
    """A checkpoint that cannot be used, and why."""


def save(folder: Path, state: dict[str, Any], run_id: str, iteration: int, binds: dict[str, Any] | None = None) -> Path:
    """Write the state of an iteration, and forget all but the newest ``KEEP`` checkpoints.

    ``binds`` says what the run's other files hold at this moment.
    """
    leaves = {name: give(leaf) for name, leaf in flatten(state).items()}
    arrays = {name: np.ascontiguousarray(a) if a.ndim else a for name, a in leaves.items() if isinstance(a, np.ndarray)}
    header = {
        "format": FORMAT,
        "version": VERSION,
        "run": run_id,
        "iteration": iteration,
        "binds": binds or {},
        "values": {name: leaf for name, leaf in leaves.items() if name not in arrays},
        "arrays": {name: [array.dtype.str, list(array.shape)] for name, array in arrays.items()},
    }
    header["sha256"] = _digest(header, arrays)
    line = json.dumps(header, allow_nan=False).encode() + b"\n"

    def write(file: IO[bytes]) -> None:
        file.write(line)
        for array in arrays.values():
            file.write(_bytes(array))

    path = folder / f"{iteration:09d}.ckpt"
    write_whole(path, write)
    for old in available(folder)[KEEP:]:
        old.unlink(missing_ok=True)
    return path


def available(folder: Path) -> list[Path]:
    """Checkpoints in a folder, newest first. A link could lead to those of any run, to be read or pruned, and is refused."""
    if folder.is_symlink():
        raise CheckpointError(f"{folder} is a link, and links are not followed. Put the folder itself there.")
    return sorted((path for path in folder.glob("*.ckpt") if NAME.fullmatch(path.name)), reverse=True)


def load(path: Path, run_id: str, like: dict[str, Any]) -> dict[str, Any]:
    """The state in a checkpoint, of the form of the state given; or a CheckpointError that says what is wrong with it."""
    try:
        with open_regular(path) as file:
            header = _read_header(file, run_id)
            likes = flatten(like)
            _check_claims(header, likes)
            arrays = {name: np.empty(shape, dtype) for name, (dtype, shape) in header["arrays"].items()}
            for array in arrays.values():
                read_into(file, array)
        if header.pop("sha256", None) != _digest(header, arrays):
            raise CheckpointError("its checksum does not match: some bytes were changed")
        leaves = {**header["values"], **arrays}
        return rebuild(like, {name: take(one, leaves[name]) for name, one in likes.items()})
    except (CheckpointError, Misfit) as error:
        raise CheckpointError(f"{path} cannot be used: {brief(error)}.") from None
    except Refused as error:
        raise CheckpointError(str(error) if str(path) in str(error) else f"{path} cannot be used: {error}.") from None
    except (OSError, MemoryError) as error:
        raise CheckpointError(f"{path} cannot be read: {getattr(error, 'strerror', None) or 'memory is gone'}.") from None


def read_binds(path: Path, run_id: str) -> dict[str, Any]:
    """What a checkpoint says of the run's other files, its numbers unread."""
    try:
        with open_regular(path) as file:
            return _read_header(file, run_id)["binds"]
    except CheckpointError as error:
        raise CheckpointError(f"{path} cannot be used: {brief(error)}.") from None
    except OSError as error:
        raise CheckpointError(f"{path} cannot be read: {error.strerror}.") from None


def _read_header(file: IO[bytes], run_id: str) -> dict[str, Any]:
    line = file.readline(HEADER_BYTES)
    try:
        header = parse_json(line)
        if header["format"] != FORMAT:
            raise KeyError
        version = header["version"]
    except (ValueError, KeyError, TypeError):
        raise CheckpointError("it is not a checkpoint of gaits, or its first line is damaged") from None
    if version in (1, 2):
        raise CheckpointError(
            f"it has format version {version}, of which loading can run code; finish the run with gaits {LAST_UNSAFE}, "
            "the last that reads it, if you made it yourself"
        )
    if version != VERSION:
        raise CheckpointError(
            f"it does not have format version {VERSION}, which this gaits reads; use the gaits that wrote it"
        )
    kinds = {"run": str, "iteration": int, "binds": dict, "values": dict, "arrays": dict, "sha256": str}
    if header.keys() != {"format", "version", *kinds} or not all(type(header[name]) is kind for name, kind in kinds.items()):
        raise CheckpointError("its first line is damaged")
    if header["run"] != run_id:
        raise CheckpointError("it belongs to another run")
    header["arrays"] = {name: _read_claim(name, claim) for name, claim in header["arrays"].items()}
    size = sum(math.prod(shape) * int(dtype[2]) for dtype, shape in header["arrays"].values())
    remaining = os.fstat(file.fileno()).st_size - file.tell()
    if size != remaining:
        raise CheckpointError(f"it is cut short or padded: {remaining:,} bytes where {size:,} should follow")
    return header


def _read_claim(name: str, claim: Any) -> tuple[str, tuple[int, ...]]:
    dtype, shape = claim if isinstance(claim, list) and len(claim) == 2 else (None, None)
    if dtype not in DTYPES or not isinstance(shape, list) or len(shape) > 8:
        raise CheckpointError(f"its {name[:64]} is no array of plain numbers")
    if not all(type(n) is int and 0 <= n < 1 << 48 for n in shape):
        raise CheckpointError(f"its {name[:64]} has an impossible shape")
    return dtype, tuple(shape)


def _check_claims(header: dict[str, Any], likes: dict[str, Any]) -> None:
    claims = {**header["values"], **header["arrays"]}
    if len(claims) != len(header["values"]) + len(header["arrays"]):
        raise CheckpointError("it says something twice")
    odd = next(iter(claims.keys() ^ likes.keys()), None)
    if odd is not None:
        raise CheckpointError(f"{odd[:64]!r} is {'unknown' if odd in claims else 'missing'}")
    for name, claim in claims.items():
        check(name, likes[name], claim)


def _bytes(array: np.ndarray) -> Any:
    return array.reshape(-1).view(np.uint8).data if array.size else b""


def _digest(header: dict[str, Any], arrays: dict[str, np.ndarray]) -> str:
    plain = {**header, "arrays": {name: [array.dtype.str, list(array.shape)] for name, array in arrays.items()}}
    digest = hashlib.sha256(json.dumps({key: plain[key] for key in sorted(plain)}).encode())
    for array in arrays.values():
        digest.update(_bytes(array))
    return digest.hexdigest()
