from __future__ import annotations

import inspect
import os
import re
import subprocess
import sys

import numpy as np
import pytest
from helpers import assert_same_archive

import gaits
from gaits import TASKS, cli
from gaits.algorithms import ALGORITHMS, settings_for
from gaits.physics.bullet import capi


def test_tasks(capsys):
    assert cli.main(["tasks"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 1 + len(TASKS)
    assert lines[3].split()[:6] == ["qd_hopper", "gaits/QDHopper-v0", "15", "3", "18,947", "1024"]


def test_bench_prints_the_comparison(monkeypatch, capsys):
    monkeypatch.setattr("gaits.bench.TASK_NAMES", ("qd_hopper",))
    assert cli.main(["bench", "rollout", "--rounds", "1", "--steps", "50"]) == 0
    header, row = capsys.readouterr().out.splitlines()[:2]
    assert header.split()[:3] == ["task", "bare", "1"]
    assert row.startswith("qd_hopper")
    assert len(row.split()) == 11


def test_without_bullet(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "pybullet", None)
    capi.pybullet.cache_clear()
    assert cli.main(["bench", "rollout"]) == 2
    assert "Install it with: pip install 'gaits[bullet]'" in capsys.readouterr().err


def test_train_and_resume(tmp_path, capsys):
    out = str(tmp_path / "run")
    assert (
        cli.main(
            ["train", "--seed", "3", "qd_hopper", "--evaluations", "20", "map_elites", "--batch-size", "10", "--out", out]
        )
        == 0
    )
    printed = capsys.readouterr().out
    assert f"Results are in {out}" in printed
    assert f"gaits resume {out} --evaluations 40" in printed
    assert (tmp_path / "run" / "archive.png").exists()
    assert cli.main(["resume", out, "--evaluations", "40", "--tensorboard"]) == 0
    assert (tmp_path / "run" / "tensorboard").exists()
    assert cli.main(["resume", out, "--evaluations", "20"]) == 2


def test_help(capsys, monkeypatch):
    """Bare gaits lists the commands; examples are never cut inside a value; every option says its default once."""
    assert cli.main([]) == 0
    listed = capsys.readouterr().out
    assert all(f"  {name} " in listed for name in cli.COMMANDS)
    assert cli.main(["--version"]) == 0
    assert capsys.readouterr().out == f"gaits {gaits.__version__}\n"
    for width in (48, 80, 140):
        monkeypatch.setenv("COLUMNS", str(width))
        for name in cli.COMMANDS:
            named = ["lp_sphere", "map_elites"] if name == "train" else []
            with pytest.raises(SystemExit) as left:
                cli.main([name, *named, "--help"])
            assert left.value.code == 0
            text = capsys.readouterr().out
            told = inspect.getdoc(cli.find(name)).split("\n\n")
            for example in (one for one in told if one.startswith("Example: ")):
                assert example in " ".join(text.replace("\\\n", " ").split())
            options = re.split(r"\n│ --", text)[1:]
            assert [option for option in options if len(re.findall("default:|default ", option.lower())) > 1] == []
            if name == "train":
                assert "(σ). (default: 0.5)" in " ".join(text.replace("│", " ").split())


def test_python_m_gaits_and_latin_1():
    """Help has λ and σ, which a terminal in latin-1 has not."""
    words = [sys.executable, "-m", "gaits", "train", "lp_sphere", "map_elites", "--help"]
    done = subprocess.run(words, capture_output=True, env={**os.environ, "PYTHONIOENCODING": "latin-1"}, check=True)
    assert "(?)" in done.stdout.decode("latin-1")


def test_a_run_from_a_file(tmp_path, capsys, monkeypatch):
    """TOML, or a run's own config.json given back: the same run, but for what the command line says besides."""
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "run.toml"
    file.write_text(
        "task = 'qd_hopper'\nalgorithm = 'me_es'\nevaluations = 16\nseed = 3\nname = 'small'\n"
        "[settings]\nbatch_size = 4\nobs_norm = false\n[task_fields]\nhidden = [4, 4]\nmax_steps = 9\ngrid = [8]\n"
    )
    assert cli.main(["train", "--config", str(file), "--out", "a"]) == 0
    first = gaits.load_run("a")
    assert (first.config.settings["obs_norm"], first.task.hidden, first.config.name) == (False, (4, 4), "small")
    assert cli.main(["train", "--config=a", "--out", "b"]) == 0
    assert_same_archive("a", "b")
    assert cli.main(["train", "lp_sphere", "map_elites", "--config", "x.toml"]) == 2
    file.write_text("task = 'lp_sphere'\nalgorithm = 'map_elites'\nevaluations = 16\n[settings]\nbatch_size = 8\n")
    assert cli.main(["train", "--config", str(file), "--evaluations", "8", "--seed", "2"]) == 0
    assert gaits.load_run("runs/lp_sphere-map_elites-seed2").config.evaluations == 8
    capsys.readouterr()
    for text, message in (
        ("task = 'os:system'\nalgorithm = 'map_elites'", "A file does not decide which code runs"),
        ("task = 'lp_sphere'", "algorithm is missing"),
        ("tsk = 'lp_sphere'", "Did you mean 'task'?"),
        ("task = 'lp_sphere'\nalgorithm = 'map_elites'\nsettings = 3", "settings must be a table"),
        ("task = 'lp_sphere'\nalgorithm = 'map_elites'\n[settings]\nsigma = 'a'", "sigma must be a number"),
        ("task = 'lp_sphere'\nalgorithm = 'map_elites'\n[task_fields]\ngird = [3, 3]", "Did you mean 'grid'?"),
        ("task = ", "This is not TOML"),
    ):
        file.write_text(text)
        assert cli.main(["train", "--config", str(file)]) == 2
        assert message in capsys.readouterr().err


def test_a_finished_run_says_so(tmp_path, capsys):
    out = str(tmp_path / "run")
    args = ["lp_sphere", "map_elites", "--evaluations", "1.6e1", "--batch-size", "8", "--out", out]
    assert cli.main(["train", *args]) == 0
    assert "training map_elites on lp_sphere" in capsys.readouterr().err
    assert cli.main(["train", *args]) == 2
    assert "training" not in capsys.readouterr().err  # refused before it begins
    assert cli.main(["resume", out]) == 0
    printed = capsys.readouterr()
    assert f"{out} is finished: it has its 16 evaluations." in printed.out
    assert f"gaits resume {out} --evaluations 32" in printed.out
    assert "training" not in printed.err
    (tmp_path / "run" / "metrics.csv").write_text("")
    assert cli.main(["resume", out]) == 0  # what is damaged is written again
    assert "Done in" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["trian"], "No command is called 'trian'. Did you mean 'train'?"),
        (["train", "qd_hoper", "map_elites"], "Did you mean 'qd_hopper'"),
        (["train", "qd_hopper", "map_elite", "--sigma", "1"], "Did you mean 'map_elites'"),
        (["train", "qd_hopper", "map_elites", "--sigma", "-1"], "sigma must be a number above 0; got -1.0"),
        (["train", "qd_hopper", "map_elites", "--workers", "0"], "workers must be a whole number of at least 1; got 0"),
        (["train", "qd_hopper", "map_elites", "--grid", "3", "3"], "so its grid needs 1"),
        (["train", "qd_hopper", "cma_mega"], "no exact gradients"),
        (["train", "qd_hopper", "cma_maega"], "cma_maega_es"),
        (["train", "lp_sphere", "cma_mega_td3"], "such as cma_mega_es."),
        (["train", "qd_hopper", "dcrl_me", "--reward-offset", "nan"], "from -1000000 to 1000000; got nan."),
        (["train", "qd_hopper", "dcrl_me", "--reward-offset", "inf"], "from -1000000 to 1000000; got inf."),
        (["train", "qd_hopper", "dcrl_me", "--reward-offset", "1e39"], "from -1000000 to 1000000; got 1e+39."),
        (["train", "qd_hopper", "map_elites", "--out", "/proc/run"], "Cannot write to /proc/run"),
        (["bench", "rollout", "--tasks", "qd_hoper"], "Did you mean 'qd_hopper'"),
        (["bench", "rollout", "--tasks", "mj_hopper"], "mj_hopper has no robot of QDGym's"),
        (["resume", "nowhere"], "nowhere is not a run"),
        (["study"], "Give a study's TOML file or folder, or --preset paper"),
        (["study", "--preset", "papr"], "Did you mean 'paper'"),
        (["study", "nowhere.toml"], "There is no nowhere.toml"),
        (["study", "--preset", "paper", "--seeds", "5..1"], "runs backwards"),
        (["evaluate", "nowhere"], "nowhere is not a run"),
        (["evaluate"], "Give at least one run's folder"),
        (["compare", "nowhere"], "There is no run to compare"),
        (["compare", "nowhere", "--min-objective", "low"], "--min-objective must be task, scan or a number; got 'low'"),
        (["train", "qd_hopper", "pga_me", "--learner-cores", "0"], "learner_cores must be a whole number of at least 1"),
        (["train", "lp_sphere", "pga_me"], "lp_sphere is a function"),
    ],
)
def test_mistakes_are_explained(args, message, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert cli.main(args) == 2
    assert message in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("task", ["qd_hopper", "mj_hopper", "lp_sphere"])
def test_what_is_suggested_is_not_refused(task, algorithm):
    """Where an algorithm cannot have a task, any other that the error names can, and it can have any task named."""
    try:
        make_algorithm(task, algorithm)
    except ValueError as error:
        words = set(re.findall(r"\w+", str(error))) - {task, algorithm}
        suggested = [(task, word) for word in words & set(ALGORITHMS)] + [(word, algorithm) for word in words & set(TASKS)]
        assert suggested
        for pair in suggested:
            make_algorithm(*pair)


def make_algorithm(task, algorithm):
    """As a run begins with it."""
    made = gaits.make_task(task)
    seed = np.random.SeedSequence(1)
    return ALGORITHMS[algorithm].make(made, settings_for(made, algorithm, {}), seed)


def test_study_evaluate_and_compare(tmp_path, capsys, monkeypatch):
    """From nothing to a report, as the README says."""
    plan = tmp_path / "small.toml"
    plan.write_text(
        "evaluations = 16\nseeds = [1, 2]\ntasks = ['qd_hopper']\nalgorithms = ['map_elites']\n"
        "[settings.map_elites]\nbatch_size = 8\n[task.qd_hopper]\nhidden = [8]\nmax_steps = 50\ngrid = [64]\n"
        "[[variant]]\nname = 'bold'\nalgorithm = 'map_elites'\nsettings = { sigma = 0.2 }\n"
    )
    folder, out = str(tmp_path / "study"), str(tmp_path / "comparison")
    assert cli.main(["study", str(plan), "--out", folder, "--dry-run"]) == 0
    assert "4 runs of 16 evaluations" in capsys.readouterr().out
    monkeypatch.setattr("gaits.study.price.SECONDS", 0.0)
    assert cli.main(["study", str(plan), "--out", folder, "--price"]) == 0
    printed = capsys.readouterr().out
    assert re.search(r"qd_hopper  bold +2 +32 +0\.0", printed)
    assert "without --price" in printed
    assert not (tmp_path / "study").exists()
    assert cli.main(["study", str(plan), "--out", folder]) == 0
    assert "4 runs in" in capsys.readouterr().out
    assert cli.main(["study", folder, "--evaluations", "24"]) == 0
    assert cli.main(["evaluate", folder, "--episodes", "2"]) == 0
    assert capsys.readouterr().out.count("mean elite robustness") == 4
    assert cli.main(["compare", folder, "--out", out]) == 0
    printed = capsys.readouterr().out
    assert "4 runs compared" in printed
    assert "bold" in printed
    page = (tmp_path / "comparison" / "report.html").read_text()
    assert "--sigma 0.2 --name bold" in page
    assert (tmp_path / "comparison" / "tables" / "corrected_qd_score.md").exists()


def test_algorithms(capsys):
    assert cli.main(["algorithms"]) == 0
    printed = capsys.readouterr().out
    assert "Gaussian noise on random elites" in printed
    assert max(map(len, printed.splitlines())) < 120


def test_an_option_of_another_algorithm_leads_to_the_help_that_has_its_own(capsys):
    for task, asked in (("qd_hopper", "gaits train qd_hopper dcrl_me --help"), ("\x1b[2Jmine:task", "gaits train --help")):
        with pytest.raises(SystemExit) as exit_info:
            cli.main(["train", task, "dcrl_me", "--iso-share", "0.3"])
        assert exit_info.value.code == 2
        printed = capsys.readouterr().err
        assert asked in printed
        assert "\x1b[2J" not in printed


def test_mistakes_exit_with_two(capsys):
    assert cli.main(["bench", "rollout", "--rounds", "0"]) == 2
    assert "--rounds must be at least 1; got 0" in capsys.readouterr().err
    with pytest.raises(SystemExit) as exit_info:
        cli.main(["bench", "flight"])
    assert exit_info.value.code == 2
