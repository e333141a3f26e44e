from __future__ import annotations

import itertools
import re
import subprocess

import numpy as np
import own_tasks
import pytest
from conformance.algorithm import small_task
from PIL import Image, ImageSequence
from synthetic import make_run

import gaits
from gaits import video
from gaits.adaptation.damage import parse_damage
from gaits.archives.cells import name_cell
from gaits.cli import main
from gaits.drawing.colors import THEME
from gaits.physics import make_simulator
from gaits.physics.walking import SECONDS_PER_STEP
from gaits.physics.world import start_angles

imageio_ffmpeg = pytest.importorskip("imageio_ffmpeg")


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    return gaits.train(small_task(), "me_es", evaluations=40, out=tmp_path_factory.mktemp("run") / "run", batch_size=10)


def read(path):
    """Size, frames per second and all frames, as ffmpeg decodes them."""
    command = [video.find_ffmpeg(), "-i", str(path), "-f", "rawvideo", "-pix_fmt", "rgb24", "-"]
    done = subprocess.run(command, capture_output=True, check=True)
    codec, width, height, fps = re.search(r"Video: (\w+).*?, (\d+)x(\d+).*?, ([\d.]+) fps", done.stderr.decode()).groups()
    frames = np.frombuffer(done.stdout, np.uint8).reshape(-1, int(height), int(width), 3)
    return {"codec": codec, "fps": float(fps)}, frames


def test_the_best_in_real_time(run, tmp_path):
    seen = []
    made = video.make_video(run.folder, out=tmp_path / "x.mp4", size=(96, 64), progress=lambda *done: seen.append(done))
    (played,) = made.played
    about, frames = read(made.path)
    expected = round(played.episode.length * SECONDS_PER_STEP * 30)
    assert len(frames) == expected
    assert seen == [(n + 1, expected) for n in range(expected)]
    assert about["fps"] == 30
    assert about["codec"] == "h264"
    assert frames[0].shape[1] == 96
    assert frames[0].shape[0] > 64  # and a caption
    assert np.abs(frames[0].astype(int) - frames[-1])[:64].max() > 100  # it moved
    assert [path.name for path in tmp_path.iterdir()] == ["x.mp4"]


def test_it_is_the_episode_that_an_evaluator_plays(run, backend):
    data = run.archive.data()
    hurt = parse_damage(["leg_joint=0.5"]).apply(run.task)
    played = video.play(hurt, data, [0, 1], ["a", "b"], [7, 7])
    with gaits.LocalEvaluator(hurt, workers=1) as evaluator:
        results = evaluator.evaluate(
            data["solution"][:2], [7, 7], obs_mean=data["obs_mean"][:2], obs_std=data["obs_std"][:2], transitions=True
        )
    np.testing.assert_array_equal([p.episode.objective for p in played], results.objective)
    steps, positions = results.transitions, played[0].episode.trace.positions
    simulator = make_simulator(hurt)
    simulator.reset(start_angles(7, 3))
    for action in steps.action[steps.solution == 0]:
        simulator.step(action)
    np.testing.assert_array_equal(simulator.pose()[0], positions[-1, :7])
    assert len(positions) == played[0].episode.length + 1
    simulator.close()


def test_without_a_seed_it_is_the_recorded_episode(run, tmp_path, capsys):
    """The best of a run is filmed as well as it was; a run older than seeds in archives says that it is not."""
    made = video.make_video(run, out=tmp_path / "x.mp4", size=(64, 64), seconds=0.1)
    assert made.played[0].episode.objective == run.archive.data("objective").max()
    old = {name: values for name, values in run.archive.data().items() if name != "seed"}
    np.testing.assert_array_equal(video.find_seeds(old, [0, 1], None), [42, 42])
    assert "older than the seeds in archives: filming seed 42" in capsys.readouterr().err
    np.testing.assert_array_equal(video.find_seeds(old, [0, 1], 7), [7, 7])


def test_several_side_by_side(run, tmp_path):
    archive = run.archive
    cells = [name_cell(archive, index) for index in archive.data("index")[:2]]
    damage = parse_damage([], ["foot=0.1"])
    made = video.make_video(run, cells, best=True, out=tmp_path / "x.mp4", size=(64, 64), seconds=0.1, fps=60, damage=damage)
    assert [p.cell for p in made.played[1:]] == cells
    about, frames = read(made.path)
    assert len(frames) == round(6 * 0.0165 * 60)  # 0.1 s are 6 steps
    assert about["fps"] == 60
    assert frames[0].shape[1] == 128
    assert frames[0].shape[0] % 4 == 0
    blank = frames[0][-60:, -60:]
    assert blank.min() > 240  # three in a grid of four


def test_a_gif_needs_no_ffmpeg(run, tmp_path, monkeypatch):
    monkeypatch.setattr(video, "find_ffmpeg", None)
    made = video.make_video(run, out=tmp_path / "x.gif", size=(96, 64))
    with Image.open(made.path) as gif:
        assert (gif.format, gif.width, gif.is_animated) == ("GIF", 96, True)
    assert [path.name for path in tmp_path.iterdir()] == ["x.gif"]


