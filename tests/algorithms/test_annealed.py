"""CMA-MAEGA and sep-CMA-MAE: what searches is the annealed archive, what is kept is the best of every cell."""

from __future__ import annotations

import math

import numpy as np
import pytest
from conformance.algorithm import AlgorithmSuite, made_up, small_task

from gaits.algorithms import ALGORITHMS

CRITIC = {"critic_steps": 3, "critic_hidden": (8,), "critic_batch": 16}


class TestSepCmaMae(AlgorithmSuite):
    name = "sep_cma_mae"
    settings = {"batch_size": 20, "emitters": 2, "archive_learning_rate": 0.1}  # noqa: RUF012


class TestCmaMaegaEs(AlgorithmSuite):
    name = "cma_maega_es"
    settings = {"batch_size": 8, "es_samples": 8, "archive_learning_rate": 0.1}  # noqa: RUF012


class TestCmaMaegaTd3Es(AlgorithmSuite):
    name = "cma_maega_td3_es"
    settings = {"batch_size": 8, "es_samples": 8, "gradient_states": 64, **CRITIC}  # noqa: RUF012


class TestCmaMaegaTd3(AlgorithmSuite):
    name = "cma_maega_td3"
    settings = {"batch_size": 8, "measure_steps": 3, "climb_steps": 2, "climb_batch": 8, **CRITIC}  # noqa: RUF012


def make(name, **settings):
    entry = ALGORITHMS[name]
    return entry.make(small_task(), entry.settings(**settings), np.random.SeedSequence(0))


@pytest.mark.parametrize("name", [name for name in ALGORITHMS if name.startswith("cma_maega_")])
def test_the_search_goes_by_the_annealed_archive(name):
    algorithm = make(name, archive_learning_rate=0.3)
    assert algorithm.emitter.archive is algorithm.annealed
    assert algorithm.annealed.learning_rate == 0.3
    assert algorithm.emitter._restart_rule == "basic"


def test_emitters_of_sep_cma_mae_begin_again_at_what_searches():
    algorithm = make("sep_cma_mae", emitters=2)
    assert all(emitter.archive is algorithm.annealed for emitter in algorithm.emitters)


@pytest.mark.parametrize("name", ["sep_cma_mae", "cma_maega_es"])
def test_the_results_are_the_best_of_every_cell(name):
    """Whatever the annealed archive holds by then, whose elites may become worse."""
    algorithm, rng, best = make(name, archive_learning_rate=0.01), np.random.default_rng(0), {}
    for _ in range(12):
        n = len(algorithm.ask())
        results = made_up(rng.normal(0, 100, n), rng.random((n, 1)))
        done = algorithm.tell(results)
        for inserted in done.insertions if done else []:
            for cell, objective in zip(inserted.cell.tolist(), inserted.objective.tolist(), strict=True):
                best[cell] = max(objective, best.get(cell, -math.inf))
    data = algorithm.archive.data()
    assert dict(zip(data["index"].tolist(), data["objective"].tolist(), strict=True)) == best
    searched = algorithm.annealed.data()
    assert any(f < best[cell] for cell, f in zip(searched["index"].tolist(), searched["objective"].tolist(), strict=True))


