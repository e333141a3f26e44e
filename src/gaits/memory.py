"""Large arrays that every iteration needs anew, in memory that is used again.

The system hands out memory that it first fills with zeros, and takes back what is freed. For the policies of an early
iteration on QD Hopper, that alone took as long as a third of their episodes.
"""

from __future__ import annotations

import sys
import threading
from typing import Any

import numpy as np

LARGE = 1 << 20
"""Bytes from which on an array's memory is kept."""
KEEP = 12
"""Blocks that are kept; the oldest go."""
UNUSED = 3
"""References to a block that nobody uses: of the list, the loop and the call that counts them."""

_blocks: list[np.ndarray] = []
_lock = threading.Lock()


def empty(shape: tuple[int, ...], dtype: Any = np.float32) -> np.ndarray:
    """``np.empty``. Its memory is given to others when the last array in it, view or whole, is gone."""
    size = int(np.prod(shape, dtype=np.int64)) * np.dtype(dtype).itemsize
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


def take(array: np.ndarray, rows: Any) -> np.ndarray:
    """``array[rows]``, rows counted from 0, in such memory."""
    return array.take(rows, axis=0, out=empty((len(rows), *array.shape[1:]), array.dtype), mode="clip")


def join(*arrays: np.ndarray) -> np.ndarray:
    """``np.concatenate(arrays)`` in such memory; they are float32."""
    out = empty((sum(map(len, arrays)), *arrays[0].shape[1:]))
    return np.concatenate(arrays, out=out)
