"""The environments that QDGym is built on, run beside ours on episodes nobody recorded."""

from __future__ import annotations

import numpy as np
import pytest
from helpers import ROBOTS, random_solutions

import gaits
from gaits.physics.original import QDGymEnv

# Humanoid computes its torques in float32 under NumPy 2; the recorded episodes, which we follow, are from NumPy 1.
NAMES = [name for name in ROBOTS if name != "qd_humanoid"]


@pytest.mark.parametrize("name", NAMES)
def test_same_episodes(name):
    task = gaits.make_task(name, max_steps=300)
    seeds = np.array([11, 987_654, 2**40])
    with gaits.LocalEvaluator(task, workers=1) as evaluator:
        results = evaluator.evaluate(random_solutions(task, 3, seed=5, scale=2.0), seeds, transitions=True)
    env = QDGymEnv(task)
    for i, seed in enumerate(seeds):
        mine = results.transitions.solution == i
        obs, total = env.reset(int(seed)), 0.0
        for t in np.flatnonzero(mine):
            np.testing.assert_array_equal(obs, results.transitions.obs[t])
            obs, reward, done, measures = env.step(results.transitions.action[t])
            assert reward == pytest.approx(results.transitions.reward[t], abs=1e-9)
            total += reward
        assert done
        np.testing.assert_array_equal(obs, results.transitions.next_obs[mine][-1])
        np.testing.assert_array_equal(measures, results.measures[i])
        assert total == pytest.approx(results.objective[i], abs=1e-7)
    env.close()
