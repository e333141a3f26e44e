"""Studies: what a file may say, in which order runs are made, and that nothing that happens to one run stops the rest."""

from __future__ import annotations

import contextlib
import dataclasses
import io
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import own_tasks
import pandas as pd
import pytest
from conformance.algorithm import assert_same_archive
from rich.console import Console

import gaits
from gaits import study as studies
from gaits import training
from gaits.runs import checkpoint, directory
from gaits.runs.verify import check_run
from gaits.study import LiveOverview, Outcome, Overview, PlainOverview, load_study, parse_seeds, preset, run_study

TINY = {"hidden": [8], "max_steps": 50}
DOCUMENT = {
    "evaluations": 30,  # not a multiple of the batches
    "seeds": [1, 2],
    "tasks": ["qd_hopper"],
    "algorithms": ["map_elites"],
    "task": {"qd_hopper": {**TINY, "grid": [64]}},
    "settings": {"map_elites": {"batch_size": 8}},
}


def make(**changes):
    return studies.read.make_study({**DOCUMENT, **changes}, "tiny")


def timeless(run):
    metrics = run.metrics
    return metrics[[name for name in metrics if not name.startswith("seconds")]]


def assert_same_runs(study, a, b):
    for planned in study.runs:
        one, other = gaits.load_run(a / planned.name), gaits.load_run(b / planned.name)
        pd.testing.assert_frame_equal(timeless(one), timeless(other), check_exact=True)
        assert_same_archive(one.archive, other.archive)
        assert one.finished
        assert one.config.evaluations == other.config.evaluations


def statuses(report):
    return [outcome.status for outcome in report.outcomes]


# --- files -----------------------------------------------------------------------------------------------------------

TOML = """
evaluations = 25_000
seeds = [1, 2, 3]
tasks = ["qd_hopper", "qd_walker"]
algorithms = ["map_elites", "cma_mega_es"]
[settings.cma_mega_es]
es_samples = 50
[settings.map_elites]
batch_size = 50
[task.qd_hopper]
grid = [1000]
[[variant]]
name = "wide"
algorithm = "map_elites"
settings = { sigma = 0.05 }
"""


def write(tmp_path, text):
    path = tmp_path / "mine.toml"
    path.write_text(text)
    return path


def test_a_file(tmp_path):
    study = load_study(write(tmp_path, TOML))
    assert (study.name, study.evaluations, study.seeds) == ("mine", 25_000, (1, 2, 3))
    assert [task.grid for task in study.tasks] == [(1000,), (32, 32)]
    assert [variant.name for variant in study.variants] == ["map_elites", "cma_mega_es", "wide"]
    first, second, wide = (variant.settings for variant in study.variants)
    assert (first["sigma"], first["batch_size"]) == (0.02, 50)
    assert (second["es_samples"], second["es_sigma"]) == (50, 0.02)
    assert wide == {"sigma": 0.05, "batch_size": 50, "challenge": False, "reevaluate": 0}  # on top of its algorithm's
    assert study.variants[2].algorithm == "map_elites"


def test_the_first_seed_of_everything_comes_first(tmp_path):
    names = [run.name for run in load_study(write(tmp_path, TOML)).runs]
    assert len(names) == len(set(names)) == 18
    assert names[:7] == [
        *("qd_hopper-map_elites-seed1", "qd_hopper-cma_mega_es-seed1", "qd_hopper-wide-seed1"),
        *("qd_walker-map_elites-seed1", "qd_walker-cma_mega_es-seed1", "qd_walker-wide-seed1"),
        "qd_hopper-map_elites-seed2",
    ]


def test_variants_alone_and_a_file_with_a_byte_order_mark(tmp_path):
    text = 'evaluations = 8\nseeds = "1"\ntasks = ["lp_sphere"]\n[[variant]]\nname = "exact"\nalgorithm = "cma_mega"'
    path = tmp_path / "study.toml"
    path.write_bytes(b"\xef\xbb\xbf" + text.encode())
    assert [run.name for run in load_study(path).runs] == ["lp_sphere-exact-seed1"]


