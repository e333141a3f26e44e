from __future__ import annotations

import pytest
from helpers import BACKENDS

LONG = ("test_killed", "test_hopping", "test_cores_change_nothing", "test_bench", "test_a_scheduler_that_restarts")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Long tests first, so that parallel workers end together."""
    items.sort(key=lambda item: not item.name.startswith(LONG))


@pytest.fixture(params=BACKENDS)
def backend(request, monkeypatch):
    """All ways to play an episode."""
    if request.param != "engine":
        pytest.importorskip("pybullet", reason="needs gaits[bullet]")
    monkeypatch.setenv("GAITS_PHYSICS", request.param)
    return request.param
