"""ME-ES against a transcription of its rules in plain Python, and each rule against values worked out by hand."""

from __future__ import annotations

import copy
import dataclasses

import numpy as np
import pytest
from conformance.algorithm import AlgorithmSuite, made_up, small_task

import gaits
from gaits.algorithms.me_es import MeEs, MeEsSettings, RunningStatistics, explore_probabilities, novelty, recent_best
from gaits.evaluation.results import Transitions
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


class Drawn:
    """A random generator that remembers how likely each choice was."""

    def __init__(self, rng):
        self.rng, self.likely = copy.deepcopy(rng), []

    def choice(self, options, p):
        self.likely.append(np.asarray(p))
        return self.rng.choice(options, p=p)

    def __getattr__(self, name):
        return getattr(self.rng, name)


@dataclasses.dataclass
class Cell:
    """An elite, and the best return among the samples that led to it or started from it."""

    objective: float
    measures: np.ndarray
    solution: np.ndarray
    obs_mean: np.ndarray
    score: float


class Transcription:
    """The rules one by one: float64, lists, loops; a dictionary, in order of discovery, for the archive."""

    def __init__(self, algorithm):
        self.settings, self.half = algorithm.settings, algorithm.settings.batch_size // 2
        self.index_of, self.rng = algorithm.archive.index_of_single, Drawn(algorithm.rng)
        self.theta, self.start = algorithm.theta.copy(), None
        self.cells: dict[int, Cell] = {}
        self.seen, self.exploring, self.iteration = [], True, 0
        self.total, self.squares, self.count = np.zeros(15), np.full(15, 0.01), 0.01

    def obs_mean(self):
        return self.total / self.count

    def obs_std(self):
        return np.sqrt(np.maximum(self.squares / self.count - self.obs_mean() ** 2, 0.01))

    def novelty(self, point, seen, drop_itself):
        distances = sorted(sum((point - other) ** 2) for other in seen)
        if drop_itself and distances[0] == 0:
            distances = distances[1:]
        return np.mean(distances[: self.settings.neighbors])

    def parent(self):
        """Position among the cells, in order of discovery."""
        cells, n = list(self.cells.values()), len(self.cells)
        if self.exploring:
            novelties = [self.novelty(cell.measures, self.seen[:-1], True) for cell in cells]
            top = sorted(range(n), key=lambda i: -novelties[i])[:5]
            share = sum(novelties[i] for i in top)
            return self.rng.choice(n, p=[0.1 / n + (0.9 * novelties[i] / share if i in top else 0) for i in range(n)])
        scores = [cell.score for cell in cells]
        if n < 5 or self.rng.random() < 0.5:
            return scores.index(max(scores))
        two = sorted(range(max(n // 2, n - 5), n), key=lambda i: -scores[i])[:2]
        weights = [scores[i] - min(scores) + 1 for i in two]
        return self.rng.choice(two, p=[w / sum(weights) for w in weights])

    def ask(self):
        """The samples, and from which of them observations are collected."""
        if self.iteration % self.settings.phase_length == 0:
            self.exploring = not self.exploring
            parent = list(self.cells.values())[self.parent()]
            self.theta, self.start = parent.solution.astype(float), parent.measures
            self.m, self.v, self.t = 0.0, 0.0, 0
        self.iteration += 1
        self.noise = self.rng.standard_normal((self.half, self.theta.size), np.float32)
        collected = [False] * self.half + [self.rng.random() < self.settings.obs_probability for _ in range(self.half)]
        steps = self.settings.sigma * self.noise
        return [self.theta + e for e in steps] + [self.theta - e for e in steps], collected

    def step(self, objective, measures, failed):
        n = 2 * self.half
        score = [self.novelty(m, self.seen, False) for m in measures] if self.exploring else objective
        order = sorted(range(n), key=lambda i: (not failed[i], 0.0 if failed[i] else score[i]))
        rank = {i: position / (n - 1) - 0.5 for position, i in enumerate(order)}
        ascent = sum((rank[i] - rank[self.half + i]) * self.noise[i].astype(float) for i in range(self.half)) / self.half
        gradient = self.settings.l2_coefficient * self.theta - ascent
        self.t += 1
        self.m = 0.9 * self.m + 0.1 * gradient
        self.v = 0.999 * self.v + 0.001 * gradient**2
        rate = self.settings.learning_rate * np.sqrt(1 - 0.999**self.t) / (1 - 0.9**self.t)
        self.theta = self.theta - rate * self.m / (np.sqrt(self.v) + 1e-8)
        self.best = max(f for f, bad in zip(objective, failed, strict=True) if not bad)

    def insert(self, objective, measures, failed, best):
        index = self.index_of(measures)
        if not failed and (index not in self.cells or objective > self.cells[index].objective):
            self.cells[index] = Cell(objective, measures, np.float32(self.theta), self.obs_mean(), best)
        if self.start is not None:
            cell = self.cells.get(self.index_of(self.start))
            if cell and np.array_equal(cell.measures, self.start):
                cell.score = best
        self.seen.append(measures)
        self.start = measures

    def collect(self, episodes):
        for obs in (obs for episode in episodes for obs in episode):
            self.total, self.squares, self.count = self.total + obs, self.squares + obs**2, self.count + 1


def played(rng, collected):
    """Two steps for each collected sample: all their observations, and the same as transitions."""
    which = np.flatnonzero(collected)
    obs = rng.normal(size=(len(which), 3, 15)).astype(np.float32)
    last, fell = np.tile([False, True], len(which)), np.repeat(which % 2 == 0, 2)
    before, after = obs[:, :-1].reshape(-1, 15), obs[:, 1:].reshape(-1, 15)
    nothing = np.zeros(len(last))
    return obs, Transitions(before, nothing[:, None], nothing, after, last & fell, last & ~fell, np.repeat(which, 2))


def test_iterations_equal_the_transcription():
    task = small_task(grid=(12,))  # few cells, so that elites are met and replaced
    settings = MeEsSettings(batch_size=8, phase_length=3, neighbors=3, obs_probability=0.3)
    algorithm, rng = MeEs(task, settings, np.random.SeedSequence(0)), np.random.default_rng(0)
    slow = Transcription(algorithm)
    algorithm.rng = algorithm.normals.rng = Drawn(algorithm.rng)
    close = {"rtol": 1e-5, "atol": 1e-6}

    algorithm.ask()
    first = made_up([0.5], [[0.5]])
    algorithm.tell(first)
    slow.insert(0.5, first.measures[0], False, best=0.5)
    for _ in range(45):
        batch, (samples, collected) = algorithm.ask(), slow.ask()
        np.testing.assert_allclose(batch.solutions, samples, **close)
        np.testing.assert_array_equal(batch.transitions, collected)
        np.testing.assert_allclose(batch.obs_mean, slow.obs_mean(), **close)
        np.testing.assert_allclose(batch.obs_std, slow.obs_std(), **close)
        assert algorithm.exploring == slow.exploring
        told = made_up(rng.normal(size=8), rng.random((8, 1)), rng.random(8) < 0.2)
        observations, transitions = played(rng, collected)
        algorithm.tell(dataclasses.replace(told, transitions=transitions))
        slow.step(told.objective, told.measures, told.failed)
        np.testing.assert_allclose(algorithm.theta, slow.theta, **close)

        assert len(algorithm.ask().solutions) == 1
        told = made_up(rng.normal(size=1), rng.random((1, 1)), rng.random(1) < 0.1)
        algorithm.tell(told)
        slow.insert(told.objective[0], told.measures[0], told.failed[0], slow.best)
        slow.collect(observations)
        assert algorithm.discovered == list(slow.cells)
        assert algorithm.scores == {index: cell.score for index, cell in slow.cells.items()}
    elites = algorithm.archive.data()
    for row, index in enumerate(elites["index"]):
        assert elites["objective"][row] == slow.cells[index].objective
        np.testing.assert_allclose(elites["solution"][row], slow.cells[index].solution, **close)
        np.testing.assert_allclose(elites["obs_mean"][row], slow.cells[index].obs_mean, **close)
    for fast, by_hand in zip(algorithm.rng.likely, slow.rng.likely, strict=True):
        np.testing.assert_allclose(fast, by_hand, rtol=1e-9)


@pytest.mark.parametrize("variant", ["explore", "exploit"])
def test_failed_samples_rank_last(variant):
    """Whatever they returned and wherever they ended: as if they had been the worst of all."""
    stepped = []
    for objective, measure, failed in ((99.0, 0.99, True), (-99.0, 0.5, False)):
        algorithm = make(variant=variant)
        algorithm.ask()
        algorithm.tell(made_up([1.0], [[0.5]]))
        algorithm.ask()
        measures = np.linspace(0.6, 0.9, 8)[:, None]
        measures[3] = measure
        objectives = np.where(np.arange(8) == 3, objective, np.arange(8))
        algorithm.tell(made_up(objectives, measures, (np.arange(8) == 3) & failed))
        stepped.append(algorithm.theta.copy())
    np.testing.assert_array_equal(*stepped)


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