def test_the_paper():
    study = preset("paper")
    assert len(study.runs) == 100
    assert (study.evaluations, study.seeds) == (1_000_000, (1, 2, 3, 4, 5))
    assert study.tasks[0] == gaits.make_task("qd_ant")
    assert {run.algorithm for run in study.runs} == {"cma_mega_es", "cma_mega_td3_es", "pga_me", "me_es", "map_elites"}
    with pytest.raises(ValueError, match=r"No preset is called 'papr'. Did you mean 'paper'"):
        preset("papr")


def test_the_example():
    study = load_study(Path(__file__).parent.parent / "examples" / "study.toml")
    assert len(study.runs) == 12


@pytest.mark.parametrize(
    ("text", "seeds"),
    [("1..5", (1, 2, 3, 4, 5)), ("1,2,7", (1, 2, 7)), (" 1 .. 3, 7 ", (1, 2, 3, 7)), ("0", (0,)), ("4..4", (4,))],
)
def test_seeds(text, seeds):
    assert parse_seeds(text) == seeds


@pytest.mark.parametrize("text", ["", "1..", "..5", "1...5", "-1", "1-5", "1;2", "a", "1,,2", "1..2..3", "1.5"])
def test_seeds_that_are_none(text):
    with pytest.raises(ValueError, match=r"seeds must look like 1\.\.5 or 1,2,7; got"):
        parse_seeds(text)


def test_seeds_backwards_and_too_many():
    with pytest.raises(ValueError, match=r"runs backwards; write 1\.\.5"):
        parse_seeds("5..1")
    with pytest.raises(ValueError, match="more than 1,000"):
        parse_seeds("1..99999999999")


