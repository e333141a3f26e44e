"""Arithmetic on batches of policies, each in one walk through memory: an early iteration has little time for a second."""

from __future__ import annotations

from gaits.compiling import entry


@entry()
def add_taken(out, rows, order):
    """out[i] += rows[order[i]]."""
    for i in range(order.size):
        target, row = out[i], rows[order[i]]
        for j in range(row.size):
            target[j] += row[j]


@entry()
def add_weighted(out, rows, order, weights):
    """out += Σ_i weights[i] rows[order[i]], in this order, in the precision of ``out``."""
    for i in range(order.size):
        row, weight = rows[order[i]], weights[i]
        for j in range(row.size):
            out[j] += weight * row[j]


@entry()
def mirror(out, point, noise, sigma):
    """The rows point + σ noise[i], then the rows point - σ noise[i]."""
    half = len(noise)
    for i in range(half):
        plus, minus, row = out[i], out[half + i], noise[i]
        for j in range(row.size):
            step = sigma * row[j]
            plus[j] = point[j] + step
            minus[j] = point[j] - step


@entry()
def branch(out, point, gradients, coefficients):
    """Rows point + Σ_k coefficients[i, k] gradients[k], the sum first, in the order of k."""
    for i in range(len(out)):
        row = out[i]
        weight, gradient = coefficients[i, 0], gradients[0]
        for j in range(row.size):
            row[j] = weight * gradient[j]
        for k in range(1, len(gradients)):
            weight, gradient = coefficients[i, k], gradients[k]
            for j in range(row.size):
                row[j] += weight * gradient[j]
        for j in range(row.size):
            row[j] += point[j]
