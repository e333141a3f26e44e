from __future__ import annotations

import pytest

from gaits import cli


def test_tasks(capsys):
    assert cli.main(["tasks"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 8
    assert lines[3].split()[:6] == ["qd_hopper", "gaits/QDHopper-v0", "15", "3", "18,947", "1024"]


def test_bench_prints_the_comparison(monkeypatch, capsys):
    from gaits.bench import rollout

    monkeypatch.setattr(rollout, "TASK_NAMES", ("qd_hopper",))
    assert cli.main(["bench", "rollout", "--rounds", "1", "--steps", "50"]) == 0
    header, row = capsys.readouterr().out.splitlines()[:2]
    assert header.split()[:3] == ["task", "bare", "1"]
    assert row.startswith("qd_hopper")
    assert len(row.split()) == 10


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


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["train", "qd_hoper", "map_elites"], "Did you mean 'qd_hopper'"),
        (["train", "qd_hopper", "map_elite", "--sigma", "1"], "Did you mean 'map_elites'"),
        (["train", "qd_hopper", "map_elites", "--sigma", "-1"], "sigma must be a number above 0; got -1.0"),
        (["train", "qd_hopper", "map_elites", "--workers", "0"], "workers must be a whole number of at least 1; got 0"),
        (["train", "qd_hopper", "map_elites", "--grid", "3", "3"], "so its grid needs 1"),
        (["train", "qd_hopper", "cma_mega"], "no exact gradients"),
        (["train", "qd_hopper", "map_elites", "--out", "/proc/run"], "Cannot write to /proc/run"),
        (["resume", "nowhere"], "nowhere is not a run"),
    ],
)
def test_mistakes_are_explained(args, message, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert cli.main(args) == 2
    assert message in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_algorithms(capsys):
    assert cli.main(["algorithms"]) == 0
    assert "batch_size (100), sigma (0.02)" in capsys.readouterr().out


def test_mistakes_exit_with_two(capsys):
    assert cli.main(["bench", "rollout", "--rounds", "0"]) == 2
    assert "--rounds must be at least 1; got 0" in capsys.readouterr().err
    for args in (["bench", "flight"], ["taks"], []):
        with pytest.raises(SystemExit) as exit_info:
            cli.main(args)
        assert exit_info.value.code == 2
