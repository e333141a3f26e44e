"""The exact state of a search in one file that can be trusted: format version, run id, checksum, and no code.

A checkpoint is a JSON header on one line, then a pickle, then the raw buffers of its arrays. The pickle is read through
an unpickler that knows a short list of types; anything else in it is refused. ribs archives and emitters round-trip
through pickle exactly, without us reaching into their private fields. The search tree of a CVT archive is not pickled: its
points stand for it, and it is built again from them.
"""

from __future__ import annotations

import hashlib
import importlib
import io
import json
import pickle
from pathlib import Path
from typing import IO, Any

import numpy as np
from scipy.spatial import KDTree

from gaits.runs.files import write_whole

FORMAT = "gaits checkpoint"
VERSION = 2
KEEP = 2

# NumPy's constructors for arrays, scalars and random generators. No other function may be called by a checkpoint.
_NUMPY = {
    ("numpy", "dtype"),
    ("numpy", "ndarray"),
    *(("numpy", name) for name in ("bool", "int8", "int32", "int64", "float32", "float64")),
    ("numpy._core.multiarray", "_reconstruct"),
    ("numpy._core.multiarray", "scalar"),
    ("numpy._core.numeric", "_frombuffer"),
    ("numpy.random._pickle", "__generator_ctor"),
    ("numpy.random._pickle", "__bit_generator_ctor"),
    ("numpy.random._pcg64", "PCG64"),
    ("numpy.random.bit_generator", "SeedSequence"),
    ("numpy.random.bit_generator", "__pyx_unpickle_SeedSequence"),
}
_CLASSES_FROM = ("ribs.archives.", "ribs.emitters.")


class CheckpointError(ValueError):
    """A checkpoint that cannot be used, and why."""


class _Pickler(pickle.Pickler):
    def persistent_id(self, obj: Any) -> Any:
        return np.asarray(obj.data) if type(obj) is KDTree else None


class _Unpickler(pickle.Unpickler):
    def persistent_load(self, pid: Any) -> KDTree:
        return KDTree(pid)

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) in _NUMPY:
            return super().find_class(module, name)
        if module.startswith(_CLASSES_FROM):
            found = getattr(importlib.import_module(module), name, None)
            if isinstance(found, type) and found.__module__ == module:
                return found
        raise CheckpointError(f"it asks for {module}.{name}, which no checkpoint of gaits needs")


def save(folder: Path, state: dict[str, Any], run_id: str, iteration: int) -> Path:
    """Write the state of an iteration, and forget all but the newest ``KEEP`` checkpoints."""
    buffers: list[pickle.PickleBuffer] = []
    body = io.BytesIO()
    _Pickler(body, protocol=5, buffer_callback=buffers.append).dump(state)
    parts: list[Any] = [body.getbuffer(), *(buffer.raw() for buffer in buffers)]
    header = {
        "format": FORMAT,
        "version": VERSION,
        "run": run_id,
        "iteration": iteration,
        "lengths": [len(part) for part in parts],
    }
    header["sha256"] = _digest(header, parts)

    def write(file: IO[bytes]) -> None:
        file.write(json.dumps(header).encode() + b"\n")
        for part in parts:
            file.write(part)

    path = folder / f"{iteration:09d}.ckpt"
    write_whole(path, write)
    for old in available(folder)[KEEP:]:
        old.unlink(missing_ok=True)
    return path


def available(folder: Path) -> list[Path]:
    """Checkpoints in a folder, newest first."""
    return sorted(folder.glob("[0-9]*.ckpt"), reverse=True)


def load(path: Path, run_id: str) -> dict[str, Any]:
    """The state in a checkpoint, or a CheckpointError that says what is wrong with it."""
    try:
        with open(path, "rb") as file:
            header = _read_header(file, run_id)
            parts = [bytearray(n) for n in header["lengths"]]
            if any(file.readinto(part) != len(part) for part in parts):
                raise CheckpointError("it is cut short")
            if file.read(1):
                raise CheckpointError("it is longer than it should be")
        if header.pop("sha256", None) != _digest(header, parts):
            raise CheckpointError("its checksum does not match: some bytes were changed")
        return _Unpickler(io.BytesIO(parts[0]), buffers=parts[1:]).load()
    except CheckpointError as error:
        raise CheckpointError(f"{path} cannot be used: {error}.") from None
    except OSError as error:
        raise CheckpointError(f"{path} cannot be read: {error.strerror}.") from None
    except Exception as error:  # a pickle that passed its checksum but not its types, from other versions of ribs or NumPy
        raise CheckpointError(f"{path} cannot be used: its content does not fit this version ({error}).") from None


def _read_header(file: IO[bytes], run_id: str) -> dict[str, Any]:
    try:
        header = json.loads(file.readline(1_000_000))
        if header["format"] != FORMAT:
            raise KeyError
        version, lengths = header["version"], header["lengths"]
        if not all(isinstance(n, int) and n >= 0 for n in lengths):
            raise KeyError
    except (ValueError, KeyError, TypeError):
        raise CheckpointError("it is not a checkpoint of gaits, or its first line is damaged") from None
    if version != VERSION:
        raise CheckpointError(
            f"it has format version {version}, and this gaits reads version {VERSION}; use the gaits that wrote it"
        )
    if header["run"] != run_id:
        raise CheckpointError("it belongs to another run")
    remaining = Path(file.name).stat().st_size - file.tell()
    if sum(lengths) != remaining:
        raise CheckpointError(f"it is cut short or padded: {remaining} bytes where {sum(lengths)} should follow")
    return header


def _digest(header: dict[str, Any], parts: list[Any]) -> str:
    digest = hashlib.sha256(json.dumps({key: header[key] for key in sorted(header)}).encode())
    for part in parts:
        digest.update(part)
    return digest.hexdigest()
