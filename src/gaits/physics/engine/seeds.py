"""NumPy's SeedSequence and PCG64 in compiled code: where an episode starts, from its seed, in a fraction of a microsecond.

``start_angles`` draws what ``Generator(PCG64(SeedSequence(seed))).uniform(-0.1, 0.1)`` draws; a test compares them.
"""

from __future__ import annotations

import numpy as np

from gaits.compiling import compiled, inline
from gaits.pcg64 import advance, output

A, A_TIMES = np.uint32(0x43B0D7E5), np.uint32(0x931E8875)
B, B_TIMES = np.uint32(0x8B51F9DD), np.uint32(0x58F38DED)
LEFT, RIGHT = np.uint32(0xCA01F9DD), np.uint32(0x4973F715)
HALF = np.uint32(16)


@inline
def _hash(value, key, times):
    """A word mixed with a key that changes with every use. Returns both."""
    value = np.uint32(value ^ key)
    key = np.uint32(key * times)
    value = np.uint32(value * key)
    return np.uint32(value ^ (value >> HALF)), key


@inline
def _mix(x, y):
    value = np.uint32(np.uint32(LEFT * x) - np.uint32(RIGHT * y))
    return np.uint32(value ^ (value >> HALF))


@inline
def _word(first, second, key):
    """Sixty-four bits of state, made of two words of the pool. Returns them and the next key."""
    low, key = _hash(first, key, B_TIMES)
    high, key = _hash(second, key, B_TIMES)
    return np.uint64(low) | (np.uint64(high) << np.uint64(32)), key


@inline
def _stir(seed):
    """SeedSequence's pool of four words."""
    a, key = _hash(np.uint32(seed & 0xFFFFFFFF), A, A_TIMES)
    b, key = _hash(np.uint32((seed >> 32) & 0xFFFFFFFF), key, A_TIMES)
    c, key = _hash(np.uint32(0), key, A_TIMES)
    d, key = _hash(np.uint32(0), key, A_TIMES)
    pool = (a, b, c, d)
    for source in range(4):
        for target in range(4):
            if source != target:
                word, key = _hash(pool[source], key, A_TIMES)
                mixed = _mix(pool[target], word)
                pool = (
                    mixed if target == 0 else pool[0],
                    mixed if target == 1 else pool[1],
                    mixed if target == 2 else pool[2],
                    mixed if target == 3 else pool[3],
                )
    return pool


@compiled
def start_angles(seed, low, high, out, n):
    """Fill ``out`` with n uniform numbers from low to high."""
    a, b, c, d = _stir(seed)
    state_high, key = _word(a, b, B)
    state_low, key = _word(c, d, key)
    stream_high, key = _word(a, b, key)
    stream_low, key = _word(c, d, key)

    one = np.uint64(1)
    add_high, add_low = (stream_high << one) | (stream_low >> np.uint64(63)), (stream_low << one) | one
    total = add_low + state_low  # the first state is 0, so its successor is the increment
    upper, lower = advance(add_high + state_high + np.uint64(total < add_low), total, add_high, add_low)
    for i in range(n):
        upper, lower = advance(upper, lower, add_high, add_low)
        out[i] = low + (high - low) * (np.float64(output(upper, lower) >> np.uint64(11)) * (1.0 / 9007199254740992.0))
