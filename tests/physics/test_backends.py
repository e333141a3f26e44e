from __future__ import annotations

import numpy as np
import pytest
from helpers import BACKENDS, ROBOTS, random_solutions, same

import gaits
from gaits import physics
from gaits.episodes import NON_FINITE, Setup
from gaits.physics import bullet
from gaits.physics.bullet import capi
from gaits.physics.world import start_angles


@pytest.mark.parametrize("name", ROBOTS)
def test_all_play_the_same_episodes(name, monkeypatch):
    task = gaits.make_task(name, max_steps=200)
    solutions = random_solutions(task, 4, seed=9, scale=1.5)
    options = {
        "action_noise": 0.05,
        "obs_mean": np.linspace(-0.2, 0.2, task.obs_dim),
        "obs_std": np.linspace(0.5, 2.0, task.obs_dim),
    }
    results = []
    for backend in BACKENDS:
        monkeypatch.setenv("GAITS_PHYSICS", backend)
        with gaits.LocalEvaluator(task, workers=2) as evaluator:
            results.append(evaluator.evaluate(solutions, range(4), transitions=True, **options))
    assert same(*results)
    for field in ("obs", "action", "reward", "next_obs", "terminated", "truncated", "solution"):
        for other in results[1:]:
            np.testing.assert_array_equal(getattr(other.transitions, field), getattr(results[0].transitions, field))


def test_hidden_symbols_fall_back_and_one_line_says_so(monkeypatch, capfd):
    def hidden():
        raise AttributeError("b3ConnectPhysicsDirect")

    bullet.use_native.cache_clear()
    monkeypatch.setattr(capi, "load", hidden)
    monkeypatch.setenv("GAITS_PHYSICS", "bullet")
    for _ in range(2):
        simulator = physics.make_simulator(gaits.make_task("qd_hopper"))
        assert type(simulator).__name__ == "ModuleSimulator"
        simulator.close()
    out, err = capfd.readouterr()
    assert out == ""
    assert err.count("\n") == 1
    assert "same results, slower (this pybullet hides Bullet's C API" in err
    bullet.use_native.cache_clear()


def test_unknown_backend(monkeypatch):
    monkeypatch.setenv("GAITS_PHYSICS", "mujoco")
    with pytest.raises(ValueError, match="'engine', 'bullet' or 'pybullet'; got 'mujoco'"):
        physics.make_simulator(gaits.make_task("qd_hopper"))


@pytest.mark.parametrize("module", [False, True])
def test_numbers_that_are_not_finite_leave_no_trace_in_bullet(module):
    """A start that is not a number poisons Bullet's caches; the next episode must not notice."""
    task = gaits.make_task("qd_ant", max_steps=50)
    simulator = bullet.make_simulator(task, module)
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
