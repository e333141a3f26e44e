"""Who has which player, and what becomes of it."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import gaits
from gaits.episodes import Batch, Episode, Player, Pool, make_job, play_each

HOPPER, WALKER = (gaits.make_task(name, hidden=()) for name in ("qd_hopper", "qd_walker"))


class Fake(Player):
    """Returns at once, or when it is let go."""

    def __init__(self, task, gate=None):
        self.task, self.gate, self.closed, self.stopped = task, gate, 0, False

    def play(self, job):
        play_each(job, lambda i: self._episode(job.setup(i)))

    def _episode(self, setup):
        if self.gate is not None:
            self.gate.wait()
        return Episode(float(setup.seed), np.zeros(len(self.task.grid)), 1, 0)

    def stop(self):
        self.stopped = True
        self.gate.set()

    def close(self):
        self.closed += 1


class Makes:
    def __init__(self, gate=None):
        self.gate, self.made = gate, []

    def __call__(self, task):
        self.made.append(Fake(task, self.gate))
        return self.made[-1]


def job(task, n=3):
    return make_job(task, Batch(np.zeros((n, task.solution_dim))), range(n))


def test_players_are_kept_and_those_used_least_recently_go():
    makes = Makes()
    pool = Pool(2, makes)
    for task in (HOPPER, HOPPER, WALKER, HOPPER, WALKER.with_(max_steps=3)):
        pool.play(task, job(task))
    assert [player.task.name for player in makes.made] == ["qd_hopper", "qd_walker", "qd_walker"]
    assert [player.closed for player in makes.made] == [0, 1, 0]
    pool.close()
    assert [player.closed for player in makes.made] == [1, 1, 1]


@pytest.mark.timeout(60)
def test_a_closed_pool_takes_no_player_back():
    """It is closed as soon as it is given back, and plays nothing more."""
    makes = Makes(threading.Event())
    pool, work = Pool(2, makes), job(HOPPER)
    with ThreadPoolExecutor(1) as threads:
        playing = threads.submit(pool.play, HOPPER, work)
        while not work.next[0]:
            pass
        pool.close()
        playing.result()
    (player,) = makes.made
    assert (player.closed, player.stopped) == (1, True)
    assert not work.complete
    assert (work.end[1:] == -1).all()
    late = job(HOPPER)
    pool.play(HOPPER, late)
    assert not late.complete
    assert [one.closed for one in makes.made] == [1, 1]


def test_every_episode_is_taken_once():
    work = job(HOPPER, 5000)
    with ThreadPoolExecutor(8) as threads:
        taken = list(threads.map(lambda _: list(iter(work.take, None)), range(8)))
    assert sorted(i for one in taken for i in one) == list(range(5000))


def test_an_error_stops_the_others():
    class Breaks(Fake):
        def _episode(self, setup):
            raise OSError("the disk")

    work = job(HOPPER)
    with pytest.raises(gaits.evaluation.EpisodeFailed, match=r"qd_hopper failed in the episode of solution 0 with seed 0"):
        Pool(1, Breaks).play(HOPPER, work)
    assert work.take() is None
