"""Large arrays that every iteration needs anew, in memory that is used again.

The system hands out memory that it first fills with zeros, and takes back what is freed. For the policies of an early
iteration on QD Hopper, that alone took as long as a third of their episodes.
"""

from __future__ import annotations

import ctypes
import math
import mmap
import sys
import threading
from typing import Any

import numpy as np

LARGE = 1 << 20
"""Bytes from which on an array's memory is kept."""
KEEP = 12
"""Blocks that are kept; the oldest go."""
SETTLED = 1 << 28
"""Bytes up to which memory is asked for before it is needed."""
POPULATE_WRITE = 23
"""Linux' MADV_POPULATE_WRITE, since 5.14: what is in the pages stays as it is."""
UNUSED = 3
"""References to a block that nobody uses: of the list, the loop and the call that counts them."""

_blocks: list[np.ndarray] = []
_lock = threading.Lock()


def empty(shape: tuple[int, ...], dtype: Any = np.float32) -> np.ndarray:
    """``np.empty``. Its memory is given to others when the last array in it, view or whole, is gone."""
    size = math.prod(shape) * np.dtype(dtype).itemsize
    if size < LARGE:
        return np.empty(shape, dtype)
    room = 1 << (size - 1).bit_length()  # few sizes, or insertions, no two as large, would need new memory every time
    with _lock:
        for block in _blocks:
            if block.nbytes == room and sys.getrefcount(block) == UNUSED:
                break
        else:
            block = np.empty(room, np.uint8)
            _blocks.append(block)
            del _blocks[:-KEEP]
        return block[:size].view(dtype).reshape(shape)


def settle(array: np.ndarray) -> None:
    """Have the system give this array all its memory now, on another thread, and not page by page as it is written to.

    Where Linux is too old for that, and elsewhere, nothing happens.
    """
    if sys.platform == "linux" and LARGE <= array.nbytes <= SETTLED:
        threading.Thread(target=_populate, args=(array,), name="gaits-memory", daemon=True).start()


def _populate(array: np.ndarray) -> None:
    advise = ctypes.CDLL(None).madvise
    advise.argtypes = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int
    place, end = array.ctypes.data, array.ctypes.data + array.nbytes
    while place < end:
        first = place - place % mmap.PAGESIZE
        size = min(LARGE, end - first)
        if advise(first, size, POPULATE_WRITE):
            return
        place = first + size


def take(array: np.ndarray, rows: Any) -> np.ndarray:
    """``array[rows]``, rows counted from 0, in such memory."""
    return array.take(rows, axis=0, out=empty((len(rows), *array.shape[1:]), array.dtype), mode="clip")


def join(*arrays: np.ndarray) -> np.ndarray:
    """``np.concatenate(arrays)`` in such memory; they are float32."""
    out = empty((sum(map(len, arrays)), *arrays[0].shape[1:]))
    return np.concatenate(arrays, out=out)
