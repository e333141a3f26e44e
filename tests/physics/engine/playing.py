"""Episodes of all sorts, and who plays them."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from helpers import random_solutions

import gaits
from gaits.episodes import Batch, Job, make_job
from gaits.physics import bullet
from gaits.physics.bullet.player import BulletPlayer
from gaits.physics.engine.player import EnginePlayer


def keep_on(task: gaits.Task) -> gaits.Task:
    """The task with a robot whose episode goes on after its fall."""
    return dataclasses.replace(task, problem=dataclasses.replace(task.robot, terminates=False))


def hurt(task: gaits.Task) -> gaits.Task:
    """The task with one motor weak, one limp, a foot on ice and one that sticks."""
    joints, feet = task.robot.joints, task.robot.feet
    damage = gaits.Damage({joints[0]: 0.3, joints[-1]: 0.0}, {feet[0]: 0.1, feet[-1]: 2.5})
    return damage.apply(task)


def make_episodes(task: gaits.Task, n: int, scale: float = 1.0, noise: float = 0.0, first: int = 0, **options) -> Job:
    """n solutions, one episode each, of which everything is kept."""
    batch = Batch(random_solutions(task, n, seed=first, scale=scale), transitions=True, action_noise=noise, **options)
    return make_job(task, batch, range(first, first + n), trace=True)


def play_in_engine(task: gaits.Task, job: Job) -> Job:
    EnginePlayer(task).play(job)
    return job


def play_in_bullet(task: gaits.Task, job: Job) -> Job:
    pytest.importorskip("pybullet", reason="needs gaits[bullet]")
    player = BulletPlayer(bullet.make_simulator(task))
    player.play(job)
    player.close()
    return job


def again(job: Job, order: object = None) -> Job:
    """The same episodes, to be played anew: in another order, or some of them."""
    rows = np.arange(len(job.solutions)) if order is None else np.asarray(order)
    mean, std = (a if len(a) == 1 else a[rows] for a in (job.obs_mean, job.obs_std))
    changes = {"solutions": job.solutions[rows], "seeds": job.seeds[rows], "record": job.record[rows]}
    return dataclasses.replace(job, **changes, obs_mean=mean, obs_std=std)


def same_episode(one: gaits.episodes.Episode, other: gaits.episodes.Episode) -> None:
    """To the last bit."""
    assert (one.objective, one.length, one.end) == (other.objective, other.length, other.end)
    np.testing.assert_array_equal(one.measures, other.measures)
    for a, b in ((one.steps, other.steps), (one.trace, other.trace)):
        for x, y in zip(a, b, strict=True):
            np.testing.assert_array_equal(x, y)
