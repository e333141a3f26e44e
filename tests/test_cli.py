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


def test_mistakes_exit_with_two(capsys):
    assert cli.main(["bench", "rollout", "--rounds", "0"]) == 2
    assert "--rounds must be at least 1; got 0" in capsys.readouterr().err
    for args in (["bench", "flight"], ["taks"], []):
        with pytest.raises(SystemExit) as exit_info:
            cli.main(args)
        assert exit_info.value.code == 2
