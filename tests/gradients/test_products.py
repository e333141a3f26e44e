"""Products and sums, number by number, against libm's fused multiply-add in the order that they promise."""

from __future__ import annotations

import ctypes
import ctypes.util
import functools
import sys

import numpy as np
import pytest
from numba import njit

from gaits.gradients.products import LANES, NOTHING, centre, dot, inner, sum_columns, total
from gaits.lanes import ONE, SIXTEEN, THIRTY_TWO, lanes

F = np.float32
SIZES = [(1, 1, 1), (5, 3, 16), (6, 8, 16), (7, 9, 17), (13, 24, 33), (2, 17, 48), (9, 0, 16)]


def fma(x, y, z):
    fuse = ctypes.CDLL(ctypes.util.find_library("m") or "msvcrt").fmaf
    fuse.restype, fuse.argtypes = ctypes.c_float, 3 * [ctypes.c_float]
    return F(fuse(x, y, z))


def slow_dot(a, b, start):
    out = np.zeros((len(a), b.shape[1]), F)
    for i, j in np.ndindex(out.shape):
        out[i, j] = functools.reduce(
            lambda s, k: fma(a[i, k], b[k, j], s), range(a.shape[1]), start[j] if start.size else F(0)
        )
    return out


@njit
def compiled_dot(a, b, start, out):
    dot(a, b, start, out)


def matrix(rng, m, n, transposed):
    """Numbers of all sizes, so that every order of a sum has bits of its own."""
    numbers = rng.standard_normal((n, m) if transposed else (m, n)) * 10.0 ** rng.integers(
        -3, 4, (n, m) if transposed else (m, n)
    )
    return numbers.astype(F).T if transposed else numbers.astype(F)


libm = pytest.mark.skipif(sys.platform == "win32", reason="needs a libm with fmaf")


@libm
@pytest.mark.parametrize("left", [False, True])
@pytest.mark.parametrize("right", [False, True])
@pytest.mark.parametrize(("m", "k", "n"), SIZES)
def test_every_number_of_a_product_is_one_sum_of_fused_terms_in_order(m, k, n, left, right):
    rng = np.random.default_rng([m, k, n])
    a, b = matrix(rng, m, k, left), matrix(rng, k, n, right)
    for start in (NOTHING, matrix(rng, 1, n, False)[0]):
        out = np.full((m + 1, n), F(7))
        compiled_dot(a, b, start, out[:m])
        np.testing.assert_array_equal(out[:m], slow_dot(a, b, start), strict=True)
        assert (out[m] == 7).all(), "nothing is written behind the last row"


@njit
def dot_by(a, b, start, out, lot):
    desk = np.empty((1 + len(a) + len(b)) * len(lot), np.float32)
    for column in range(0, b.shape[1], len(lot)):
        sum_columns(a, b, start, out, column, desk, lot)


@pytest.mark.parametrize("right", [False, True])
@pytest.mark.parametrize(("m", "k", "n"), [*SIZES, (8, 40, 77)])
def test_processors_with_wide_registers_and_others_have_the_same_numbers(m, k, n, right):
    rng = np.random.default_rng([m, k, n])
    a, b, start = matrix(rng, m, k, False), matrix(rng, k, n, right), matrix(rng, 1, n, False)[0]
    expected = np.zeros((m, n), F)
    compiled_dot(a, b, start, expected)
    for lot in (SIXTEEN, THIRTY_TWO):
        out = np.full((m + 1, n), F(7))
        dot_by(a, b, start, out[:m], lot)
        np.testing.assert_array_equal(out[:m], expected, strict=True)
        assert (out[m] == 7).all(), "nothing is written behind the last row"


def test_a_product_is_the_same_whatever_stands_in_other_rows_and_columns():
    rng = np.random.default_rng(1)
    a, b, out, fewer = matrix(rng, 20, 30, False), matrix(rng, 30, 40, False), np.zeros((20, 40), F), np.zeros((3, 18), F)
    compiled_dot(a, b, NOTHING, out)
    compiled_dot(a[4:7], b[:, 22:].copy(), NOTHING, fewer)
    np.testing.assert_array_equal(fewer, out[4:7, 22:])


def test_what_is_no_number_stays_so():
    a, b, out = np.ones((7, 4), F), np.ones((4, 20), F), np.zeros((7, 20), F)
    a[2, 1] = np.nan
    compiled_dot(a, b, NOTHING, out)
    assert np.isnan(out[2]).all()
    assert not np.isnan(np.delete(out, 2, axis=0)).any()


@njit
def sums(x, y, centred):
    n = x.size
    row = lanes(x, ONE)
    return total(row, n), inner(row, lanes(y, ONE), n), centre(row, x[0], lanes(centred, ONE), n)


def across(sums):
    """One half plus the other, until one is left."""
    return sums[0] if len(sums) == 1 else across(sums[: len(sums) // 2] + sums[len(sums) // 2 :])


@libm
@pytest.mark.parametrize("n", [1, 15, 16, 17, 64, 77])
def test_sums_along_a_row_are_sixteen_side_by_side_and_what_is_left(n):
    rng = np.random.default_rng(n)
    (x, y), whole = matrix(rng, 2, n, False), n - n % LANES
    plain, products, squares = (np.zeros(LANES, F) for _ in range(3))
    for k in range(whole):
        one = x[k] - x[0]
        plain[k % LANES] += x[k]
        products[k % LANES] = fma(x[k], y[k], products[k % LANES])
        squares[k % LANES] = fma(one, one, squares[k % LANES])
    expected = [across(lane) for lane in (plain, products, squares)]
    for k in range(whole, n):
        one = x[k] - x[0]
        expected = [expected[0] + x[k], expected[1] + x[k] * y[k], expected[2] + one * one]
    centred = np.zeros(n, F)
    np.testing.assert_array_equal(sums(x, y, centred), expected)
    np.testing.assert_array_equal(centred, x - x[0])
