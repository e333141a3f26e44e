"""Nothing is left of an episode but what was asked for."""

from __future__ import annotations

import resource
import sys

import numpy as np
import pytest
from helpers import random_solutions

import gaits
from gaits.episodes import Batch, make_job
from gaits.physics.engine.player import EnginePlayer


@pytest.mark.skipif(sys.platform != "linux", reason="memory is counted in other units elsewhere")
def test_many_episodes_take_no_more_memory_than_few():
    task = gaits.make_task("qd_hopper", max_steps=30)
    player = EnginePlayer(task)
    seeds = np.arange(4000).reshape(4, 1000)

    def play(**options):
        player.play(make_job(task, Batch(random_solutions(task, 4), **options), seeds))
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024

    play()
    play(transitions=True)
    before = play()
    for _ in range(5):
        after = play()
    assert after - before < 2  # MB
    for _ in range(3):  # their steps, 30 x 80 bytes each, go with their job
        after = play(transitions=True)
    assert after - before < 4


def test_steps_and_traces_are_views_of_shelves():
    """Nothing is copied in Python: several episodes share one array."""
    task = gaits.make_task("qd_hopper", max_steps=30)
    job = make_job(task, Batch(random_solutions(task, 40), transitions=True), range(40), trace=True)
    EnginePlayer(task).play(job)
    for arrays in ([job.steps[i].obs for i in range(40)], [job.traces[i].positions for i in range(40)]):
        assert all(array.base is not None for array in arrays)
        assert 1 < len({id(array.base) for array in arrays}) < 20
