"""The engine's episodes are Bullet's, to the last bit: observations, actions, rewards, contacts, poses."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from conformance.player import same_job
from helpers import ROBOTS, random_solutions
from physics.engine.playing import again, hurt, keep_on, make_episodes, play_in_bullet, play_in_engine

import gaits
from gaits.episodes import TERMINATED, TRUNCATED, Batch, make_job
from gaits.physics import bullet
from gaits.physics.engine.simulator import EngineSimulator
from gaits.physics.world import find_layout

EPISODES = {"qd_ant": 4, "qd_half_cheetah": 4, "qd_humanoid": 3}
STEPS = {"qd_humanoid": 60}


def make(name: str, steps: int = 150) -> gaits.Task:
    return gaits.make_task(name, max_steps=STEPS.get(name, steps))


def compare(task: gaits.Task, job) -> None:
    same_job(play_in_engine(task, job), play_in_bullet(task, again(job)))


@pytest.mark.parametrize("scale", [0.1, 1.0, 3.0])
@pytest.mark.parametrize("name", ROBOTS)
def test_policies_of_several_scales(name, scale):
    task = make(name)
    compare(task, make_episodes(task, EPISODES.get(name, 8), scale, first=10))


@pytest.mark.parametrize("noise", [0.3, 1.5])
@pytest.mark.parametrize("name", ROBOTS)
def test_noisy_actions(name, noise):
    """And observations that every policy sees in its own way."""
    task, n, rng = make(name), EPISODES.get(name, 8), np.random.default_rng(0)
    mean, std = rng.normal(0, 0.2, (n, task.obs_dim)), rng.uniform(0.5, 2, (n, task.obs_dim))
    compare(task, make_episodes(task, n, noise=noise, first=20, obs_mean=mean, obs_std=std))


@pytest.mark.parametrize("name", ROBOTS)
def test_on_the_ground(name):
    """Robots that fell lie on many points at once, turn over, and push their joints to the end of their range."""
    task = keep_on(make(name, 400))
    job = make_episodes(task, 2 if task.action_dim > 5 else 4, scale=2.0, noise=0.5, first=30)
    compare(task, job)
    assert (job.length == task.max_steps).all()
    assert (job.end == TRUNCATED).all()


@pytest.mark.parametrize("name", ROBOTS)
def test_damage_and_friction(name):
    task = hurt(make(name))
    job = make_episodes(task, EPISODES.get(name, 6), scale=2.0, noise=0.2, first=40)
    compare(task, job)
    sound = play_in_engine(make(name), again(job))
    assert (sound.objective != job.objective).all()


@pytest.mark.parametrize("name", [name for name in ROBOTS if name != "qd_humanoid"])  # it would go beyond the engine
def test_motors_that_are_too_strong(name):
    """Speeds end at 100, also those that a blow gives, and so does the impulse that keeps a joint in its range."""
    task = make(name, 60)
    torques = tuple(30 * torque for torque in task.robot.torques)
    task = keep_on(dataclasses.replace(task, problem=dataclasses.replace(task.robot, torques=torques)))
    compare(task, make_episodes(task, 4, noise=1.0, first=50))


@pytest.mark.parametrize("number", [31, 83, 99])
def test_manifolds_that_come_and_go(number):
    """Episodes, of hundreds, in which it shows that a new point replaces the nearest (31), which manifolds are there first
    and in which order shapes are visited (83), and that a manifold takes its points along when boxes no longer overlap (99).

    Each in a Bullet of its own, for there it can show what was played before.
    """
    task = keep_on(make("qd_humanoid"))
    compare(task, again(make_episodes(task, 100, scale=2.0, noise=1.5, first=30), [number]))


@pytest.mark.parametrize("before", [177, 179])
def test_contact_points_do_not_outlive_an_episode(before):
    """Points that survived a reset would fit this start after one of these predecessors and not the other."""
    task = gaits.make_task("qd_hopper")
    solutions = random_solutions(task, 180)

    def episodes(*numbers):
        return make_job(task, Batch(solutions[list(numbers)], transitions=True), numbers, trace=True)

    alone = play_in_bullet(task, episodes(178))
    for numbers in ((178,), (before, 178), (before, before, before, before, 178)):
        job = play_in_engine(task, episodes(*numbers))
        np.testing.assert_array_equal(job.steps[len(numbers) - 1].obs, alone.steps[0].obs)
        assert job.objective[-1] == alone.objective[0]


@pytest.mark.parametrize("name", ROBOTS)
def test_a_start_without_any_motion(name):
    """A robot that falls straight down turns by nothing, or next to nothing."""
    ours, theirs = both(gaits.make_task(name))
    still = np.zeros(ours.body.n_joints)
    ours.reset(still)
    theirs.reset(still)
    for _ in range(20):
        assert ours.step(still.astype(np.float32)) == theirs.step(still.astype(np.float32))
        np.testing.assert_array_equal(ours.state.obs, theirs.state.obs)
    theirs.close()


def test_a_link_that_lies_on_two_shapes():
    """The half-cheetah on torso and head: which comes first is left to a sort of Bullet's that is not stable."""
    task = keep_on(gaits.make_task("qd_half_cheetah"))
    ours, theirs = both(task)
    rng = np.random.default_rng(0)
    q0, push = rng.uniform(-0.1, 0.1, task.action_dim), 1.5 * rng.normal(size=task.action_dim)
    ours.reset(q0)
    theirs.reset(q0)
    on_both = 0
    for t in range(120):
        action = (push * np.sign(np.sin(0.12 * t)) + 0.5 * rng.normal(size=task.action_dim)).astype(np.float32)
        assert ours.step(action) == theirs.step(action)
        np.testing.assert_array_equal(ours.state.obs, theirs.state.obs)
        on_both += points_of(ours, "torso").all()
    theirs.close()
    assert on_both > 20


def both(task):
    """The task's robot in the engine and in Bullet."""
    pytest.importorskip("pybullet", reason="needs gaits[bullet]")
    return EngineSimulator(task), bullet.make_simulator(task)


def points_of(simulator, link):
    """How many points each shape of a link has on the floor."""
    model, number = simulator.workplace.model, 1 + find_layout(simulator.task.robot).links.index(link)
    return simulator.workplace.memory.points.reshape(model.shapes, -1)[model.shape_link == number, 0]


def test_episodes_end_in_both_ways():
    """Else what is compared above would be less than it seems."""
    ends = {name: set(play_in_engine(t := make(name), make_episodes(t, 8)).end.tolist()) for name in ("qd_hopper", "qd_ant")}
    assert TERMINATED in ends["qd_hopper"]
    assert TRUNCATED in ends["qd_ant"]
