from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from conformance.algorithm import AlgorithmSuite, made_up, small_task

from gaits.algorithms.map_elites import MapElites, MapElitesLine, MapElitesLineSettings, MapElitesSettings


class TestConformance(AlgorithmSuite):
    name = "map_elites"
    settings = {"batch_size": 16}  # noqa: RUF012


class TestLineConformance(AlgorithmSuite):
    name = "map_elites_line"
    settings = {"batch_size": 16}  # noqa: RUF012


def test_children_of_a_line_lie_on_it():
    """Without noise on the parameters, a child of x and y is x + s (y - x), with one s of N(0, σ_2²) for all of them."""
    settings = MapElitesLineSettings(batch_size=400, iso_sigma=1e-9, line_sigma=0.3)
    algorithm = MapElitesLine(small_task(), settings, np.random.SeedSequence(0))
    dim = algorithm.ask().solutions.shape[1]
    x, y = np.random.default_rng(0).standard_normal((2, dim)).astype(np.float32)
    algorithm.archive.add([x, y], [1.0, 1.0], [[0.1], [0.9]], seed=[0, 0])
    steps = (algorithm.ask().solutions - x) @ (y - x) / ((y - x) @ (y - x))  # 0 + s, or 1 - s
    found = x + steps[:, None] * (y - x)
    np.testing.assert_allclose(algorithm.solutions, found, atol=1e-4)
    crossed = np.minimum(np.abs(steps), np.abs(1 - steps)) > 1e-6
    assert 0.4 < crossed.mean() < 0.6  # half of the pairs are one elite twice
    assert np.std(np.where(steps < 0.5, steps, 1 - steps)[crossed]) == pytest.approx(0.3, rel=0.25)


def make(**settings):
    return MapElites(small_task(), MapElitesSettings(**settings), np.random.SeedSequence(0))


def test_first_batch_is_noise_around_one_network():
    """FACTS B5: iteration 1 is φ0 + N(0, 0.02² I)."""
    solutions = make().ask().solutions
    assert solutions.shape[0] == 100
    noise = solutions - solutions.mean(axis=0)
    assert noise.std() == pytest.approx(0.02, rel=0.03)


def test_later_batches_are_noise_around_elites():
    algorithm = make(batch_size=50, sigma=1e-4)
    first = algorithm.ask().solutions
    algorithm.tell(made_up(np.arange(50), np.linspace(0, 1, 50)[:, None]))
    elites = algorithm.archive.data("solution")
    assert len(elites) == 50
    children = algorithm.ask().solutions
    distance = np.abs(children[:, None] - first[None]).max(axis=2).min(axis=1)
    assert distance.max() < 1e-3


def test_failed_evaluations_are_not_inserted():
    algorithm = make(batch_size=4)
    algorithm.ask()
    told = made_up([1, 2, 3, 4], [[0.1], [0.3], [0.5], [0.7]])
    done = algorithm.tell(dataclasses.replace(told, failed=np.array([False, True, False, False])))
    assert len(algorithm.archive) == 3
    np.testing.assert_array_equal(done.insertions[0].status, [2, 0, 2, 2])


@pytest.mark.parametrize("settings", [{"sigma": 0}, {"sigma": float("nan")}, {"batch_size": 0}, {"batch_size": True}])
def test_impossible_settings(settings):
    with pytest.raises(ValueError, match=r"must be a (number above 0|whole number of at least 1); got "):
        MapElitesSettings(**settings)
