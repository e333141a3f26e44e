"""Arithmetic on batches of policies, each in one walk through memory: an early iteration has little time for a second.

What gives a row for every row is shared out between two threads. Sums over rows are one thread's work, in their order.
"""

from __future__ import annotations

import functools
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from gaits.compiling import entry

BLOCK = 1024
"""Columns at a time, where rows are walked through more than once: they stay in the nearest cache."""


def add_taken(out: Any, rows: Any, order: Any) -> None:
    """out[i] += rows[order[i]]."""
    _share(_add_taken, order.size, out, rows, order)


def put(out: Any, places: Any, rows: Any, order: Any) -> None:
    """out[places[i]] = rows[order[i]]; places are all different."""
    _share(_put, order.size, out, places, rows, order)


def mirror(out: Any, point: Any, noise: Any, sigma: Any) -> None:
    """The rows point + σ noise[i], then the rows point - σ noise[i]."""
    _share(_mirror, len(noise), out, point, noise, sigma)


def branch(out: Any, point: Any, gradients: Any, coefficients: Any) -> None:
    """Rows point + Σ_k coefficients[i, k] gradients[k], the sum first, in the order of k."""
    _share(_branch, len(out), out, point, gradients, coefficients)


def _share(work: Any, n: int, *arrays: Any) -> None:
    """The work of n rows, a half of them on another thread, which has nothing to do but this."""
    other = _other().submit(work, n // 2, n, *arrays)
    work(0, n // 2, *arrays)
    other.result()


@functools.cache
def _other() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(1, "rows")


@entry()
def _add_taken(start, stop, out, rows, order):
    for i in range(start, stop):
        target, row = out[i], rows[order[i]]
        for j in range(row.size):
            target[j] += row[j]


@entry()
def _put(start, stop, out, places, rows, order):
    for i in range(start, stop):
        target, row = out[places[i]], rows[order[i]]
        for j in range(row.size):
            target[j] = row[j]


@entry()
def _mirror(start, stop, out, point, noise, sigma):
    half = len(noise)
    for i in range(start, stop):
        plus, minus, row = out[i], out[half + i], noise[i]
        for j in range(row.size):
            step = sigma * row[j]
            plus[j] = point[j] + step
            minus[j] = point[j] - step


@entry()
def _branch(start, stop, out, point, gradients, coefficients):
    for first in range(0, point.size, BLOCK):
        there = slice(first, first + BLOCK)
        base = point[there]
        for i in range(start, stop):
            row = out[i, there]
            weight, gradient = coefficients[i, 0], gradients[0, there]
            for j in range(row.size):
                row[j] = weight * gradient[j]
            for k in range(1, len(gradients)):
                weight, gradient = coefficients[i, k], gradients[k, there]
                for j in range(row.size):
                    row[j] += weight * gradient[j]
            for j in range(row.size):
                row[j] += base[j]


@entry()
def add_weighted(out, rows, order, weights):
    """out += Σ_i weights[i] rows[order[i]], in this order, in the precision of ``out``. Four at once take half the time."""
    fours = order.size // 4 * 4
    for i in range(0, fours, 4):
        a, b, c, d = rows[order[i]], rows[order[i + 1]], rows[order[i + 2]], rows[order[i + 3]]
        w_a, w_b, w_c, w_d = weights[i], weights[i + 1], weights[i + 2], weights[i + 3]
        for j in range(out.size):
            out[j] = (((out[j] + w_a * a[j]) + w_b * b[j]) + w_c * c[j]) + w_d * d[j]
    for i in range(fours, order.size):
        row, weight = rows[order[i]], weights[i]
        for j in range(out.size):
            out[j] += weight * row[j]
