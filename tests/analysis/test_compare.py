"""The whole comparison: files, pages, and what it says when there is too little to say."""

from __future__ import annotations

import json
import re
import shutil
import subprocess

import numpy as np
import pandas as pd
import pytest
from analysis.frames import play_again
from PIL import Image
from synthetic import make_run

import gaits
from gaits.analysis import report, tables
from gaits.analysis.collect import collect
from gaits.analysis.compare import compare, contrasts, find
from gaits.analysis.figures import mean_and_error, median_archives, styles
from gaits.analysis.statistics import Contrast

HOPPER = gaits.make_task("qd_hopper", grid=(20,), hidden=(4,))
WALKER = gaits.make_task("qd_walker", grid=(5, 5), hidden=(4,))
ANT = gaits.make_task("qd_ant", grid=(2, 3, 2, 3), hidden=(4,))
QUALITY = {"cma_mega_es": 0.4, "cma_mega_td3_es": 0.6, "pga_me": 0.7, "me_es": 0.1, "map_elites": 0.3}
CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome") or shutil.which("chromium-browser")


def make_runs(folder, tasks=(HOPPER, WALKER, ANT), seeds=(1, 2, 3), algorithms=QUALITY):
    for task in tasks:
        for name in algorithms:
            for seed in seeds:
                make_run(folder / f"{task.name}-{name}-{seed}", task, name, seed, quality=QUALITY[name], iterations=6)


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs")
    make_runs(folder)
    (folder / "qd_ant-pga_me-1" / "archive.npz").write_bytes(b"nonsense")
    (folder / "broken").mkdir()
    (folder / "broken" / "config.json").write_text("{")
    out = tmp_path_factory.mktemp("comparison")
    collection, findings = compare([folder], out, command="gaits compare <runs>")
    return out, collection, findings


def test_the_files(whole):
    out, collection, _ = whole
    assert len(pd.read_csv(out / "runs.csv")) == 45
    for name in ("qd_score", "qd_score_auc", "coverage", "best", "runtime_hours"):
        for suffix in ("csv", "md", "tex"):
            assert (out / "tables" / f"{name}.{suffix}").stat().st_size > 0
    curves = ("curves-evaluations", "curves-steps", "curves-hours")
    for name in (*curves, "archives-qd_hopper", "archives-qd_walker", "histograms-qd_walker", "profiles-qd_walker"):
        assert (out / "figures" / f"{name}.png").read_bytes().startswith(b"\x89PNG")
        assert (out / "figures" / f"{name}.pdf").read_bytes().startswith(b"%PDF")
    assert [name for name in collection.skipped if name.endswith("broken")]


def test_the_answers(whole):
    _, _, findings = whole
    verdicts = {comparison.name: sentence for comparison, sentence in findings.verdicts.items()}
    assert set(verdicts) == {"H1", "H2", "H3", "AUC"}
    assert verdicts["H3"].startswith("H3 holds in every task")
    assert verdicts["H1"].startswith("H1 holds in no task")
    assert findings.anova["qd_score_normalized"].loc["interaction", "df"] == 2 * 4
    assert findings.missing["robustness_normalized"] == [
        "No run has a mean elite robustness. Get it with: gaits evaluate RUN..."
    ]


def test_the_papers_robustness_of_me_es_has_a_note(whole, monkeypatch):
    _, collection, _ = whole
    metric = tables.METRICS["robustness"]
    assert report.ME_ES_NOTE not in report._metric(collection, "robustness", metric)
    theirs = pd.DataFrame(1.0, index=collection.algorithms(), columns=collection.tasks())
    monkeypatch.setattr(tables, "paper", lambda collection, metric: theirs)
    assert report.ME_ES_NOTE in report._metric(collection, "robustness", metric)
    assert report.ME_ES_NOTE not in report._metric(collection, "coverage", tables.METRICS["coverage"])


def test_the_report_stands_alone(whole):
    out, _, _ = whole
    page = (out / "report.html").read_text()
    assert not re.search(r"""(src|href)=["'](?!data:|#)""", page)  # nothing is fetched
    assert "<script" not in page
    assert "gaits compare &lt;runs&gt;" in page
    assert "gaits train qd_walker pga_me --evaluations 600 --seed 2 --grid 5 5 --hidden 4" in page
    assert "H3 holds in every task" in page
    assert "broken" in page


@pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium on this machine (Debian: apt-get install chromium)")
@pytest.mark.parametrize("width", [1280, 400])
def test_the_report_in_chromium(whole, tmp_path, width):
    """No console message, all pictures decoded, and nothing wider than the frame: windows have a least width."""
    out, _, _ = whole
    probe = (
        "<script>onload = () => { const wide = document.documentElement.scrollWidth > innerWidth;"
        "const broken = [...document.images].filter(image => !image.naturalWidth).length;"
        "parent.postMessage(`${innerWidth} wide ${wide} broken ${broken} of ${document.images.length}`, '*'); }</script>"
    )
    (tmp_path / "report.html").write_text((out / "report.html").read_text().replace("</body>", probe + "</body>"))
    page = tmp_path / "page.html"
    page.write_text(
        "<!doctype html><link rel=icon href=data:,><title></title><script>onmessage = e => document.title = e.data</script>"
        f'<iframe src="report.html" style="border: 0; width: {width}px; height: 900px"></iframe>'
    )
    assert CHROMIUM is not None
    flags = ["--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking"]
    flags += [f"--user-data-dir={tmp_path / 'profile'}", "--enable-logging=stderr", "--virtual-time-budget=5000"]
    done = subprocess.run([CHROMIUM, *flags, "--dump-dom", page.as_uri()], capture_output=True, text=True, timeout=120)
    assert re.search(rf"<title>{width} wide false broken 0 of (\d\d?)</title>", done.stdout), done.stdout[:500]
    assert "CONSOLE" not in done.stderr


