from __future__ import annotations

import io
import math
import sys
from types import SimpleNamespace

import pytest
from rich.console import Console
from rich.text import Text

import gaits
from gaits import loggers, progress


def row(iteration):
    return {
        **{"iteration": iteration, "evaluations": 100 * iteration, "qd_score": 1000.0 * iteration, "coverage": 0.25},
        **{"objective_max": 12.5, "objective_mean": 3.0, "steps": 5000 * iteration, "seconds": 2.0 * iteration},
    }


@pytest.mark.parametrize(
    ("seconds", "text"), [(3, "0:03"), (62, "1:02"), (3723, "1:02:03"), (59.6, "1:00"), (math.inf, "?")]
)
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


def test_pace_ignores_what_the_first_iteration_compiled(monkeypatch):
    pace = progress.Pace(1100)
    clock = iter([40.0, 41.0]).__next__  # 40 s for the first iteration, 1 s for the second
    monkeypatch.setattr(progress.time, "monotonic", clock)
    assert pace.measure({**row(1), "seconds": 40.0}) == (2.5, 125, 400)
    assert pace.measure({**row(2), "seconds": 41.0}) == (100, 5000, 9)


CONFIG = SimpleNamespace(algorithm="map_elites", task="qd_hopper", evaluations=300)


def follow(watcher, rows, folder=None):
    watcher.begin(CONFIG, folder)
    for one in rows:
        watcher.update(one, None)
    watcher.close()


def test_plain_lines(capsys):
    follow(progress.PlainWatcher(every=1000), map(row, (1, 2, 3)))
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 2  # the first, and the last
    assert lines[0].startswith("evaluations 100/300 | QD score 1,000 | coverage 25.0% | best 12.5")
    assert lines[1].endswith("done")
    assert "\x1b" not in "".join(lines)


@pytest.mark.parametrize("width", [20, 48, 80, 140])
def test_live_view_fits(width):
    """All of it, whole words and whole numbers, whatever the width."""
    console = Console(file=io.TextIOWrapper(io.BytesIO(), "utf-8"), force_terminal=True, width=width)
    watcher = progress.LiveWatcher(console)
    follow(watcher, map(row, (1, 2, 3)))
    with console.capture() as shown:
        console.print(watcher._draw())
    text = Text.from_ansi(shown.get()).plain
    assert all(len(line) <= width for line in text.splitlines())
    words = (
        "map_elites on qd_hopper" if width > 23 else "map_elites on",
        "QD score",
        "3,000",
        "evaluations/s",
        "100 %",
        "█",
    )
    assert [word for word in words if word not in text] == []


def test_live_view_without_unicode():
    console = Console(file=io.TextIOWrapper(io.BytesIO(), "latin-1"), force_terminal=True, width=80)
    follow(progress.LiveWatcher(console), [row(1)])
    console.file.flush()
    assert b"coverage" in console.file.buffer.getvalue()


def test_what_never_began_is_closed():
    progress.LiveWatcher().close()
    progress.NotebookWatcher().close()
    loggers.TensorBoard().close()


def test_notebook(monkeypatch):
    """A bar that is updated in place; whether this is a notebook is asked of IPython, if somebody imported it."""
    shown = []
    handle = SimpleNamespace(update=shown.append)
    display = SimpleNamespace(HTML=str, display=lambda what, display_id: shown.append(what) or handle)
    shell = SimpleNamespace(kernel=object())
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell))
    monkeypatch.setitem(sys.modules, "IPython.display", display)
    watcher = progress.find_watcher()
    assert isinstance(watcher, progress.NotebookWatcher)
    follow(watcher, map(row, (1, 2, 3)))
    assert len(shown) == 2  # the first, and the last
    assert "first iteration" in shown[0]
    assert "value='1.0000'" in shown[-1]
    assert "QD score <b>3,000</b>" in shown[-1]
    shell.kernel = None  # IPython on a terminal
    assert not isinstance(progress.find_watcher(), progress.NotebookWatcher)


def test_tensorboard(tmp_path, capsys, caplog):
    follow(loggers.TensorBoard(), [{**row(1), "critic_loss": math.nan}], tmp_path)
    assert list((tmp_path / "tensorboard").glob("events.*"))
    assert not caplog.records  # tensorboardX warns of numbers that are none


def test_weights_and_biases(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "wandb", None)
    with pytest.raises(ValueError, match="pip install wandb"):
        loggers.WeightsAndBiases()
    told = []
    run = SimpleNamespace(log=lambda row, step: told.append((row, step)), finish=lambda: told.append("end"))
    monkeypatch.setitem(sys.modules, "wandb", SimpleNamespace(init=lambda **options: told.append(options) or run))
    gaits.train(
        *("lp_sphere", "map_elites"),
        evaluations=8,
        batch_size=8,
        out=tmp_path / "run",
        watchers=[loggers.WeightsAndBiases(mode="offline")],
    )
    options, (metrics, step), end = told
    assert (options["name"], options["mode"], options["config"]["algorithm"]) == ("run", "offline", "map_elites")
    assert (metrics["evaluations"], step, end) == (8, 8, "end")


def test_tensorboard_missing(monkeypatch):
    monkeypatch.setitem(sys.modules, "tensorboardX", None)
    with pytest.raises(ValueError, match=r"pip install 'gaits\[tensorboard\]'"):
        loggers.TensorBoard()