def test_overrides():
    study = make()
    assert study.with_() == study
    assert study.with_(evaluations=60).runs[0].evaluations == 60
    assert study.with_(seeds="3..4").seeds == study.with_(seeds=[3, 4]).seeds == (3, 4)
    for changes, message in [
        ({"evaluations": 0}, "evaluations must be a whole number of at least 1; got 0"),
        ({"seeds": "1,1"}, "seeds has 1 twice"),
        ({"seeds": []}, "seeds is empty"),
        ({"seeds": [-1]}, "A seed must be a whole number of at least 0; got -1"),
    ]:
        with pytest.raises(ValueError, match=message):
            study.with_(**changes)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"evaluation": 5}, "No key of a study is called 'evaluation'. Did you mean 'evaluations'"),
        ({"evaluations": "many"}, "evaluations must be a whole number of at least 1; got 'many'"),
        ({"evaluations": 1e6}, "evaluations must be a whole number"),
        ({"evaluations": True}, "evaluations must be a whole number"),
        ({"seeds": 3}, "seeds must be a list such as .* got 3"),
        ({"seeds": []}, "seeds is empty"),
        ({"seeds": [1, 2, 1]}, "seeds has 1 twice"),
        ({"seeds": [1.5]}, "A seed must be a whole number of at least 0; got 1.5"),
        ({"seeds": "one"}, "seeds must look like"),
        ({"tasks": []}, "tasks is empty"),
        ({"tasks": "qd_hopper"}, r'tasks must be a list of names, such as tasks = \["qd_hopper"\]; got'),
        ({"tasks": [1]}, "tasks must be a list of names"),
        ({"tasks": ["qd_hoper"]}, "No task is called 'qd_hoper'. Did you mean 'qd_hopper'"),
        ({"tasks": ["qd_hopper", "qd_hopper"]}, "tasks has 'qd_hopper' twice"),
        ({"algorithms": []}, "algorithms is empty"),
        ({"algorithms": ["map_elite"]}, "No algorithm is called 'map_elite'. Did you mean 'map_elites'"),
        ({"algorithms": ["map_elites", "map_elites"]}, "algorithms has 'map_elites' twice"),
        (
            {"settings": {"map_elites": {"sigm": 1}}},
            r"\[settings.map_elites\]: .*No setting of map_elites is called 'sigm'. Did you mean 'sigma'",
        ),
        ({"settings": {"map_elites": {"sigma": "wide"}}}, "sigma must be a number; got 'wide'"),
        ({"settings": {"map_elites": {"sigma": -1}}}, "sigma must be a number above 0; got -1"),
        ({"settings": {"pga_me": {}}}, r"\[settings.pga_me\] is for an algorithm that the study does not run"),
        ({"settings": {"nonsense": {}}}, "No algorithm is called 'nonsense'"),
        ({"settings": 5}, r"settings must be tables, each headed by a name, such as \[settings.map_elites\]; got 5"),
        ({"settings": {"sigma": 0.1}}, "settings must be tables"),
        ({"task": "qd_hopper"}, r"task must be tables, each headed by a name, such as \[task.qd_hopper\]"),
        ({"task": {"qd_walker": {}}}, r"\[task.qd_walker\] is for a task that the study does not run"),
        ({"task": {"qd_hopper": {"gird": [5]}}}, r"\[task.qd_hopper\]: .*'gird'. Did you mean 'grid'"),
        ({"task": {"qd_hopper": {"grid": 5}}}, "grid must be a list of whole numbers, one per measure; got 5"),
        ({"task": {"qd_hopper": {"grid": [5, 5]}}}, "its grid needs 1 positive whole"),
        ({"task": {"qd_hopper": {"objective_range": [1]}}}, "objective_range must be two numbers"),
        ({"task": {"qd_hopper": {"objective_range": [1, "b"]}}}, "objective_range must be two numbers"),
        ({"task": {"qd_hopper": {"objective_range": [2, 1]}}}, "with min < max"),
        ({"task": {"qd_hopper": {"max_steps": True}}}, "max_steps must be a whole number"),
        ({"task": {"qd_hopper": {"max_steps": 0}}}, "max_steps must be a whole number of at least 1"),
        ({"task": {"qd_hopper": {"grid": [10**18]}}}, "An archive has 1,000,000 cells at most"),
        ({"algorithms": ["cma_mega"], "settings": {}}, "cma_mega on qd_hopper: .*has no exact gradients"),
        ({"tasks": ["lp_sphere"], "task": {}, "algorithms": ["map_elites", "pga_me"]}, "pga_me on lp_sphere: .*a function"),
        ({"variant": {"name": "wide"}}, r"variant must be tables, each headed \[\[variant\]\]"),
        ({"variant": [{"algorithm": "map_elites"}]}, r"\[\[variant\]\] without a name: name must be a name in quotes"),
        ({"variant": [{"name": "wide"}]}, r"\[\[variant\]\] wide: algorithm must be a name in quotes; got 'nothing'"),
        ({"variant": [{"name": "w", "algorithm": "map_elite"}]}, "Did you mean 'map_elites'"),
        ({"variant": [{"name": "w", "algorithm": "map_elites", "setings": {}}]}, "Did you mean 'settings'"),
        ({"variant": [{"name": "w", "algorithm": "map_elites", "settings": 1}]}, "settings must be a table"),
        ({"variant": [{"name": "w", "algorithm": "map_elites", "settings": {"sigma": 0}}]}, "above 0; got 0"),
        ({"variant": [{"name": "../w", "algorithm": "map_elites"}]}, r"part of folder names: .*got '\.\./w'"),
        ({"variant": [{"name": "map_elites", "algorithm": "map_elites"}]}, "needs a name of its own"),
        ({"variant": [{"name": "pga_me", "algorithm": "map_elites"}]}, "cannot be called 'pga_me'"),
        ({"variant": [{"name": n, "algorithm": "map_elites"} for n in ("w", "W")]}, "algorithms has 'w' twice"),
    ],
)
def test_mistakes_are_found_before_anything_runs(changes, message):
    with pytest.raises(ValueError, match=message):
        make(**changes)


@pytest.mark.parametrize("key", ["evaluations", "seeds", "tasks"])
def test_missing_keys(key):
    document = {name: value for name, value in DOCUMENT.items() if name != key}
    with pytest.raises(ValueError, match=f"{key} is missing"):
        studies.read.make_study(document, "tiny")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("evaluations = 5\nseeds = [1,\n[task]\nx", r"mine\.toml: This is not TOML: .*line 3"),
        ("evaluations = 5\nseeds = [1,", r"mine\.toml: This is not TOML: .*line 2, the end of the file"),
        ("evaluations = 5\nevaluations = 6", "line 2"),
        ('evaluations = 5\nseeds = [1]\ntasks = ["qd_hopper"]', "mine.toml: There is nothing to run"),
        (TOML.replace("es_samples", "es_sample"), r"mine\.toml: \[settings.cma_mega_es\]: .*Did you mean 'es_samples'"),
        (
            TOML.replace("es_samples = 50", "es_samples = 51"),
            r"mine\.toml: \[settings.cma_mega_es\]: es_samples must be even",
        ),
    ],
)
def test_mistakes_name_the_file(tmp_path, text, message):
    with pytest.raises(ValueError, match=message):
        load_study(write(tmp_path, text))


