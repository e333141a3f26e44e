"""The picture of one run says what its evaluations cost."""

from __future__ import annotations

import pytest
from synthetic import make_run

import gaits
from gaits.runs.pictures import draw_run, spent


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
