"""Episodes that the engine leaves to Bullet."""

from __future__ import annotations

import dataclasses
import sys

import numpy as np
import pytest
from helpers import random_solutions
from physics.engine.playing import same_episode

import gaits
from gaits.episodes import NON_FINITE, TRUNCATED, Batch, make_job
from gaits.physics.beyond import play_beyond, tell
from gaits.physics.engine.constants import TOUCHES
from gaits.physics.engine.episodes import UNCOVERED
from gaits.physics.engine.player import EnginePlayer
from gaits.physics.engine.simulator import EngineSimulator
from gaits.physics.robots import load_robot


@pytest.fixture
def task():
    return gaits.make_task("qd_hopper", hidden=(4,))


@pytest.fixture
def job(task):
    """Three episodes, of which all but the first are said to have gone too far."""
    job = make_job(task, Batch(random_solutions(task, 3), transitions=True), range(3))
    EnginePlayer(task).play(job)
    job.end[1:], job.objective[1:] = UNCOVERED, np.nan
    del job.steps[1], job.steps[2]
    return job


def test_bullet_plays_what_is_left_and_nothing_else(task, job):
    whole = make_job(task, Batch(job.solutions, transitions=True), range(3))
    EnginePlayer(task).play(whole)
    first = job.steps[0]
    play_beyond(task, job)
    assert job.steps[0] is first
    for name in ("objective", "measures", "length", "end"):
        np.testing.assert_array_equal(getattr(job, name), getattr(whole, name))
    for i in (1, 2):
        np.testing.assert_array_equal(job.steps[i].obs, whole.steps[i].obs)


def test_without_bullet_it_fails_with_a_reason(task, job, monkeypatch, capsys):
    for name in [name for name in sys.modules if name.startswith("gaits.physics.bullet")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "gaits.physics.bullet", None)
    play_beyond(task, job)
    np.testing.assert_array_equal(job.end == NON_FINITE, [False, True, True])
    assert "pip install 'gaits[bullet]'" in capsys.readouterr().err


@pytest.fixture
def bring_thighs(monkeypatch):
    """Makes the task of a humanoid with its left thigh moved towards the right one, and both changed."""
    robot = load_robot("humanoid")
    left, right = (robot.names.index(f"{side}_thigh") for side in ("left", "right"))

    def change(collider, nearer, **changes):
        if collider.link not in (left, right):
            return collider
        (shape,) = collider.shapes
        x, y, z = shape.position
        shape = dataclasses.replace(shape, position=(x, y - nearer * (collider.link == left), z), **changes)
        return dataclasses.replace(collider, shapes=(shape,))

    def make(nearer, **changes):
        moved = dataclasses.replace(robot, colliders=tuple(change(c, nearer, **changes) for c in robot.colliders))
        monkeypatch.setattr("gaits.physics.engine.desk.load_robot", lambda name: moved)
        return gaits.make_task("qd_humanoid", max_steps=20, hidden=(4,))

    return make


def test_axes_that_cross(bring_thighs, capsys):
    """Shapes whose cores are lines: their middles meet. Where steps are made one by one, it is said and ends."""
    still = np.zeros(17)
    tell.cache_clear()
    for nearer, end in ((0.19, UNCOVERED), (0.1, TRUNCATED)):
        simulator = EngineSimulator(bring_thighs(nearer, margin=0.06))
        simulator.reset(still)
        assert simulator.step(still)[1] == end
        assert ("GAITS_PHYSICS=bullet" in capsys.readouterr().err) == (end == UNCOVERED)


def test_more_touches_than_there_is_room_for(bring_thighs):
    """Thighs touch, and four points are made up for every two shapes that are far from each other."""
    simulator = EngineSimulator(bring_thighs(0.1))
    memory, model = simulator.workplace.memory, simulator.workplace.model
    still = np.zeros(17)
    simulator.reset(still)
    assert simulator.step(still)[1] == TRUNCATED
    far = (memory.near.reshape(-1, 4)[:, 0] == 0) & (memory.alive.reshape(-1, 4)[:, 0] == 0)
    assert 4 * far.sum() > TOUCHES
    memory.points.reshape(-1, 4)[model.shapes :, 0][far] = 4
    assert simulator.step(still)[1] == UNCOVERED


def test_what_goes_too_far_ends_alone_and_is_left_to_others(bring_thighs):
    """Where an episode starts decides whether thighs are in each other."""
    task, left = bring_thighs(0.15), []
    solutions, player = random_solutions(task, 12), EnginePlayer(task, lambda _, job: left.append(job))

    def play(numbers):
        left.clear()
        job = make_job(task, Batch(solutions[numbers], transitions=True), numbers, trace=True)
        player.play(job)
        return job

    job = play(range(12))
    beyond = job.end == UNCOVERED
    assert 1 < beyond.sum() < 8
    assert left == [job]
    assert job.steps.keys() == job.traces.keys() == set(np.flatnonzero(~beyond).tolist())
    for i in range(12):
        alone = play([i])
        assert bool(left) == beyond[i]
        if not left:
            same_episode(alone.episode(0), job.episode(i))