def test_files_that_are_not_studies(tmp_path):
    with pytest.raises(ValueError, match=r"is not a study: it has no study\.json"):
        load_study(tmp_path)
    with pytest.raises(ValueError, match=r"There is no .*absent\.toml"):
        load_study(tmp_path / "absent.toml")
    (tmp_path / "binary.toml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ValueError, match="not a text file"):
        load_study(tmp_path / "binary.toml")
    for text, message in [
        ("{", "Expecting"),
        ("[]", "not a study"),
        ('{"name": "x", "version": 9}', "version 9"),
        ('{"name": "x", "version": 1}', "evaluations is missing"),
    ]:
        (tmp_path / "study.json").write_text(text)
        with pytest.raises(ValueError, match=rf"study\.json: .*{message}"):
            load_study(tmp_path)


def test_a_saved_study_is_the_same_study(tmp_path):
    study = load_study(write(tmp_path, TOML))
    study.save(tmp_path)
    assert load_study(tmp_path) == load_study(tmp_path / "study.json") == study
    content = json.loads((tmp_path / "study.json").read_text())
    assert content["settings"]["cma_mega_es"]["es_sigma"] == 0.02  # defaults are written out


# --- running ---------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    folder = tmp_path_factory.mktemp("study") / "reference"
    return run_study(make(), folder, workers=1)


def test_all_runs_are_made_and_made_once(finished, tmp_path):
    assert statuses(finished) == ["done", "done"]
    assert finished.complete
    assert load_study(finished.folder) == make()
    folder = shutil.copytree(finished.folder, tmp_path / "study")
    before = {path: path.stat().st_mtime_ns for path in folder.glob("*/*")}
    again = run_study(load_study(folder), folder)
    assert statuses(again) == ["skipped", "skipped"]
    assert {path: path.stat().st_mtime_ns for path in folder.glob("*/*")} == before
    text = str(again)
    assert f"2 runs in {folder}: 2 done before." in text
    assert text.endswith(f"gaits compare {folder}")
    run = gaits.load_run(folder / "qd_hopper-map_elites-seed2")
    assert (run.config.seed, run.config.settings["batch_size"], run.task.grid) == (2, 8, (64,))


def test_more_evaluations_extend_it_and_fewer_leave_it(finished, tmp_path):
    folder = shutil.copytree(finished.folder, tmp_path / "study")
    longer = make().with_(evaluations=60)
    assert statuses(run_study(longer, folder)) == ["done", "done"]
    run_study(longer, tmp_path / "straight")
    assert_same_runs(longer, folder, tmp_path / "straight")
    assert load_study(folder).evaluations == 60
    assert statuses(run_study(make(), folder)) == ["skipped", "skipped"]


def test_more_seeds_add_runs(finished, tmp_path):
    folder = shutil.copytree(finished.folder, tmp_path / "study")
    assert statuses(run_study(make().with_(seeds="1..3"), folder)) == ["skipped", "skipped", "done"]


def test_what_was_begun_goes_on(finished, tmp_path):
    folder, run = tmp_path / "study", make().runs[0]
    arguments = {"seed": run.seed, "evaluations": run.evaluations, "out": folder / run.name, **run.settings}
    training.train(run.task, run.algorithm, callback=lambda row, archive: row["iteration"] == 2, **arguments)
    (folder / make().runs[1].name).mkdir()  # killed before there was a config
    assert statuses(run_study(make(), folder)) == ["done", "done"]
    assert_same_runs(make(), folder, finished.folder)


@pytest.mark.parametrize("how", ["archive", "torn", "no metrics"])
def test_metrics_to_the_end_do_not_make_a_run_complete(finished, tmp_path, how):
    """Killed after the last row of metrics, or in the middle of writing: the archive is still an old one."""
    folder = shutil.copytree(finished.folder, tmp_path / "study")
    place = folder / make().runs[0].name
    if how == "archive":
        (place / "archive.npz").unlink()
    elif how == "torn":
        text = (place / "metrics.csv").read_text()
        (place / "metrics.csv").write_text(text[: text.rindex("\n4,") + 3])
    else:
        (place / "metrics.csv").write_bytes(b"\0" * 100)
    assert statuses(run_study(make(), folder)) == ["done", "skipped"]
    assert_same_runs(make(), folder, finished.folder)


def test_a_plan_below_what_was_done_and_not_saved(finished, tmp_path):
    """The run is brought to where its metrics had been: going back is not possible, and failing helps nobody."""
    folder = shutil.copytree(finished.folder, tmp_path / "study")
    for run in make().runs:
        (folder / run.name / "history.npz").unlink()
    assert statuses(run_study(make(evaluations=10), folder)) == ["done", "done"]
    assert gaits.load_run(folder / make().runs[0].name).metrics["evaluations"].iloc[-1] == 32


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"settings": {"map_elites": {"batch_size": 8, "sigma": 0.5}}}, "sigma is 0.02 there and 0.5 in the study"),
        ({"task": {"qd_hopper": {**TINY, "grid": [32]}}}, r"grid is \(64,\) there and \(32,\) in the study"),
    ],
)
def test_another_run_in_the_folder_is_left_alone(finished, tmp_path, changes, message):
    folder = shutil.copytree(finished.folder, tmp_path / "study")
    shutil.rmtree(folder / make().runs[1].name)
    report = run_study(make(**changes), folder)
    assert statuses(report) == ["refused", "done"]
    with pytest.raises(ValueError, match=f"holds another run: {message}. Move it, or change the study"):
        raise ValueError(report.outcomes[0].message)
    assert not report.complete
    assert "1 failed" in str(report)


