"""What is kept of long runs, and the pages that are made from it."""

from __future__ import annotations

import csv
import json
import sys
from pathlib import Path

import pandas as pd
import pytest

HERE = Path(__file__).parents[1] / "replication"


@pytest.fixture
def keep(monkeypatch):
    monkeypatch.syspath_prepend(str(HERE))
    yield __import__("keep")
    for name in ("keep", "page", "claims", "kept", "beyond"):
        sys.modules.pop(name, None)


def test_pages_are_what_the_kept_runs_say(keep):
    for path in keep.page.PAGES:
        text = path.read_text()
        assert "<!-- made: " in text
        assert keep.page.render(text) == text, f"{path.name} is out of date: python replication/page.py"


def test_every_table_is_on_the_page(keep):
    text = "".join(path.read_text() for path in keep.page.PAGES)
    assert all(f"<!-- made: {name} -->" in text for name in keep.page.MADE)


@pytest.mark.parametrize(("length", "step"), [(5, 100), (500, 100), (10_000, 100), (5000, 200)])
def test_few_rows_are_kept(keep, length, step):
    done = [step * (i + 1) for i in range(length)]
    kept = [int(row) for row in keep.thin([str(n) for n in done], done)]
    assert kept == sorted(set(kept))
    assert min(length, 150) <= len(kept) <= 205 + len(keep.MILESTONES)
    assert {n for n in keep.MILESTONES if n <= done[-1]} | {done[-1]} <= set(kept)


def write_run(folder: Path, rows: int) -> Path:
    folder.mkdir()
    config = {"task": "qd_hopper", "algorithm": "map_elites", "seed": 1, "settings": {}, "git_revision": None}
    (folder / "config.json").write_text(json.dumps(config))
    with (folder / "metrics.csv").open("w") as file:
        file.write("evaluations,qd_score\n" + "".join(f"{100 * i},{float(i)}\n" for i in range(1, rows + 1)) + "99,")
    return folder


def test_a_longer_run_is_kept_and_a_shorter_is_not(keep, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(keep, "HERE", tmp_path)
    for rows in (3, 600, 5):
        keep.keep(write_run(tmp_path / f"run{rows}", rows))
    folder = tmp_path / "qd_hopper-map_elites-seed1"
    with (folder / "metrics.csv").open() as file:
        assert list(csv.DictReader(file))[-1] == {"evaluations": "60000", "qd_score": "600.0"}
    facts = json.loads((folder / "kept.json").read_text())
    assert facts == {"evaluations": 60_000, "qd_score_auc": 100.0 * 600 * 601 / 2}
    assert "shorter" in capsys.readouterr().out


def made_up(kept, name: str, task: str, seed: int, spread: float) -> object:
    """A whole run that ends, give or take, where the paper's did."""
    much = 1 + spread * (seed - 3)
    score, cover = much * kept.paper("qd_score", name, task), kept.paper("coverage", name, task)
    metrics = {"evaluations": [90_000, 200_000, 1_000_000], "qd_score": [0.8 * score, 0.9 * score, score]}
    metrics |= {"coverage": [0.1, cover, cover], "objective_max": [1.0, 2.0, 3.0], "seconds": [1, 2, 3600]}
    again = {"evaluations": 1_000_000, "mean_elite_robustness": much * kept.paper("robustness", name, task)}
    facts = {"qd_score_auc": much * kept.paper("qd_score_auc", name, task)}
    config = {"task": task, "algorithm": name, "seed": seed, "settings": {"batch_size": 100, "pg_steps": 10}}
    return kept.Kept(config, pd.DataFrame(metrics), facts, again, pd.DataFrame({"evaluations": []}))


@pytest.mark.parametrize(("spread", "verdict"), [(0.001, "higher"), (0.9, "no difference")])
def test_whole_runs_decide(keep, monkeypatch, spread, verdict):
    kept, claims = sys.modules["kept"], sys.modules["claims"]
    runs = [made_up(kept, *cell, seed, spread) for cell in kept.CELLS for seed in range(1, 6)]
    monkeypatch.setattr(kept, "kept", lambda: runs)
    assert {one.ours for one in claims.outcomes("H3")} <= {-1, 0, 1}
    ours = next(one.ours for one in claims.outcomes("H2") if (one.second, one.theirs) == ("me_es", 1))
    assert claims.SIGNS[ours] == verdict
    assert claims.hypothesis("H1")[0] == claims.NO  # some pairs are significantly apart there and some are not
    close = claims.YES if spread < 0.1 else claims.NO
    assert claims.interaction()[0] == claims.reaches("pga_me", 1.5e6, 100_000)[0] == close
    assert claims.covers()[0] == claims.YES
    assert "[" in keep.page.beside("qd_score", "pga_me", "qd_ant")
    assert keep.page.beside("qd_score", "pga_me", "qd_ant").endswith("= **1.00**")
    assert "brackets" in keep.page.state()
