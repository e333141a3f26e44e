"""The policy: an MLP with tanh everywhere, kept as one flat float32 vector.

Order in the vector, layer by layer: the weight matrix row by row (outputs x inputs), then the biases. It is the order of
the paper's released code, so archives can be exchanged. The compiled forward pass is in ``physics/policy.py``.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

# tanh(x) = x P(x²) / Q(x²) for |x| <= 8, beyond which float32 cannot tell it from ±1. A minimax fit of our own: 6e-9
# relative, a few ulp once rounded, never beyond ±1. Only sums, products and a division, so it vectorizes and gives the
# same bits with every maths library. Compiled code uses it; coefficients are of rising powers.
TANH_P = (0.999999993630459, 0.13444518826086832, 0.0035716226405614047, 2.189506403526273e-05, 1.523097549824462e-08)
TANH_Q = (1.0, 0.46777846167117476, 0.026164536919594375, 0.00034113321099019594, 8.522674396874253e-07)
TANH_EDGE = 8.0


@dataclass(frozen=True)
class MLP:
    """Maps observations to actions in [-1, 1]: obs -> hidden tanh layers -> tanh.

    Attributes:
        obs_dim: Numbers of an observation.
        hidden: Widths of the hidden layers.
        action_dim: Numbers of an action.
    """

    obs_dim: int
    hidden: tuple[int, ...]
    action_dim: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "hidden", tuple(self.hidden))
        if not all(isinstance(size, (int, np.integer)) and size > 0 for size in self.sizes):
            raise ValueError(f"Layer sizes must be positive whole numbers; got {self.sizes}.")

    @property
    def sizes(self) -> tuple[int, ...]:
        """Widths of all layers, input and output included."""
        return (self.obs_dim, *self.hidden, self.action_dim)

    @property
    def solution_dim(self) -> int:
        """Parameters of a solution: weights and biases of all layers."""
        return sum(n_out * (n_in + 1) for n_in, n_out in pairwise(self.sizes))

    def init(self, rng: np.random.Generator) -> np.ndarray:
        """A Xavier-uniform solution: weights U(±√(6 / (inputs + outputs))), zero biases."""
        parts = []
        for n_in, n_out in pairwise(self.sizes):
            bound = np.sqrt(6.0 / (n_in + n_out))
            parts += [rng.uniform(-bound, bound, n_out * n_in), np.zeros(n_out)]
        return np.concatenate(parts).astype(np.float32)

    def layers(self, solution: Any) -> list[tuple[Any, Any]]:
        """(weights, biases) per layer, as views; any number of leading batch dimensions, NumPy or JAX."""
        if solution.shape[-1:] != (self.solution_dim,):
            raise ValueError(
                f"A solution for layers {self.sizes} has {self.solution_dim} parameters; "
                f"got an array of shape {solution.shape}."
            )
        batch, start, layers = solution.shape[:-1], 0, []
        for n_in, n_out in pairwise(self.sizes):
            weights = solution[..., start : start + n_out * n_in].reshape(*batch, n_out, n_in)
            start += n_out * n_in
            layers.append((weights, solution[..., start : start + n_out]))
            start += n_out
        return layers

    def act(self, solution: np.ndarray, obs: np.ndarray) -> np.ndarray:
        """Actions of one solution for observations of shape (..., obs_dim), in NumPy."""
        return self._forward(np, np.asarray(solution, np.float32), np.asarray(obs, np.float32))

    def act_jax(self, solution: Any, obs: Any) -> Any:
        """The same in JAX, to be jitted, differentiated and vmapped."""
        import jax.numpy as jnp

        return self._forward(jnp, solution, obs)

    def _forward(self, xp: Any, solution: Any, x: Any) -> Any:
        for weights, biases in self.layers(solution):
            x = xp.tanh(x @ weights.T + biases)
        return x