def test_another_seed_or_algorithm_in_the_folder(finished, tmp_path):
    folder = shutil.copytree(finished.folder, tmp_path / "study")
    first, second = (folder / run.name for run in make().runs)
    shutil.rmtree(second)
    first.rename(second)
    assert "seed is 1 there and 2 in the study" in run_study(make(), folder).outcomes[1].message
    variant = dataclasses.replace(make().variants[0], algorithm="pga_me")
    planned = dataclasses.replace(make().runs[0], variant=variant)
    told = studies.execute(planned, folder)
    assert told.status == "refused"
    assert "algorithm is 'map_elites' there and 'pga_me' in the study" in told.message
    assert "sigma" not in told.message


# --- what can go wrong -----------------------------------------------------------------------------------------------


def failing(monkeypatch, error, seed=1):
    """Let the runs with this seed fail."""
    train = training.train

    def one_fails(task, algorithm, **arguments):
        if arguments["seed"] == seed:
            raise error
        return train(task, algorithm, **arguments)

    monkeypatch.setattr(training, "train", one_fails)


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (ValueError("The critic diverged."), "The critic diverged."),
        (OSError(5, "Input/output error"), r"OSError: [Errno 5] Input/output error"),
        (ZeroDivisionError("division by zero\nmore"), "ZeroDivisionError: division by zero"),
        (MemoryError(), "MemoryError"),
        (RuntimeError(), "RuntimeError"),
    ],
)
def test_a_failing_run_does_not_stop_the_others(tmp_path, monkeypatch, error, message):
    with monkeypatch.context() as patch:
        failing(patch, error)
        report = run_study(make(), tmp_path / "study")
    assert statuses(report) == ["failed", "done"]
    assert report.outcomes[0].message == message
    text = str(report)
    assert "1 done, 1 failed." in text
    assert f"  qd_hopper-map_elites-seed1: {message}" in text
    assert f"tries them again: gaits study {tmp_path / 'study'}" in text
    assert "gaits compare" in text
    kept = (tmp_path / "study" / "failed.txt").read_text()
    assert kept.startswith("qd_hopper-map_elites-seed1\nTraceback")
    assert statuses(run_study(make(), tmp_path / "study")) == ["done", "skipped"]
    assert not (tmp_path / "study" / "failed.txt").exists()


def test_a_broken_config_and_a_file_in_the_way(finished, tmp_path):
    folder = shutil.copytree(finished.folder, tmp_path / "study")
    first, second = (folder / run.name for run in make().runs)
    (first / "config.json").write_text("{")
    shutil.rmtree(second)
    second.write_text("precious")
    report = run_study(make(), folder)
    assert statuses(report) == ["failed", "failed"]
    assert "config.json cannot be used" in report.outcomes[0].message
    assert "Cannot write to" in report.outcomes[1].message
    assert "gaits compare" not in str(report)
    assert second.read_text() == "precious"


