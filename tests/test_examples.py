"""Every example runs, with tiny settings."""

from __future__ import annotations

import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

import gaits
from gaits.export import export_policy

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
    command = [sys.executable, "-W", "error", str(EXAMPLES / name), *ARGUMENTS[name]]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout


def test_an_exported_policy_needs_numpy_alone():
    code = (EXAMPLES / "06_run_exported_policy.py").read_text()
    assert re.findall(r"^(?:import|from) (\w+)", code, re.MULTILINE) == ["json", "sys", "numpy"]
