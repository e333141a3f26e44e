"""What every source of gradients must do. To join: subclass ``GradientSourceSuite`` and override ``make``.

A source of the objective alone also sets ``rows``, a source that is not for TASK its own ``solution`` and ``truth``, and a
source that draws on what another saves, such as a critic, its own ``copy_state``.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np

import gaits
from gaits import states
from gaits.evaluation import make_evaluator
from gaits.tasks.linear_projection import linear_projection

TASK = linear_projection("sphere", dim=12, cells=10)


def evaluate(samples: np.ndarray, task: gaits.Task = TASK):
    with make_evaluator(task) as evaluator:
        return evaluator.evaluate(samples, range(len(samples)))


class GradientSourceSuite:
    make: Callable[[int], Any]
    """seed -> a source."""
    solution = np.linspace(-2, 2, 12).astype(np.float32)
    rows = 3

    def truth(self, solution):
        return TASK.function.jacobian(solution)

    def copy_state(self, source, other):
        other.restore(states.copy(source.state(), like=other.state()))

    def estimate(self, source, solution):
        samples = source.samples(solution)
        assert samples.dtype == np.float32
        assert samples.shape[1:] == solution.shape
        return source.jacobian(solution, evaluate(samples) if len(samples) else None)

    def test_shape_and_direction(self):
        estimate = self.estimate(self.make(0), self.solution)
        assert estimate.shape == (self.rows, self.solution.size)
        for a, b in zip(estimate, self.truth(self.solution), strict=True):
            assert a @ b / np.linalg.norm(a) / np.linalg.norm(b) > 0.9

    def test_same_seed_same_gradients_and_state_round_trips(self):
        a, b = self.make(1), self.make(1)
        np.testing.assert_array_equal(self.estimate(a, self.solution), self.estimate(b, self.solution))
        restored = self.make(2)
        self.copy_state(a, restored)
        np.testing.assert_array_equal(self.estimate(a, self.solution), self.estimate(restored, self.solution))

    def test_the_solution_is_left_alone(self):
        before = copy.copy(self.solution)
        self.estimate(self.make(0), self.solution)
        np.testing.assert_array_equal(self.solution, before)
