from __future__ import annotations

import numpy as np
import pytest

import gaits
from gaits.evaluation import make_evaluator
from gaits.tasks.linear_projection import EDGE, SHIFT, LinearProjection


@pytest.mark.parametrize("objective", ["sphere", "rastrigin"])
def test_scale(objective):
    function = LinearProjection(10, objective)
    best, worst = function.evaluate(np.array([np.full(10, SHIFT), np.full(10, -EDGE)]))[0]
    assert best == pytest.approx(100, abs=1e-9)
    assert worst == pytest.approx(0, abs=1e-9)


def test_measures_by_hand():
    function = LinearProjection(4)
    measures = function.evaluate(np.array([[1.0, 2.0, -3.0, 5.12], [10.24, 0.0, -512.0, 0.0]]))[1]
    np.testing.assert_allclose(measures, [[3.0, 2.12], [0.5, -0.01]])


@pytest.mark.parametrize("objective", ["sphere", "rastrigin"])
@pytest.mark.parametrize("dim", [6, 7])
def test_jacobian_is_the_derivative(objective, dim):
    function = LinearProjection(dim, objective)
    x = np.random.default_rng(0).uniform(-9, 9, dim)
    step = 1e-6
    numeric = []
    for i in range(dim):
        d = np.zeros(dim)
        d[i] = step
        (f1, f0), (m1, m0) = function.evaluate(np.array([x + d, x - d]))
        numeric.append(np.array([f1 - f0, *(m1 - m0)]) / (2 * step))
    np.testing.assert_allclose(function.jacobian(x), np.array(numeric).T, atol=1e-6)


def test_function_tasks_have_no_episodes():
    task = gaits.make_task("lp_sphere")
    assert task.solution_dim == 100
    with pytest.raises(ValueError, match="lp_sphere is a function, not a robot: it has no policies"):
        task.policy  # noqa: B018
    with make_evaluator(task) as evaluator, pytest.raises(ValueError, match=r"shape \(n, 100\)"):
        evaluator.evaluate(np.zeros((2, 3)), [0, 1])
