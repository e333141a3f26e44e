"""An episode is the same in every lane, alone or with neighbours, in one lane or in four, on any number of threads."""

from __future__ import annotations

import dataclasses
import threading

import numpy as np
import pytest
from conformance.player import same_job
from helpers import ROBOTS
from physics.engine.playing import again, keep_on, make_episodes, play_in_engine, same_episode

import gaits
from gaits.episodes import NON_FINITE, Batch, make_job
from gaits.lanes import ONE
from gaits.physics.engine.desk import Workplace
from gaits.physics.engine.player import EnginePlayer

N = 10


@pytest.fixture(scope="module", params=ROBOTS)
def task(request):
    return keep_on(gaits.make_task(request.param, max_steps=60))


@pytest.fixture(scope="module")
def played(task):
    return play_in_engine(task, make_episodes(task, N, scale=2.0, noise=0.4))


@pytest.mark.parametrize(
    "order", [range(N)[::-1], [3, 1, 4, 1, 5, 9, 2, 6], [7], [8, 0], [2, 7, 1], [0, 9, 4, 4, 3]], ids=str
)
def test_order_and_neighbours(task, played, order):
    job = play_in_engine(task, again(played, list(order)))
    for place, number in enumerate(order):
        same_episode(job.episode(place), played.episode(number))


@pytest.mark.parametrize("threads", [1, 2])
def test_threads(task, played, threads):
    job = again(played)
    workers = [threading.Thread(target=EnginePlayer(task).play, args=(job,)) for _ in range(threads)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    same_job(job, played)


def test_one_lane_is_the_oracle_of_four(task, played):
    player = EnginePlayer(task)
    player.workplace = Workplace(task, ONE)
    job = again(played)
    player.play(job)
    same_job(job, played)


def test_what_is_kept_changes_nothing(task, played):
    """Neither do several episodes of a solution, nor shelves that are full."""
    plain = make_job(task, Batch(played.solutions, action_noise=0.4), played.seeds)
    np.testing.assert_array_equal(play_in_engine(task, plain).objective, played.objective)
    assert (plain.steps, plain.traces) == ({}, {})
    keep = np.arange(N) % 3 == 1
    some = play_in_engine(task, make_job(task, Batch(played.solutions, transitions=keep, action_noise=0.4), played.seeds))
    assert sorted(some.steps) == np.flatnonzero(keep).tolist()
    for i, steps in some.steps.items():
        np.testing.assert_array_equal(steps.obs, played.steps[i].obs)
    seeds = np.stack([played.seeds[:, 0], 100 + played.seeds[:, 0], 200 + played.seeds[:, 0]], axis=1)
    thrice = play_in_engine(task, make_job(task, Batch(played.solutions, transitions=True, action_noise=0.4), seeds))
    for i in range(N):
        np.testing.assert_array_equal(thrice.steps[3 * i].obs, played.steps[i].obs)


class TestNumbersThatAreNotFinite:
    """They end their own episode; neighbours, and the next in that lane, do not notice."""

    @pytest.fixture(scope="class")
    @classmethod
    def mixed(cls, task, played):
        """Two policies of ten overflow: 3e38 in all weights."""
        solutions = played.solutions.copy()
        solutions[[1, 4]] = 3e38 * np.sign(solutions[[1, 4]])
        return play_in_engine(task, dataclasses.replace(played, solutions=solutions))

    def test_only_their_own_episode_ends(self, mixed, played):
        np.testing.assert_array_equal(np.flatnonzero(mixed.end == NON_FINITE), [1, 4])
        for i in set(range(N)) - {1, 4}:
            same_episode(mixed.episode(i), played.episode(i))

    def test_what_came_before_is_kept(self, mixed):
        for i in (1, 4):
            episode = mixed.episode(i)
            assert np.isfinite(episode.objective)
            assert np.isfinite(episode.measures).all()
            assert len(episode.steps.obs) == episode.length + 1
            assert np.isfinite(episode.steps.obs).all()

    def test_a_step_without_an_outcome_is_not_kept(self, task, played):
        """Sound actions, and motors that no number holds."""
        torques = (1e308,) * task.action_dim
        endless = dataclasses.replace(task, problem=dataclasses.replace(task.robot, torques=torques))
        job = play_in_engine(endless, again(played))
        assert (job.end >= NON_FINITE).all()  # a humanoid's contacts are left to Bullet
        for i, steps in job.steps.items():
            assert np.isfinite(steps.obs).all()
            assert len(steps.obs) == job.length[i] + 1

    def test_a_robot_that_is_nowhere(self, task, played):
        """Numbers that are not finite inside the physics, not in the policy alone."""
        player = EnginePlayer(task)
        model = player.workplace.model
        where = model.slide if model.planar else player.workplace.start  # a planar robot's base never moves
        sound = where.copy()
        where[:] = np.nan
        job = again(played)
        player.play(job)
        assert (job.end == NON_FINITE).all()
        assert not job.length.any()
        where[:] = sound
        job = again(played)
        player.play(job)
        same_job(job, played)
