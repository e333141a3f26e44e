"""The policy in compiled code, eight outputs at a time: at the engine's speed it takes as long as the robot's physics.

Weights are laid out once per episode: outputs in blocks, and for each block its biases and then its weights by input, so
that a forward pass reads memory from end to end. Every output is its bias plus weight times input, input by input: the
order of the sum is the same for any layout.
"""

from __future__ import annotations

import itertools
from typing import NamedTuple

import numpy as np

from gaits.compiling import compiled, entry, inline
from gaits.lanes import EIGHT, ONE, lanes, like, part, select, transpose8, wide
from gaits.policies import TANH_EDGE, TANH_P, TANH_Q

ZERO = np.float32(0.0)
LANES, WIDE = 8, 8  # outputs in a vector; vectors in a wide block


def padded(n: int) -> int:
    """Outputs of a layer, rounded up to whole vectors."""
    return -(-n // LANES) * LANES


def room(sizes: np.ndarray) -> tuple[int, int]:
    """Numbers that the laid out weights take, and those of two layers' outputs."""
    weights = sum((int(n_in) + 1) * padded(int(n_out)) for n_in, n_out in itertools.pairwise(sizes))
    return weights, 2 * padded(int(max(sizes)))


@compiled
def lay_out(network, solution, out):
    """Bring a solution's weights, a row per output, into the order of the forward pass."""
    source, target = 0, 0
    for layer in range(network.layers):
        n_in, n_out = network.sizes[layer], network.sizes[layer + 1]
        biases = source + n_in * n_out
        first = 0
        while first < n_out:
            size = LANES * WIDE if first + LANES * WIDE <= n_out else LANES
            count = min(size, n_out - first)
            for o in range(count):
                out[target + o] = solution[biases + first + o]
            for o in range(count, size):
                for i in range(n_in + 1):
                    out[target + size * i + o] = ZERO
            target += size
            whole = n_in - n_in % LANES if count == size else 0
            for start in range(0, whole, LANES):
                for o in range(0, size, LANES):
                    transpose8(solution, source + (first + o) * n_in + start, n_in, out, target + size * start + o, size)
            for i in range(whole, n_in):
                for o in range(count):
                    out[target + size * i + o] = solution[source + (first + o) * n_in + i]
            target += size * n_in
            first += size
        source = biases + n_out


P0, P1, P2, P3, P4 = map(np.float32, TANH_P)
Q0, Q1, Q2, Q3, Q4 = map(np.float32, TANH_Q)
EDGE = np.float32(TANH_EDGE)


@inline
def tanh32(x):
    x = select(x < -EDGE, like(x, -EDGE), x)  # not min and max: they would turn NaN into a number
    x = select(x > EDGE, like(x, EDGE), x)
    y = x * x
    p = (((P4 * y + P3) * y + P2) * y + P1) * y + P0
    q = (((Q4 * y + Q3) * y + Q2) * y + Q1) * y + Q0
    return x * p / q


@compiled
def forward(sizes, layers, weights, x, buffer, half, action):
    """action = policy(x). ``weights`` come from lay_out; ``buffer`` has room for two layers' outputs, ``half`` for one."""
    w, source = wide(weights, EIGHT), x
    for layer in range(layers):
        n_in, n = sizes[layer], sizes[layer + 1]
        output = part(buffer, half * (layer % 2))
        target = wide(output, EIGHT)
        vector, vectors = 0, (n + LANES - 1) // LANES
        while vector < n // (LANES * WIDE) * WIDE:
            a, b, c, d = w[0], w[1], w[2], w[3]
            e, f, g, h = w[4], w[5], w[6], w[7]
            for i in range(n_in):
                w = part(w, WIDE)
                k = like(a, source[i])
                a, b, c, d = a + w[0] * k, b + w[1] * k, c + w[2] * k, d + w[3] * k
                e, f, g, h = e + w[4] * k, f + w[5] * k, g + w[6] * k, h + w[7] * k
            w = part(w, WIDE)
            target[vector], target[vector + 1], target[vector + 2] = tanh32(a), tanh32(b), tanh32(c)
            target[vector + 3], target[vector + 4], target[vector + 5] = tanh32(d), tanh32(e), tanh32(f)
            target[vector + 6], target[vector + 7] = tanh32(g), tanh32(h)
            vector += WIDE
        while vector < vectors:
            a = w[0]
            for i in range(n_in):
                w = part(w, 1)
                a = a + w[0] * like(a, source[i])
            w = part(w, 1)
            target[vector] = tanh32(a)
            vector += 1
        source = output
    for j in range(sizes[layers]):
        action[j] = source[j]


class Network(NamedTuple):
    """A policy of given sizes at work."""

    layers: int
    half: int  # numbers of a layer's outputs at most
    sizes: np.ndarray  # (layers + 1,)
    buffer: np.ndarray  # (2, half) float32
    normalized: np.ndarray  # (n_in,) float32


def make_network(sizes: tuple[int, ...]) -> Network:
    _, numbers = room(np.array(sizes))
    buffers = np.zeros(numbers, np.float32), np.zeros(sizes[0], np.float32)
    return Network(len(sizes) - 1, numbers // 2, np.array(sizes), *buffers)


@inline
def view_network(n):
    return Network(n.layers, n.half, lanes(n.sizes, ONE), lanes(n.buffer, ONE), lanes(n.normalized, ONE))


@compiled
def choose_action(network, weights, obs, mean, std, action):
    """action = policy((obs - mean) / std)"""
    for i in range(network.sizes[0]):
        network.normalized[i] = (obs[i] - mean[i]) / std[i]
    forward(network.sizes, network.layers, weights, network.normalized, network.buffer, network.half, action)


class Actor:
    """A policy at work from Python, one step at a time: the arithmetic of whole episodes."""

    def __init__(self, sizes: tuple[int, ...]) -> None:
        self.network = make_network(sizes)
        self.weights = np.zeros(room(self.network.sizes)[0], np.float32)

    def take(self, solution: np.ndarray) -> None:
        """The parameters (solution_dim,) float32 to act with from now on."""
        take_weights(self.network, solution, self.weights)

    def act(self, obs: np.ndarray, mean: np.ndarray, std: np.ndarray) -> np.ndarray:
        """The action (n,) float32 for an observation, normalized by mean and standard deviation."""
        action = np.empty(self.network.sizes[-1], np.float32)
        act_once(self.network, self.weights, obs, mean, std, action)
        return action


@entry("policies", 5)
def take_weights(network, solution, weights):
    lay_out(view_network(network), lanes(solution, ONE), lanes(weights, ONE))


@entry("policies", 5)
def act_once(network, weights, obs, mean, std, action):
    obs, mean, std = lanes(obs, ONE), lanes(mean, ONE), lanes(std, ONE)
    choose_action(view_network(network), lanes(weights, ONE), obs, mean, std, lanes(action, ONE))