@pytest.mark.usefixtures("undrawn")
def test_too_few_runs_say_what_is_missing_and_show_the_rest(tmp_path):
    make_runs(tmp_path / "runs", tasks=(HOPPER,), seeds=(1,), algorithms=["map_elites", "pga_me"])
    _, findings = compare([tmp_path / "runs"], tmp_path / "out")
    assert "qd_score_normalized" not in findings.anova
    assert any("only one run" in sentence for sentence in findings.missing["qd_score_normalized"])
    assert "PGA-MAP-Elites" in (tmp_path / "out" / "tables" / "qd_score.md").read_text()
    assert (tmp_path / "out" / "report.html").exists()
    assert findings.intervals["runs"].tolist() == [1, 1]
    assert findings.intervals[["mean_low", "iqm_high"]].isna().all(axis=None)
    page = (tmp_path / "out" / "report.html").read_text()
    assert "no algorithm can be called the best" in page
    assert "<strong>" not in page
    assert "[nan" not in page


@pytest.mark.usefixtures("undrawn")
def test_nothing_of_an_earlier_comparison_is_left(tmp_path):
    make_runs(tmp_path / "runs", tasks=(HOPPER, WALKER), seeds=(1, 2), algorithms=["map_elites", "me_es"])
    compare([tmp_path / "runs"], tmp_path / "out")
    for name in ("mine.png", "growth-qd_walker.gif"):
        (tmp_path / "out" / "figures" / name).touch()
    compare([tmp_path / "runs" / "qd_hopper-map_elites-1"], tmp_path / "out")
    assert {path.stem for path in (tmp_path / "out" / "figures").iterdir()} == {
        *("curves-evaluations", "curves-steps", "curves-hours"),
        *("archives-qd_hopper", "histograms-qd_hopper", "profiles-qd_hopper", "mine"),
    }
    assert not list((tmp_path / "out" / "statistics").glob("anova*"))


def test_pictures_are_of_the_moment_that_is_compared(tmp_path):
    run = make_run(tmp_path / "run", WALKER, "map_elites", iterations=6)
    early = collect([run.folder], evaluations=100)
    ((_, archive),) = median_archives(early, "qd_walker").values()
    assert archive.data("objective").sum() == pytest.approx(run.metrics["objective_sum"].iloc[0])


def test_names_with_odd_letters(tmp_path):
    for seed, name in enumerate((r"$\frac{$ <b>&_%|", "plain")):
        run = make_run(tmp_path / str(seed), HOPPER, "map_elites", seed)
        config = json.loads((run.folder / "config.json").read_text())
        (run.folder / "config.json").write_text(json.dumps(config | {"name": name}))
    compare([tmp_path], tmp_path / "out")
    assert "&lt;b&gt;" in (tmp_path / "out" / "report.html").read_text()


@pytest.mark.parametrize("out", ["file", "/proc/here"])
def test_an_out_that_cannot_be_written(tmp_path, out):
    make_runs(tmp_path / "runs", tasks=(HOPPER,), seeds=(1,), algorithms=["map_elites"])
    (tmp_path / "file").touch()
    with pytest.raises(ValueError, match="Cannot write to"):
        compare([tmp_path / "runs"], tmp_path / out)


@pytest.mark.usefixtures("undrawn")
def test_one_run(tmp_path):
    make_runs(tmp_path / "runs", tasks=(WALKER,), seeds=(1,), algorithms=["map_elites"])
    compare([tmp_path / "runs"], tmp_path / "out")
    page = (tmp_path / "out" / "report.html").read_text()
    assert "highest" not in page
    assert "<li>" not in page


