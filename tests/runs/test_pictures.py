from __future__ import annotations

import pytest

import gaits


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