def test_a_step_of_separable_cma_es_plainly():
    """Mean, paths, variances and step size after one iteration, by the equations in order, one parameter at a time."""
    sigma, n_parents = 0.3, 5
    algorithm = make("sep_cma_mae", batch_size=10, emitters=1, sigma0=sigma)
    solutions = algorithm.ask().solutions.astype(float)
    dim, old = solutions.shape[1], algorithm.emitters[0]._opt.mean.astype(float)
    objective = np.random.default_rng(1).normal(0, 10, 10)
    algorithm.tell(made_up(objective, np.linspace(0, 1, 10)[:, None]))  # all in cells of their own: by objective
    weights = [math.log(n_parents + 0.5) - math.log(i) for i in range(1, n_parents + 1)]
    weights = [w / sum(weights) for w in weights]
    mu_eff = 1 / sum(w * w for w in weights)
    c_s = (mu_eff + 2) / (dim + mu_eff + 5)
    c_c = (1 + 1 / dim + mu_eff / dim) / (dim**0.5 + 1 / dim + 2 * mu_eff / dim)
    c_1 = 2 / ((dim + 1.3) ** 2 + mu_eff) / (dim + 2 * dim**0.5 + mu_eff / dim)
    c_mu = min(1 - c_1, (mu_eff + 1 / mu_eff - 2) / (dim + 4 * dim**0.5 + mu_eff / 2))
    damping = 1 + 2 * max(0, math.sqrt((mu_eff - 1) / (dim + 1)) - 1) + c_s
    parents = solutions[np.argsort(-objective)[:n_parents]]
    mean, p_s, p_c, variance = np.zeros((4, dim))
    for j in range(dim):
        mean[j] = sum(w * parent[j] for w, parent in zip(weights, parents, strict=True))
        p_s[j] = math.sqrt(c_s * (2 - c_s) * mu_eff) * (mean[j] - old[j]) / sigma
    h = float((p_s**2).sum() / dim / (1 - (1 - c_s) ** 2) < 2 + 4 / (dim + 1))
    for j in range(dim):
        p_c[j] = h * math.sqrt(c_c * (2 - c_c) * mu_eff) * (mean[j] - old[j])
        spread = sum(w * (parent[j] - old[j]) ** 2 for w, parent in zip(weights, parents, strict=True)) / sigma**2
        # c_1 twice, as in ribs.
        variance[j] = 1 - c_1 * (1 - (1 - h) * c_c * (2 - c_c)) - c_mu + c_1**2 * p_c[j] ** 2 + c_mu * spread
    step = sigma * math.exp(min(1, c_s / damping * ((p_s**2).sum() / dim - 1) / 2))
    es = algorithm.emitters[0]._opt
    np.testing.assert_allclose(es.mean, mean, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(es.ps, p_s, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(es.pc, p_c, rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(es.cov.cov, variance, rtol=1e-5)
    assert es.sigma == pytest.approx(step, rel=1e-5)


def test_a_large_improvement_is_worth_more_than_a_new_cell():
    """Solutions are ranked by how far they are above their cell's threshold, wherever that is."""
    algorithm = make("sep_cma_mae", batch_size=10, emitters=1, sigma0=0.1)
    places = np.linspace(0, 0.4, 10)[:, None]
    algorithm.ask()
    algorithm.tell(made_up(np.arange(10.0), places))
    asked = algorithm.ask().solutions
    algorithm.tell(
        made_up(np.concatenate([np.arange(1000.0, 1005.0), np.arange(5.0)]), np.append(places[:5], places[5:] + 0.5, 0))
    )
    weights = np.log(5.5) - np.log(np.arange(1, 6))
    np.testing.assert_allclose(algorithm.emitters[0]._opt.mean, weights @ asked[4::-1] / weights.sum(), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(("name", "ranker"), [("cma_maega_es", "Improvement"), ("cma_mega_es", "TwoStageImprovement")])
def test_only_plain_archives_rank_new_cells_first(name, ranker):
    assert type(make(name).emitter._ranker).__name__ == f"{ranker}Ranker"


def test_emitters_learn_from_their_own_solutions():
    algorithm = make("sep_cma_mae", batch_size=20, emitters=2, sigma0=0.1)
    asked = algorithm.ask().solutions
    objective = np.concatenate([np.arange(10.0), np.arange(100.0, 110.0)])
    algorithm.tell(made_up(objective, np.linspace(0, 1, 20)[:, None]))
    weights = np.log(5.5) - np.log(np.arange(1, 6))
    for emitter, own in zip(algorithm.emitters, (asked[:10], asked[10:]), strict=True):
        np.testing.assert_allclose(emitter._opt.mean, weights @ own[:4:-1] / weights.sum(), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("settings", [{"batch_size": 201}, {"batch_size": 10, "emitters": 5}])
def test_batches_that_cannot_be_shared(settings):
    with pytest.raises(ValueError, match="batch_size must be a multiple of emitters"):
        make("sep_cma_mae", **settings)
