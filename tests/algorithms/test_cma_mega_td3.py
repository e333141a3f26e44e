from __future__ import annotations

import numpy as np
import pytest
from conformance.algorithm import AlgorithmSuite, small_task

import gaits
from gaits.algorithms.cma_mega_td3 import CmaMegaTd3, CmaMegaTd3Settings
from gaits.episodes import Pool, make_job
from gaits.gradients import CriticGradient, Displacement
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


class TestConformanceWithPlainGradients(AlgorithmSuite):
    name = "cma_mega_td3"
    settings = {**SMALL, "gradients": "plain", "gradient_states": 32, "td3_schedule": "paper"}  # noqa: RUF012


@pytest.mark.parametrize(("gradients", "kind"), [("plain", CriticGradient), ("displacement", Displacement)])
def test_both_rows_come_from_the_source_that_is_set(gradients, kind):
    algorithm = CmaMegaTd3(small_task(), CmaMegaTd3Settings(**SMALL, gradients=gradients), np.random.SeedSequence(0))
    (source,) = algorithm.sources
    assert type(source) is kind
    assert source.critic is algorithm.measure_critic
    assert getattr(source, "states", 65_536) == 65_536
    assert getattr(source, "how", (2, 8, 0.001)) == (2, 8, 0.001)


def test_every_evaluation_is_inserted_and_none_is_a_sample():
    with gaits.LocalEvaluator(small_task(), workers=2) as evaluator:
        algorithm = CmaMegaTd3(small_task(), CmaMegaTd3Settings(**SMALL), np.random.SeedSequence(0))
        search = Search(algorithm, evaluator, seed_key=0)
        for iteration in (1, 2, 3):
            done = search.iterate()
            assert sum(len(one.cell) for one in done.insertions) == 8
            assert search.counters.evaluations == 8 * iteration
            assert np.isfinite(done.metrics["measure_loss"]) == (iteration > 1)
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


def test_labels_in_the_buffer_are_the_discounted_contacts_of_the_episodes():
    """Of the very episodes that were played, traced, and summed up step by step."""
    task = small_task()
    algorithm = CmaMegaTd3(task, CmaMegaTd3Settings(**SMALL), np.random.SeedSequence(0))
    expected = []
    with gaits.LocalEvaluator(task, workers=1) as evaluator:
        for seeds in ([0], range(1, 8)):
            batch = algorithm.ask()
            algorithm.tell(evaluator.evaluate(batch.solutions, seeds, transitions=True))
            job = make_job(task, batch, seeds, trace=True)
            Pool(1).play(task, job)
            for trace in (job.traces[i] for i in range(len(seeds))):
                contacts = trace.contacts[:, list(task.problem.measured_feet)]
                for t in range(len(contacts)):
                    weights = 0.01 * 0.99 ** np.arange(len(contacts) - t)
                    expected.append([weights.sum(), *(weights @ contacts[t:])])
    buffer = algorithm.td3.buffer
    np.testing.assert_allclose(buffer.sums[: buffer.size], expected, rtol=1e-5)
    assert 0 < buffer.sums[: buffer.size, 1].mean() < buffer.sums[: buffer.size, 0].mean()


def test_refined_branches_climb_the_critic():
    with gaits.LocalEvaluator(small_task(), workers=1) as evaluator:
        plain, refined = (
            CmaMegaTd3(small_task(), CmaMegaTd3Settings(**SMALL, refine_steps=n), np.random.SeedSequence(0)) for n in (0, 3)
        )
        for algorithm in (plain, refined):
            search = Search(algorithm, evaluator, seed_key=0)
            search.iterate()  # nothing is refined while there is no experience
            algorithm.tell(evaluator.evaluate(algorithm.ask().solutions, [3], transitions=True))
    before = plain.ask().solutions
    goals = np.repeat(plain.td3.goal[None], len(before) - 1, axis=0)
    climbed = plain.td3.vary(before[1:], 3, SMALL["climb_batch"], 0.001, goals, shared=True)
    after = refined.ask().solutions
    np.testing.assert_array_equal(after[0], before[0])  # the actor is offered as it is
    np.testing.assert_array_equal(after[1:], climbed)
    assert (after[1:] != before[1:]).any()


def test_a_task_that_does_not_tell_what_a_step_measures():
    task = gaits.make_task("mj_hopper", hidden=(8,))
    with pytest.raises(ValueError, match=r"mj_hopper does not tell step by step .* cma_mega_es"):
        CmaMegaTd3(task, CmaMegaTd3Settings(**SMALL), np.random.SeedSequence(0))


def test_time_that_is_left_has_to_be_finite():
    with pytest.raises(ValueError, match=r"discount must be below 1 here: .*; got 1"):
        CmaMegaTd3Settings(discount=1.0)
