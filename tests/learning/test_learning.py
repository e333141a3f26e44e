"""Every algorithm learns: on small tasks, its archive becomes much better than it was."""

from __future__ import annotations

import numpy as np
import pytest
from conformance.algorithm import small_task

import gaits
from gaits.algorithms import ALGORITHMS
from gaits.archives import summary
from gaits.evaluation import make_evaluator
from gaits.search import Search
from gaits.tasks.linear_projection import linear_projection

CRITIC = {"critic_steps": 50, "critic_hidden": (32, 32), "critic_batch": 64, "timeout_terminal": False}
HOPPER = {
    "map_elites": ({"sigma": 0.1}, 2000),
    "cma_mega_es": ({"batch_size": 40, "es_samples": 40}, 2000),
    "cma_mega_td3_es": ({"batch_size": 40, "es_samples": 40, **CRITIC}, 2400),
    "pga_me": ({"batch_size": 40, "iso_sigma": 0.05, **CRITIC}, 1500),
    "dcrl_me": ({"batch_size": 40, "iso_sigma": 0.05, "pg_steps": 20, **CRITIC}, 2400),
    "cma_mega_td3": ({"batch_size": 40, "measure_steps": 50, **CRITIC}, 1500),
    "me_es": ({"batch_size": 40, "learning_rate": 0.05}, 2000),
    "map_elites_line": ({"iso_sigma": 0.1}, 2000),
    "sep_cma_mae": ({"batch_size": 100, "sigma0": 0.2}, 2000),
    "cma_maega_es": ({"batch_size": 40, "es_samples": 40}, 2000),
    "cma_maega_td3_es": ({"batch_size": 40, "es_samples": 40, **CRITIC}, 2400),
    "cma_maega_td3": ({"batch_size": 40, "measure_steps": 50, **CRITIC}, 1500),
    "pga_budget": ({"batch_size": 40, "iso_sigma": 0.05, "pg_steps": 20, **CRITIC}, 1500),
}
PROJECTION = ("cma_mega", "cma_maega")


def test_none_is_left_out():
    assert {*HOPPER, *PROJECTION} == set(ALGORITHMS)


@pytest.mark.parametrize("name", HOPPER)
def test_hopping(name, tmp_path):
    settings, evaluations = HOPPER[name]
    task = small_task(max_steps=150)
    metrics = gaits.train(task, name, evaluations=evaluations, out=tmp_path / "run", **settings).metrics
    first, last = metrics.iloc[0], metrics.iloc[-1]
    assert last["qd_score"] > 1.5 * first["qd_score"]
    assert last["objective_max"] > 1.5 * first["objective_max"]
    assert last["coverage"] > first["coverage"]


@pytest.mark.parametrize("luck", [{"challenge": True}, {"reevaluate": 4}])
def test_hopping_against_luck(luck, tmp_path):
    settings, evaluations = HOPPER["dcrl_me"]
    task = small_task(max_steps=150)
    metrics = gaits.train(task, "dcrl_me", evaluations=evaluations, out=tmp_path / "run", **settings, **luck).metrics
    first, last = metrics.iloc[0], metrics.iloc[-1]
    assert last["qd_score"] > 1.5 * first["qd_score"]
    assert last["coverage"] > first["coverage"]


def projection_score(name, iterations, **settings):
    """QD score per cell on a small linear projection; 100 is the most any cell can have."""
    task = linear_projection("sphere", dim=20, cells=20)
    entry = ALGORITHMS[name]
    with make_evaluator(task) as evaluator:
        search = Search(entry.make(task, entry.settings(**settings), np.random.SeedSequence(0)), evaluator, seed_key=0)
        for _ in range(iterations):
            search.iterate()
    return summary(search.algorithm.archive, 0.0)["qd_score"] / search.algorithm.archive.cells


def test_linear_projection():
    """As in the DQD literature: exact gradients, then estimated ones, then none. In full: benchmarks/projection.py."""
    exact = projection_score("cma_mega", 300, batch_size=37, sigma0=5.0)
    annealed = projection_score("cma_maega", 300, batch_size=37, sigma0=5.0)
    few = projection_score("cma_mega_es", 300, batch_size=37, sigma0=5.0, es_samples=20)
    many = projection_score("cma_mega_es", 300, batch_size=37, sigma0=5.0, es_samples=1000)
    mutation = projection_score("map_elites", 300, batch_size=37, sigma=0.5)
    assert exact > 60
    assert annealed > 0.9 * exact
    assert few > 0.6 * exact
    assert many > 0.85 * exact
    assert mutation < 0.6 * exact
