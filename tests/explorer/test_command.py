"""gaits explore on the command line, and what goes into an exported file."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import urllib.request
import webbrowser

import numpy as np
import pytest
from explorer.small_runs import make_small_runs

from gaits import cli
from gaits.explorer import serve
from gaits.explorer.export import spread_out


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
        (["RUN", "--host", "256.256.256.256"], "Cannot listen on 256.256.256.256"),
        (["RUN", "--cells", "3"], "--cells are for --export"),
        (["RUN", "--export", "/proc/page.html"], "Cannot write to /proc/page.html"),
        (["RUN", "--export", "page.html", "--cells", "x"], "A cell is whole numbers such as 32; got 'x'"),
        (["RUN", "--export", "page.html", "--cells", "3,4"], "The archive has a grid of 1 measure(s)"),
        (["RUN", "--export", "page.html", "--cells", "-1"], "plain indices go from 0 to 63"),
    ],
)
def test_mistakes_are_explained(runs, options, message, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    words = [str(runs / "hopper") if word == "RUN" else word for word in options]
    assert cli.main(["explore", *words]) == 2
    assert message in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_without_the_extra_it_is_named(runs, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    assert cli.main(["explore", str(runs)]) == 2
    assert "gaits explore needs uvicorn: pip install 'gaits[explore]'" in capsys.readouterr().err


def test_a_folder_that_is_no_run_is_left_out(runs, tmp_path, capsys):
    records = serve.find_records([runs / "hopper", tmp_path])
    assert [record.name for record in records] == ["hopper"]
    assert "left out" in capsys.readouterr().err


def test_export(runs, tmp_path, capsys):
    out = tmp_path / "new" / "page.html"
    assert cli.main(["explore", str(runs / "hopper"), "--export", str(out)]) == 0
    assert "policies to watch" in capsys.readouterr().out
    assert out.stat().st_size < 3_000_000


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="other systems always have a screen")
def test_a_browser_is_opened_only_where_there_is_a_screen(monkeypatch):
    monkeypatch.setattr(webbrowser, "get", lambda: "a text browser")
    for name in ("DISPLAY", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(name, raising=False)
    assert not serve.has_browser()
    monkeypatch.setenv("WAYLAND_DISPLAY", "wayland-0")
    assert serve.has_browser()

    def none():
        raise webbrowser.Error("could not locate runnable browser")

    monkeypatch.setattr(webbrowser, "get", none)
    assert not serve.has_browser()


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
