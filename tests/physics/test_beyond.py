"""Episodes that the engine leaves to Bullet."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from helpers import random_solutions

import gaits
from gaits.episodes import NON_FINITE, Batch, make_job
from gaits.physics.beyond import play_beyond
from gaits.physics.engine.episodes import UNCOVERED
from gaits.physics.engine.player import EnginePlayer


@pytest.fixture
def task():
    return gaits.make_task("qd_hopper", hidden=(4,))


@pytest.fixture
def job(task):
    """Three episodes, of which the second is said to have gone too far."""
    job = make_job(task, Batch(random_solutions(task, 3), transitions=True), range(3))
    EnginePlayer(task).play(job)
    job.end[1], job.objective[1] = UNCOVERED, np.nan
    del job.steps[1]
    return job


def test_bullet_plays_what_is_left_and_nothing_else(task, job):
    whole = make_job(task, Batch(job.solutions, transitions=True), range(3))
    EnginePlayer(task).play(whole)
    others = job.steps[0], job.steps[2]
    play_beyond(task, job)
    assert (job.steps[0], job.steps[2]) == others
    for name in ("objective", "measures", "length", "end"):
        np.testing.assert_array_equal(getattr(job, name), getattr(whole, name))
    np.testing.assert_array_equal(job.steps[1].obs, whole.steps[1].obs)


def test_without_bullet_it_fails_with_a_reason(task, job, monkeypatch, capsys):
    for name in [name for name in sys.modules if name.startswith("gaits.physics.bullet")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "gaits.physics.bullet", None)
    play_beyond(task, job)
    assert job.end[1] == NON_FINITE
    assert (job.end[[0, 2]] != NON_FINITE).all()
    assert "pip install 'gaits[bullet]'" in capsys.readouterr().err
