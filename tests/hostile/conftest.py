"""A small finished run, copied for every attack on it."""

from __future__ import annotations

import shutil

import pytest
from conformance.algorithm import small_task

import gaits


@pytest.fixture(scope="session")
def sound(tmp_path_factory):
    """The folder of a finished run with an evaluation beside it."""
    from gaits.analysis.robustness import evaluate_run

    folder = tmp_path_factory.mktemp("sound") / "run"
    run = gaits.train(small_task(), "map_elites", out=folder, evaluations=48, batch_size=16, workers=1)
    evaluate_run(run, 2, 1, workers=1)
    return folder


@pytest.fixture
def run(sound, tmp_path):
    return shutil.copytree(sound, tmp_path / "run")
