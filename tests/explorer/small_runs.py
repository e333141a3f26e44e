"""Runs small enough to train in a second, one of each kind that the explorer shows."""

from __future__ import annotations

from pathlib import Path

import own_tasks
from synthetic import make_run

import gaits
from gaits.explorer.records import Record, make_records

HOPPER = gaits.make_task("qd_hopper", hidden=(8,), grid=(64,), max_steps=150)
WALKER = gaits.make_task("qd_walker", hidden=(8,), grid=(8, 8), max_steps=60)
ANT = gaits.make_task("qd_ant", hidden=(8,), grid=(2, 3, 2, 3), max_steps=40)


_made: list[Record] = []


def make_small_runs(factory) -> list[Record]:
    """Hopper with robustness, ME-ES on Walker, Ant, and a function; made once per session."""
    if _made:
        return _made
    folder: Path = factory.mktemp("runs")
    hopper = gaits.train(HOPPER, "map_elites", evaluations=60, batch_size=20, sigma=0.3, out=folder / "hopper", workers=1)
    walker = gaits.train(WALKER, "me_es", evaluations=40, batch_size=10, sigma=0.3, out=folder / "walker", workers=1)
    ant = gaits.train(ANT, "map_elites", evaluations=40, batch_size=20, sigma=0.3, out=folder / "ant", workers=1)
    sphere = gaits.train("lp_sphere", "map_elites", evaluations=200, out=folder / "sphere")
    gaits.evaluate_run(hopper, episodes=2, workers=1)
    _made.extend(make_records([hopper, walker, ant, sphere]))
    return _made


def make_other_runs(folder: Path) -> list[Record]:
    """A robot of MuJoCo's, and an environment that draws itself, whose policies do nothing."""
    walker = gaits.make_task("mj_walker", hidden=(8,), grid=(8, 8), max_steps=80)
    run = gaits.train(walker, "map_elites", evaluations=40, batch_size=20, sigma=0.3, out=folder / "mujoco", workers=1)
    return make_records([run, make_run(folder / "drawn", gaits.register_task(own_tasks.drawn()), "map_elites")])


def make_conditioned_run(folder: Path) -> Record:
    """A run with a policy that takes measures."""
    settings = {"batch_size": 8, "critic_steps": 3, "critic_batch": 16, "critic_hidden": (8,), "pg_steps": 2, "pg_batch": 8}
    return make_records([gaits.train(WALKER, "dcrl_me", evaluations=24, out=folder, workers=1, **settings)])[0]


def make_centroid_run(folder: Path) -> Record:
    """A run whose archive has centroids instead of a grid; its policies do nothing."""
    task = gaits.make_task("qd_walker", hidden=(4,), archive="cvt", cells=48, max_steps=40)
    run = make_run(folder, task, "map_elites")
    return make_records([run])[0]
