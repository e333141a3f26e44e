"""Bullet's C API, in the shared library that the pybullet package installs.

``kernel.py`` calls it inside episodes; here it builds a world once, through ctypes. Structures and enum values are those
of ``PhysicsClientC_API.h`` and ``SharedMemoryPublic.h`` in pybullet's source distribution.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import os
import threading
from collections.abc import Iterator
from types import ModuleType
from typing import Any

_HANDLES = (
    "b3ConnectPhysicsDirect",
    "b3SubmitClientCommandAndWaitStatus",
    "b3InitResetSimulationCommand",
    "b3InitPhysicsParamCommand",
    "b3InitChangeDynamicsInfo",
    "b3LoadSdfCommandInit",
    "b3LoadMJCFCommandInit",
    "b3JointControlCommandInit2",
    "b3SaveStateCommandInit",
)

_import_lock = threading.Lock()


class NoBullet(ModuleNotFoundError, ValueError):
    """The module pybullet is not installed."""


@contextlib.contextmanager
def quiet(stream: int) -> Iterator[None]:
    """Keep what C code writes to stream 1 (stdout) or 2 (stderr) from reaching the terminal."""
    flush = ctypes.CDLL(None).fflush if os.name == "posix" else (lambda _: None)
    flush(None)
    try:
        saved = os.dup(stream)
    except OSError:  # the stream is closed: nothing to keep quiet
        yield
        return
    try:
        with open(os.devnull, "w") as null:
            os.dup2(null.fileno(), stream)
        yield
        flush(None)
    finally:
        os.dup2(saved, stream)
        os.close(saved)


@functools.cache
def pybullet() -> ModuleType:
    """The pybullet module, without its banner. Raises NoBullet, with the remedy, where there is none."""
    with _import_lock, quiet(2):
        try:
            import pybullet
        except ModuleNotFoundError as error:
            raise NoBullet(
                "This needs Bullet, which gaits does without otherwise. Install it with: pip install 'gaits[bullet]'"
            ) from error

    return pybullet


@functools.cache
def load() -> Any:
    """The library, visible to Numba by symbol name. Raises OSError or AttributeError where it hides its symbols."""
    from llvmlite import binding

    path = pybullet().__file__
    library = ctypes.CDLL(path)
    for name in _HANDLES:
        function = getattr(library, name)
        function.restype = ctypes.c_void_p
    binding.load_library_permanently(path)
    return library


class Client:
    """A physics client of its own, on which commands are built and submitted by name.

    ``client.run("LoadSdfCommandInit", path)`` initializes a command, applies each keyword as a setter on it
    (``LoadMJCFCommandSetFlags=8`` or a tuple of arguments), submits it and returns the status handle.
    """

    def __init__(self) -> None:
        self.library = load()
        self.handle = self.library.b3ConnectPhysicsDirect()
        if not self.handle:
            raise OSError("Bullet could not start a physics client: probably out of memory (a client takes about 30 MB).")

    def run(self, init: str, *arguments: Any, **setters: Any) -> ctypes.c_void_p:
        command = ctypes.c_void_p(self._call(init, ctypes.c_void_p(self.handle), *arguments))
        for name, values in setters.items():
            self._call(name, command, *(values if isinstance(values, tuple) else (values,)))
        return ctypes.c_void_p(self._call("SubmitClientCommandAndWaitStatus", ctypes.c_void_p(self.handle), command))

    def load_body(self, init: str, path: str, **setters: Any) -> int:
        """Load a file that holds exactly one body, and return the body's id."""
        status = self.run(init, os.fsencode(path), **setters)
        bodies = (ctypes.c_int * 8)()
        n = self._call("GetStatusBodyIndices", status, bodies, 8)
        if n != 1:
            raise OSError(f"Bullet loaded {n} bodies from {path}, not one.")
        return bodies[0]

    def save_state(self) -> int:
        return self._call("GetStatusGetStateId", self.run("SaveStateCommandInit"))

    def close(self) -> None:
        if self.handle:
            self._call("DisconnectSharedMemory", ctypes.c_void_p(self.handle))
            self.handle = None

    def _call(self, name: str, *arguments: Any) -> Any:
        return getattr(self.library, "b3" + name)(*(ctypes.c_double(a) if isinstance(a, float) else a for a in arguments))
