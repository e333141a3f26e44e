"""Against luck: the same-seed challenge and the re-evaluation of elites, by hand and in whole searches."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from conformance.algorithm import AlgorithmSuite, made_up, small_task

import gaits
from gaits.algorithms import ALGORITHMS
from gaits.algorithms.luck import worse_of
from gaits.archives import NO_SEED
from gaits.search import Search, episode_seeds

CRITIC = {"critic_steps": 3, "critic_hidden": (8,), "critic_batch": 16, "pg_steps": 2, "pg_batch": 8}


class TestMapElites(AlgorithmSuite):
    name = "map_elites"
    settings = {"batch_size": 16, "sigma": 0.3, "challenge": True, "reevaluate": 3}  # noqa: RUF012


class TestPga(AlgorithmSuite):
    name = "pga_me"
    settings = {"batch_size": 8, "challenge": True, "reevaluate": 2, **CRITIC}  # noqa: RUF012


def make(**settings):
    entry = ALGORITHMS["map_elites"]
    return entry.make(small_task(grid=(4,)), entry.settings(batch_size=3, **settings), np.random.SeedSequence(0))


def results(objective, measures, seeds, failed=None):
    told = made_up(objective, np.asarray(measures, float)[:, None], failed)
    return dataclasses.replace(told, seeds=np.asarray(seeds)[:, None])


def elites(algorithm):
    data = algorithm.archive.data()
    return {c: (f, s) for c, f, s in zip(*(data[name].tolist() for name in ("index", "objective", "seed")), strict=True)}


def test_without_the_settings_it_is_the_algorithm_itself():
    assert type(make()).__name__ == "MapElites"


@pytest.mark.parametrize("settings", [{"challenge": True}, {"reevaluate": 1}])
def test_a_function_has_none(settings, tmp_path):
    with pytest.raises(ValueError, match="lp_sphere is a function, the same every time"):
        gaits.train("lp_sphere", "map_elites", evaluations=64, out=tmp_path / "run", **settings)
    assert not (tmp_path / "run").exists()


def test_a_challenger_counts_with_the_worse_of_two_episodes():
    algorithm = make(challenge=True)
    algorithm.ask()
    assert algorithm.tell(results([10, 20, 30], [0.1, 0.4, 0.6], [5, 6, 7])) is not None  # all new: nobody to challenge
    asked = algorithm.ask().solutions.copy()
    assert algorithm.tell(results([15, 25, 29], [0.1, 0.4, 0.6], [8, 9, 10])) is None
    again = algorithm.ask()
    np.testing.assert_array_equal(again.solutions, asked[:2])  # the third is no better
    np.testing.assert_array_equal(again.seeds, [5, 6])  # of the elites that they met
    done = algorithm.tell(results([18, 19], [0.2, 0.45], [5, 6]))
    # The first is better twice, and is recorded with its worse episode, here its own. The second was lucky.
    assert elites(algorithm) == {0: (15, 8), 1: (20, 6), 2: (30, 7)}
    assert done.metrics["challengers"] == 2
    np.testing.assert_array_equal(done.insertions[-1].objective, [15, 19, 29])
    np.testing.assert_array_equal(done.insertions[-1].seed, [8, 6, 10])
    algorithm.ask()
    algorithm.tell(results([40, 50, 60], [0.1, 0.4, 0.6], [11, 12, 13]))
    algorithm.ask()
    algorithm.tell(results([16, 45, 99], [0.1, 0.9, 0.6], [8, 6, 7], failed=np.array([False, False, True])))
    # Worse on the elite's episode, but better than the elite; in another cell there; and broken there.
    assert elites(algorithm) == {0: (16, 8), 1: (20, 6), 2: (30, 7), 3: (45, 6)}


def test_what_is_learnt_is_the_episode_that_counts():
    """Of a solution that was played twice, the steps of the worse episode; in the order of the solutions."""
    task = small_task(max_steps=20)
    solutions = np.stack([task.init(np.random.default_rng(i)) for i in range(4)])
    with gaits.LocalEvaluator(task, workers=1) as evaluator:
        first = evaluator.evaluate(solutions, range(4), transitions=True)
        rows = np.array([1, 3])
        second = evaluator.evaluate(solutions[rows], [8, 9], transitions=True)
    second = dataclasses.replace(second, objective=first.objective[rows] + [-1, 1])  # the first of them was lucky
    merged = worse_of(first, rows, second)
    np.testing.assert_array_equal(merged.seeds[:, 0], [0, 8, 2, 3])
    expected = []
    for i, seed in enumerate([0, 8, 2, 3]):
        played, whose = (second, 0) if seed == 8 else (first, i)
        expected.append(played.transitions.obs[played.transitions.solution == whose])
    np.testing.assert_array_equal(merged.transitions.obs, np.concatenate(expected))
    np.testing.assert_array_equal(merged.transitions.solution, np.repeat(range(4), [len(one) for one in expected]))
    np.testing.assert_array_equal(merged.length, [len(one) for one in expected])
    assert merged.transitions.solution.size == len(merged.transitions.reward)


@pytest.mark.parametrize(("name", "learns"), [("dcrl_me", True), ("pga_me", True), ("map_elites", False)])
def test_challengers_tell_their_steps_to_those_who_learn(name, learns):
    entry, small = ALGORITHMS[name], {"batch_size": 8, **(CRITIC if learns else {})}
    algorithm = entry.make(small_task(grid=(1,)), entry.settings(challenge=True, **small), np.random.SeedSequence(0))
    with gaits.LocalEvaluator(small_task(grid=(1,)), workers=1) as evaluator:
        for seed in range(20):
            batch = algorithm.ask()
            told = evaluator.evaluate(batch.solutions, np.arange(len(batch)) + 100 * seed, transitions=batch.transitions)
            if algorithm.tell(told) is None:
                break
    assert np.all(algorithm.ask().transitions) == learns


def test_an_elite_that_is_played_again_has_the_mean_of_its_episodes():
    algorithm = make(reevaluate=2)
    algorithm.ask()
    algorithm.tell(results([10, 20, 30], [0.1, 0.4, 0.6], [5, 6, 7]))
    batch = algorithm.ask()
    assert len(batch) == 5  # and the two that were inserted first
    np.testing.assert_array_equal(batch.solutions[3:], algorithm.archive.retrieve([[0.1], [0.4]])[1]["solution"])
    done = algorithm.tell(results([0, 0, 0, 4, 40], [0.1, 0.4, 0.6, 0.9, 0.9], [1, 2, 3, 8, 9]))
    assert elites(algorithm) == {0: (7, 5), 1: (30, 6), 2: (30, 7)}  # in place, wherever the new episode went
    np.testing.assert_array_equal(done.insertions[0].cell, [0, 1])
    np.testing.assert_array_equal(algorithm.ask().solutions[3], algorithm.archive.retrieve([[0.6]])[1]["solution"][0])
    algorithm.tell(results([4.5, 0, 0, 30, 1], [0.1, 0.4, 0.6, 0.6, 0.1], [1, 2, 3, 8, 9]))
    assert elites(algorithm)[0] == (5, 5)  # the mean of 10, 4 and 1: a solution must beat that
    assert algorithm.episodes.tolist()[:3] == [3, 2, 2]
    algorithm.ask()
    algorithm.tell(results([8, 0, 0, 30, 30], [0.1, 0.4, 0.6, 0.4, 0.6], [1, 2, 3, 8, 9]))
    assert elites(algorithm)[0] == (8, 1)
    assert algorithm.episodes.tolist()[:3] == [1, 3, 3]
    before = elites(algorithm)
    algorithm.ask()
    algorithm.tell(results([0] * 5, [0.1] * 5, range(5), failed=np.ones(5, bool)))
    assert elites(algorithm) == before


def test_no_elite_waits_for_ever():
    """Those that are replaced all the time have the fewest episodes; of them, who waited longest is played."""
    algorithm, played = make(reevaluate=1), []
    algorithm.ask()
    algorithm.tell(results([1, 1, 1], [0.1, 0.4, 0.6], [5, 6, 7]))
    for i in range(2, 14):
        n = len(algorithm.ask())
        played += algorithm.again.tolist()
        places = [0.1, 0.4, 0.9] if i % 2 else [0.1, 0.4, 0.6]
        algorithm.tell(results([100 * i, 100 * i, i, 0][:n], [*places, 0.1][:n], range(n)))
    assert {2, 3} <= set(played)


def test_an_episode_that_failed_challenges_nobody():
    algorithm = make(challenge=True)
    algorithm.ask()
    algorithm.tell(results([10, 20, 30], [0.1, 0.4, 0.6], [5, 6, 7]))
    algorithm.ask()
    failed = np.array([True, False, False])
    assert algorithm.tell(results([99, 1, 1], [0.1, 0.4, 0.6], [8, 9, 10], failed=failed)) is not None


def test_critics_train_once_in_an_iteration_with_challengers(monkeypatch):
    algorithm, trained = make(challenge=True), []
    monkeypatch.setattr(algorithm.algorithm, "learn", lambda: trained.append(1))
    for objective in (10, 20):
        algorithm.ask()
        algorithm.learn()
        algorithm.tell(results([objective] * 3, [0.1, 0.4, 0.6], [5, 6, 7]))
    algorithm.ask()
    algorithm.learn()
    assert algorithm.waiting is not None
    assert len(trained) == 2


@pytest.fixture(scope="module")
def searched():
    entry, task = ALGORITHMS["map_elites"], small_task(grid=(8,))
    settings = entry.settings(batch_size=20, sigma=0.5, challenge=True, reevaluate=3)
    with gaits.LocalEvaluator(task, workers=2) as evaluator:
        search = Search(entry.make(task, settings, np.random.SeedSequence(1)), evaluator, seed_key=1)
        submit, search.played = evaluator.submit, []
        evaluator.submit = lambda batch, seeds: search.played.append((batch.seeds, seeds)) or submit(batch, seeds)
        done = [search.iterate() for _ in range(6)]
        evaluator.submit = submit
        yield search, done, evaluator


def test_every_episode_counts(searched):
    search, done, _ = searched
    extra = sum(one.metrics["challengers"] + one.metrics["reevaluated"] for one in done)
    assert extra > 6
    assert search.counters.evaluations == search.counters.episodes == 6 * 20 + extra


def test_what_is_recorded_can_be_played_again(searched):
    """Elites that were not played again have the very episode of their seed, and the history their objective."""
    search, done, evaluator = searched
    data = search.algorithm.archive.data()
    once = search.algorithm.episodes[data["index"]] == 1
    assert 0 < once.sum() < len(once)
    assert NO_SEED not in data["seed"]
    played = evaluator.evaluate(data["solution"], data["seed"])
    np.testing.assert_array_equal(played.objective[once], data["objective"][once])
    np.testing.assert_array_equal(played.measures, data["measures"])
    last = {}
    for inserted in (one for iteration in done for one in iteration.insertions):
        for cell, objective, status in zip(inserted.cell, inserted.objective, inserted.status, strict=True):
            if status:
                last[int(cell)] = objective
    assert last == dict(zip(data["index"].tolist(), data["objective"].tolist(), strict=True))


def test_challengers_play_episodes_that_were_played_before(searched):
    """All others are new, by the number of episodes so far."""
    search, _, _ = searched
    seen, episodes, challenges = set(), 0, 0
    for wanted, seeds in search.played:
        np.testing.assert_array_equal(seeds, episode_seeds(1, episodes, len(seeds)) if wanted is None else wanted)
        assert (wanted is None) == seen.isdisjoint(seeds.tolist())
        assert wanted is None or seen.issuperset(seeds.tolist())
        seen.update(seeds.tolist())
        episodes, challenges = episodes + len(seeds), challenges + (wanted is not None)
    assert challenges > 2


def test_a_run_is_resumed_and_redrawn(tmp_path):
    options = {"batch_size": 16, "sigma": 0.3, "challenge": True, "reevaluate": 4, "workers": 1}
    whole = gaits.train(small_task(), "map_elites", evaluations=150, out=tmp_path / "whole", **options)
    stop = {"callback": lambda row, _: row["iteration"] >= 3}
    gaits.train(small_task(), "map_elites", evaluations=150, out=tmp_path / "run", **options, **stop)
    run = gaits.resume(tmp_path / "run")
    for name in ("objective", "seed", "solution"):
        np.testing.assert_array_equal(run.archive.data(name), whole.archive.data(name))
    drawn = run.archive_at(int(run.metrics["iteration"].iloc[-1]))
    np.testing.assert_array_equal(np.sort(drawn.data("objective")), np.sort(run.archive.data("objective")))
