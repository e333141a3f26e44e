"""Every algorithm learns: on a small task, its archive becomes much better than its first batch."""

from __future__ import annotations

import pytest
from conformance.algorithm import small_task

import gaits
from gaits.algorithms import ALGORITHMS

SETTINGS = {"map_elites": {"sigma": 0.1}}
EVALUATIONS = 3000


@pytest.mark.parametrize("name", ALGORITHMS)
def test_it_learns(name, tmp_path):
    task = small_task(max_steps=150)
    metrics = gaits.train(task, name, evaluations=EVALUATIONS, out=tmp_path / "run", **SETTINGS.get(name, {})).metrics
    first, last = metrics.iloc[0], metrics.iloc[-1]
    assert last["qd_score"] > 1.5 * first["qd_score"]
    assert last["objective_max"] > 1.5 * first["objective_max"]
    assert last["coverage"] > first["coverage"]
