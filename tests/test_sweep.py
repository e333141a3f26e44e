"""Sweeps: trials that are ordinary runs, given up early, the same after a stop."""

from __future__ import annotations

import json
import sys

import pytest

import gaits
from gaits import cli
from gaits.runs.binding import seal
from gaits.study.sweep import load_sweep, run_sweep

TEXT = """
evaluations = 40
seeds = [1]
tasks = ["lp_sphere"]
algorithms = ["map_elites"]
[settings.map_elites]
batch_size = 10
[sweep]
trials = 7
[sweep.settings]
sigma = { low = 0.01, high = 2.0, log = true }
"""


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "wide.toml"
    path.write_text(TEXT)
    return path


def test_a_sweep_finds_prunes_and_goes_on(file, tmp_path, capsys):
    pytest.importorskip("optuna")
    sweep = load_sweep(file)
    whole = run_sweep(sweep, tmp_path / "whole")
    assert len(whole) == 7
    assert {one.status for one in whole} == {"done", "pruned"}
    pruned = next(one for one in whole if one.status == "pruned")
    left = gaits.load_run(tmp_path / "whole" / f"lp_sphere-map_elites-trial{pruned.number:03d}-seed1")
    assert left.saved_evaluations == max(pruned.scores) < 40
    assert left.config.settings["sigma"] == pruned.settings["sigma"]
    best = max(whole, key=lambda one: one.score)
    assert best.settings["sigma"] > 0.1  # what suits the task
    stopped = json.loads((tmp_path / "whole" / "sweep.json").read_text())
    del stopped["bound"]
    stopped["trials"] = stopped["trials"][:5]
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts" / "sweep.json").write_text(seal(stopped, "wide"))
    assert run_sweep(sweep, tmp_path / "parts") == whole
    assert cli.main(["sweep", str(file), "--out", str(tmp_path / "whole")]) == 0
    assert f"--sigma {best.settings['sigma']}" in capsys.readouterr().out
    file.write_text(TEXT.replace("2.0", "3.0"))
    with pytest.raises(ValueError, match="of another sweep"):
        run_sweep(load_sweep(file), tmp_path / "whole")
    trials = json.loads((tmp_path / "whole" / "sweep.json").read_text())
    trials["trials"][0]["scores"]["10"] += 1e-9
    (tmp_path / "whole" / "sweep.json").write_text(json.dumps(trials))
    with pytest.raises(ValueError, match="its numbers are not those written then"):
        run_sweep(sweep, tmp_path / "whole")
    trials["trials"][0]["scores"]["10"] = "nan"
    (tmp_path / "whole" / "sweep.json").write_text(json.dumps(trials))
    with pytest.raises(ValueError, match="a score is not finite"):
        run_sweep(sweep, tmp_path / "whole")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("[sweep.settings]", "[sweep.setings]", "It has no ranges"),
        ("trials = 7", "trials = 0", "trials must be a whole number of at least 1"),
        ("sigma = {", "sigm = {", "Did you mean 'sigma'?"),
        ("low = 0.01, ", "", "sigma needs { low = ..., high = ... }"),
        ("low = 0.01", "low = -1", "sigma must be a number above 0; got -1"),
        ("low = 0.01", "low = 5", "low must be below high for sigma"),
        ("log = true", "logs = true", "Did you mean 'log'?"),
        ('["map_elites"]', '["map_elites", "me_es"]', "A sweep is of one algorithm"),
    ],
)
def test_mistakes(file, old, new, message):
    file.write_text(TEXT.replace(old, new))
    with pytest.raises(ValueError, match=message):
        load_sweep(file)


def test_without_optuna(file, monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "optuna", None)
    with pytest.raises(ValueError, match=r"pip install 'gaits\[sweep\]'"):
        run_sweep(load_sweep(file), tmp_path / "out")
    assert not (tmp_path / "out").exists()
