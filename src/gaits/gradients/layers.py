"""Networks in compiled code: values forward, derivatives backward, and Adam.

A network is a flat vector in the order of ``gaits.MLP``. Rows are states; what every layer gives is kept in one flat array,
layer after layer, for the way back.
"""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np

from gaits.compiling import compiled
from gaits.gradients.products import NOTHING, centre, dot, inner, total
from gaits.lanes import ONE as SINGLE
from gaits.lanes import lanes, part
from gaits.policies import MLP, TANH_EDGE, TANH_P, TANH_Q

PARAMETERS, INPUT = 0, 1


class Net(NamedTuple):
    """The form of a network."""

    relu: bool  # ReLU between layers and nothing at the end, as critics; or tanh everywhere, as policies
    norm: bool  # what ReLU is given has mean 0 and variance 1 over a layer's units (Ba et al., 2016)
    sizes: np.ndarray  # (layers + 1,)
    starts: np.ndarray  # (layers,) of each layer's weights in the vector
    before: np.ndarray  # (layers + 2,) outputs of all layers before, of one state; the last one: of all


def make_net(shape: MLP, relu: bool, norm: bool = False) -> Net:
    sizes = np.array(shape.sizes)
    parameters = [n_out * (n_in + 1) for n_in, n_out in pairwise(shape.sizes)]
    return Net(relu, norm, sizes, np.cumsum([0, *parameters[:-1]]), np.cumsum([0, 0, *sizes[1:]]))


def size(net: Net) -> int:
    """Parameters of the network."""
    return int(sum(n_out * (n_in + 1) for n_in, n_out in pairwise(net.sizes)))


def room(net: Net, rows: int) -> int:
    """How many numbers all layers give for so many states; with norms, what ReLU was given and 1/σ besides."""
    layers = len(net.sizes) - 1
    return rows * int(net.before[-1] + (net.before[layers] + layers if net.norm else 0))


@compiled
def output(net, values, layer, rows):
    """What a layer (the first is 1) gives, (rows, its size)."""
    start = rows * net.before[layer]
    return values[start : start + rows * net.sizes[layer]].reshape(rows, net.sizes[layer])


@compiled
def normal(net, values, layer, rows):
    """What the ReLU of a layer was given, (rows, its size), and 1/σ of each row before."""
    start = rows * (net.before[-1] + net.before[layer] + layer - 1)
    middle = start + rows * net.sizes[layer]
    return values[start:middle].reshape(rows, net.sizes[layer]), values[middle : middle + rows]


@compiled
def weights(net, vector, layer):
    """(outputs, inputs), and the biases, of the layer that gives ``output(layer + 1)``."""
    n_in, n_out, start = net.sizes[layer], net.sizes[layer + 1], net.starts[layer]
    middle = start + n_out * n_in
    return vector[start:middle].reshape(n_out, n_in), vector[middle : middle + n_out]


@compiled
def forward(net, vector, x, values):
    """The network's outputs for the states x; those of all layers are left in ``values``."""
    last = net.sizes.size - 1
    for layer in range(last):
        w, b = weights(net, vector, layer)
        z = output(net, values, layer + 1, len(x))
        dot(x, w.T, b, z)
        if net.norm and layer + 1 < last:
            normalise(z, *normal(net, values, layer + 1, len(x)))
        else:
            activate(z, net.relu, layer + 1 == last)
        x = z
    return x


@compiled
def activate(z, relu, last):
    rows, columns = z.shape
    if not relu:
        for i in range(rows):
            for j in range(columns):
                z[i, j] = tanh(z[i, j])
    elif not last:
        for i in range(rows):
            for j in range(columns):
                z[i, j] = max(z[i, j], ZERO)


@compiled
def normalise(z, normed, scale):
    """Rows of z with mean 0 and variance 1, which are kept with 1/σ, through ReLU."""
    rows, columns = z.shape
    n = np.float32(columns)
    for i in range(rows):
        row = part(lanes(z, SINGLE), i * columns)
        variance = centre(row, total(row, columns) / n, part(lanes(normed, SINGLE), i * columns), columns) / n
        scale[i] = factor = ONE / np.sqrt(variance + NORM_EPSILON)
        for j in range(columns):
            normed[i, j] *= factor
            z[i, j] = max(normed[i, j], ZERO)


