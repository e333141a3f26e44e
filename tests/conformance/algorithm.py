"""What every algorithm must do. To join: subclass ``AlgorithmSuite`` and set ``name`` and small ``settings``."""

from __future__ import annotations

import numpy as np
import pytest

import gaits
from gaits.algorithms import ALGORITHMS
from gaits.evaluation.results import Results
from gaits.runs import checkpoint
from gaits.search import Search


def small_task(**changes):
    return gaits.make_task("qd_hopper", **{"hidden": (8,), "max_steps": 50, "grid": (64,), **changes})


def made_up(objective, measures, failed=None) -> Results:
    """Results nobody computed, for driving an algorithm by hand."""
    n = len(objective)
    failed = np.zeros(n, bool) if failed is None else failed
    objective, measures, seeds = np.asarray(objective, float), np.asarray(measures, float), np.arange(n)[:, None]
    return Results(objective, measures, np.ones(n, int), failed, objective[:, None], measures[:, None], seeds)


def contents(archive):
    data = archive.data()
    order = np.argsort(data["index"])
    return {key: values[order] for key, values in data.items()}


def assert_same_archive(a, b):
    a, b = contents(a), contents(b)
    assert a.keys() == b.keys()
    for key in a:
        np.testing.assert_array_equal(a[key], b[key], err_msg=key)


class AlgorithmSuite:
    name: str
    settings: dict = {}  # noqa: RUF012
    iterations = 5

    def make(self, seed=1):
        entry = ALGORITHMS[self.name]
        return entry.make(small_task(), entry.settings(**self.settings), np.random.SeedSequence(seed))

    def search(self, evaluator, seed=1):
        return Search(self.make(seed), evaluator, seed_key=seed)

    @pytest.fixture
    def evaluator(self):
        with gaits.LocalEvaluator(small_task(), workers=2) as evaluator:
            yield evaluator

    def test_same_seed_same_search(self, evaluator):
        searches = [self.search(evaluator, seed) for seed in (1, 1, 2)]
        for search in searches:
            for _ in range(self.iterations):
                search.iterate()
        assert_same_archive(searches[0].algorithm.archive, searches[1].algorithm.archive)
        assert not np.array_equal(
            searches[0].algorithm.archive.data("objective"), searches[2].algorithm.archive.data("objective")
        )

    def test_goes_on_from_a_checkpoint_at_every_boundary(self, evaluator, tmp_path):
        reference, written = self.search(evaluator), []
        for iteration in range(self.iterations):
            (tmp_path / str(iteration)).mkdir()  # a folder each, as old ones are deleted
            written.append(checkpoint.save(tmp_path / str(iteration), reference.state(), "run", iteration))
            reference.iterate()
        for path in written:
            search = self.search(evaluator, seed=99)
            search.restore(checkpoint.load(path, "run", like=search.state()))
            search.seed_key = reference.seed_key
            while search.counters.iteration < self.iterations:
                search.iterate()
            assert_same_archive(search.algorithm.archive, reference.algorithm.archive)

    def test_solutions_are_float32_of_the_right_size(self):
        batch = self.make().ask()
        assert batch.solutions.dtype == np.float32
        assert batch.solutions.shape[1] == small_task().solution_dim

    def test_iterations_report_every_insertion(self, evaluator):
        search = self.search(evaluator)
        done = search.iterate()
        offered = sum(len(insertions.cell) for insertions in done.insertions)
        added = sum((insertions.status > 0).sum() for insertions in done.insertions)
        assert 0 < len(search.algorithm.archive) <= added <= offered
        assert search.metrics(done)["iteration"] == 1
