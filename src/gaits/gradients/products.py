"""Products and sums in compiled code, with the same last bits on every machine.

Every number of a product is one sum in the order of its terms, by fused multiply-adds. What BLAS computes depends on the
processor that it finds, and so would a run; and it packs both sides, which takes a fifth of the time for some hundred rows
and columns. Here sixteen columns of six rows are summed side by side: twelve of the sixteen registers of AVX2. Where there
is AVX-512 it is thirty-two columns, twelve of thirty-two registers twice as wide: the same sums, a quarter faster.
"""

from __future__ import annotations

import llvmlite.binding
import numpy as np

from gaits.compiling import compiled, inline
from gaits.lanes import ONE, SIXTEEN, THIRTY_TWO, across, fma, lanes, like, part, transpose8, wide

LANES, ROWS = len(SIXTEEN), 6
BROAD = THIRTY_TWO if llvmlite.binding.get_host_cpu_features().get("avx512f") else SIXTEEN
BREADTH = len(BROAD)
"""Columns side by side, but where no more than ``LANES`` are left."""
ZERO = np.float32(0)
NOTHING = np.zeros(0, np.float32)


@compiled
def dot(a, b, start, out):
    """out = start + a b, of float32 matrices; a and b may be transposed, and start is a row or ``NOTHING``."""
    n = b.shape[1]
    desk = np.empty((1 + len(b) + len(a)) * BREADTH, np.float32)
    for column in range(0, n, BREADTH):
        if n - column > LANES:
            sum_columns(a, b, start, out, column, desk, BROAD)
        else:
            sum_columns(a, b, start, out, column, desk, SIXTEEN)


@compiled
def sum_columns(a, b, start, out, column, desk, lot):
    """The columns of a product from this one on, a lot of them or as many as there are."""
    (m, k), n, breadth = a.shape, b.shape[1], len(lot)
    row, step = a.strides[0] // 4, a.strides[1] // 4
    width = min(n - column, breadth)
    x, panel, z = lanes(a, ONE), lanes(desk, lot), lanes(out, ONE)
    panel[0] = like(panel[0], ZERO)
    for j in range(column, min(column + width, start.size)):
        desk[j - column] = start[j]
    lay_out(b, column, width, desk[breadth:], lot)
    if width == breadth:
        sum_rows(x, row, step, panel, m, k, part(z, column), n, lot)
    else:
        narrow = part(lanes(desk, ONE), (1 + k) * breadth)
        sum_rows(x, row, step, panel, m, k, narrow, breadth, lot)
        for i in range(m):
            for j in range(width):
                z[i * n + column + j] = narrow[i * breadth + j]


@compiled
def lay_out(b, column, width, desk, lot):
    """Columns of b, row after row, as a panel as wide as a lot; those that b does not have are zero."""
    k, done, breadth = len(b), 0, len(lot)
    row, step = b.strides[0] // 4, b.strides[1] // 4
    y, panel = lanes(b, ONE), lanes(desk, ONE)
    if width == breadth and step == 1:
        whole, done = wide(panel, lot), k
        for i in range(k):
            whole[i] = wide(part(y, i * row + column), lot)[0]
    elif width == breadth and row == 1:
        done = k - k % 8
        for i in range(0, done, 8):
            for j in range(0, breadth, 8):
                transpose8(y, (column + j) * step + i, step, panel, i * breadth + j, breadth)
    for i in range(done, k):
        for j in range(width):
            panel[i * breadth + j] = y[i * row + (column + j) * step]
        for j in range(width, breadth):
            panel[i * breadth + j] = ZERO


@compiled
def sum_rows(x, row, step, panel, m, k, z, apart, lot):
    """m rows of x, ``row`` apart with terms ``step`` apart, times a panel, in whose first row sums begin; to z."""
    for i in range(0, m - ROWS + 1, ROWS):
        sum_six(part(x, i * row), row, step, panel, k, part(z, i * apart), apart, lot)
    if m >= ROWS:
        if m % ROWS:  # some once more, to the same numbers
            sum_six(part(x, (m - ROWS) * row), row, step, panel, k, part(z, (m - ROWS) * apart), apart, lot)
    else:
        for i in range(m):
            sum_one(part(x, i * row), step, panel, k, part(z, i * apart), lot)


@inline
def sum_six(x, row, step, panel, k, z, apart, lot):
    a = b = c = d = e = f = panel[0]
    at = 0
    for i in range(1, k + 1):
        terms = panel[i]
        a = fma(terms, x[at], a)
        b = fma(terms, x[at + row], b)
        c = fma(terms, x[at + 2 * row], c)
        d = fma(terms, x[at + 3 * row], d)
        e = fma(terms, x[at + 4 * row], e)
        f = fma(terms, x[at + 5 * row], f)
        at += step
    wide(z, lot)[0] = a
    wide(part(z, apart), lot)[0] = b
    wide(part(z, 2 * apart), lot)[0] = c
    wide(part(z, 3 * apart), lot)[0] = d
    wide(part(z, 4 * apart), lot)[0] = e
    wide(part(z, 5 * apart), lot)[0] = f


@inline
def sum_one(x, step, panel, k, z, lot):
    a = panel[0]
    for i in range(k):
        a = fma(panel[i + 1], x[i * step], a)
    wide(z, lot)[0] = a


# A sum along a row is sixteen sums of every sixteenth term, which are summed then, and the terms that are left.


@inline
def total(x, n):
    """Σ x of a row."""
    terms = wide(x, SIXTEEN)
    sums = like(terms[0], ZERO)
    for k in range(n // LANES):
        sums = sums + terms[k]
    whole = across(sums)
    for k in range(n - n % LANES, n):
        whole += x[k]
    return whole


@inline
def inner(x, y, n):
    """Σ x y of two rows."""
    terms, factors = wide(x, SIXTEEN), wide(y, SIXTEEN)
    sums = like(terms[0], ZERO)
    for k in range(n // LANES):
        sums = fma(terms[k], factors[k], sums)
    whole = across(sums)
    for k in range(n - n % LANES, n):
        whole += x[k] * y[k]
    return whole


@inline
def centre(x, mean, y, n):
    """y = x - mean of a row, and Σ y²."""
    terms, centred = wide(x, SIXTEEN), wide(y, SIXTEEN)
    sums = like(terms[0], ZERO)
    for k in range(n // LANES):
        one = terms[k] - mean
        centred[k] = one
        sums = fma(one, one, sums)
    whole = across(sums)
    for k in range(n - n % LANES, n):
        y[k] = x[k] - mean
        whole += y[k] * y[k]
    return whole
