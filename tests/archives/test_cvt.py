"""A CVT archive from the command line to the figures: run, resume, study, evaluate, compare."""

from __future__ import annotations

import json

import numpy as np
import pytest
from conformance.algorithm import assert_same_archive, small_task
from helpers import unbind
from ribs.archives import CVTArchive

import gaits
from gaits import cli

SPHERE = gaits.make_task("lp_sphere", archive="cvt", cells=80)
SMALL = {"map_elites": {"batch_size": 16, "sigma": 0.5}, "cma_mega_es": {"batch_size": 8, "es_samples": 8}}


@pytest.mark.parametrize("algorithm", SMALL)
def test_stop_and_resume_is_never_stopped(tmp_path, algorithm):
    arguments = {"evaluations": 160, "seed": 3, **SMALL[algorithm]}
    expected = gaits.train(SPHERE, algorithm, out=tmp_path / "expected", **arguments)
    gaits.train(SPHERE, algorithm, out=tmp_path / "run", callback=lambda row, _: row["iteration"] == 3, **arguments)
    run = gaits.resume(tmp_path / "run")
    assert_same_archive(run.archive, expected.archive)
    for name, values in expected.history.items():
        np.testing.assert_array_equal(values, run.history[name])
    last = int(run.history["iteration"].max())
    assert sorted(run.archive_at(last).data("index")) == sorted(run.archive.data("index"))


def test_runs_share_their_cells_and_say_so(tmp_path):
    runs = [
        gaits.train(SPHERE, "map_elites", out=tmp_path / str(seed), evaluations=16, seed=seed, **SMALL["map_elites"])
        for seed in (1, 2)
    ]
    first, second = (run.archive for run in runs)
    assert isinstance(first, CVTArchive)
    np.testing.assert_array_equal(first.centroids, second.centroids)
    assert (first.centroids.min(axis=0) < -200).all()  # over the task's own measures
    assert (first.centroids.max(axis=0) > 200).all()
    config = gaits.load_run(tmp_path / "1").config
    assert config.changed_fields == {"archive": "cvt", "cells": 80}
    assert "--archive cvt --cells 80" in config.command
    assert config.make_task() == SPHERE


def test_a_run_from_before_there_was_a_choice(tmp_path):
    expected = gaits.train(small_task(), "map_elites", out=tmp_path / "run", evaluations=32, batch_size=16).archive
    config = json.loads((tmp_path / "run" / "config.json").read_text())
    for field in ("archive", "cells"):
        del config["task_fields"][field]
    (tmp_path / "run" / "config.json").write_text(json.dumps(config))
    unbind(tmp_path / "run")
    assert_same_archive(gaits.load_run(tmp_path / "run").archive, expected)


def test_the_command_line_from_a_run_to_a_report(tmp_path, capsys):
    run, out = tmp_path / "run", tmp_path / "comparison"
    command = ["train", "qd_walker", "map_elites", "--archive", "cvt", "--cells", "30", "--batch-size", "8"]
    small = ["--hidden", "4", "--max-steps", "40", "--out", str(run)]
    assert cli.main([*command, *small, "--evaluations", "16"]) == 0
    assert cli.main(["resume", str(run), "--evaluations", "24"]) == 0
    assert (run / "archive.png").exists()
    assert cli.main(["evaluate", str(run), "--episodes", "2"]) == 0
    assert cli.main(["compare", str(run), "--out", str(out), "--growth"]) == 0
    assert "archive = cvt, cells = 30" in capsys.readouterr().err
    assert {"archives-qd_walker.png", "growth-qd_walker.gif"} <= {path.name for path in (out / "figures").iterdir()}
    assert "--archive cvt --cells 30" in (out / "report.html").read_text()


def test_a_study_with_a_cvt(tmp_path, capsys):
    plan = tmp_path / "plan.toml"
    text = "evaluations = 8\nseeds = [1]\ntasks = ['lp_sphere']\nalgorithms = ['map_elites']\n[task.lp_sphere]\n"
    plan.write_text(text + "archive = 'cvt'\ncells = 40\n[settings.map_elites]\nbatch_size = 8\n")
    folder = tmp_path / "study"
    assert cli.main(["study", str(plan), "--out", str(folder)]) == 0
    assert cli.main(["study", str(folder), "--evaluations", "16"]) == 0  # as study.json says
    assert gaits.load_run(folder / "lp_sphere-map_elites-seed1").archive.cells == 40
    plan.write_text(plan.read_text().replace("40", "41"))
    assert cli.main(["study", str(plan), "--out", str(folder)]) == 2
    assert "cells is 40 there and 41 in the study" in capsys.readouterr().out
    for wrong, message in (("'cvt'\ncells = 1.5", "cells must be a whole number"), ("3", "archive must be a name")):
        plan.write_text(text + f"archive = {wrong}\n")
        assert cli.main(["study", str(plan), "--out", str(folder)]) == 2
        assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("--archive cvt --cells 0", "cells must be a whole number of at least 1; got 0"),
        ("--archive cvt --cells -3", "cells must be a whole number of at least 1; got -3"),
        ("--archive proximity", "No archive with fixed cells is called 'proximity'"),
        ("--cells 10", "cells=10 is for archive cvt"),
        ("--archive cvt --grid 1000 1000", "50,000 cells at most; got 1,000,000"),
    ],
)
def test_mistakes_are_explained(words, message, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert cli.main(["train", "qd_walker", "map_elites", *words.split()]) == 2
    assert message in capsys.readouterr().err
    assert not list(tmp_path.iterdir())
