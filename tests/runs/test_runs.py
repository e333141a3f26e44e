"""A run's life: start, stop, resume, read back; and every way its folder can be unusable."""

from __future__ import annotations

import json
import multiprocessing
import os
import random
import shutil
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from conformance.algorithm import assert_same_archive, small_task

import gaits
from gaits.runs import checkpoint, directory
from gaits.runs.verify import check_run
from gaits.search import Search
from gaits.states import flatten
from gaits.training import stop_signals

ARGUMENTS = {"evaluations": 160, "seed": 7, "batch_size": 16}


CRITIC = {"critic_steps": 4, "critic_batch": 16, "critic_hidden": (8,), "buffer_size": 500}  # a ring that goes round


def train(folder, workers=1, **changes):
    return gaits.train(small_task(), "map_elites", out=folder, workers=workers, **{**ARGUMENTS, **changes})


def stop_at(iteration):
    return lambda row, archive: row["iteration"] == iteration


def timeless(run):
    metrics = run.metrics
    return metrics[[name for name in metrics if not name.startswith("seconds")]]


def assert_same_run(a, b):
    assert timeless(a).equals(timeless(b))
    assert_same_archive(a.archive, b.archive)
    for name, values in a.history.items():
        np.testing.assert_array_equal(values, b.history[name])


@pytest.fixture(scope="module")
def reference(tmp_path_factory):
    return train(tmp_path_factory.mktemp("reference") / "run")


def test_what_is_in_the_folder(reference):
    assert {path.name for path in reference.folder.iterdir()} >= {
        "config.json",
        "metrics.csv",
        "archive.npz",
        "history.npz",
        "manifest.json",
        "checkpoint",
    }
    metrics = reference.metrics
    assert list(metrics)[:16] == [
        *("iteration", "evaluations", "elites", "coverage", "qd_score", "objective_sum", "objective_min", "objective_max"),
        *("objective_mean", "seconds", "seconds_evaluate", "seconds_learn"),
        *("seconds_ask", "seconds_tell", "seconds_record", "steps"),
    ]
    assert metrics["iteration"].tolist() == list(range(1, 11))
    assert metrics["evaluations"].tolist() == list(range(16, 161, 16))
    assert metrics["seconds"].is_monotonic_increasing
    last = metrics.iloc[-1]  # asking, evaluating and telling are all that an iteration does
    assert last["seconds"] == pytest.approx(last[["seconds_ask", "seconds_evaluate", "seconds_tell"]].sum())
    assert 0 <= metrics["seconds_record"].iloc[0] < last["seconds_record"]
    config = json.loads((reference.folder / "config.json").read_text())
    assert config["settings"] == {"batch_size": 16, "sigma": 0.02, "challenge": False, "reevaluate": 0}
    assert config["task_fields"]["grid"] == [64]
    assert config["seed"] == 7
    assert config["versions"]["ribs"].startswith("0.12")
    assert reference.finished


def test_reading_it_back(reference):
    run = gaits.load_run(str(reference.folder))
    archive = gaits.load_archive(reference.folder)
    last = run.metrics.iloc[-1]
    assert len(archive) == last["elites"]
    assert archive.stats.qd_score == pytest.approx(last["qd_score"])
    assert archive.stats.obj_max == last["objective_max"]
    assert_same_archive(archive, gaits.load_archive(reference.folder / "archive.npz"))
    assert "map_elites on qd_hopper, seed 7" in repr(run)


def test_the_archive_at_any_iteration(reference):
    for row in reference.metrics.itertuples():
        archive = reference.archive_at(row.iteration)
        assert len(archive) == row.elites
        assert archive.data("objective").sum() == pytest.approx(row.objective_sum)
    assert len(reference.archive_at(0)) == 0
    for beyond in (-1, 11):
        with pytest.raises(ValueError, match=f"iterations 0 to 10; got {beyond}"):
            reference.archive_at(beyond)
    final, rebuilt = reference.archive.data(), reference.archive_at(10).data()
    assert sorted(final["objective"]) == sorted(rebuilt["objective"])


def test_workers_do_not_matter(reference, tmp_path):
    assert_same_run(train(tmp_path / "run", workers=2), reference)


@pytest.mark.parametrize("iteration", [1, 2, 5, 9])
def test_stop_and_resume_is_never_stopped(reference, tmp_path, iteration):
    train(tmp_path / "run", callback=stop_at(iteration))
    assert not gaits.load_run(tmp_path / "run").finished
    assert_same_run(gaits.resume(tmp_path / "run", workers=2), reference)


