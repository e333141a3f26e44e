from __future__ import annotations

import io

import pytest
from rich.console import Console

from gaits import progress


def row(iteration):
    return {
        **{"iteration": iteration, "evaluations": 100 * iteration, "qd_score": 1000.0 * iteration, "coverage": 0.25},
        **{"objective_max": 12.5, "objective_mean": 3.0, "steps": 5000 * iteration, "seconds": 2.0 * iteration},
    }


@pytest.mark.parametrize(("seconds", "text"), [(3, "0:03"), (62, "1:02"), (3723, "1:02:03"), (59.6, "1:00")])
def test_duration(seconds, text):
    assert progress.duration(seconds) == text


def test_sparkline():
    assert progress.sparkline([0, 1, 2, 3, 4, 5, 6, 7], 8) == "▁▂▃▄▅▆▇█"
    assert len(progress.sparkline(list(range(1000)), 40)) == 40
    assert progress.sparkline([5.0], 10) == "▁"


def test_pace_ignores_what_happened_before_a_resume():
    pace = progress.Pace(100_000)
    speed, steps, left = pace.measure({**row(900), "seconds": 1800.0})
    assert speed == pytest.approx(50, rel=0.01)
    assert steps == pytest.approx(2500, rel=0.01)
    assert left == pytest.approx(200, rel=0.01)


def test_plain_lines(capsys):
    watcher = progress.PlainWatcher(300, every=1000)
    for iteration in (1, 2, 3):
        watcher.update(row(iteration), None)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 2  # the first, and the last
    assert lines[0].startswith("evaluations 100/300 | QD score 1,000 | coverage 25.0% | best 12.5")
    assert lines[1].endswith("done")
    assert "\x1b" not in "".join(lines)


def test_live_view():
    console = Console(file=io.StringIO(), force_terminal=True, width=100)
    watcher = progress.LiveWatcher("map_elites on qd_hopper", 300, console)
    for iteration in (1, 2, 3):
        watcher.update(row(iteration), None)
    watcher.close()
    text = console.file.getvalue()
    assert "map_elites on qd_hopper" in text
    assert "3,000" in text
    assert "100 %" in text


def test_tensorboard(tmp_path):
    watcher = progress.TensorBoardWatcher(tmp_path)
    assert not list(tmp_path.iterdir())
    watcher.update(row(1), None)
    watcher.close()
    assert list((tmp_path / "tensorboard").glob("events.*"))


def test_tensorboard_missing(tmp_path, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "tensorboardX", None)
    with pytest.raises(ValueError, match=r"pip install 'gaits\[tensorboard\]'"):
        progress.TensorBoardWatcher(tmp_path)
