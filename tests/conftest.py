from __future__ import annotations

import numpy as np
import pytest

import gaits
from gaits.tasks.qdgym import QDGYM

LONG = ("test_killed", "test_hopping", "test_cores_change_nothing", "test_bench", "test_a_scheduler_that_restarts")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Long tests first, so that parallel workers end together."""
    items.sort(key=lambda item: not item.name.startswith(LONG))


ROBOTS = [task.name for task in QDGYM]

# The humanoid's limbs touch each other, which the engine does not play yet. Delete the mark when it does.
BACKENDS = ("engine", "bullet", "pybullet")


@pytest.fixture(params=BACKENDS)
def backend(request, monkeypatch):
    """All ways to play an episode."""
    if request.param != "engine":
        pytest.importorskip("pybullet", reason="needs gaits[bullet]")
    monkeypatch.setenv("GAITS_PHYSICS", request.param)
    return request.param


def random_solutions(task: gaits.Task, n: int, seed: int = 0, scale: float = 1.0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return np.float32(scale) * np.stack([task.policy.init(rng) for _ in range(n)])


def same(one, *others) -> bool:
    """Results are equal to the last bit."""
    return all(
        np.array_equal(getattr(one, name), getattr(other, name))
        for other in others
        for name in ("objective", "measures", "length", "failed", "episode_objective", "seeds")
    )


def assert_same_archive(run: object, other: object) -> None:
    """The archives of two runs are equal to the last bit."""
    one, two = (gaits.load_archive(folder).data() for folder in (run, other))
    assert set(one) == set(two)
    for name in one:
        np.testing.assert_array_equal(one[name][np.argsort(one["index"])], two[name][np.argsort(two["index"])])
