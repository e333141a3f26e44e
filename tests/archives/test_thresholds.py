"""CMA-MAE's archive: its thresholds against a slow transcription of the rule, and what failed stays out."""

from __future__ import annotations

import numpy as np
import pytest
from conformance.algorithm import small_task

from gaits.archives import AnnealingSettings, anneal, make_annealed


def plainly(thresholds, cells, objective, rate, low):
    """The batch rule: n solutions above the threshold move it as if their mean had been accepted n times."""
    status, value = [], []
    for cell, f in zip(cells, objective, strict=True):
        t = thresholds.get(cell, low)
        status.append(0 if f <= t else 1 if cell in thresholds else 2)
        value.append(f - t)
    after = dict(thresholds)
    for cell in set(cells):
        t = thresholds.get(cell, low)
        accepted = [f for c, f in zip(cells, objective, strict=True) if c == cell and f > t]
        if accepted:
            mean = sum(accepted) / len(accepted)
            for _ in accepted:
                t = (1 - rate) * t + rate * mean
            after[cell] = t
    return after, status, value


@pytest.mark.parametrize("rate", [0.0, 0.01, 0.5, 1.0])
@pytest.mark.parametrize("kind", [{"grid": (4,)}, {"archive": "cvt", "cells": 4}])
def test_thresholds_follow_what_is_accepted(rate, kind):
    task = small_task(objective_range=(-5.0, 100.0), **kind)
    archive = make_annealed(task, AnnealingSettings(rate), seed=1)
    rng, thresholds = np.random.default_rng(0), {}
    for _ in range(8):
        objective, measures = rng.normal(0, 5, 20), rng.random((20, 1))
        cells = archive.index_of(measures).tolist()
        thresholds, status, value = plainly(thresholds, cells, objective.tolist(), rate, -5.0)
        told = anneal(archive, np.zeros((20, task.solution_dim), np.float32), objective, measures, np.zeros(20, bool))
        np.testing.assert_array_equal(told["status"], status)
        np.testing.assert_allclose(told["value"], value, rtol=1e-12, atol=1e-12)
        data = archive.data()
        found = dict(zip(data["index"].tolist(), data["threshold"].tolist(), strict=True))
        assert found.keys() == thresholds.keys()
        np.testing.assert_allclose([found[cell] for cell in thresholds], list(thresholds.values()), rtol=1e-12)


def test_failed_ones_are_not_offered_and_rank_last():
    """Also below one that is refused, which is below the threshold of its cell."""
    task = small_task(grid=(4,))
    archive = make_annealed(task, AnnealingSettings(), seed=1)
    solutions, measures = np.zeros((3, task.solution_dim), np.float32), np.array([[0.1], [0.4], [0.9]])
    told = anneal(archive, solutions, np.array([1e6, 3.0, -1e6]), measures, np.array([True, False, False]))
    assert told["status"].tolist() == [0, 2, 0]
    assert told["value"].argsort().tolist() == [0, 2, 1]
    assert len(archive) == 1
    assert anneal(archive, solutions, np.zeros(3), measures, np.ones(3, bool))["status"].tolist() == [0, 0, 0]


@pytest.mark.parametrize("rate", [-0.1, 1.1, float("nan"), True])
def test_impossible_rates(rate):
    with pytest.raises(ValueError, match="archive_learning_rate must be a number from 0"):
        AnnealingSettings(rate)