@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("cma_mega_es", {"batch_size": 8, "es_samples": 8}),
        ("me_es", {"batch_size": 8, "phase_length": 2, "obs_probability": 0.3}),
        ("cma_mega_td3_es", {"batch_size": 8, "es_samples": 8, "gradient_states": 50, **CRITIC}),
        ("pga_me", {"batch_size": 8, "pg_steps": 2, **CRITIC}),
    ],
)
@pytest.mark.parametrize(("iteration", "archive"), [(1, "grid"), (3, "cvt")])
def test_every_algorithm_resumes_exactly(tmp_path, name, settings, iteration, archive):
    arguments, task = {"evaluations": 80, "seed": 2, **settings}, small_task(archive=archive)
    expected = gaits.train(task, name, out=tmp_path / "expected", workers=1, **arguments)
    gaits.train(task, name, out=tmp_path / "run", workers=2, callback=stop_at(iteration), **arguments)
    assert_same_run(gaits.resume(tmp_path / "run", workers=2), expected)


def test_the_physics_does_not_matter(reference, tmp_path, monkeypatch):
    """A run begun in Bullet goes on in the engine, and ends as if it had been there from the start."""
    pytest.importorskip("pybullet", reason="needs gaits[bullet]")
    monkeypatch.setenv("GAITS_PHYSICS", "bullet")
    train(tmp_path / "run", callback=stop_at(4))
    monkeypatch.setenv("GAITS_PHYSICS", "engine")
    assert_same_run(gaits.resume(tmp_path / "run"), reference)


def test_resuming_many_times(reference, tmp_path):
    train(tmp_path / "run", callback=stop_at(1))
    for iteration in (2, 3, 6):
        gaits.resume(tmp_path / "run", callback=stop_at(iteration))
    assert_same_run(gaits.resume(tmp_path / "run"), reference)


def test_resuming_a_finished_run_changes_nothing_and_can_extend_it(reference, tmp_path):
    shutil.copytree(reference.folder, tmp_path / "run")
    assert_same_run(gaits.resume(tmp_path / "run"), reference)
    longer = gaits.resume(tmp_path / "run", evaluations=240)
    assert_same_run(longer, train(tmp_path / "other", evaluations=240))
    assert gaits.load_run(tmp_path / "run").config.evaluations == 240


def test_budget_is_rounded_up_to_whole_iterations(tmp_path):
    assert train(tmp_path / "run", evaluations=17).metrics["evaluations"].iloc[-1] == 32


def test_callback_sees_metrics_and_archive(tmp_path):
    seen = []
    train(tmp_path / "run", evaluations=48, callback=lambda row, archive: seen.append((row["evaluations"], len(archive))))
    assert [evaluations for evaluations, _ in seen] == [16, 32, 48]
    assert all(elites > 0 for _, elites in seen)


def test_a_diverged_critic_stops_the_run_and_keeps_the_last_checkpoint(tmp_path):
    with pytest.raises(ValueError, match=r"The critic diverged: its loss is (nan|inf).* in iteration 2\..* iteration 0,"):
        gaits.train(
            small_task(),
            "pga_me",
            out=tmp_path / "run",
            evaluations=80,
            **{**CRITIC, "batch_size": 8, "critic_learning_rate": 1e30},
        )
    run = gaits.load_run(tmp_path / "run")
    assert not run.finished
    assert [int(path.stem) for path in checkpoint.available(run.folder / "checkpoint")] == [0]


@pytest.mark.parametrize(("algorithm", "option"), [("pga_me", "pg_learning_rate"), ("cma_mega_td3", "climb_learning_rate")])
def test_policies_that_climb_out_of_all_numbers_stop_the_run_too(tmp_path, algorithm, option):
    settings = {**CRITIC, "batch_size": 8, option: 1e38}
    with pytest.raises(ValueError, match=rf"climbed .* in iteration \d\..* with a lower --{option.replace('_', '-')}, or"):
        gaits.train(small_task(), algorithm, out=tmp_path / "run", evaluations=80, **settings)


# --- interruptions ---------------------------------------------------------------------------------------------------

DRIVER = """
import sys
sys.path.insert(0, {tests!r})
from gaits.runs import directory
directory.MAX_CHECKPOINT_SHARE = 0.5
import gaits
from conformance.algorithm import small_task
print("ready", flush=True)
out = sys.argv[1]
try:
    gaits.load_run(out)
except ValueError:
    gaits.train(small_task(), "map_elites", out=out, workers=2, checkpoint_iterations=1, **{arguments!r})
else:
    gaits.resume(out)
"""


