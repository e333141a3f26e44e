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


def test_what_is_outside_the_domain_does_not_enter(tmp_path):
    """Objectives below 0 are refused, so the QD score never falls; mutations are as wide as suits the task."""
    inside, outside = np.zeros(100), np.full(100, 40.0)
    with make_evaluator(gaits.make_task("lp_sphere")) as evaluator:
        results = evaluator.evaluate(np.array([inside, outside]), [0, 1])
    assert results.objective[1] < 0
    np.testing.assert_array_equal(results.failed, [False, True])
    run = gaits.train("lp_sphere", "cma_mega", evaluations=1000, out=tmp_path / "exact", sigma0=10.0)
    assert run.metrics["failed"].iloc[-1] > 0
    assert run.metrics["objective_min"].min() >= 0
    assert (np.diff(run.metrics["qd_score"]) >= 0).all()


def test_defaults_suit_the_task(tmp_path):
    run = gaits.train("lp_sphere", "map_elites", evaluations=2000, out=tmp_path / "run")
    assert run.config.settings["sigma"] == 0.5
    assert run.config.changed_settings == {}
    assert run.metrics["coverage"].iloc[-1] > 0.015
    narrow = gaits.train("lp_sphere", "map_elites", evaluations=100, out=tmp_path / "narrow", sigma=0.02)
    assert "--sigma 0.02" in narrow.config.command
    text = "evaluations = 8\nseeds = [1]\ntasks = ['qd_hopper', 'lp_sphere']\nalgorithms = ['map_elites']\n"
    path = tmp_path / "study.toml"
    for extra, sigmas in (("", [0.02, 0.5]), ("[settings.map_elites]\nsigma = 0.02\n", [0.02, 0.02])):
        path.write_text(text + extra)
        study = gaits.load_study(path)
        assert [one.settings["sigma"] for one in study.runs] == sigmas
        study.save(tmp_path)
        assert gaits.load_study(tmp_path) == study
