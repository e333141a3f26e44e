"""Every elite can be played again: its seed is stored with it, and gives its objective and measures to the last bit."""

from __future__ import annotations

import json

import numpy as np
import own_tasks
import pytest
from helpers import unbind

import gaits
from gaits.archives import NO_SEED, NOT_ADDED

CRITIC = {"critic_steps": 10, "critic_hidden": (16,), "critic_batch": 32, "buffer_size": 2000}
MEGA = {"batch_size": 12, "es_samples": 10, "gradient_states": 64, **CRITIC}
MEASURES = {"batch_size": 12, "measure_steps": 5, "climb_steps": 3, "climb_batch": 16, **CRITIC}
PGA = {"batch_size": 12, "pg_batch": 16, **CRITIC}
RUNS = {
    "map_elites": ("map_elites", {"batch_size": 20, "sigma": 0.2}, 60),
    "map_elites_line": ("map_elites_line", {"batch_size": 20, "iso_sigma": 0.2}, 60),
    "sep_cma_mae": ("sep_cma_mae", {"batch_size": 20, "emitters": 2, "sigma0": 0.2}, 60),
    "cma_mega_es": ("cma_mega_es", {"batch_size": 12, "es_samples": 10}, 110),
    "cma_maega_es": ("cma_maega_es", {"batch_size": 12, "es_samples": 10}, 110),
    "cma_mega": ("cma_mega", {"batch_size": 12}, 60),
    "cma_maega": ("cma_maega", {"batch_size": 12}, 60),
    "cma_mega_td3_es overlap": ("cma_mega_td3_es", {**MEGA, "td3_schedule": "overlap"}, 110),
    "cma_mega_td3_es paper": ("cma_mega_td3_es", {**MEGA, "td3_schedule": "paper"}, 110),
    "cma_maega_td3_es overlap": ("cma_maega_td3_es", {**MEGA, "td3_schedule": "overlap"}, 110),
    "cma_maega_td3_es paper": ("cma_maega_td3_es", {**MEGA, "td3_schedule": "paper"}, 110),
    "cma_mega_td3 overlap": ("cma_mega_td3", {**MEASURES, "td3_schedule": "overlap"}, 60),
    "cma_mega_td3 paper": ("cma_mega_td3", {**MEASURES, "td3_schedule": "paper"}, 60),
    "cma_maega_td3 overlap": ("cma_maega_td3", {**MEASURES, "td3_schedule": "overlap"}, 60),
    "cma_maega_td3 paper": ("cma_maega_td3", {**MEASURES, "td3_schedule": "paper"}, 60),
    "pga_me overlap": ("pga_me", {**PGA, "td3_schedule": "overlap"}, 60),
    "pga_me paper": ("pga_me", {**PGA, "td3_schedule": "paper"}, 60),
    "pga_budget overlap": ("pga_budget", {**PGA, "pg_steps": 5, "td3_schedule": "overlap"}, 60),
    "pga_budget paper": ("pga_budget", {**PGA, "pg_steps": 5, "td3_schedule": "paper"}, 60),
    "dcrl_me overlap": ("dcrl_me", {**PGA, "pg_steps": 5, "td3_schedule": "overlap"}, 60),
    "dcrl_me paper": ("dcrl_me", {**PGA, "pg_steps": 5, "td3_schedule": "paper"}, 60),
    "me_es": ("me_es", {"batch_size": 10, "sigma": 0.2, "obs_probability": 0.3, "phase_length": 3}, 120),
}


def hopper(**changes):
    return gaits.make_task("qd_hopper", **{"hidden": (8,), "max_steps": 60, "grid": (256,), **changes})


def assert_replays(run):
    """All elites, and all that was ever accepted as far as the archive still has it."""
    data, history = run.archive.data(), run.history
    assert len(data["seed"]) > 3
    assert (data["seed"] != NO_SEED).all()
    statistics = {name: data[name] for name in ("obs_mean", "obs_std") if name in data}
    with gaits.LocalEvaluator(run.task, workers=2) as evaluator:
        results = evaluator.evaluate(data["solution"], data["seed"], **statistics)
    np.testing.assert_array_equal(results.objective, data["objective"])
    np.testing.assert_array_equal(results.measures, data["measures"])
    last = {cell: i for i, cell in enumerate(history["cell"].tolist()) if history["status"][i] != NOT_ADDED}
    rows = [last[cell] for cell in data["index"].tolist()]
    np.testing.assert_array_equal(history["seed"][rows], data["seed"])
    assert len(np.unique(history["seed"])) == len(history["seed"])


def test_no_algorithm_and_no_schedule_is_forgotten():
    played = {(algorithm, settings.get("td3_schedule")) for algorithm, settings, _ in RUNS.values()}
    for name, entry in gaits.ALGORITHMS.items():
        learns = hasattr(entry.settings, "td3_schedule")
        assert {schedule for algorithm, schedule in played if algorithm == name} == (
            {"overlap", "paper"} if learns else {None}
        )


@pytest.mark.parametrize("name", RUNS)
def test_every_algorithm(name, tmp_path):
    algorithm, settings, evaluations = RUNS[name]
    task = gaits.make_task("lp_sphere") if algorithm in ("cma_mega", "cma_maega") else hopper()  # exact gradients
    assert_replays(gaits.train(task, algorithm, evaluations=evaluations, out=tmp_path / "run", **settings))


def test_mujoco(tmp_path):
    pytest.importorskip("mujoco", reason="needs gaits[mujoco]")
    task = gaits.make_task("mj_hopper", hidden=(8,), max_steps=60)
    assert_replays(gaits.train(task, "map_elites", evaluations=40, batch_size=20, out=tmp_path / "run"))


def test_a_task_of_ones_own_and_another_archive(tmp_path):
    task = own_tasks.point(archive="cvt", cells=30)
    try:
        assert_replays(gaits.train(task, "map_elites", evaluations=40, batch_size=20, workers=1, out=tmp_path / "run"))
    finally:
        gaits.TASKS.pop(task.name)


def test_seeds_survive_resuming(tmp_path):
    options = {"out": tmp_path / "run", "batch_size": 20}
    gaits.train(hopper(), "map_elites", evaluations=20, **options)
    assert_replays(gaits.resume(tmp_path / "run", evaluations=60))


def test_a_run_written_before_seeds_were_kept_is_read(tmp_path, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr("gaits.algorithms.map_elites.SEED", {})  # such an archive, and such a checkpoint
        gaits.train(hopper(), "map_elites", evaluations=20, batch_size=20, out=tmp_path / "run")
    folder = tmp_path / "run"
    with np.load(folder / "history.npz") as file:
        arrays = {name: file[name] for name in file.files if name != "seed"}
    np.savez(folder / "history.npz", **arrays)
    unbind(folder)
    run = gaits.load_run(folder)
    assert "seed" not in run.archive.data()
    assert (run.history["seed"] == NO_SEED).all()


def test_a_config_written_before_is_still_read(tmp_path):
    """Files never named what kind of problem a task has, so nothing about them changed."""
    run = gaits.train(hopper(), "map_elites", evaluations=20, batch_size=20, out=tmp_path / "run")
    fields = json.loads((run.folder / "config.json").read_text())["task_fields"]
    assert set(fields) == {"grid", "objective_range", "max_steps", "hidden", "archive", "cells"}
