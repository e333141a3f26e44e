"""How physics and learning are compiled: once per machine, said when it happens, and again when any of their files changes.

Only *entries*, which Python calls, are kept on disk; they hold everything that they call. Numba's cache would notice a
change in an entry's own file alone, so here the stamp of a cached entry is that of all files of its room.
"""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

from numba import njit, types
from numba.core import event
from numba.core.caching import FunctionCache, IndexDataCacheFile

from gaits.console import say

PACKAGE = Path(__file__).parent
SHARED = ("compiling.py", "lanes.py", "pcg64.py", "policies.py")
"""Files that compiled code of every room has something from."""

# Without the numpy error model every division checks for zero and raises.
_options: Any = {"nogil": True, "error_model": "numpy"}
_without_wrappers: Any = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}


def _decorator(**more: Any) -> Callable[[Callable[..., Any]], Any]:
    """njit for functions that compiled code calls, in less time to compile.

    A number written in a call is a number like any other; to Numba it would be a type of its own, and compiled for. And
    there are no wrappers for Python, which take a fifth of all; if Python does call it, as tests do, it is compiled once
    more with them.
    """

    def decorate(function: Callable[..., Any]) -> Any:
        dispatcher: Any = njit(**_options, **_without_wrappers, **more)(function)
        find = dispatcher.get_call_template
        dispatcher.get_call_template = lambda args, kws: find(tuple(map(types.unliteral, args)), kws)
        dispatcher.add_overload = lambda result: dispatcher.overloads.update({tuple(result.signature.args): result})
        with_wrappers = njit(**_options)(function)
        dispatcher._compile_for_args = lambda *args, **kws: with_wrappers
        return dispatcher

    return decorate


compiled = _decorator()
inline = _decorator(forceinline=True)

# Numba compiles a function with everything it calls, and again in each of its callers: a tower of large functions takes
# minutes. So functions that only arrange others are merged into their caller before anything is compiled.
merged = njit(inline="always", error_model="numpy")

_announcements: dict[Any, str] = {}


def entry(what: str = "", seconds: int = 0, **more: Any) -> Callable[[Callable[..., Any]], Any]:
    """Compile a function that Python calls, and keep it on disk. ``what`` takes about ``seconds`` the first time."""

    def decorate(function: Callable[..., Any]) -> Any:
        dispatcher = njit(**_options, **more)(function)
        kept = keep_on_disk(dispatcher)
        if what:
            when = "once per machine" if kept else "every time: no cache folder can be written, see NUMBA_CACHE_DIR"
            _announcements[dispatcher] = f"compiling {what}, {when} (about {seconds} seconds)"
        return dispatcher

    return decorate


def keep_on_disk(dispatcher: Any) -> bool:
    """Give a function a cache that any change around it makes stale. Returns whether there is a place for one."""
    try:
        cache = FunctionCache(dispatcher.py_func)
    except RuntimeError:  # no folder can be written
        return False
    cache._cache_file = IndexDataCacheFile(cache.cache_path, cache._impl.filename_base, source_stamp(room_of(dispatcher)))
    dispatcher._cache = cache
    return True


def room_of(dispatcher: Any) -> Path:
    """The folder or module, directly under the package, that a function is in."""
    file = Path(dispatcher.py_func.__code__.co_filename)
    return PACKAGE / file.relative_to(PACKAGE).parts[0] if file.is_relative_to(PACKAGE) else file.parent


@functools.cache
def source_stamp(room: Path) -> str:
    """What all files that a room compiles say, as a hash."""
    digest = hashlib.sha256()
    files = sorted(room.rglob("*.py")) if room.is_dir() else [room]
    for path in (*files, *(PACKAGE / name for name in SHARED)):
        digest.update(path.read_bytes())
    return digest.hexdigest()


class _Announcer(event.Listener):
    """Says what is being compiled, but not what is compiled for its sake."""

    depth = 0

    def on_start(self, event: Any) -> None:
        if self.depth == 0 and (message := _announcements.get(event.data["dispatcher"])):
            say(message)
        self.depth += 1

    def on_end(self, event: Any) -> None:
        self.depth -= 1


event.register("numba:compile", _Announcer())
