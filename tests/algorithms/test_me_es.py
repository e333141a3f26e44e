"""ME-ES: every rule against values worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest
from conformance.algorithm import AlgorithmSuite, made_up, small_task

import gaits
from gaits.algorithms.me_es import Adam, MeEs, MeEsSettings, RunningStatistics, explore_probabilities, novelty, recent_best
from gaits.search import Search, episode_seeds


class TestConformance(AlgorithmSuite):
    name = "me_es"
    settings = {"batch_size": 8, "phase_length": 2, "obs_probability": 0.5}  # noqa: RUF012
    iterations = 7


def make(**settings):
    defaults = {"batch_size": 8, "phase_length": 3, "obs_probability": 0.0}
    return MeEs(small_task(), MeEsSettings(**{**defaults, **settings}), np.random.SeedSequence(0))


def iterate(algorithm, rng):
    """One iteration with made-up results. Returns (samples, stepped, iteration)."""
    batches = []
    done = None
    while done is None:
        batches.append(algorithm.ask())
        n = len(batches[-1].solutions)
        done = algorithm.tell(made_up(rng.normal(size=n), rng.random((n, 1))))
    return *batches[-2:], done


def test_novelty_by_hand():
    seen = np.array([[0.0], [0.1], [0.4]])
    np.testing.assert_allclose(novelty(np.array([[0.0], [0.5]]), seen, k=2), [0.005, (0.01 + 0.16) / 2])
    np.testing.assert_allclose(novelty(seen[:1], seen, k=2, themselves=True), [(0.01 + 0.16) / 2])
    np.testing.assert_allclose(novelty(np.array([[0.2]]), seen, k=10, themselves=True), [(0.04 + 0.01 + 0.04) / 3])
    np.testing.assert_allclose(novelty(np.array([[3.0, 4.0]]), np.zeros((1, 2)), k=10), [25.0])
    np.testing.assert_allclose(novelty(seen[:1], seen[:1], k=3, themselves=True), [0.0])
    np.testing.assert_allclose(novelty(seen, np.zeros((0, 1)), k=3, themselves=True), np.zeros(3))


def test_explore_probabilities_by_hand():
    p = explore_probabilities(np.array([1.0, 0.0, 2.0, 3.0, 4.0, 6.0, 4.0]))
    expected = np.full(7, 0.1 / 7) + 0.9 * np.array([0, 0, 2, 3, 4, 6, 4]) / 19
    np.testing.assert_allclose(p, expected)
    np.testing.assert_allclose(explore_probabilities(np.zeros(4)), 0.25)


def test_recent_best_by_hand():
    scores = np.array([9.0, -1.0, 5.0, 1.0, 3.0, 2.0, 4.0])  # the last five are positions 3 .. 6 here: half of them at most
    two, p = recent_best(scores)
    np.testing.assert_array_equal(two, [6, 4])
    np.testing.assert_allclose(p, np.array([6.0, 5.0]) / 11)
    two, _ = recent_best(np.arange(20.0)[::-1])
    np.testing.assert_array_equal(two, [15, 16])


def test_adam_by_hand():
    adam = Adam(2, 0.01)
    np.testing.assert_allclose(adam.step(np.array([2.0, -0.5])), [-0.01, 0.01], rtol=1e-5)  # the first step is lr · sign
    m = 0.9 * 0.1 * 2.0 + 0.1 * 1.0
    v = 0.999 * 0.001 * 4.0 + 0.001 * 1.0
    expected = -0.01 * (m / (1 - 0.9**2)) / np.sqrt(v / (1 - 0.999**2))
    assert adam.step(np.array([1.0, 0.0]))[0] == pytest.approx(expected, rel=1e-6)


def test_running_statistics():
    statistics = RunningStatistics(2)
    np.testing.assert_allclose(statistics.mean, 0)
    np.testing.assert_allclose(statistics.std, 1, rtol=1e-6)
    obs = np.random.default_rng(0).normal([5.0, 0.0], [3.0, 0.001], (1000, 2)).astype(np.float32)
    for part in np.array_split(obs, 7):
        statistics.add(part)
    np.testing.assert_allclose(statistics.mean, obs.mean(axis=0), atol=1e-3)
    np.testing.assert_allclose(statistics.std, [obs[:, 0].std(), 0.1], rtol=1e-2)  # never below 0.1


def test_phases_alternate_and_the_first_exploits():
    algorithm, rng = make(), np.random.default_rng(0)
    flags = [iterate(algorithm, rng)[2].metrics["exploring"] for _ in range(12)]
    assert flags == [0, 0, 0, 1, 1, 1, 0, 0, 0, 1, 1, 1]


@pytest.mark.parametrize(("variant", "flag"), [("explore", 1), ("exploit", 0)])
def test_single_minded_variants(variant, flag):
    algorithm, rng = make(variant=variant), np.random.default_rng(0)
    assert [iterate(algorithm, rng)[2].metrics["exploring"] for _ in range(7)] == [flag] * 7


def test_what_is_asked():
    algorithm, rng = make(action_noise=0.03), np.random.default_rng(0)
    first = algorithm.ask()
    assert (len(first.solutions), first.counted, first.action_noise) == (1, False, 0.0)
    algorithm.tell(made_up([1.0], [[0.5]]))
    samples = algorithm.ask()
    assert (len(samples.solutions), samples.counted, samples.action_noise) == (8, True, 0.03)
    np.testing.assert_allclose(
        samples.solutions[:4] + samples.solutions[4:], 2 * np.repeat(first.solutions, 4, 0), atol=1e-6
    )
    algorithm.tell(made_up(rng.normal(size=8), rng.random((8, 1))))
    stepped = algorithm.ask()
    assert (len(stepped.solutions), stepped.counted, stepped.action_noise) == (1, False, 0.0)


def test_the_step_by_hand():
    algorithm = make(l2_coefficient=0.5, learning_rate=0.1)
    theta = algorithm.ask().solutions[0].astype(float)
    algorithm.tell(made_up([1.0], [[0.5]]))
    algorithm.ask()
    noise = algorithm.noise.astype(float)
    algorithm.tell(made_up([3, 1, 7, 5, 2, 0, 6, 4], np.zeros((8, 1))))
    ranks = np.array([3, 1, 7, 5, 2, 0, 6, 4]) / 7 - 0.5
    gradient = sum((ranks[i] - ranks[4 + i]) * noise[i] for i in range(4)) / 4
    descent = -gradient + 0.5 * theta
    expected = theta - 0.1 * np.sign(descent) * (np.abs(descent) / (np.abs(descent) + 1e-8 * np.sqrt(1 / 0.001)))
    np.testing.assert_allclose(algorithm.theta, expected, atol=1e-5)


def test_scores_follow_the_samples():
    algorithm = make(variant="exploit", phase_length=1)
    algorithm.ask()
    algorithm.tell(made_up([1.0], [[0.05]]))
    start = algorithm.discovered[0]
    algorithm.ask()
    algorithm.tell(made_up([0, 1, 2, 3, 4, 5, 6, 70], np.zeros((8, 1))))
    algorithm.ask()
    algorithm.tell(made_up([2.0], [[0.55]]))
    new = algorithm.discovered[1]
    assert algorithm.scores == {start: 70.0, new: 70.0}  # the start still is its cell's elite


def test_parents_are_chosen_as_often_as_they_should_be():
    algorithm = make()
    algorithm.discovered = list(range(6))
    algorithm.scores = dict(zip(range(6), [5.0, 0.0, 1.0, 3.0, 2.0, 4.0], strict=True))
    algorithm.exploring = False
    chosen = np.bincount([algorithm._choose(np.zeros((6, 1))) for _ in range(4000)], minlength=6) / 4000
    # Half the time the best (0); else the best two of the last three: 5 and 3, as 5 : 4.
    np.testing.assert_allclose(chosen, [0.5, 0, 0, 0.5 * 4 / 9, 0, 0.5 * 5 / 9], atol=0.03)


def test_elites_come_back_with_their_statistics(tmp_path):
    """An elite, evaluated again with its stored statistics and seed, gives what the archive recorded."""
    task = small_task()
    algorithm = MeEs(task, MeEsSettings(batch_size=8, phase_length=2, obs_probability=0.5), np.random.SeedSequence(0))
    recorded = {}
    with gaits.LocalEvaluator(task, workers=2) as evaluator:
        search = Search(algorithm, evaluator, seed_key=3)
        for _ in range(6):
            done = search.iterate()
            last = search.counters.episodes - 1
            recorded[done.insertions[-1].objective[0]] = int(episode_seeds(3, last, 1)[0])
        elites = algorithm.archive.data()
        changed = 0
        for i, objective in enumerate(elites["objective"]):
            if objective in recorded:
                again = evaluator.evaluate(
                    elites["solution"][i : i + 1],
                    [recorded[objective]],
                    obs_mean=elites["obs_mean"][i],
                    obs_std=elites["obs_std"][i],
                )
                assert again.objective[0] == objective
                np.testing.assert_array_equal(again.measures[0], elites["measures"][i])
                changed += np.any(elites["obs_mean"][i] != 0)
    assert changed > 0


def test_statistics_are_saved_with_the_archive(tmp_path):
    run = gaits.train(small_task(), "me_es", evaluations=48, seed=1, out=tmp_path / "run", batch_size=8, obs_probability=0.5)
    data = gaits.load_archive(run.folder).data()
    assert data["obs_mean"].shape == (len(data["objective"]), 15)
    assert (data["obs_std"] >= 0.1).all()
    last = run.metrics.iloc[-1]
    assert last["episodes"] == last["evaluations"] + 7  # φ0 and six stepped solutions did not count


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"batch_size": 5}, "must be even"),
        ({"obs_probability": 2}, "from 0 to 1"),
        ({"l2_coefficient": -1}, "l2_coefficient must be"),
        ({"neighbors": 0}, "neighbors must be"),
    ],
)
def test_impossible_settings(settings, message):
    with pytest.raises(ValueError, match=message):
        MeEsSettings(**settings)
