"""Every example runs, with tiny settings."""

from __future__ import annotations

import re
import runpy
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from conformance.algorithm import small_task

import gaits
from gaits.export import export_policy
from gaits.runs.conditioned import load_conditioned

EXAMPLES = Path(__file__).parent.parent / "examples"
ARGUMENTS = {
    "01_evaluate.py": ["4"],
    "02_train.py": ["400", "run"],
    "03_own_gradients.py": ["3"],
    "04_compare.py": ["100", "study"],
    "05_own_environment.py": ["100"],
    "06_run_exported_policy.py": ["best.npz"],
}
ALONE = ("05_own_environment.py", "06_run_exported_policy.py")
"""Whose workers import it, and which needs nothing of ours."""


def test_none_is_forgotten():
    assert {path.name for path in EXAMPLES.glob("*.py")} == set(ARGUMENTS)


@pytest.mark.parametrize("name", [name for name in ARGUMENTS if name not in ALONE])
@pytest.mark.usefixtures("undrawn")
def test_it_runs(name, tmp_path, monkeypatch, capsys):
    """In this process, which has imported what takes seconds."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", [name, *ARGUMENTS[name]])
    runpy.run_path(str(EXAMPLES / name), run_name="__main__")
    assert capsys.readouterr().out


@pytest.mark.parametrize("name", ALONE)
def test_it_runs_alone(name, tmp_path):
    if name.startswith("06"):
        run = gaits.train("qd_hopper", "me_es", evaluations=8, out=tmp_path / "run", batch_size=8)
        export_policy(run, out=tmp_path / "best.npz")
    done = run_alone(name, tmp_path, *ARGUMENTS[name])
    assert done.returncode == 0, done.stderr
    assert done.stdout


def run_alone(name, folder, *args):
    command = [sys.executable, "-W", "error", str(EXAMPLES / name), *args]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True)


def test_a_policy_that_takes_measures(tmp_path):
    """Asked for something else, it does something else; asked for what it cannot be asked for, it says what it takes."""
    settings = {"batch_size": 8, "critic_steps": 3, "critic_batch": 16, "critic_hidden": (8,), "pg_steps": 2, "pg_batch": 8}
    run = gaits.train(small_task(), "dcrl_me", evaluations=24, out=tmp_path / "run", **settings)
    path, about = export_policy(run, conditioned=True)
    name = "06_run_exported_policy.py"
    few, many = (run_alone(name, run.folder, path.name, wanted) for wanted in ("0.1", "0.9"))
    assert few.returncode == many.returncode == 0, few.stderr + many.stderr
    for printed, wanted in ((few.stdout, 0.1), (many.stdout, 0.9)):
        actions = run.task.policy.act(load_conditioned(run).solution([wanted]), np.zeros(run.task.obs_dim))
        told = ", ".join(f"{joint} {a:.2f}" for joint, a in zip(about["actions"], actions, strict=True))
        assert printed == f"qd_hopper, asked for [{wanted}]: {told}\n"
    assert few.stdout.split(": ")[1] != many.stdout.split(": ")[1]
    for wrong in ([], ["0.1", "0.2"], ["1.5"], ["nan"], ["much"]):
        done = run_alone(name, run.folder, path.name, *wrong)
        assert (done.returncode, done.stdout) == (2, "")
        got = " ".join(wrong) or "none"
        assert done.stderr == f"{path.name} takes one number each for foot contact from 0 to 1; got {got}.\n"


def test_an_elite_takes_no_measures(tmp_path):
    run = gaits.train(small_task(), "map_elites", evaluations=8, out=tmp_path / "run", batch_size=8)
    path, _ = export_policy(run)
    done = run_alone("06_run_exported_policy.py", run.folder, path.name, "0.5")
    assert (done.returncode, done.stderr) == (2, "best.npz takes no measures; got 0.5.\n")
    done = run_alone("06_run_exported_policy.py", run.folder)
    assert done.returncode == 2
    assert "Usage: " in done.stderr


def test_an_exported_policy_needs_numpy_alone():
    code = (EXAMPLES / "06_run_exported_policy.py").read_text()
    assert re.findall(r"^(?:import|from) (\w+)", code, re.MULTILINE) == ["json", "sys", "numpy"]