@pytest.mark.parametrize("wrapped", [False, True])
def test_a_full_disk_stops_the_study(tmp_path, monkeypatch, wrapped):
    error = full = OSError(28, "No space left on device")
    if wrapped:  # as new_folder does
        error = ValueError("Cannot write to it: No space left on device.")
        error.__context__, error.__suppress_context__ = full, True
    failing(monkeypatch, error)
    report = run_study(make(), tmp_path / "study")
    assert statuses(report) == ["disk full"]
    assert not report.interrupted
    assert "1 failed, 1 not begun." in str(report)
    assert f"The disk is full, so the study stopped. Make room, then go on with: gaits study {tmp_path}" in str(report)


def test_ctrl_c_in_a_run_ends_the_study(tmp_path, finished):
    class PressesCtrlC(Overview):
        def update(self, run, row):
            super().update(run, row)
            if row["iteration"] == 2:
                os.kill(os.getpid(), signal.SIGINT)

    report = run_study(make(), tmp_path / "study", watcher=PressesCtrlC(make()))
    assert statuses(report) == ["interrupted"]
    assert report.interrupted
    assert "2 runs in" in str(report)
    assert "1 unfinished, 1 not begun." in str(report)
    assert f"everything is saved. Go on with: gaits study {tmp_path / 'study'}" in str(report)
    run_study(make(), tmp_path / "study")
    assert_same_runs(make(), tmp_path / "study", finished.folder)


@pytest.mark.parametrize("moment", ["before the first", "while a run is made"])
def test_ctrl_c_between_runs_ends_the_study(tmp_path, moment):
    class PressesCtrlC(Overview):
        def begin(self, found):
            if moment == "before the first":
                os.kill(os.getpid(), signal.SIGINT)

        def start(self, run):
            os.kill(os.getpid(), signal.SIGINT)

    report = run_study(make(), tmp_path / "study", watcher=PressesCtrlC(make()))
    assert statuses(report) == ([] if moment == "before the first" else ["interrupted"])
    assert report.interrupted
    assert run_study(make(), tmp_path / "study").complete


def test_leaving_at_once_says_how_to_go_on(tmp_path, monkeypatch, capsys):
    failing(monkeypatch, KeyboardInterrupt())
    with pytest.raises(KeyboardInterrupt):
        run_study(make(), tmp_path / "my study")
    assert f"gaits study '{tmp_path / 'my study'}'" in capsys.readouterr().err


def test_a_study_in_use(tmp_path):
    (tmp_path / "study").mkdir()
    with directory.locked(tmp_path / "study"), pytest.raises(ValueError, match="in use by another process"):
        run_study(make(), tmp_path / "study")


def test_arguments_are_checked_before_the_first_run(tmp_path):
    for arguments in ({"workers": 0}, {"learner_cores": 0}):
        with pytest.raises(ValueError, match="must be a whole number of at least 1; got 0"):
            run_study(make(), tmp_path / "study", **arguments)
    (tmp_path / "file").write_text("")
    with pytest.raises(ValueError, match=r"Cannot write to .*Choose another folder"):
        run_study(make(), tmp_path / "file" / "study")
    assert not (tmp_path / "study").exists()


KILLED = {
    "evaluations": 50,
    "seeds": [1],
    "tasks": ["qd_hopper", "qd_walker"],
    "algorithms": ["map_elites", "cma_mega_es", "me_es"],
    "task": {"qd_hopper": {**TINY, "grid": [64]}, "qd_walker": {**TINY, "grid": [8, 8]}},
    "settings": {
        "map_elites": {"batch_size": 8},
        "cma_mega_es": {"batch_size": 8, "es_samples": 8},
        "me_es": {"batch_size": 8},
    },
}
DRIVER = """
import functools, json, sys
from pathlib import Path
from gaits import training
from gaits.runs import directory
from gaits.study import PlainOverview, load_study, run_study
from gaits.study.read import make_study
directory.MAX_CHECKPOINT_SHARE = float("inf")
training.train = functools.partial(training.train, checkpoint_iterations=2)
folder = Path(sys.argv[1])
try:
    study = load_study(folder)
except ValueError:
    study = make_study(json.loads(sys.argv[2]), "killed")
print("ready", flush=True)
assert run_study(study, folder, workers=2, watcher=PlainOverview(study, every=0)).complete
"""


