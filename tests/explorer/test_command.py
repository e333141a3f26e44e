"""gaits explore on the command line, and what goes into an exported file."""

from __future__ import annotations

import importlib.util
import os
import shutil
import signal
import subprocess
import sys
import urllib.request
import webbrowser
from pathlib import Path

import numpy as np
import pytest
from explorer.small_runs import make_small_runs

import gaits
from gaits import cli
from gaits.archives.cells import name_cell
from gaits.explorer import launch
from gaits.explorer.export import export, spread_out
from gaits.explorer.records import make_records
from gaits.runs import load_run
from gaits.runs.verify import check_run


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    return make_small_runs(tmp_path_factory)[0].run.folder.parent


@pytest.mark.skipif(os.name != "posix", reason="Ctrl-C is sent as a POSIX signal")
def test_it_serves_until_ctrl_c(runs):
    command = [sys.executable, "-m", "gaits.cli", "explore", str(runs), "--no-browser"]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment) as process:
        first, second = process.stdout.readline(), process.stdout.readline()
        assert first.startswith("4 runs at http://127.0.0.1:")
        with urllib.request.urlopen(first.split()[-1], timeout=60) as answer:
            assert b"gaits explorer" in answer.read()
        process.send_signal(signal.SIGINT)
        rest, errors = process.communicate(timeout=60)
    assert (second, rest) == ("Stop with Ctrl-C.\n", "Stopped.\n")
    assert "Traceback" not in errors
    assert process.returncode == 0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ([], "Give at least one run's folder"),
        (["nowhere"], "nowhere is not a run"),
        (["RUN", "--port", "70000"], "--port must be from 0 to 65535"),
        (["RUN", "--host", "256.256.256.256"], "Leave --host out"),
        (["RUN", "--cells", "3"], "--cells are for --export"),
        (["RUN", "--export", "/proc/page.html"], "Cannot write to /proc/page.html"),
        (["RUN", "--export", "RUN/config.json"], "config.json does not end in .html. Choose a name such as page.html"),
        (["RUN", "--export", "page.html", "--cells", "EMPTY"], "is filled in these runs"),
        (["RUN", "--export", "page.html", "--cells", "x"], "A cell is whole numbers such as 32; got 'x'"),
        (["RUN", "--export", "page.html", "--cells", "3,4"], "The archive has a grid of 1 measure(s)"),
        (["RUN", "--export", "page.html", "--cells", "-1"], "plain indices go from 0 to 63"),
    ],
)
def test_mistakes_are_explained(runs, options, message, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    words = [word.replace("RUN", str(runs / "hopper")).replace("EMPTY", str(empty_cell(runs))) for word in options]
    assert cli.main(["explore", *words]) == 2
    assert message in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_without_the_extra_it_is_named(runs, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    assert cli.main(["explore", str(runs)]) == 2
    assert "gaits explore needs uvicorn: pip install 'gaits[explore]'" in capsys.readouterr().err


def test_a_folder_that_is_no_run_is_left_out(runs, tmp_path, capsys):
    records = launch.find_records([runs / "hopper", tmp_path])
    assert [record.name for record in records] == ["hopper"]
    assert "left out" in capsys.readouterr().err


def test_export(runs, tmp_path, capsys):
    out = tmp_path / "new" / "page.html"
    assert cli.main(["explore", str(runs / "hopper"), "--export", str(out)]) == 0
    assert "policies to watch" in capsys.readouterr().out
    assert out.stat().st_size < 3_000_000


def empty_cell(runs):
    return min(set(range(64)) - set(load_run(runs / "hopper").archive.data("index").tolist()))


def test_export_says_what_it_leaves_out(runs, tmp_path, capsys):
    """A run that has just begun, cells that are empty, and cells for another grid do not spoil the rest."""
    begun = shutil.copytree(runs / "hopper", tmp_path / "begun")
    (begun / "archive.npz").unlink()
    records = make_records([load_run(folder) for folder in (begun, runs / "hopper", runs / "ant")])
    filled = set(records[2].archive()["cell"])
    cells = [name_cell(records[2].run.archive, cell) for cell in (min(filled), min(set(range(36)) - filled))]
    n = export(records, tmp_path / "page.html", cells)
    said = capsys.readouterr().err
    assert "left out: begun has no archive.npz yet" in said
    assert f"ant has nothing there: {cells[1]}\n" in said
    assert "hopper comes with its best cells instead" in said
    assert n == 1 + len(spread_out(records[1].archive(), 12))
    with pytest.raises(ValueError, match=r"begun has no archive\.npz yet"):
        export(records[:1], tmp_path / "page.html")


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="other systems always have a screen")
def test_the_demo(tmp_path, capsys, monkeypatch):
    """Two robots, dozens of gaits in a few megabytes, whose records are what they do; exported like any run."""
    folders = launch.find_demo()
    assert sum(path.stat().st_size for folder in folders for path in folder.iterdir()) < 4e6
    for folder in folders:
        run = load_run(folder)
        data = run.archive.data()
        assert len(data["index"]) >= 20
        assert data["objective"].min() > 0.1 * data["objective"].max()
        best = int(np.argmax(data["objective"]))
        with gaits.LocalEvaluator(run.task, workers=1) as evaluator:
            played = evaluator.evaluate(data["solution"][[best]], data["seed"][[best]])
        assert played.objective[0] == pytest.approx(data["objective"][best], rel=1e-6)
    shown = []
    monkeypatch.setattr(launch, "serve", lambda records, *options: shown.append((len(records), options)))
    assert cli.main(["demo", "--no-browser"]) == 0
    assert shown == [(2, ("127.0.0.1", 0, False))]
    monkeypatch.setattr(gaits, "__file__", str(tmp_path / "__init__.py"))
    assert cli.main(["demo"]) == 2
    assert "came without its demo" in capsys.readouterr().err


def test_the_demo_can_be_made_again(tmp_path):
    """From a run: fewer cells, none that is there by luck, the same every time."""
    spec = importlib.util.spec_from_file_location("make_demo", Path(__file__).parents[2] / "tools" / "make_demo.py")
    tool = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tool)
    task = gaits.make_task("qd_hopper", hidden=(4,), grid=(200,), max_steps=60)
    run = gaits.train(task, "map_elites", evaluations=100, batch_size=50, sigma=0.5, out=tmp_path / "run", workers=1)
    made = [tool.make_demo(run, tmp_path / name).data() for name in ("one", "two")]
    assert (tmp_path / "one" / "manifest.json").read_bytes() == (tmp_path / "two" / "manifest.json").read_bytes()
    data, again = made[0], load_run(tmp_path / "one")
    assert check_run(again.folder).wrong == []
    assert again.task.grid == (36,)
    assert 5 < len(data["index"]) <= 36
    assert (data["solution"] == data["solution"].astype(np.float16)).all()
    with gaits.LocalEvaluator(again.task, workers=1) as evaluator:
        played = evaluator.evaluate(data["solution"], data["seed"])
    np.testing.assert_array_equal(played.objective, data["objective"])


def test_a_browser_is_opened_only_where_there_is_a_screen(monkeypatch):
    monkeypatch.setattr(webbrowser, "get", lambda: "a text browser")
    for name in ("DISPLAY", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(name, raising=False)
    assert not launch.has_browser()
    monkeypatch.setenv("WAYLAND_DISPLAY", "wayland-0")
    assert launch.has_browser()

    def none():
        raise webbrowser.Error("could not locate runnable browser")

    monkeypatch.setattr(webbrowser, "get", none)
    assert not launch.has_browser()


def test_the_cells_of_a_file_are_good_and_far_apart():
    x = np.linspace(0, 1, 101)
    hills = np.maximum(np.exp(-(((x - 0.2) / 0.05) ** 2)), 0.8 * np.exp(-(((x - 0.9) / 0.05) ** 2)))
    archive = {"objective": hills.tolist(), "measures": x[:, None].tolist(), "cell": list(range(100, 201))}
    assert spread_out(archive, 2) == [120, 190]
    assert spread_out(archive, 1) == [120]
    many = spread_out(archive, 12)
    assert (len(set(many)), many[0]) == (12, 120)
    assert len(spread_out(archive, 500)) == 101
    assert spread_out({"objective": [], "measures": [], "cell": []}, 3) == []
