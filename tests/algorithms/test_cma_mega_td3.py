from __future__ import annotations

import numpy as np
import pytest
from conformance.algorithm import AlgorithmSuite, small_task

import gaits
from gaits.algorithms.cma_mega_td3 import CmaMegaTd3, CmaMegaTd3Settings
from gaits.gradients.goals import fold, scaled
from gaits.search import Search

SMALL = {
    "batch_size": 8,
    "critic_steps": 3,
    "critic_batch": 16,
    "critic_hidden": (8,),
    "measure_steps": 3,
    "climb_steps": 2,
    "climb_batch": 8,
}


class TestConformance(AlgorithmSuite):
    name = "cma_mega_td3"
    settings = {**SMALL, "refine_steps": 1}  # noqa: RUF012


def test_every_evaluation_is_inserted_and_none_is_a_sample():
    with gaits.LocalEvaluator(small_task(), workers=2) as evaluator:
        algorithm = CmaMegaTd3(small_task(), CmaMegaTd3Settings(**SMALL), np.random.SeedSequence(0))
        search = Search(algorithm, evaluator, seed_key=0)
        for iteration in (1, 2, 3):
            done = search.iterate()
            assert sum(len(one.cell) for one in done.insertions) == 8
            assert search.counters.evaluations == 8 * iteration
        assert len(algorithm.ask()) == 1  # the point
        results = evaluator.evaluate(algorithm.asked, [3], transitions=True)
        algorithm.tell(results)
    goal = scaled(results.measures, algorithm.ranges)
    np.testing.assert_array_equal(algorithm.td3.goal, goal[0])
    branches = algorithm.ask().solutions
    np.testing.assert_array_equal(branches[:1], fold(algorithm.td3.actor, algorithm.td3.greedy, goal))
    point, jacobian = algorithm.emitter._grad_opt.theta, algorithm.emitter._jacobian_batch[0]
    away = (branches[1:] - point).astype(float)
    left = away - away @ np.linalg.pinv(jacobian.astype(float)) @ jacobian
    assert np.abs(left).max() < 1e-4 * max(np.abs(away).max(), 1), "branches are the point and its displacements"


def test_a_task_that_does_not_tell_what_a_step_measures():
    task = gaits.make_task("mj_hopper", hidden=(8,))
    with pytest.raises(ValueError, match=r"mj_hopper does not tell step by step .* dcrl_me"):
        CmaMegaTd3(task, CmaMegaTd3Settings(**SMALL), np.random.SeedSequence(0))
