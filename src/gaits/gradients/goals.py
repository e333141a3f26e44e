"""Critics and a policy that are told which measures are wanted (Faldor et al., 2023 and 2024).

The reward of an episode counts as far as its measures came out as wanted; so the critic knows how to walk better *in the
same way*, and the policy, told a cell, walks in that cell's way.
"""

from __future__ import annotations

import dataclasses

import numpy as np

from gaits.evaluation.results import Transitions
from gaits.policies import MLP


def scaled(measures: np.ndarray, ranges: np.ndarray) -> np.ndarray:
    """Measures (n, k) as goals: float32, from -1 to 1 within their ranges (k, 2)."""
    low, high = np.transpose(ranges)
    return (2 * (measures - low) / (high - low) - 1).astype(np.float32)


def similarity(goals: np.ndarray, wanted: np.ndarray, lengthscale: float) -> np.ndarray:
    """S = exp(-‖d - d'‖ / L) of goals (n, k) reached and wanted: 1 where they are the same."""
    return np.exp(-np.linalg.norm(np.float64(goals) - wanted, axis=1) / lengthscale)


def told(steps: Transitions, goals: np.ndarray) -> Transitions:
    """Steps whose states end with goals (N, k)."""
    obs, next_obs = (np.concatenate([states, goals], axis=1) for states in (steps.obs, steps.next_obs))
    return dataclasses.replace(steps, obs=obs, next_obs=next_obs)


def towards(
    steps: Transitions,
    reached: np.ndarray,
    wanted: np.ndarray,
    *,
    lengthscale: float,
    offset: float,
    hindsight: float,
    rng: np.random.Generator,
) -> Transitions:
    """Steps as critics with goals learn from them: states end with the goal, and the reward is S max(r + offset, 0).

    ``reached`` and ``wanted`` (n, k) are those of each solution. A reward below zero would pay for missing the goal. A share
    ``hindsight`` of the episodes is told that what was reached had been wanted (as in Andrychowicz et al., 2017). All steps
    of one have the same goal: what sums them up, as returns do, sums up what one policy was paid for one thing.
    """
    goal = np.where((rng.random(len(wanted)) < hindsight)[:, None], reached, wanted)
    share = similarity(reached, goal, lengthscale)[steps.solution]
    return dataclasses.replace(told(steps, goal[steps.solution]), reward=share * np.maximum(steps.reward + offset, 0.0))


def fold(actor: MLP, vector: np.ndarray, goals: np.ndarray) -> np.ndarray:
    """Policies (n, dim) that do what the actor (S,) does when told each of the goals (n, k).

    The first layer's part for the goal becomes part of its biases, W_s s + W_d d + b = W_s s + (W_d d + b); nothing is lost.
    """
    (weights, biases), *others = actor.layers(vector)
    obs_dim = actor.obs_dim - goals.shape[1]
    first = np.broadcast_to(weights[:, :obs_dim].ravel(), (len(goals), weights.shape[0] * obs_dim))
    rest = np.concatenate([vector[:0], *(part.ravel() for layer in others for part in layer)])  # a linear one has no others
    rest = np.broadcast_to(rest, (len(goals), rest.size))
    for goal, weight in zip(goals.T, weights[:, obs_dim:].T, strict=True):  # BLAS's last bits are the machine's own
        biases = biases + goal[:, None] * weight
    return np.concatenate([first, np.broadcast_to(biases, (len(goals), len(weights))), rest], axis=1, dtype=np.float32)


def unfold(actor: MLP, solution: np.ndarray, goal_weights: np.ndarray) -> np.ndarray:
    """An actor that does what a policy does, but for ``goal_weights`` (units, k) of its first layer."""
    plain = MLP(actor.obs_dim - goal_weights.shape[1], actor.hidden, actor.action_dim)
    (weights, biases), *others = plain.layers(solution)
    first = np.concatenate([weights, goal_weights], axis=1).ravel()
    return np.concatenate([first, biases, *(part.ravel() for layer in others for part in layer)], dtype=np.float32)