def start_driver(folder, arguments):
    code = DRIVER.format(tests=os.path.dirname(os.path.dirname(__file__)), arguments=arguments)
    process = subprocess.Popen([sys.executable, "-c", code, str(folder)], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout.readline() == b"ready\n"
    return process


def newest_iteration(folder):
    return max((int(path.stem) for path in checkpoint.available(folder / "checkpoint")), default=0)


def test_killed_at_random_moments(tmp_path):
    """SIGKILL, anywhere: what is left can be resumed, and ends as if nothing had happened."""
    arguments = {**ARGUMENTS, "evaluations": 4000}
    expected = gaits.train(small_task(), "map_elites", out=tmp_path / "expected", **arguments)
    moments = random.Random(0)
    saved = 0
    for _ in range(2):
        process = start_driver(tmp_path / "run", arguments)
        while newest_iteration(tmp_path / "run") <= saved:  # so that the kill finds some progress on fast and slow machines
            assert process.poll() is None, process.stderr.read().decode()
            time.sleep(0.01)
        time.sleep(moments.uniform(0, 0.15))
        process.kill()
        process.communicate()
        saved = newest_iteration(tmp_path / "run")
        assert process.returncode == -signal.SIGKILL
        assert not gaits.load_run(tmp_path / "run").finished
    process = start_driver(tmp_path / "run", arguments)
    _, err = process.communicate(timeout=120)
    assert process.returncode == 0, err.decode()
    assert_same_run(gaits.load_run(tmp_path / "run"), expected)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_saves_and_says_how_to_go_on(tmp_path, number):
    command = [sys.executable, "-m", "gaits.cli", "train", "qd_hopper", "map_elites", "--out", str(tmp_path / "run")]
    process = subprocess.Popen([*command, "--grid", "64"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert "evaluations 100/" in process.stdout.readline()
    process.send_signal(number)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "finishing this iteration, then saving" in err
    assert f"gaits resume {tmp_path / 'run'}" in out
    assert "Traceback" not in err
    run = gaits.load_run(tmp_path / "run")
    assert len(run.metrics) == newest_iteration(run.folder)
    assert len(run.archive) == run.metrics["elites"].iloc[-1]


def test_a_signal_in_the_middle_of_a_print(monkeypatch, capfd):
    class Printing:
        def write(self, text):
            raise RuntimeError("reentrant call inside <_io.BufferedWriter name='<stderr>'>")

        flush = write

    with stop_signals() as stop, monkeypatch.context() as patch:
        patch.setattr(sys, "stderr", Printing())
        signal.raise_signal(signal.SIGINT)
    assert stop.is_set()
    assert "finishing this iteration, then saving" in capfd.readouterr().err


def test_a_second_signal_leaves_at_once_with_a_valid_checkpoint(tmp_path):
    command = [sys.executable, "-m", "gaits.cli", "train", "qd_half_cheetah", "map_elites", "--out", str(tmp_path / "run")]
    process = subprocess.Popen([*command, "--workers", "1"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    while not checkpoint.available(tmp_path / "run" / "checkpoint"):
        time.sleep(0.1)
    time.sleep(0.5)
    process.send_signal(signal.SIGINT)
    time.sleep(0.5)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert f"Left at once. Go on from the last checkpoint with: gaits resume {tmp_path / 'run'}" in out
    assert "Traceback" not in err
    run = gaits.load_run(tmp_path / "run")
    assert check_run(run.folder).wrong == []


# --- bad folders -----------------------------------------------------------------------------------------------------


def spoil(path, how):
    content = bytearray(path.read_bytes())
    if how == "truncated":
        path.write_bytes(content[: len(content) // 2])
    elif how == "flipped":
        content[-5] ^= 16
        path.write_bytes(content)


@pytest.mark.parametrize("how", ["truncated", "flipped"])
def test_a_damaged_checkpoint_offers_the_previous_one(reference, tmp_path, monkeypatch, how):
    monkeypatch.setattr(directory, "MAX_CHECKPOINT_SHARE", float("inf"))
    train(tmp_path / "run", callback=stop_at(6), checkpoint_iterations=2)
    newest, older = checkpoint.available(tmp_path / "run" / "checkpoint")
    assert (int(newest.stem), int(older.stem)) == (6, 4)
    spoil(newest, how)
    with pytest.raises(ValueError, match=r"previous checkpoint, iteration 4, is good: gaits resume .* --previous"):
        gaits.resume(tmp_path / "run")
    assert_same_run(gaits.resume(tmp_path / "run", previous=True), reference)


def test_all_checkpoints_damaged(tmp_path):
    train(tmp_path / "run", callback=stop_at(2))
    newest, older = checkpoint.available(tmp_path / "run" / "checkpoint")
    spoil(older, "truncated")
    with pytest.raises(ValueError, match="no other checkpoint"):
        gaits.resume(tmp_path / "run", previous=True)
    assert newest.exists()  # a good one is not thrown away for a bad one
    spoil(newest, "truncated")
    with pytest.raises(ValueError, match="no other checkpoint"):
        gaits.resume(tmp_path / "run")
    older.unlink()
    with pytest.raises(ValueError, match="no previous checkpoint"):
        gaits.resume(tmp_path / "run", previous=True)


def test_views_are_made_again_from_the_checkpoint(reference, tmp_path):
    shutil.copytree(reference.folder, tmp_path / "run")
    for name in ("archive.npz", "history.npz", "metrics.csv"):
        (tmp_path / "run" / name).unlink()
    assert_same_run(gaits.resume(tmp_path / "run"), reference)


def test_there_is_a_checkpoint_from_the_start(tmp_path):
    def fail(row, archive):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train(tmp_path / "run", callback=fail)
    assert [path.stem for path in checkpoint.available(tmp_path / "run" / "checkpoint")] == ["000000000"]
    run = gaits.load_run(tmp_path / "run")
    assert len(run.archive) == 0
    assert not run.finished


def test_fewer_evaluations_than_done(reference, tmp_path):
    shutil.copytree(reference.folder, tmp_path / "run")
    with pytest.raises(ValueError, match="has done 160 evaluations already"):
        gaits.resume(tmp_path / "run", evaluations=100)
    assert gaits.load_run(tmp_path / "run").config.evaluations == 160


def test_a_checkpoint_swapped_between_runs(tmp_path):
    for name in ("a", "b"):
        train(tmp_path / name, callback=stop_at(2))
    paths = [checkpoint.available(tmp_path / name / "checkpoint")[0] for name in ("a", "b")]
    paths[1].write_bytes(paths[0].read_bytes())
    with pytest.raises(ValueError, match="belongs to another run"):
        gaits.resume(tmp_path / "b")


def test_a_folder_that_holds_another_run(reference):
    with pytest.raises(ValueError, match=r"already holds a run. Continue it with: gaits resume"):
        train(reference.folder)


def test_a_folder_that_holds_something_else(tmp_path):
    (tmp_path / "thesis.tex").write_text("precious")
    with pytest.raises(ValueError, match="is not empty"):
        train(tmp_path)
    assert (tmp_path / "thesis.tex").read_text() == "precious"


def test_a_folder_that_cannot_be_made(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(ValueError, match=r"Cannot write to .*Choose another --out"):
        train(tmp_path / "file" / "run")


def hold(folder, ready, release):
    with directory.locked(folder):
        ready.set()
        release.wait(30)


def test_a_run_in_use(tmp_path):
    train(tmp_path / "run", callback=stop_at(1))
    context = multiprocessing.get_context("spawn")
    ready, release = context.Event(), context.Event()
    process = context.Process(target=hold, args=(tmp_path / "run", ready, release))
    process.start()
    assert ready.wait(30)
    with pytest.raises(ValueError, match=f"in use by another process .pid {process.pid}"):
        gaits.resume(tmp_path / "run")
    release.set()
    process.join()
    gaits.resume(tmp_path / "run")


def test_a_full_disk_keeps_the_last_checkpoint(reference, tmp_path, monkeypatch):
    monkeypatch.setattr(directory, "MAX_CHECKPOINT_SHARE", float("inf"))
    save = checkpoint.save

    def fill_up(folder, state, run_id, iteration, binds):
        if iteration > 4:
            raise OSError(28, "No space left on device", str(folder))
        return save(folder, state, run_id, iteration, binds)

    monkeypatch.setattr(checkpoint, "save", fill_up)
    with pytest.raises(OSError, match="No space left"):
        train(tmp_path / "run", checkpoint_iterations=2)
    monkeypatch.setattr(checkpoint, "save", save)
    assert_same_run(gaits.resume(tmp_path / "run"), reference)


@pytest.mark.parametrize("field", ["versions", "task_fields", "settings"])
def test_a_config_with_a_missing_table(reference, tmp_path, field):
    shutil.copytree(reference.folder, tmp_path / "run")
    path = tmp_path / "run" / "config.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), field: None}))
    with pytest.raises(ValueError, match=f"config.json cannot be used: {field} must be a table"):
        gaits.resume(tmp_path / "run")


@pytest.mark.parametrize("content", [None, "", "{", "[]", '{"version": 1}', '{"version": 99}'])
def test_folders_that_are_not_runs(tmp_path, content):
    if content is not None:
        (tmp_path / "config.json").write_text(content)
    with pytest.raises(ValueError, match=r"config\.json"):
        gaits.load_run(tmp_path)


def test_no_archive_yet(tmp_path):
    with pytest.raises(ValueError, match=r"There is no .*archive.npz"):
        gaits.load_archive(tmp_path)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"evaluations": 0}, "evaluations must be a whole number of at least 1; got 0"),
        ({"seed": -1}, "seed must be a whole number of at least 0; got -1"),
        ({"seed": 1.5}, "seed must be a whole number"),
        ({"workers": 0}, "workers must be"),
        ({"sigm": 1}, "No setting of map_elites.* is called 'sigm'. Did you mean 'sigma'"),
        ({"max_step": 9}, "field of a task .*is called 'max_step'. Did you mean 'max_steps'"),
        ({"worker": 9}, "is called 'worker'. Did you mean 'workers'"),
        ({"batch_size": 2.5}, "batch_size must be a whole number"),
        ({"checkpoint_minutes": 0}, "checkpoint_minutes must be a number above 0"),
        ({"checkpoint_minutes": "5"}, "checkpoint_minutes must be a number above 0"),
        ({"sigma": "wide"}, "sigma must be a number; got 'wide'"),
    ],
)
def test_bad_arguments_leave_no_run_behind(tmp_path, changes, message):
    with pytest.raises(ValueError, match=message):
        train(tmp_path / "run", **changes)
    assert not (tmp_path / "run").exists()


def test_choices_are_checked(tmp_path):
    with pytest.raises(ValueError, match="variant must be one of 'explore_exploit', 'explore', 'exploit'; got 'explor'"):
        gaits.train(small_task(), "me_es", out=tmp_path / "run", variant="explor")
    with pytest.raises(ValueError, match="obs_norm must be true or false; got 'no'"):
        gaits.train(small_task(), "me_es", out=tmp_path / "run", obs_norm="no")


def test_numpy_integers_are_whole_numbers(tmp_path):
    run = train(tmp_path / "run", seed=np.int64(3), evaluations=np.int32(16), workers=np.int64(1))
    assert (run.config.seed, run.config.evaluations) == (3, 16)


def test_unknown_algorithm(tmp_path):
    with pytest.raises(ValueError, match="Did you mean 'map_elites'"):
        gaits.train("qd_hopper", "mapelites", out=tmp_path / "run")


@pytest.mark.parametrize("algorithm", ["map_elites", "cma_mega_es", "me_es"])
def test_a_checkpoint_written_behind_the_next_episodes_is_of_its_own_iteration(tmp_path, monkeypatch, algorithm):
    options = {"task": small_task(), "algorithm": algorithm, "seed": 2, "batch_size": 16}
    once = gaits.train(**options, evaluations=1, out=tmp_path / "once")
    every = once.metrics["evaluations"].iloc[0]
    plain = [gaits.train(**options, evaluations=i * every, out=tmp_path / f"plain{i}") for i in range(1, 4)]
    save = checkpoint.save

    def late(*arguments):
        time.sleep(0.1)  # by now, the next solutions were asked for, and their results are there
        return save(*arguments)

    monkeypatch.setattr(checkpoint, "save", late)
    monkeypatch.setattr(directory, "MAX_CHECKPOINT_SHARE", 1e9)
    monkeypatch.setattr(checkpoint, "KEEP", 9)
    monkeypatch.setattr(directory.RunDirectory, "finish", lambda self: None)
    behind = gaits.train(**options, evaluations=4 * every, out=tmp_path / "behind", checkpoint_iterations=1)
    for i, other in enumerate(plain, start=1):
        states = []
        for run in (behind, other):
            search = Search(run.config.make_algorithm(), None, 0)
            like = directory.RunDirectory(run.folder, run.config).state(search)
            state = checkpoint.load(run.folder / "checkpoint" / f"{i:09d}.ckpt", run.config.id, like)
            states.append(
                {name: leaf for name, leaf in flatten(state).items() if "seconds" not in name and name != "metrics"}
            )
        for name, leaf in states[0].items():
            np.testing.assert_array_equal(leaf, states[1][name], err_msg=name)


def test_a_checkpoint_that_cannot_be_written_is_said(tmp_path, monkeypatch):
    def full(folder, state, run_id, iteration, binds):
        if iteration:
            raise OSError(28, "No space left on device")

    monkeypatch.setattr(checkpoint, "save", full)
    with pytest.raises(OSError, match="No space left"):
        train(tmp_path / "run", checkpoint_iterations=1)
