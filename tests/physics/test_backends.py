from __future__ import annotations

import numpy as np
import pytest
from conftest import ROBOTS, random_solutions, same

import gaits
from gaits import physics
from gaits.episodes import NON_FINITE, Setup
from gaits.physics import capi
from gaits.physics.world import start_angles


@pytest.mark.parametrize("name", ROBOTS)
def test_both_play_the_same_episodes(name, monkeypatch):
    task = gaits.make_task(name, max_steps=200)
    solutions = random_solutions(task, 4, seed=9, scale=1.5)
    options = {
        "action_noise": 0.05,
        "obs_mean": np.linspace(-0.2, 0.2, task.obs_dim),
        "obs_std": np.linspace(0.5, 2.0, task.obs_dim),
    }
    results = []
    for backend in ("native", "pybullet"):
        monkeypatch.setenv("GAITS_PHYSICS", backend)
        with gaits.LocalEvaluator(task, workers=2) as evaluator:
            results.append(evaluator.evaluate(solutions, range(4), transitions=True, **options))
    assert same(*results)
    for field in ("obs", "action", "reward", "next_obs", "terminated", "truncated", "solution"):
        np.testing.assert_array_equal(*(getattr(r.transitions, field) for r in results))


def test_one_line_says_so(monkeypatch, capfd):
    physics.use_native.cache_clear()
    monkeypatch.setenv("GAITS_PHYSICS", "pybullet")
    for _ in range(2):
        physics.make_simulator(gaits.make_task("qd_hopper")).close()
    out, err = capfd.readouterr()
    assert out == ""
    assert err.count("\n") == 1
    assert "same results, slower (GAITS_PHYSICS=pybullet)" in err


def test_hidden_symbols_fall_back(monkeypatch, capfd):
    def hidden():
        raise AttributeError("b3ConnectPhysicsDirect")

    physics.use_native.cache_clear()
    monkeypatch.setattr(capi, "load", hidden)
    monkeypatch.delenv("GAITS_PHYSICS", raising=False)
    simulator = physics.make_simulator(gaits.make_task("qd_hopper"))
    assert type(simulator).__name__ == "ModuleSimulator"
    assert "hides Bullet's C API" in capfd.readouterr().err
    simulator.close()
    physics.use_native.cache_clear()


def test_unknown_backend(monkeypatch):
    monkeypatch.setenv("GAITS_PHYSICS", "mujoco")
    with pytest.raises(ValueError, match="'native' or 'pybullet'; got 'mujoco'"):
        physics.make_simulator(gaits.make_task("qd_hopper"))


def test_numbers_that_are_not_finite_leave_no_trace(backend):
    """A start that is not a number poisons Bullet's caches; the next episode must not notice."""
    task = gaits.make_task("qd_ant", max_steps=50)
    simulator = physics.make_simulator(task)
    solution, q0 = random_solutions(task, 1)[0], start_angles(0, 8)
    obs, noise = np.zeros(task.obs_dim, np.float32), np.zeros((0, 8), np.float32)
    before = simulator.rollout(Setup(solution, 0, obs, obs + 1, noise, record=True), q0)
    broken = simulator.rollout(Setup(np.zeros_like(solution), 0, obs, obs + 1, noise, record=True), q0 * np.nan)
    assert broken.end == NON_FINITE
    assert (broken.length, broken.objective) == (0, 0.0)
    after = simulator.rollout(Setup(solution, 0, obs, obs + 1, noise, record=True), q0)
    np.testing.assert_array_equal(before.steps.obs, after.steps.obs)
    assert before.objective == after.objective
    simulator.close()
