"""What every player must do. To join: subclass ``PlayerSuite`` in a test module and override ``task`` or ``make``."""

from __future__ import annotations

import numpy as np
import pytest
from helpers import random_solutions

import gaits
from gaits.episodes import Batch, Job, Pictures, make_job


def same_job(a: Job, b: Job) -> None:
    """Two jobs came to the same end, to the last bit."""
    assert a.complete
    assert b.complete
    for name in ("objective", "measures", "length", "end"):
        np.testing.assert_array_equal(getattr(a, name), getattr(b, name), err_msg=name)
    assert a.steps.keys() == b.steps.keys()
    assert a.traces.keys() == b.traces.keys()
    for one, other in ((a.steps, b.steps), (a.traces, b.traces)):
        for i in one:
            for x, y in zip(one[i], other[i], strict=True):
                np.testing.assert_array_equal(x, y)


class PlayerSuite:
    @classmethod
    def make(cls, task):
        return task.problem.make_player(task)

    @pytest.fixture(scope="class")
    @classmethod
    def task(cls):
        return gaits.make_task("qd_hopper", max_steps=60)

    @pytest.fixture(scope="class")
    @classmethod
    def players(cls, task):
        """Two of them: a process takes a second to start."""
        players = [cls.make(task) for _ in range(2)]
        yield players
        for player in players:
            player.close()

    def job(self, task, n=6, episodes=2, order=None, **options):
        rows = np.arange(n) if order is None else np.asarray(order)
        batch = Batch(random_solutions(task, n)[rows], **options)
        return make_job(task, batch, np.arange(n * episodes).reshape(n, episodes)[rows], trace=not task.unwatchable)

    def test_it_plays_until_none_is_left(self, task, players):
        job = self.job(task, transitions=[True, False] * 3, action_noise=0.1)
        players[0].play(job)
        assert job.complete
        assert job.take() is None
        assert job.steps.keys() == set(job.recorded.tolist())
        for i in range(job.n_episodes):
            episode = job.episode(i)
            assert 0 < episode.length <= task.max_steps
            if episode.steps is not None:
                assert len(episode.steps.obs) == len(episode.steps.actions) + 1 == episode.length + 1
                assert sum(episode.steps.rewards.tolist()) == pytest.approx(episode.objective, abs=1e-9)
            assert (episode.trace is None) == bool(task.unwatchable)
            if isinstance(episode.trace, Pictures):
                assert len(episode.trace.images) == 1 + episode.length // episode.trace.every
            elif episode.trace is not None:
                assert len(episode.trace.positions) == len(episode.trace.contacts) + 1 == episode.length + 1

    def test_an_episode_depends_on_its_setup_alone(self, task, players):
        first, again, backwards = self.job(task), self.job(task), self.job(task, order=range(6)[::-1])
        players[0].play(first)
        players[1].play(backwards)
        players[1].play(again)
        same_job(first, again)
        np.testing.assert_array_equal(backwards.objective.reshape(6, 2)[::-1].ravel(), first.objective)

    def test_players_share_a_job(self, task, players):
        alone, shared = self.job(task), self.job(task)
        players[0].play(alone)
        gone = shared.take()  # somebody else has it
        players[1].play(shared)
        assert shared.end[gone] == -1
        players[0].play(part := shared.only(gone))
        shared.put(gone, part.episode(0))
        same_job(alone, shared)

    def test_a_cancelled_job_is_left_alone(self, task, players):
        job = self.job(task)
        job.cancel()
        players[0].play(job)
        assert not job.complete
        assert not job.steps
        assert (job.end == -1).all()

    def test_an_empty_job(self, task, players):
        job = make_job(task, Batch(np.zeros((0, task.solution_dim))), [])
        players[0].play(job)
        assert job.complete

    def test_a_broken_policy_harms_no_other_episode(self, task, players):
        sound, mixed = self.job(task), self.job(task)
        mixed.solutions[2] = 3e38 * np.sign(mixed.solutions[2])
        players[0].play(sound)
        players[0].play(mixed)
        np.testing.assert_array_equal(np.repeat(np.arange(6) == 2, 2), mixed.end == 2)
        np.testing.assert_array_equal(np.delete(mixed.objective, [4, 5]), np.delete(sound.objective, [4, 5]))
