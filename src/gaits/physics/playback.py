"""An episode to look at: exactly the one that an evaluator plays, and where the robot was after every step."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from gaits.evaluation.job import make_job
from gaits.physics import world
from gaits.physics.skeleton import Skeleton
from gaits.physics.world import Episode, Simulator, start_angles
from gaits.tasks.task import Task


@dataclass(frozen=True)
class Playback:
    """One episode of T steps, by a robot with F feet."""

    episode: Episode
    positions: np.ndarray  # (T + 1, Q) float64: base position, base quaternion, joints, as Bullet keeps them
    contacts: np.ndarray  # (T, F) bool: feet on the ground after each step

    def poses(self, skeleton: Skeleton) -> np.ndarray:
        """Position and quaternion (x, y, z, w) of the base's and each of L links' mass centre: (T + 1, 1 + L, 7)."""
        return skeleton.poses(self.positions)


def play(
    task: Task,
    simulator: Simulator,
    solution: ArrayLike,
    seed: int,
    obs_mean: ArrayLike | None = None,
    obs_std: ArrayLike | None = None,
) -> Playback:
    """The episode that ``evaluator.evaluate([solution], [seed])`` plays; ``simulator`` is one of this task."""
    job = make_job(task, np.asarray(solution)[None], [seed], obs_mean=obs_mean, obs_std=obs_std)
    trace = world.make_trace(task)
    start = start_angles(int(job.seeds[0, 0]), task.action_dim)
    no_noise = np.zeros((0, task.action_dim), np.float32)
    episode = simulator.rollout(job.solutions[0], start, job.obs_mean[0], job.obs_std[0], no_noise, True, trace)
    return Playback(episode, trace.positions[: episode.length + 1], trace.contacts[: episode.length] > 0)
