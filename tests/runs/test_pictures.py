from __future__ import annotations

import pytest
from synthetic import make_run

import gaits
from gaits.runs.pictures import draw_run, spent


@pytest.mark.parametrize("task", ["lp_sphere", "qd_hopper"])
def test_plot_and_what_a_notebook_shows(task, tmp_path):
    changes = {"hidden": (4,), "max_steps": 5} if task == "qd_hopper" else {}
    run = gaits.train(task, "map_elites", evaluations=20, batch_size=10, out=tmp_path / "<b>", **changes)
    figure = run.plot()
    assert figure._repr_png_().startswith(b"\x89PNG")
    assert {"QD score", "coverage"} <= {ax.get_ylabel() for ax in figure.axes}
    told = run._repr_html_()
    assert "20 of 20 evaluations" in told
    assert "data:image/png;base64," in told
    assert "&lt;b&gt;" in told
    (run.folder / "archive.npz").write_bytes(b"")
    assert "archive.npz" in gaits.load_run(run.folder)._repr_html_()


def test_the_picture_of_a_run_says_what_it_took(tmp_path):
    run = make_run(tmp_path / "run", gaits.make_task("qd_hopper", grid=(10,), hidden=(4,)), "map_elites", iterations=4)
    label = draw_run(run).axes[-1].get_xlabel()
    assert label == "evaluations\n400.0k environment steps, 0.0022 hours in all"


@pytest.mark.parametrize(
    ("columns", "told"), [(["steps"], "0.0022 hours in all"), (["steps", "seconds"], "")], ids=["no steps", "nothing"]
)
def test_a_run_that_does_not_know(tmp_path, columns, told):
    run = make_run(tmp_path / "run", gaits.make_task("qd_hopper", grid=(10,), hidden=(4,)), "map_elites", iterations=4)
    assert spent(run.metrics.drop(columns=columns)) == told
    assert spent(run.metrics[:0]) == ""
