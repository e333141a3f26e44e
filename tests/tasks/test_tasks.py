from __future__ import annotations

import dataclasses
import math

import pytest
from helpers import ROBOTS

import gaits

# Table "environments" of the paper, and the constants of its released code.
PAPER = {
    "qd_ant": (28, 8, 4, (6, 6, 6, 6), 1296, -374.702526595403, 2500),
    "qd_half_cheetah": (26, 6, 2, (32, 32), 1024, -2797.5195251991777, 3000),
    "qd_hopper": (15, 3, 1, (1024,), 1024, -362.0897231940748, 2500),
    "qd_walker": (22, 6, 2, (32, 32), 1024, -67.16652198025106, 2500),
}


@pytest.mark.parametrize("name", PAPER)
def test_the_papers_table(name):
    task = gaits.make_task(name)
    obs_dim, action_dim, k, grid, cells, low, high = PAPER[name]
    assert (task.obs_dim, task.action_dim, len(task.measure_names)) == (obs_dim, action_dim, k)
    assert (task.grid, math.prod(task.grid)) == (grid, cells)
    assert task.objective_range == (low, high)
    assert task.max_steps == 1000


@pytest.mark.parametrize("task", [gaits.make_task(name) for name in ROBOTS], ids=ROBOTS)
def test_records_are_consistent(task):
    robot = task.robot
    assert len(robot.joints) == len(robot.torques) == task.action_dim
    assert len(robot.measured_feet) == len(task.measure_names)
    assert task.obs_dim == 8 + 2 * task.action_dim + len(robot.feet)
    with pytest.raises(dataclasses.FrozenInstanceError):
        task.name = "other"


def test_torques():
    assert gaits.make_task("qd_half_cheetah").robot.torques == pytest.approx((108, 81, 54, 126, 54, 27))
    assert gaits.make_task("qd_walker").robot.torques == pytest.approx((40, 40, 12, 40, 40, 12))


def test_overrides():
    task = gaits.make_task("qd_hopper", grid=[1000], objective_range=(0, 1), hidden=[64])
    assert (task.grid, task.objective_range, task.hidden) == ((1000,), (0, 1), (64,))
    assert task.solution_dim == 64 * 16 + 3 * 65
    assert gaits.make_task("qd_hopper").grid == (1024,)


def test_the_archive_is_a_choice():
    task = gaits.make_task("qd_walker")
    assert (task.archive, task.cells, task.total_cells) == ("grid", None, 1024)
    cvt = task.with_(archive="cvt", cells=100)
    assert (cvt.cells, cvt.total_cells) == (100, 100)
    assert task.with_(archive="cvt").cells == 1024  # as many as the grid has
    assert cvt.with_(archive="grid") == task
    assert len({task, cvt}) == 2


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"grid": (32, 32)}, r"has 1 measure\(s\)"),
        ({"grid": (0,)}, "positive whole"),
        ({"grid": (2.5,)}, "positive whole"),
        ({"objective_range": (1, 1)}, "min < max"),
        ({"objective_range": (0, math.inf)}, "finite"),
        ({"max_steps": 0}, "max_steps must be a whole number of at least 1; got 0"),
        ({"max_steps": 1.5}, "max_steps must be"),
        ({"hidden": (-1,)}, "hidden layer's size must be"),
        ({"archive": "ctv"}, "No archive with fixed cells is called 'ctv'. Did you mean 'cvt'"),
        ({"archive": "sliding_boundaries"}, "No archive with fixed cells is called 'sliding_boundaries'"),
        ({"archive": "cvt", "cells": 0}, "cells must be a whole number of at least 1; got 0"),
        ({"archive": "cvt", "cells": -3}, "cells must be a whole number of at least 1; got -3"),
        ({"archive": "cvt", "cells": 1.5}, "cells must be a whole number of at least 1; got 1.5"),
        ({"archive": "cvt", "cells": 50_001}, "50,000 cells at most; got 50,001"),
        ({"archive": "cvt", "grid": (10**9,)}, "50,000 cells at most; got 1,000,000,000"),
        ({"cells": 64}, "cells=64 is for archive cvt"),
    ],
)
def test_impossible_overrides(changes, message):
    with pytest.raises(ValueError, match=message):
        gaits.make_task("qd_hopper", **changes)


@pytest.mark.parametrize(
    ("typo", "meant"),
    [("qd_hoper", "qd_hopper"), ("hopper", "qd_hopper"), ("QD-Ant", "qd_ant"), ("cheetah", "qd_half_cheetah")],
)
def test_a_typo_suggests_the_nearest(typo, meant):
    with pytest.raises(ValueError, match=f"No task is called '{typo}'. Did you mean '{meant}'"):
        gaits.make_task(typo)
