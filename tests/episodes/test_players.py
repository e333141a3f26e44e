"""All kinds of players pass the suite, and a process that plays brings home what happens there."""

from __future__ import annotations

import numpy as np
import own_tasks
import pytest
from conformance.player import PlayerSuite
from helpers import random_solutions

import gaits
from gaits.episodes import Batch, make_job
from gaits.physics.engine.player import EnginePlayer


class TestEngine(PlayerSuite):
    @classmethod
    def make(cls, task):
        return EnginePlayer(task)


class TestEngineOnFourLegs(TestEngine):
    """The arithmetic of robots that do not live in a plane."""

    @pytest.fixture(scope="class")
    @classmethod
    def task(cls):
        return gaits.make_task("qd_ant", max_steps=60)


class TestBullet(PlayerSuite):
    physics = "bullet"

    @pytest.fixture(autouse=True, scope="class")
    @classmethod
    def force_physics(cls):
        pytest.importorskip("pybullet", reason="needs gaits[bullet]")
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("GAITS_PHYSICS", cls.physics)
            yield


class TestPybulletModule(TestBullet):
    physics = "pybullet"


class TestMujoco(PlayerSuite):
    @pytest.fixture(scope="class")
    @classmethod
    def task(cls):
        pytest.importorskip("mujoco", reason="needs gaits[mujoco]")
        return gaits.make_task("mj_hopper", max_steps=60)


class TestEnvironment(PlayerSuite):
    @pytest.fixture(scope="class")
    @classmethod
    def task(cls):
        return own_tasks.point()


class TestProcess(PlayerSuite):
    @pytest.fixture(scope="class")
    @classmethod
    def task(cls):
        return own_tasks.drawn()

    @classmethod
    def make(cls, task):
        return task.problem.make_local_player(task)


@pytest.mark.parametrize("before", [177, 179])
def test_nothing_of_the_last_episode_is_left(before, backend):
    """Contact points that survive a reset would fit this start after one of these predecessors and not the other."""
    task = gaits.make_task("qd_hopper")
    solutions = random_solutions(task, 180)
    with gaits.LocalEvaluator(task, workers=1) as evaluator:
        alone = evaluator.evaluate(solutions[[178]], [178]).objective[0]
        after = evaluator.evaluate(solutions[[before, 178]], [before, 178]).objective[1]
    assert after == alone


def test_a_function_is_computed_at_once_and_ignores_luck():
    task = gaits.make_task("lp_sphere")
    solutions = np.random.default_rng(0).normal(size=(5, 100)).astype(np.float32)
    job = make_job(task, Batch(solutions, transitions=True, action_noise=1.0), range(5))
    task.problem.make_player(task).play(job)
    objective, measures = task.function.evaluate(solutions)
    assert job.complete
    np.testing.assert_array_equal(job.objective, objective)
    np.testing.assert_array_equal(job.measures, measures)
    assert not job.length.any()