@compiled
def backward(net, vector, x, values, deltas, wanted, gradient, dx):
    """From dJ/d(output), which is in ``deltas``, to the wanted one of dJ/d(parameters) and dJ/dx."""
    rows, layers = len(x), net.sizes.size - 1
    for layer in range(layers - 1, -1, -1):
        w, _ = weights(net, vector, layer)
        delta = output(net, deltas, layer + 1, rows)
        deactivate(delta, output(net, values, layer + 1, rows), net.relu, layer + 1 == layers)
        if net.norm and layer + 1 < layers:
            denormalise(delta, *normal(net, values, layer + 1, rows))
        if wanted == PARAMETERS:
            gw, gb = weights(net, gradient, layer)
            dot(delta.T, output(net, values, layer, rows) if layer else x, NOTHING, gw)
            sum_rows(delta, gb)
        if layer:
            dot(delta, w, NOTHING, output(net, deltas, layer, rows))
        elif wanted == INPUT:
            dot(delta, w, NOTHING, dx)


@compiled
def deactivate(delta, value, relu, last):
    """Derivatives with respect to what an activation was given, from those of what it gave."""
    rows, columns = delta.shape
    for i in range(rows):
        if not relu:
            for j in range(columns):
                delta[i, j] *= ONE - value[i, j] * value[i, j]
        elif not last:
            for j in range(columns):
                delta[i, j] = delta[i, j] if value[i, j] > ZERO else ZERO


@compiled
def denormalise(delta, normed, scale):
    """dJ/dz = 1/σ (δ - mean δ - ẑ mean(δ ẑ)), from δ = dJ/dẑ."""
    rows, columns = delta.shape
    n = np.float32(columns)
    for i in range(rows):
        row = part(lanes(delta, SINGLE), i * columns)
        mean, along = total(row, columns) / n, inner(row, part(lanes(normed, SINGLE), i * columns), columns) / n
        for j in range(columns):
            delta[i, j] = scale[i] * (delta[i, j] - mean - normed[i, j] * along)


@compiled
def sum_rows(delta, total):
    rows, columns = delta.shape
    total[:] = ZERO
    for i in range(rows):
        for j in range(columns):
            total[j] += delta[i, j]


ZERO, ONE = np.float32(0), np.float32(1)
NORM_EPSILON = np.float32(1e-5)
P0, P1, P2, P3, P4 = map(np.float32, TANH_P)
Q0, Q1, Q2, Q3, Q4 = map(np.float32, TANH_Q)
EDGE = np.float32(TANH_EDGE)


@compiled
def tanh(x):
    x = -EDGE if x < -EDGE else x  # not min and max: they would turn NaN into a number
    x = EDGE if x > EDGE else x
    y = x * x
    p = (((P4 * y + P3) * y + P2) * y + P1) * y + P0
    q = (((Q4 * y + Q3) * y + Q2) * y + Q1) * y + Q0
    return x * p / q


B1, B2, EPSILON = np.float32(0.9), np.float32(0.999), np.float32(1e-8)


@compiled
def adam(vector, gradient, m, v, rate, t):
    """Step t of Adam down a gradient (Kingma and Ba, 2015, algorithm 1, with its defaults)."""
    rate, m_scale = np.float32(rate), np.float32(1.0 / (1.0 - 0.9**t))
    v_scale = np.float32(1.0 / (1.0 - 0.999**t))
    for i in range(vector.size):
        m[i] = B1 * m[i] + (ONE - B1) * gradient[i]
        v[i] = B2 * v[i] + (ONE - B2) * gradient[i] * gradient[i]
        vector[i] -= rate * (m_scale * m[i]) / (np.sqrt(v_scale * v[i]) + EPSILON)


@compiled
def follow(target, leader, tau):
    """θ' = τ θ + (1 - τ) θ'."""
    tau = np.float32(tau)
    for i in range(target.size):
        target[i] = tau * leader[i] + (ONE - tau) * target[i]