def test_a_gif_is_in_real_time_and_keeps_rare_colors(tmp_path):
    frames = np.full((30, 64, 64, 3), 200, np.uint8)
    for i, frame in enumerate(frames):
        frame[:, i] = 40  # something moves
    frames[4:, 60:, 60:] = THEME.contact  # a foot stands
    video.encode_gif(tmp_path / "x.gif", 30, iter(frames))
    with Image.open(tmp_path / "x.gif") as gif:
        assert gif.info["loop"] == 0  # for ever
        seen = [(picture.info["duration"], np.asarray(picture.convert("RGB"))) for picture in ImageSequence.Iterator(gif)]
    times, pictures = zip(*seen, strict=True)
    assert (len(times), sum(times), set(times)) == (30, 1000, {30, 40})  # GIF counts hundredths of a second
    assert np.abs(np.array(pictures) - frames.astype(int)).max() <= 8


def test_a_robot_of_mujocos(tmp_path):
    """In real time, with the poses between its steps, which are longer than a frame."""
    task = gaits.make_task("mj_half_cheetah", hidden=(4,), grid=(4, 4), max_steps=12)
    run = gaits.train(task, "map_elites", evaluations=20, batch_size=20, sigma=0.5, out=tmp_path / "run", workers=1)
    made = video.make_video(run, damage=parse_damage(["bfoot=0"], ["ffoot=0.1"]), fps=60, size=(96, 64))
    _, frames = read(made.path)
    assert len(frames) == round(12 * 0.05 * 60)
    assert made.seconds == pytest.approx(0.6)
    moved = [np.abs(a.astype(int) - b)[:64].max() > 8 for a, b in itertools.pairwise(frames)]
    assert sum(moved) > 30


def test_an_environment_of_ones_own(tmp_path, capsys):
    """Its own pictures, in the middle of the page; a run's files do not say which code draws them, so the user does."""
    run = make_run(tmp_path / "run", own_tasks.drawn(), "map_elites")
    gaits.TASKS.pop("drawn")
    assert main(["video", str(run.folder), "--seconds", "0.5", "--size", "64", "96"]) == 2
    assert "name the task again: --task MODULE:NAME" in capsys.readouterr().err
    assert main(["video", str(run.folder), "--seconds", "2", "--size", "64", "96", "--task", "own_tasks:drawn"]) == 0
    _, frames = read(run.folder / "best.mp4")
    assert len(frames) == 60
    first = frames[0][:96].mean(axis=2)
    assert first[:20].min() > 250  # a picture of 4 to 3 on a page of 2 to 3
    assert first[24:72].min() < 80
    assert np.abs(frames[0].astype(int) - frames[-1])[:96].max() > 100
    gaits.TASKS.pop("drawn")


def test_captions(run):
    data = run.archive.data()
    (played,) = video.play(run.task, data, [0], ["3"], [7])
    running, ended = video.caption(run.task, played, 320, None)
    assert running.shape == ended.shape
    assert running.shape[1] == 320
    assert not np.array_equal(running, ended)
    longer, _ = video.caption(run.task, played, 320, parse_damage(["leg_joint=0"]))
    assert longer.shape[0] > running.shape[0]


def test_default_files():
    assert video.default_name([], False) == "best"
    assert video.default_name(["3,12"], False) == "cell-3-12"
    assert video.default_name(["3,12"], True) == "cells"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"size": (65, 64)}, r"even numbers from 64 to 4096; got \(65, 64\)"),
        ({"size": (64, 64, 64)}, "size must be a width and a height"),
        ({"fps": 0}, "fps must be a whole number of at least 1; got 0"),
        ({"seconds": 0}, "seconds must be a number above 0; got 0"),
        ({"seed": -1}, "A seed must be"),
        ({"out": "x.avi"}, r"an \.mp4 or \.gif file; got x\.avi"),
        ({"out": "x.gif", "fps": 60}, "fps of a GIF must be at most 50, or browsers play it slowly; got 60"),
        ({"cells": ["64"]}, "plain indices go from 0 to 63"),
        ({"damage": parse_damage(["leg=0"])}, "Did you mean 'leg_joint'"),
    ],
)
def test_mistakes(run, options, message):
    with pytest.raises(ValueError, match=message):
        video.make_video(run, **options)


def test_no_ffmpeg(run, monkeypatch):
    def missing():
        raise RuntimeError("no program")

    monkeypatch.setattr(imageio_ffmpeg, "get_ffmpeg_exe", missing)
    monkeypatch.setattr(video.shutil, "which", lambda name: None)
    with pytest.raises(ValueError, match=r"pip install 'gaits\[video\]'"):
        video.make_video(run)


def test_what_ffmpeg_says_comes_home(tmp_path):
    frames = (np.zeros((63, 63, 3), np.uint8) for _ in range(3))  # odd sizes cannot be encoded
    with pytest.raises(OSError, match=r"could not write .*x\.mp4: .*not divisible by 2"):
        video.encode_mp4(video.find_ffmpeg(), tmp_path / "x.mp4", 30, frames)
    assert not list(tmp_path.iterdir())


def test_a_video_that_is_left_leaves_nothing(tmp_path):
    def frames():
        yield np.zeros((64, 64, 3), np.uint8)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        video.encode_mp4(video.find_ffmpeg(), tmp_path / "x.mp4", 30, frames())
    assert not list(tmp_path.iterdir())
