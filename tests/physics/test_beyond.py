"""Episodes that the engine leaves to Bullet."""

from __future__ import annotations

import dataclasses
import sys

import numpy as np
import pytest
from helpers import random_solutions
from physics.engine.playing import same_episode

import gaits
from gaits.episodes import NON_FINITE, Batch, make_job
from gaits.physics.beyond import play_beyond
from gaits.physics.engine.episodes import UNCOVERED
from gaits.physics.engine.player import EnginePlayer
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
def crossing(monkeypatch):
    """The task of a humanoid with one thigh moved towards the other: in some starts they are in each other."""
    robot = load_robot("humanoid")

    def move(collider):
        if collider.link != robot.names.index("left_thigh"):
            return collider
        (shape,) = collider.shapes
        x, y, z = shape.position
        return dataclasses.replace(collider, shapes=(dataclasses.replace(shape, position=(x, y - 0.15, z)),))

    moved = dataclasses.replace(robot, colliders=tuple(map(move, robot.colliders)))
    monkeypatch.setattr("gaits.physics.engine.desk.load_robot", lambda name: moved)
    return gaits.make_task("qd_humanoid", max_steps=20, hidden=(4,))


def test_what_goes_too_far_ends_alone_and_is_left_to_others(crossing):
    solutions, left = random_solutions(crossing, 12), []
    player = EnginePlayer(crossing, lambda _, job: left.append(job))

    def play(numbers):
        left.clear()
        job = make_job(crossing, Batch(solutions[numbers], transitions=True), numbers, trace=True)
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
