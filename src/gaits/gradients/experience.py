"""What a critic is to learn from episodes: their steps, or several steps at once, and what their returns say for certain."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from gaits.compiling import entry
from gaits.evaluation.results import Transitions


class Lesson(NamedTuple):
    """A batch to learn from."""

    steps: Transitions | None
    cells: np.ndarray | None = None  # (n,) that its solutions are in
    flags: np.ndarray | None = None  # (N, k) what each step adds to its episode's measures


class Experience(NamedTuple):
    """Rows for a replay buffer, episode after episode."""

    obs: np.ndarray  # (N, obs_dim)
    action: np.ndarray  # (N, action_dim)
    next_obs: np.ndarray  # (N, obs_dim): where the reward was paid until
    reward: np.ndarray  # (N,)
    terminal: np.ndarray  # (N,): 1 if there is no value beyond, 1 - γ^(m-1) if the next state is m steps away
    bound: np.ndarray | None = None  # (N,): what the value is at least
    cell: np.ndarray | None = None  # (N,): of the episode
    sums: np.ndarray | None = None  # (N, 1 + k): see ``measure_sums``


def experience(lesson: Lesson, settings: Any) -> Experience:
    """Transitions as the settings of a TD3 want them."""
    steps = lesson.steps
    assert steps is not None
    terminal = steps.terminated | steps.truncated if settings.timeout_terminal else steps.terminated
    last = last_steps(steps.solution)
    bound = returns(steps.reward, last, settings.discount) if settings.return_bound else None
    cell = None if lesson.cells is None else lesson.cells[steps.solution]
    sums = None if lesson.flags is None else measure_sums(lesson.flags, last, settings.discount)
    rows = Experience(steps.obs, steps.action, steps.next_obs, steps.reward, terminal, bound, cell, sums)
    return rows if settings.n_step == 1 else over_steps(rows, last, settings.n_step, settings.discount)


def last_steps(solution: np.ndarray) -> np.ndarray:
    """(N,) for each step, which is the last of its episode, given whose episodes they are: a solution has one."""
    ends = np.flatnonzero(np.diff(solution, append=-1))
    return np.repeat(ends, np.diff(ends, prepend=-1))


def over_steps(rows: Experience, last: np.ndarray, n: int, discount: float) -> Experience:
    """n-step returns: r_t + ... + γ^(m-1) r_(t+m-1), m being n or as many as are left, and then the state m steps on."""
    here = np.arange(len(last))
    end = np.minimum(here + n - 1, last)
    reward = np.zeros(len(last))
    for k in range(np.max(end - here, initial=-1) + 1):
        there = here + k
        reward += np.where(there <= end, discount**k * rows.reward[np.minimum(there, end)], 0.0)
    terminal = np.where(rows.terminal[end], 1.0, 1.0 - discount ** (end - here))
    return rows._replace(next_obs=rows.next_obs[end], reward=reward, terminal=terminal)


def returns(reward: np.ndarray, last: np.ndarray, discount: float) -> np.ndarray:
    """G_t = r_t + γ r_(t+1) + ... to the end of the episode."""
    total = np.array(reward, np.float64)
    _sum_back(total, last, discount)
    return total


def measure_sums(flags: np.ndarray, last: np.ndarray, discount: float) -> np.ndarray:
    """(N, 1 + k) to the end of the episode: (1 - γ) Σ γ^i, the time left, and (1 - γ) Σ γ^i flag, the time that counts.

    Their ratio is a mean over the steps to come, as a measure is one over all steps.
    """
    columns = [np.ones(len(last)), *np.transpose(flags)]
    return (1 - discount) * np.stack([returns(column, last, discount) for column in columns], axis=1)


@entry()
def _sum_back(total, last, discount):
    for t in range(len(total) - 2, -1, -1):
        if t != last[t]:
            total[t] += discount * total[t + 1]