def test_nothing_to_compare(tmp_path):
    with pytest.raises(ValueError, match="There is no run to compare"):
        compare([tmp_path / "nowhere"], tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_algorithms_beyond_the_papers_are_compared_pair_by_pair(tmp_path):
    for seed in (1, 2):
        for sigma in (0.01, 0.1, 0.5):
            settings = {"sigma": sigma}
            make_run(tmp_path / f"{sigma}-{seed}", HOPPER, "map_elites", seed, quality=sigma + 0.1, settings=settings)
    collection = collect([tmp_path])
    (found,) = contrasts(collection)
    assert (found.name, len(found.pairs)) == ("All pairs", 3)
    findings = find(collection)
    assert isinstance(next(iter(findings.tests)), Contrast)
    assert findings.verdicts == {}


@pytest.mark.usefixtures("undrawn")
def test_statistics_without_luck_lead(tmp_path):
    """Recorded, the critic helps; played again it does not. The paper's comparison stands beside."""
    for name, share in (("cma_mega_es", 0.9), ("cma_mega_td3_es", 0.1)):
        for seed in (1, 2, 3):
            folder = tmp_path / "runs" / f"{name}-{seed}"
            play_again(make_run(folder, HOPPER, name, seed, quality=QUALITY[name]), share)
    collection, findings = compare([tmp_path / "runs"], tmp_path / "out")
    assert [contrast.name for contrast in findings.verdicts] == ["H3 without luck", "H3"]
    lucky, recorded = findings.verdicts.values()
    assert lucky.startswith(
        "H3 without luck holds in no task: CMA-MEGA (TD3, ES) has significantly lower corrected QD score"
    )
    assert recorded.startswith("H3 holds in QD Hopper: CMA-MEGA (TD3, ES) has significantly higher QD score")
    corrected = "corrected_qd_score_normalized"
    assert next(iter(findings.missing)) == next(iter(findings.main_effects)) == corrected
    assert findings.intervals["score"].unique().tolist() == ["corrected_qd_score", "qd_score"]
    means = collection.final.groupby("algorithm", sort=False)[["corrected_qd_score", "qd_score"]].mean()
    np.testing.assert_allclose(findings.intervals["mean"], [*means["corrected_qd_score"], *means["qd_score"]])
    for name in ("tests-H3_without_luck", f"main_effects-{corrected}"):
        assert (tmp_path / "out" / "statistics" / f"{name}.csv").exists()
    page = (tmp_path / "out" / "report.html").read_text()
    for first, second in (
        ("<li>H3 without luck holds", "<li>H3 holds"),
        ("<h3>Corrected QD score, normalized", "<h3>QD score, normalized"),
        ("<h3>Intervals of the corrected QD score", "<h3>Intervals of the QD score"),
    ):
        assert page.index(first) < page.index(second)
    (tmp_path / "runs" / "cma_mega_es-1" / "evaluation.npz").unlink()
    partly = find(collect([tmp_path / "runs"]))
    assert [contrast.name for contrast in partly.verdicts] == ["H3"]
    assert corrected not in partly.missing
    assert partly.intervals["score"].unique().tolist() == ["qd_score"]


@pytest.mark.usefixtures("undrawn")
def test_the_report_has_corrected_numbers_whatever_runs_are_compared_at(tmp_path):
    for seed, iterations in ((1, 4), (2, 8)):
        play_again(make_run(tmp_path / "runs" / str(seed), HOPPER, "map_elites", seed, iterations=iterations), 0.5)
    compare([tmp_path / "runs"], tmp_path / "out", against="hours")
    page = (tmp_path / "out" / "report.html").read_text()
    assert 0 < page.index("<details open><summary>Runs that were played again") < page.index("<h3>QD score</h3>")
    assert len(pd.read_csv(tmp_path / "out" / "ends.csv")["corrected_qd_score"].dropna()) == 2
    compare([tmp_path / "runs" / "2"], tmp_path / "out")
    page = (tmp_path / "out" / "report.html").read_text()
    assert page.index("<h3>QD score</h3>") < page.index("<details><summary>Runs that were played again")


def test_a_hypothesis_without_all_its_algorithms_is_undecided(tmp_path):
    make_runs(tmp_path, tasks=(HOPPER, WALKER), algorithms=["cma_mega_es", "me_es"])
    findings = find(collect([tmp_path]))
    (sentence,) = findings.verdicts.values()
    assert sentence.startswith("H1 is undecided in every task")
    assert "no test against PGA-MAP-Elites" in sentence


# --- figures -------------------------------------------------------------------------------------------------------------


def test_mean_and_standard_error():
    curves = pd.DataFrame(
        {"run": ["a", "a", "b", "b"], "evaluations": [0, 100, 0, 100], "qd_score": [0.0, 10.0, 2.0, 20.0]},
    )
    x, mean, error = mean_and_error(curves, "qd_score")
    assert (x[0], x[-1]) == (0, 100)
    np.testing.assert_allclose([mean[0], mean[-1]], [1, 15])
    np.testing.assert_allclose([error[0], error[-1]], [1, 5])  # sd √2·1 and √2·5, over √2


def test_the_papers_algorithms_keep_their_colours():
    looks = styles(["map_elites", "mine", "pga_me"])
    assert looks["pga_me"] == ("#029E73", "^")
    assert len(set(looks.values())) == 3


@pytest.mark.usefixtures("undrawn")
@pytest.mark.parametrize("iterations", [1, 5])
def test_growth(tmp_path, iterations):
    make_run(tmp_path / "run", HOPPER, "map_elites", iterations=iterations)
    compare([tmp_path / "run"], tmp_path / "out", growth=True)
    with Image.open(tmp_path / "out" / "figures" / "growth-qd_hopper.gif") as gif:
        assert gif.n_frames >= iterations
    assert "data:image/gif" in (tmp_path / "out" / "report.html").read_text()
