"""Memory is used again once nobody can see it, and not before."""

from __future__ import annotations

import numpy as np

from gaits import memory

SHAPE = (memory.LARGE // 400, 128)


def address(array):
    return array.__array_interface__["data"][0]


def test_memory_is_used_again_when_the_last_view_is_gone():
    first = memory.empty(SHAPE)
    place, row = address(first), first[0]
    second = memory.empty(SHAPE)
    assert address(second) != place
    del first
    assert address(memory.empty(SHAPE)) != place, "a row of it is still there"
    del row
    assert address(memory.empty(SHAPE, np.int32)) == place


def test_no_more_than_so_many_blocks_are_kept():
    held = [memory.empty(SHAPE) for _ in range(memory.KEEP + 3)]
    assert len({address(array) for array in held}) == len(held)
    assert len(memory._blocks) == memory.KEEP


def test_take_and_join():
    rows = np.random.default_rng(0).standard_normal((40, 20_000), np.float32)
    np.testing.assert_array_equal(memory.take(rows, [3, 1, 39]), rows[[3, 1, 39]])
    np.testing.assert_array_equal(memory.join(rows[:1], rows[5:]), np.concatenate([rows[:1], rows[5:]]))


def test_settling_leaves_an_array_as_it_is():
    array = np.arange(3 * memory.LARGE, dtype=np.float32)
    memory._populate(array[5:])
    np.testing.assert_array_equal(array, np.arange(3 * memory.LARGE, dtype=np.float32))
