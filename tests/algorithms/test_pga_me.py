from __future__ import annotations

import numpy as np
import pytest
from conformance.algorithm import AlgorithmSuite, made_up, small_task

import gaits
from gaits.algorithms.pga_me import PgaMe, PgaMeSettings
from gaits.search import Search

SMALL = {"batch_size": 8, "critic_steps": 3, "critic_batch": 16, "critic_hidden": (8,), "pg_steps": 2, "pg_batch": 8}


class TestConformance(AlgorithmSuite):
    name = "pga_me"
    settings = SMALL


class TestConformanceWithABudget(AlgorithmSuite):
    name = "pga_budget"
    settings = SMALL


@pytest.fixture
def evaluator():
    with gaits.LocalEvaluator(small_task(), workers=2) as evaluator:
        yield evaluator


def make(**settings):
    return PgaMe(small_task(), PgaMeSettings(**{**SMALL, **settings}), np.random.SeedSequence(0))


def test_the_first_iteration_is_noise_of_two_sizes_on_one_network():
    algorithm = make(batch_size=40)
    batch = algorithm.ask()
    x0 = algorithm.pg.x0
    assert (batch.solutions[:20] - x0).std() == pytest.approx(0.005, rel=0.1)
    assert (batch.solutions[20:] - x0).std() == pytest.approx(0.02, rel=0.1)
    assert batch.counted
    assert batch.transitions is True


def test_later_iterations_are_iso_line_greedy_and_policy_gradient(evaluator):
    algorithm = make(iso_sigma=1e-9, line_sigma=1e-9)
    search = Search(algorithm, evaluator, seed_key=0)
    search.iterate()
    assert np.isfinite(search.iterate().metrics["critic_loss"])  # the second iteration trains
    greedy, elites = algorithm.td3.greedy.copy(), algorithm.archive.data("solution")
    batch = algorithm.ask()
    assert len(batch.solutions) == 8
    for crossed in batch.solutions[:4]:  # no noise to speak of: copies of elites
        assert np.abs(elites - crossed).max(axis=1).min() < 1e-6
    np.testing.assert_array_equal(batch.solutions[4], greedy)
    # The last three climbed the critic, each from an elite.
    distance = np.abs(elites[:, None] - batch.solutions[None, 5:]).max(axis=2).min(axis=0)
    assert ((distance > 1e-4) & (distance < 2.1e-3)).all()  # two steps of Adam of 0.001 each


def test_offspring_and_the_greedy_metric(monkeypatch):
    """Elites climb with the steps, states and step size of the settings; the metric is the return of the greedy actor."""
    algorithm = make(pg_steps=3, pg_batch=5, pg_learning_rate=0.25)
    asked = []

    def vary(parents, *how, shared):
        asked.append((len(parents), *how, shared))
        return parents

    monkeypatch.setattr(algorithm.td3, "vary", vary)
    for _ in range(2):
        algorithm.ask()
        done = algorithm.tell(made_up(np.arange(10.0, 18.0), np.linspace(0, 1, 8)[:, None]))
    assert asked == [(3, 3, 5, 0.25, False)]
    assert done.metrics["greedy_objective"] == 14.0


def test_the_greedy_actor_is_the_one_from_before_training(evaluator):
    algorithm = make()
    search = Search(algorithm, evaluator, seed_key=0)
    search.iterate()
    untrained = algorithm.td3.greedy.copy()
    asked = algorithm.ask().solutions
    algorithm.learn()
    np.testing.assert_array_equal(asked[4], untrained)
    assert not np.array_equal(algorithm.td3.greedy, untrained)


def test_experience_is_kept_in_the_order_of_the_batch(evaluator):
    algorithm = make()
    search = Search(algorithm, evaluator, seed_key=0)
    done = search.iterate()
    assert algorithm.td3.buffer.size == search.counters.steps
    assert np.isnan(done.metrics["greedy_objective"])
    assert np.isnan(done.metrics["critic_loss"])
    results = evaluator.evaluate(algorithm.solutions, range(8), transitions=True)
    algorithm.td3.buffer.next = 0
    algorithm.tell(results)
    np.testing.assert_array_equal(algorithm.td3.buffer.rows[: len(results.transitions.obs), :15], results.transitions.obs)


def test_evaluations_are_insertions(evaluator):
    search = Search(make(), evaluator, seed_key=0)
    for iteration in (1, 2, 3):
        done = search.iterate()
        assert [len(one.cell) for one in done.insertions] == [8]
        assert search.counters.evaluations == 8 * iteration


@pytest.mark.parametrize("size", [2, 7])
def test_impossible_batches(size):
    with pytest.raises(ValueError, match="batch_size must be even and at least 4"):
        PgaMeSettings(batch_size=size)


@pytest.mark.parametrize("share", [0.01, 0.9])
def test_shares_that_leave_nothing(share):
    with pytest.raises(ValueError, match="iso_share must leave one iso-line and two other offspring of batch_size 8"):
        PgaMeSettings(batch_size=8, iso_share=share)


def test_functions_have_no_episodes_to_learn_from():
    with pytest.raises(ValueError, match="lp_sphere is a function"):
        PgaMe(gaits.make_task("lp_sphere"), PgaMeSettings(), np.random.SeedSequence(0))
