"""Nothing is written through a link, and nothing outside a run is read through one; special files are refused."""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
from pathlib import Path

import pytest

import gaits
from gaits.cli import main
from gaits.runs.directory import locked
from gaits.runs.files import check_output, make_folder, open_to_change, write_text, writing

pytestmark = pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="links and pipes as Unix has them")
TRAIN = {"evaluations": 60, "batch_size": 20, "seed": 1}
TASK = gaits.make_task("qd_hopper", grid=(4,), max_steps=20, hidden=(4,))


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("made") / "run"
    return gaits.train(TASK, "map_elites", out=folder, **TRAIN).folder


@pytest.fixture
def run(made, tmp_path):
    return shutil.copytree(made, tmp_path / "run")


@pytest.fixture
def victim(tmp_path):
    """A file and a folder that are none of the run's business."""
    folder = tmp_path / "home"
    folder.mkdir()
    (folder / ".bashrc").write_text("mine")
    (folder / "curves.png").write_text("mine")
    return folder


def state(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


# --- the one way to write ------------------------------------------------------------------------------------------------


def test_a_link_is_replaced(victim, tmp_path):
    path = tmp_path / "out.txt"
    path.symlink_to(victim / ".bashrc")
    before = state(victim)
    write_text(path, "new")
    assert (path.is_symlink(), path.read_text()) == (False, "new")
    assert state(victim) == before


def test_what_is_being_written_cannot_be_foreseen(tmp_path):
    with writing(tmp_path / "a.mp4") as one, writing(tmp_path / "a.mp4") as other:
        assert one != other
        assert one.suffix == ".mp4"
        assert one.stat().st_size == 0
    assert os.listdir(tmp_path) == ["a.mp4"]


def test_a_file_that_failed_leaves_nothing(tmp_path):
    (tmp_path / "a").write_text("old")
    with pytest.raises(ZeroDivisionError), writing(tmp_path / "a"):
        1 / 0  # noqa: B018
    assert (os.listdir(tmp_path), (tmp_path / "a").read_text()) == (["a"], "old")


@pytest.mark.parametrize("kind", ["link", "dangling", "hard link", "pipe", "folder"])
def test_locks_and_metrics_are_not_opened_through_anything(kind, victim, tmp_path):
    path, before = tmp_path / ".lock", state(victim)
    if kind == "link":
        path.symlink_to(victim / ".bashrc")
    elif kind == "dangling":
        path.symlink_to(victim / "new")
    elif kind == "hard link":
        os.link(victim / ".bashrc", path)
    elif kind == "pipe":
        os.mkfifo(path)
    else:
        path.mkdir()
    for attempt in (lambda: open_to_change(path), lambda: locked(tmp_path).__enter__()):
        with pytest.raises(ValueError, match="Remove it"):
            attempt()
    assert state(victim) == before


def test_folders(victim, tmp_path):
    (tmp_path / "adapt").symlink_to(victim)
    with pytest.raises(ValueError, match="is a link"):
        make_folder(tmp_path / "adapt")


def test_outputs_are_files(tmp_path):
    os.mkfifo(tmp_path / "pipe.npz")
    with pytest.raises(ValueError, match="not a regular file"):
        check_output(tmp_path / "pipe.npz")


# --- commands ------------------------------------------------------------------------------------------------------------

COMMANDS = {
    "resume": ["resume", "RUN", "--evaluations", "80", "--workers", "1"],
    "evaluate": ["evaluate", "RUN", "--episodes", "2", "--workers", "1"],
    "export": ["export", "RUN"],
    "adapt": ["adapt", "RUN", "--damage", "foot_joint=0.5", "--trials", "2", "--episodes", "2", "--workers", "1"],
    "video": ["video", "RUN", "--seconds", "0.2", "--size", "64", "64"],
    "explore": ["explore", "RUN", "--export", "RUN/page.html"],
    "compare": ["compare", "RUN", "--out", "RUN/comparison"],
}
WRITTEN = {
    "resume": [".lock", "metrics.csv", "archive.npz", "history.npz", "archive.png", "config.json", "checkpoint"],
    "evaluate": ["evaluation.npz", "evaluation.json"],
    "export": ["best.npz"],
    "adapt": ["adapt", "adapt/adapt.json", "adapt/adapt.png"],
    "video": ["best.mp4"],
    "explore": ["page.html"],
    "compare": ["comparison/runs.csv", "comparison/report.html", "comparison/figures", "comparison/tables/qd_score.csv"],
}
CASES = [(name, path) for name, paths in WRITTEN.items() for path in paths]


@pytest.mark.parametrize(("name", "path"), CASES, ids=[f"{name}-{path}" for name, path in CASES])
def test_commands_write_nothing_outside(name, path, run, victim, capsys):
    """Where a run has a link instead of what a command writes."""
    place = run / path
    place.parent.mkdir(parents=True, exist_ok=True)
    target = victim if place.is_dir() or place.name in ("adapt", "figures") else victim / ".bashrc"
    if place.is_dir():
        shutil.rmtree(place)
    place.unlink(missing_ok=True)
    place.symlink_to(target)
    before, touched = state(victim), victim.stat().st_mtime_ns
    code = main([word.replace("RUN", str(run)) for word in COMMANDS[name]])
    assert code in (0, 2)
    assert state(victim) == before
    assert victim.stat().st_mtime_ns == touched  # not for a moment
    told = capsys.readouterr().err
    assert "Traceback" not in told
    if code == 0:
        assert not place.is_symlink()


READ = ["config.json", "metrics.csv", "archive.npz", "history.npz"]


@pytest.mark.parametrize("kind", ["link", "pipe", "socket", "folder", "/dev/zero"])
@pytest.mark.parametrize("name", READ)
def test_special_files_are_refused(name, kind, run, tmp_path, capsys):
    path = run / name
    elsewhere = path.rename(tmp_path / name)
    if kind == "link":
        path.symlink_to(elsewhere)
    elif kind == "pipe":
        os.mkfifo(path)
    elif kind == "socket":
        with socket.socket(socket.AF_UNIX) as one:
            here = os.getcwd()
            os.chdir(run)  # addresses of sockets are short
            one.bind(name)
            os.chdir(here)
    elif kind == "folder":
        path.mkdir()
    else:
        path.symlink_to(kind)
    commands = {"config.json": "resume", "metrics.csv": "compare", "archive.npz": "export", "history.npz": "compare"}
    code = main([word.replace("RUN", str(run)) for word in COMMANDS[commands[name]]])
    told = capsys.readouterr().err
    assert code == 2, told
    assert "Traceback" not in told
    assert len(told) < 2_000


def test_links_to_runs_in_a_folder_are_left_out(run, tmp_path, capsys):
    study = tmp_path / "study"
    study.mkdir()
    (study / "stolen").symlink_to(run)
    shutil.copytree(run, study / "own")
    assert [path.name for path in gaits.runs.find_runs([study])] == ["own"]
    assert "it is a link" in capsys.readouterr().err
    assert gaits.runs.find_runs([study / "stolen"]) == [study / "stolen"]  # a link that is named is meant


def test_no_checkpoint_elsewhere_is_read_or_pruned(run, tmp_path, capsys):
    shutil.move(run / "checkpoint", tmp_path / "elsewhere")
    (run / "checkpoint").symlink_to(tmp_path / "elsewhere")
    for command in (["prune"], ["check"], ["resume"], ["compare", "--out", str(tmp_path / "out")]):
        with contextlib.suppress(SystemExit):
            assert main([command[0], str(run), *command[1:]]) == 2
        assert "checkpoint is a link" in "".join(capsys.readouterr())
    assert len(list((tmp_path / "elsewhere").iterdir())) == 1
