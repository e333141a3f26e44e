"""The commands for what is done with a trained archive."""

from __future__ import annotations

import json
import shlex

import pytest
from conformance.algorithm import small_task

import gaits
from gaits import cli


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("run") / "run"
    gaits.train(small_task(), "map_elites", evaluations=32, out=folder, batch_size=16)
    return folder


SMALL = ["--trials", "3", "--episodes", "2", "--workers", "1"]


def test_adapt_and_the_command_it_names(run, capsys, tmp_path):
    pytest.importorskip("imageio_ffmpeg")
    assert cli.main(["adapt", str(run), "--damage", "leg_joint=0.3", "--friction", "foot=0.5", *SMALL]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("way of choosing")
    assert (run / "adapt" / "adapt.png").exists()
    command = shlex.split(lines[-1])
    assert command[:3] == ["gaits", "video", str(run)]
    assert command[-4:] == ["--damage", "leg_joint=0.3", "--friction", "foot=0.5"]
    short = ["--size", "64", "64", "--seconds", "0.1", "--out", str(tmp_path / "x.mp4")]
    assert cli.main([*command[1:], *short]) == 0
    printed = capsys.readouterr().out
    assert str(tmp_path / "x.mp4") in printed
    command = shlex.split(printed.splitlines()[-1])
    assert cli.main([*command[1:], "--out", str(tmp_path / "x.npz")]) == 0
    assert "3 actions: thigh_joint, leg_joint, foot_joint" in capsys.readouterr().out


def test_json_is_alone_on_stdout(run, capsys, tmp_path, monkeypatch):
    monkeypatch.setattr("gaits.progress.time.monotonic", iter(range(0, 10**6, 10)).__next__)  # every line of progress is due
    assert cli.main(["adapt", str(run), "--damage", "leg_joint=0", "--json", "--out", str(tmp_path), *SMALL]) == 0
    out, err = capsys.readouterr()
    assert json.loads(out) == json.loads((tmp_path / "adapt.json").read_text())
    assert "episodes: " in err


def test_several_cells(run, capsys, tmp_path):
    pytest.importorskip("imageio_ffmpeg")
    cells = [str(cell) for cell in gaits.load_archive(run).data("index")[:2]]
    out = str(tmp_path / "x.mp4")
    args = ["video", str(run), "--cells", *cells, "--best", "--size", "64", "64", "--seconds", "0.1", "--out", out]
    assert cli.main(args) == 0
    assert capsys.readouterr().out.count("return") == 3


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["adapt", "--damage", "leg=0"], "Did you mean 'leg_joint'? Known: thigh_joint, leg_joint, foot_joint"),
        (["adapt", "--damage", "leg_joint=2"], "from 0 to 1 (1 is sound); got 2"),
        (["adapt", "--damage", "leg_joint"], "NAME=FACTOR"),
        (["adapt", "--friction", "toe=0"], "No foot of qd_hopper is called 'toe'"),
        (["adapt"], "No damage is given"),
        (["adapt", "--damage", "leg_joint=0", "--trials", "0"], "trials must be a whole number of at least 1; got 0"),
        (["video", "--cell", "1,2,3"], "a grid of 1 measure(s)"),
        (["video", "--cell", "64"], "plain indices go from 0 to 63"),
        (["export", "--cell", "64"], "plain indices go from 0 to 63"),
        (["export", "--cell", "0", "--best"], "Give one of --best, --conditioned and --cell"),
        (["export", "--out", "policy.pt"], "Known: .npz, .safetensors, .onnx"),
        (["export", "--out", "/proc/x.npz"], "Cannot write to /proc/x.npz: No such file or directory. Choose another --out"),
        (["adapt", "--damage", "leg_joint=0", "--out", "/dev/null"], "Cannot write to /dev/null/adapt.json: "),
        (["adapt", "--damage", "leg_joint=0", "--damage", "foot_joint=0"], "--damage is given 2 times. Give it once"),
        (["video", "--cells", "1", "--cell=2"], "--cell is given 2 times"),
    ],
)
def test_mistakes_are_explained(run, args, message, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert cli.main([args[0], str(run), *args[1:]]) == 2
    assert message in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_a_runs_own_files_are_not_overwritten(run, capsys):
    before = (run / "archive.npz").read_bytes()
    assert cli.main(["export", str(run), "--out", str(run / "archive.npz")]) == 2
    assert "is a file of the run itself" in capsys.readouterr().err
    assert (run / "archive.npz").read_bytes() == before


@pytest.mark.parametrize("command", ["adapt", "video", "export"])
def test_not_a_run(command, capsys):
    assert cli.main([command, "nowhere"]) == 2
    assert "nowhere is not a run" in capsys.readouterr().err
