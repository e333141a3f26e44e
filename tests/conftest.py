from __future__ import annotations

from pathlib import Path

import pytest
from helpers import BACKENDS
from PIL import Image

FIRST = (
    *("test_engine_lanes", "test_compare", "test_td3"),  # the first compiles the physics, and the others need none
    *("test_learning", "test_cluster", "test_study", "test_tutorials", "test_files", "test_page", "test_runs"),
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Long files first, so that parallel workers end together: a file is one worker's, which sets up once what it shares."""
    places = {name: place for place, name in enumerate(FIRST)}
    items.sort(key=lambda item: places.get(item.path.stem, len(FIRST)))


@pytest.fixture(params=BACKENDS)
def backend(request, monkeypatch):
    """All ways to play an episode."""
    if request.param != "engine":
        pytest.importorskip("pybullet", reason="needs gaits[bullet]")
    monkeypatch.setenv("GAITS_PHYSICS", request.param)
    return request.param


@pytest.fixture
def undrawn(monkeypatch):
    """Figures of a comparison are made and not drawn, which takes most of its time; their files are there."""

    def save(figure: object, stem: Path) -> None:
        Image.new("L", (1, 1)).save(stem.with_suffix(".png"))
        stem.with_suffix(".pdf").touch()

    monkeypatch.setattr("gaits.analysis.figures.save", save)
