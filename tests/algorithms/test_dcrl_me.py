from __future__ import annotations

import numpy as np
import pytest
from conformance.algorithm import AlgorithmSuite, made_up, small_task

import gaits
from gaits.algorithms.dcrl_me import DcrlMe, DcrlMeSettings
from gaits.gradients.goals import fold, scaled
from gaits.runs.conditioned import load_conditioned
from gaits.search import Search

SMALL = {"batch_size": 8, "critic_steps": 3, "critic_batch": 16, "critic_hidden": (8,), "pg_steps": 2, "pg_batch": 8}


class TestConformance(AlgorithmSuite):
    name = "dcrl_me"
    settings = {**SMALL, "return_bound": True, "n_step": 3, "layer_norm": True, "balanced": True}  # noqa: RUF012


class TestConformanceAgainstLuck(AlgorithmSuite):
    name = "dcrl_me"
    settings = {**SMALL, "challenge": True, "reevaluate": 2}  # noqa: RUF012


def make(**settings):
    return DcrlMe(small_task(), DcrlMeSettings(**{**SMALL, **settings}), np.random.SeedSequence(0))


def scaled_back(goals):
    low, high = np.transpose(small_task().ranges)
    return low + (goals.astype(float) + 1) / 2 * (high - low)


def test_an_iteration_is_climbers_injected_policies_and_crossings(monkeypatch):
    algorithm = make(iso_sigma=1e-9, line_sigma=1e-9, batch_size=20, pg_learning_rate=0.25)
    asked = {}

    def vary(parents, steps, batch, rate, goals, shared):
        asked.update(parents=parents, goals=goals, how=(steps, batch, rate, shared))
        return parents + 1

    monkeypatch.setattr(algorithm.td3, "vary", vary)
    with gaits.LocalEvaluator(small_task(), workers=1) as evaluator:
        Search(algorithm, evaluator, seed_key=0).iterate()
    solutions = algorithm.ask().solutions
    elites = algorithm.archive.data()
    goals = scaled(elites["measures"], np.array(small_task().ranges))
    assert asked["how"] == (2, 8, 0.25, True)
    for parent, goal in zip(asked["parents"], asked["goals"], strict=True):  # each climbs for its own measures
        rows = np.flatnonzero((elites["solution"] == parent).all(axis=1))
        assert any((goals[row] == goal).all() for row in rows)
    np.testing.assert_array_equal(solutions[:5], asked["parents"] + 1)
    wanted = algorithm.wanted[5:]  # what their episodes will be compared with
    assert len(np.unique(np.concatenate([asked["goals"], wanted]), axis=0)) > 5
    assert all((goals == goal).all(axis=1).any() for goal in wanted)
    np.testing.assert_array_equal(solutions[5:10], fold(algorithm.td3.actor, algorithm.td3.greedy, wanted))
    for crossed in solutions[10:]:
        assert np.abs(elites["solution"] - crossed).max(axis=1).min() < 1e-6


def test_what_critics_are_told(monkeypatch):
    """Climbers and injected policies are paid for the measures they were asked for, crossings for their own."""
    algorithm = make(batch_size=8, hindsight=0.0, lengthscale=0.5, reward_offset=-1.0)  # some steps are below zero then
    kept = []
    monkeypatch.setattr(algorithm.td3, "remember", lambda lesson: kept.append(lesson))
    with gaits.LocalEvaluator(small_task(), workers=1) as evaluator:
        search = Search(algorithm, evaluator, seed_key=0)
        assert np.isnan(search.iterate().metrics["goal_distance"])  # nobody was asked for anything
        algorithm.td3.buffer.size = 1  # so that there are states to climb over
        batch = algorithm.ask()
        results = evaluator.evaluate(batch.solutions, range(8), transitions=True)
    wanted = algorithm.wanted
    done = algorithm.tell(results)
    first, (then, cells, _) = kept
    inserted = search.algorithm.archive.index_of(scaled_back(first.steps.obs[:, -1:]))
    np.testing.assert_array_equal(first.cells[first.steps.solution], inserted)  # at first, what was reached was wanted
    np.testing.assert_array_equal(cells, done.insertions[0].cell)
    reached = scaled(results.measures, algorithm.ranges)
    assert done.metrics["goal_distance"] == pytest.approx(np.abs(reached[2:4] - wanted[2:4]).mean())  # of the injected ones
    assert 0 < (results.transitions.reward < 1).mean() < 1
    goals = np.concatenate([wanted, reached[4:]])[results.transitions.solution]
    np.testing.assert_array_equal(then.obs[:, -1:], goals)
    missed = np.abs(goals - reached[results.transitions.solution])[:, 0]
    np.testing.assert_allclose(then.reward, np.exp(-missed / 0.5) * np.maximum(results.transitions.reward - 1, 0), rtol=1e-5)


def test_the_lowest_objective_is_worth_nothing_and_the_basin_is_shared():
    algorithm = make()
    task = small_task()
    assert algorithm.offset == pytest.approx(-task.objective_range[0] / 50)
    told = fold(algorithm.td3.actor, algorithm.td3.greedy, np.zeros((1, 1), np.float32))
    np.testing.assert_array_equal(told[0], algorithm.iso_line.x0)
    actor, goal = algorithm.td3.actor, np.full((1, 1), 0.7, np.float32)
    obs = np.random.default_rng(0).normal(size=(5, task.obs_dim)).astype(np.float32)
    wanted = actor.act(algorithm.td3.greedy, np.concatenate([obs, goal.repeat(5, axis=0)], axis=1))
    np.testing.assert_allclose(task.policy.act(fold(actor, algorithm.td3.greedy, goal)[0], obs), wanted, atol=1e-6)
    assert np.abs(wanted - task.policy.act(algorithm.iso_line.x0, obs)).max() > 1e-5
    alone = make(shared_basin=False).td3
    assert np.abs(fold(alone.actor, alone.greedy, np.zeros((1, 1), np.float32))[0] - algorithm.iso_line.x0).max() > 0.01
    for td3 in (alone, algorithm.td3):
        np.testing.assert_array_equal(td3.nets.actor_target, td3.greedy)


def test_failed_episodes_teach_nothing():
    algorithm = make()
    algorithm.ask()
    done = algorithm.tell(made_up(np.arange(8.0), np.linspace(0, 1, 8)[:, None], failed=np.arange(8) == 7))
    assert done.insertions[0].status[7] == 0


@pytest.mark.parametrize("shares", [{"pg_share": 0.8, "injected_share": 0.2}, {"pg_share": 1.5}, {"hindsight": -1}])
def test_shares_that_leave_nothing(shares):
    with pytest.raises(ValueError, match=r"share|hindsight"):
        make(**shares)


def test_a_run_against_luck_has_a_policy_that_takes_measures(tmp_path):
    run = gaits.train(small_task(), "dcrl_me", evaluations=16, out=tmp_path / "run", challenge=True, **SMALL)
    network = load_conditioned(run)
    assert network.solution([0.5]).shape == (run.task.solution_dim,)


def test_critics_of_a_robot_that_stands_anyway_are_paid_nothing_for_it():
    def offset(task, **given):
        return gaits.algorithms.settings_for(gaits.make_task(task), "dcrl_me", given).reward_offset

    assert offset("qd_ant") == -1.0
    assert offset("qd_ant", reward_offset=0.25) == 0.25
    assert make(reward_offset=np.float32(0.25)).offset == 0.25
    assert {offset(task) for task in ("qd_hopper", "qd_walker", "qd_half_cheetah", "mj_hopper")} == {"lowest"}
