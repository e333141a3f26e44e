from __future__ import annotations

from types import SimpleNamespace

import numpy as np
from conformance.algorithm import made_up

from gaits.algorithms import Batch, Iteration
from gaits.search import Search, episode_seeds


def test_seeds_depend_on_the_index_alone():
    whole = episode_seeds(123, 0, 20)
    np.testing.assert_array_equal(np.concatenate([episode_seeds(123, 0, 7), episode_seeds(123, 7, 13)]), whole)
    assert len(set(whole.tolist())) == 20
    assert (whole >= 0).all()
    assert not set(whole.tolist()) & set(episode_seeds(124, 0, 20).tolist())


class TwoBatches:
    """Asks for three solutions, then for two that do not count."""

    def __init__(self):
        self.told = []

    def ask(self):
        return Batch(np.zeros((2, 1), np.float32), counted=False) if self.told else Batch(np.zeros((3, 1), np.float32))

    def learn(self):
        pass

    def tell(self, results):
        self.told.append(results)
        return Iteration([]) if len(self.told) == 2 else None


def test_what_is_counted():
    told = iter([made_up(np.zeros(3), np.zeros((3, 1)), np.array([True, False, True])),
                 made_up(np.zeros(2), np.zeros((2, 1)), np.array([False, True]))])  # fmt: skip
    evaluator = SimpleNamespace(submit=lambda *arguments, **options: SimpleNamespace(result=lambda: next(told)))
    search = Search(TwoBatches(), evaluator, seed_key=0)
    search.iterate()
    count = search.counters
    assert (count.iteration, count.evaluations, count.episodes, count.steps, count.failed) == (1, 3, 5, 5, 3)
