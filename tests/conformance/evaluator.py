"""What every evaluator must do. To join: subclass ``EvaluatorSuite`` in a test module and override ``make``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from helpers import random_solutions, same

import gaits


class EvaluatorSuite:
    make: Callable[[gaits.Task, int], Any]
    """(task, workers) -> an evaluator, also a context manager."""

    @pytest.fixture
    def task(self):
        return gaits.make_task("qd_hopper", max_steps=60)

    def test_workers_order_and_history_do_not_matter(self, task):
        solutions, seeds = random_solutions(task, 24), np.arange(100, 124)
        order = np.random.default_rng(1).permutation(24)
        with self.make(task, 1) as evaluator:
            expected = evaluator.evaluate(solutions, seeds)
        for workers in (1, 2, 3):
            with self.make(task, workers) as evaluator:
                assert same(evaluator.evaluate(solutions, seeds), expected)
                shuffled = evaluator.evaluate(solutions[order], seeds[order])
                np.testing.assert_array_equal(shuffled.objective, expected.objective[order])
                np.testing.assert_array_equal(shuffled.measures, expected.measures[order])
                assert same(evaluator.evaluate(solutions, seeds), expected)

    def test_transitions(self, task):
        solutions, seeds = random_solutions(task, 5), range(5)
        keep = np.array([True, False, True, True, False])
        with self.make(task, 2) as evaluator:
            some = evaluator.evaluate(solutions, seeds, transitions=keep)
            every = evaluator.evaluate(solutions, seeds, transitions=True)
            none = evaluator.evaluate(solutions, seeds)
        assert none.transitions is None
        assert same(some, every)
        assert same(none, every)
        steps = every.transitions
        np.testing.assert_array_equal(np.bincount(steps.solution), every.length)
        np.testing.assert_array_equal(steps.solution, np.sort(steps.solution))
        np.testing.assert_array_equal(
            steps.obs[1:][np.diff(steps.solution) == 0], steps.next_obs[:-1][np.diff(steps.solution) == 0]
        )
        kept = keep[steps.solution]
        for field in ("obs", "action", "reward", "next_obs", "terminated", "truncated", "solution"):
            np.testing.assert_array_equal(getattr(some.transitions, field), getattr(steps, field)[kept])
        for i in range(5):
            assert steps.reward[steps.solution == i].sum() == pytest.approx(every.objective[i], abs=1e-9)
        assert (steps.terminated | steps.truncated).sum() == 5
        assert not (steps.terminated & steps.truncated).any()

    def test_a_batch_is_submitted_and_evaluated_alike(self, task):
        solutions, options = random_solutions(task, 3), {"transitions": [True, False, True], "action_noise": 0.1}
        with self.make(task, 2) as evaluator:
            pending = evaluator.submit(gaits.Batch(solutions, **options), [5, 6, 2**63 - 1])
            results = evaluator.evaluate(solutions, [5, 6, 2**63 - 1], **options)
            assert same(pending.result(), results)
        np.testing.assert_array_equal(results.seeds, [[5], [6], [2**63 - 1]])
        np.testing.assert_array_equal(results.seed, [5, 6, 2**63 - 1])

    def test_several_episodes(self, task):
        """Each has its own luck; observations are seen as their solution sees them."""
        solutions, rng = random_solutions(task, 3), np.random.default_rng(0)
        seeds = np.arange(12).reshape(3, 4)
        mean, std = rng.normal(0, 0.2, (3, task.obs_dim)), rng.uniform(0.5, 2, (3, task.obs_dim))
        options = {"action_noise": 0.1, "obs_mean": mean, "obs_std": std}
        with self.make(task, 2) as evaluator:
            results = evaluator.evaluate(solutions, seeds, **options)
            single = [evaluator.evaluate(solutions, seeds[:, e], **options) for e in range(4)]
        np.testing.assert_array_equal(results.episode_objective, np.stack([r.objective for r in single], axis=1))
        np.testing.assert_array_equal(results.episode_measures, np.stack([r.measures for r in single], axis=1))
        np.testing.assert_allclose(results.objective, np.mean([r.objective for r in single], axis=0), rtol=1e-14)
        np.testing.assert_allclose(results.measures, np.mean([r.measures for r in single], axis=0), rtol=1e-14)
        np.testing.assert_array_equal(results.length, np.sum([r.length for r in single], axis=0))
        np.testing.assert_array_equal(results.seeds, seeds)
        np.testing.assert_array_equal(results.seed, seeds[:, 0])

    def test_action_noise(self, task):
        solution = random_solutions(task, 1)
        with self.make(task, 1) as evaluator:
            plain, noisy, again, other = (
                evaluator.evaluate(solution, [seed], transitions=True, action_noise=noise)
                for seed, noise in ((7, 0.0), (7, 0.1), (7, 0.1), (8, 0.1))
            )
        assert same(noisy, again)
        np.testing.assert_array_equal(noisy.transitions.obs[0], plain.transitions.obs[0])  # the start is the seed's
        first = [(r.transitions.action - task.policy.act(solution[0], r.transitions.obs)).ravel() for r in (noisy, other)]
        assert not np.allclose(first[0][:3], first[1][:3])
        assert 0.05 < np.concatenate(first).std() < 0.15

    def test_observation_normalization(self, task):
        """(obs - mean) / std can be folded into the first layer."""
        solution = random_solutions(task, 2)
        mean, std = np.full(task.obs_dim, 0.25), np.full(task.obs_dim, 2.0)
        folded = solution.copy()
        for i in range(2):
            weights, biases = task.policy.layers(folded[i])[0]
            biases -= weights @ (mean / std).astype(np.float32)
            weights /= 2.0
        with self.make(task, 1) as evaluator:
            a = evaluator.evaluate(solution, [1, 2], transitions=True, obs_mean=mean, obs_std=std)
            b = evaluator.evaluate(folded, [1, 2], transitions=True)
            rows = evaluator.evaluate(solution, [1, 2], obs_mean=np.tile(mean, (2, 1)), obs_std=np.tile(std, (2, 1)))
        np.testing.assert_allclose(a.transitions.action[:3], b.transitions.action[:3], atol=1e-5)
        np.testing.assert_array_equal(a.transitions.obs[0], b.transitions.obs[0])  # raw observations are kept
        assert same(a, rows)

    def test_a_policy_that_breaks_is_flagged_and_harms_nobody(self, task):
        solutions = random_solutions(task, 6)
        with self.make(task, 1) as evaluator:
            expected = evaluator.evaluate(solutions, range(6))
            broken = solutions.copy()
            broken[2] = 3e38 * np.sign(broken[2])
            results = evaluator.evaluate(broken, range(6), transitions=True)
            again = evaluator.evaluate(solutions, range(6))
        np.testing.assert_array_equal(results.failed, np.arange(6) == 2)
        assert np.isfinite(results.objective).all()
        assert np.isfinite(results.measures).all()
        assert np.isfinite(results.transitions.obs).all()
        np.testing.assert_array_equal(np.delete(results.objective, 2), np.delete(expected.objective, 2))
        assert same(again, expected)

    def test_an_empty_batch(self, task):
        with self.make(task, 2) as evaluator:
            results = evaluator.evaluate(np.zeros((0, task.solution_dim)), [])
        assert results.objective.shape == (0,)
        assert results.measures.shape == (0, len(task.grid))

    @pytest.mark.parametrize(
        ("change", "message"),
        [
            ({"solutions": lambda n: np.zeros((2, 7))}, r"shape \(n, \d+\).*Got shape \(2, 7\)"),
            ({"solutions": np.zeros}, r"Got shape \(\d+,\)"),
            ({"solutions": lambda n: np.full((2, n), np.nan)}, "2 of 2 are not, the first at position 0"),
            ({"solutions": lambda n: np.full((2, n), 1e39)}, "finite in float32"),
            ({"seeds": [1]}, r"shape \(2,\)"),
            ({"seeds": [1, -1]}, "from 0 to .* got -1"),
            ({"seeds": [1, 2**63]}, "got 9223372036854775808"),
            ({"seeds": [1, 2**70]}, "got 1180591620717411303424"),
            ({"seeds": [1.0, 2.0]}, "got 1.0"),
            ({"seeds": np.array([1.0, 2.0])}, "got np.float64"),
            ({"solutions": lambda n: [[0.0] * n, [0.0] * 3]}, "rows of different lengths"),
            ({"action_noise": None}, "action_noise"),
            ({"transitions": [True]}, "one bool or 2"),
            ({"action_noise": -1.0}, "action_noise"),
            ({"action_noise": np.nan}, "action_noise"),
            ({"obs_mean": np.zeros(3)}, "obs_mean"),
            ({"obs_std": 0.0}, "obs_std must be positive"),
        ],
    )
    def test_bad_input(self, task, change, message):
        arguments = {"solutions": lambda n: np.zeros((2, n)), "seeds": [0, 1], **change}
        arguments["solutions"] = arguments["solutions"](task.solution_dim)
        with self.make(task, 1) as evaluator, pytest.raises(ValueError, match=message):
            evaluator.evaluate(**arguments)

    def test_closed(self, task):
        evaluator = self.make(task, 1)
        evaluator.close()
        evaluator.close()
        with pytest.raises(RuntimeError, match="closed"):
            evaluator.evaluate(np.zeros((1, task.solution_dim)), [0])