def start_driver(folder):
    command = [sys.executable, "-c", DRIVER, str(folder), json.dumps(KILLED)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "ready\n"
    return process


def test_killed_twice_at_random_moments(tmp_path):
    """SIGKILL, anywhere: the study goes on, and ends as if nothing had happened."""
    study = studies.read.make_study(KILLED, "killed")
    assert run_study(study, tmp_path / "expected").complete
    moments = random.Random(0)
    for _ in range(2):
        process = start_driver(tmp_path / "study")
        for _ in range(moments.randrange(3, 14)):  # lines, one per iteration: the same work on slow and fast machines
            process.stdout.readline()
        time.sleep(moments.uniform(0, 0.1))
        process.kill()
        process.communicate()
        assert process.returncode == -signal.SIGKILL
    process = start_driver(tmp_path / "study")
    _, err = process.communicate(timeout=300)
    assert process.returncode == 0, err
    assert_same_runs(study, tmp_path / "study", tmp_path / "expected")
    for run in study.runs:
        newest = checkpoint.available(tmp_path / "study" / run.name / "checkpoint")[0]
        assert newest.exists()
        assert not check_run(tmp_path / "study" / run.name).wrong


# --- watching --------------------------------------------------------------------------------------------------------


def row(evaluations, seconds):
    return {
        **{"iteration": evaluations // 10, "evaluations": evaluations, "seconds": seconds, "qd_score": 1234.0},
        **{"coverage": 0.25, "objective_max": 56.7},
    }


def two_tasks(**changes):
    task = {name: TINY for name in ("qd_hopper", "qd_walker")}
    return make(evaluations=100, tasks=["qd_hopper", "qd_walker"], task=task, **changes)


def test_time_left():
    overview = Overview(two_tasks())
    runs = overview.runs  # hopper 1, walker 1, hopper 2, walker 2
    overview.begin({})
    assert overview.seconds_left() is None
    assert overview.totals() == "0/4 runs | 0/400 evaluations | time left unknown yet"
    overview.start(runs[0])
    overview.update(runs[0], row(50, 5.0))
    assert overview.seconds_left() == pytest.approx(35)  # all runs at ten a second
    overview.update(runs[0], row(104, 10.4))
    overview.end(Outcome(runs[0], "done"))
    overview.start(runs[1])
    overview.update(runs[1], row(50, 50.0))
    assert overview.seconds_left() == pytest.approx(50 + 10 + 100)  # the walker at its own speed
    overview.end(Outcome(runs[1], "failed", "broken"))
    assert overview.seconds_left() == pytest.approx(10 + 100)  # nobody waits for what failed
    assert overview.totals() == "1/4 runs | 150/400 evaluations | 1 failed | left 1:50"


def test_time_left_knows_what_was_done_before():
    overview = Overview(two_tasks())
    first, second, third, _ = overview.runs
    overview.begin({first.name: (104, 10.4), second.name: (50, 100.0), third.name: (50, 5.0)})
    assert overview.count("skipped") == 1
    assert overview.seconds_left() == pytest.approx(100 + 5 + 200)
    assert overview.totals() == "1/4 runs | 200/400 evaluations | left 5:05"


def play(overview):
    """A study in which one run is there already, one is done, one fails and one is under way."""
    first, second, third, fourth = overview.runs
    overview.begin({first.name: (100, 10.0), fourth.name: (20, 2.0)})
    overview.end(Outcome(first, "skipped"))
    overview.start(second)
    watcher = overview.watch(second)
    for evaluations in (50, 100):
        watcher.update(row(evaluations, evaluations / 10), None)
    watcher.close()
    overview.end(Outcome(second, "done"))
    overview.start(third)
    overview.end(Outcome(third, "failed", "The critic diverged."))
    overview.start(fourth)
    overview.watch(fourth).update(row(43, 4.3), None)


def test_plain_lines():
    lines = []
    overview = PlainOverview(two_tasks(), every=0, print_line=lines.append)
    play(overview)
    overview.close()
    numbers = "QD score 1,234 | coverage 25.0% | best 56.7"
    assert lines == [
        "study tiny: 1/4 runs | 120/400 evaluations | left 0:28",
        "[2/4] qd_walker-map_elites-seed1: 100 evaluations",
        f"[2/4] qd_walker-map_elites-seed1: 50% | {numbers} | study: 1/4 runs | 170/400 evaluations | left 0:23",
        f"[2/4] qd_walker-map_elites-seed1: 100% | {numbers} | study: 1/4 runs | 220/400 evaluations | left 0:18",
        f"[2/4] qd_walker-map_elites-seed1: done in 0:10 | {numbers} | study: 2/4 runs | 220/400 evaluations | left 0:18",
        "[3/4] qd_hopper-map_elites-seed2: 100 evaluations",
        "[3/4] qd_hopper-map_elites-seed2: failed: The critic diverged.",
        "[4/4] qd_walker-map_elites-seed2: goes on at 20 of 100 evaluations",
        f"[4/4] qd_walker-map_elites-seed2: 43% | {numbers} | study: 2/4 runs | 243/400 evaluations | 1 failed | left 0:06",
    ]


def test_plain_lines_are_few():
    lines = []
    play(PlainOverview(two_tasks(), print_line=lines.append))
    assert len(lines) == 6


def test_live_grid():
    console = Console(file=io.StringIO(), force_terminal=True, width=100, height=40)
    overview = LiveOverview(two_tasks(), console)
    play(overview)
    overview.close()
    console = Console(file=io.StringIO(), width=100)
    console.print(overview.render())
    text = console.file.getvalue()
    cells = next(line for line in text.splitlines() if "map_elites" in line)
    assert "1/2 1 failed" in cells
    assert "1/2 43%" in cells
    assert "qd_walker-map_elites-seed2  43% | QD score 1,234" in text
    assert "2/4 runs | 243/400 evaluations | 1 failed | left 0:06" in text


def test_a_hundred_runs_fit_on_a_screen():
    overview = LiveOverview(preset("paper"), Console())
    console = Console(file=io.StringIO(), width=80)
    console.print(overview.render())
    lines = console.file.getvalue().splitlines()
    assert len(lines) <= 14
    assert max(map(len, lines)) <= 80
    assert "0/100 runs | 0/100,000,000 evaluations | time left unknown yet" in lines[-1]


def test_watchers_of_a_real_study(tmp_path):
    console = Console(file=io.StringIO(), force_terminal=True, width=100, height=40)
    assert run_study(make(), tmp_path / "live", watcher=LiveOverview(make(), console)).complete
    assert "2/2 runs | 60/60 evaluations | left 0:00" in console.file.getvalue()
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        run_study(make(), tmp_path / "plain", watcher=studies.make_overview(make()))
    lines = out.getvalue().splitlines()
    assert len(lines) == 5
    assert lines[-1].startswith("[2/2] qd_hopper-map_elites-seed2: done in 0:0")


def test_a_study_may_grow_but_not_be_replaced(finished, tmp_path):
    folder = shutil.copytree(finished.folder, tmp_path / "study")
    other = make(algorithms=["me_es"], settings={"me_es": {"batch_size": 8}})
    with pytest.raises(ValueError, match=r"holds another study, which also has map_elites\."):
        run_study(other, folder)
    run_study(make(seeds=[3]), folder)
    assert load_study(folder).seeds == (1, 2, 3)
    document = json.loads((folder / "study.json").read_text())
    (folder / "study.json").write_text(json.dumps({**document, "tasks": [*document["tasks"], "mine"]}))
    with pytest.raises(ValueError, match=r"No task is called 'mine'.*--task MODULE:NAME"):
        load_study(folder)
    with pytest.raises(ValueError, match=r"holds another study, which also has mine\."):
        run_study(make(), folder)


def test_going_on_names_tasks_of_ones_own(tmp_path, monkeypatch):
    task = own_tasks.point()
    task = dataclasses.replace(task, problem=task.problem.named("own_tasks:point"))
    monkeypatch.setitem(gaits.TASKS, "point", task)
    study = make(tasks=["point"], task={})
    assert study.command(tmp_path) == f"gaits study {tmp_path} --task own_tasks:point"
