"""What every source of gradients must do. To join: subclass ``GradientSourceSuite`` and override ``make``."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np

import gaits
from gaits.evaluation import make_evaluator
from gaits.tasks.linear_projection import linear_projection

TASK = linear_projection("sphere", dim=12, cells=10)


def evaluate(samples: np.ndarray, task: gaits.Task = TASK):
    with make_evaluator(task) as evaluator:
        return evaluator.evaluate(samples, range(len(samples)))


class GradientSourceSuite:
    make: Callable[[int], Any]
    """seed -> a source for TASK."""

    def estimate(self, source, solution):
        samples = source.samples(solution)
        assert samples.dtype == np.float32
        assert samples.shape[1:] == (12,)
        return source.jacobian(solution, evaluate(samples))

    def test_shape_and_direction(self):
        solution = np.linspace(-2, 2, 12).astype(np.float32)
        estimate = self.estimate(self.make(0), solution)
        truth = TASK.function.jacobian(solution)
        assert estimate.shape == truth.shape == (3, 12)
        for a, b in zip(estimate, truth, strict=True):
            assert a @ b / np.linalg.norm(a) / np.linalg.norm(b) > 0.9

    def test_same_seed_same_gradients_and_state_round_trips(self):
        solution = np.ones(12, np.float32)
        a, b = self.make(1), self.make(1)
        np.testing.assert_array_equal(self.estimate(a, solution), self.estimate(b, solution))
        restored = self.make(2)
        restored.restore(pickle.loads(pickle.dumps(a.state())))
        np.testing.assert_array_equal(self.estimate(a, solution), self.estimate(restored, solution))

    def test_the_solution_is_left_alone(self):
        solution = np.ones(12, np.float32)
        before = copy.copy(solution)
        self.estimate(self.make(0), solution)
        np.testing.assert_array_equal(solution, before)
