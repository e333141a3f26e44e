"""What tests share besides fixtures."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np

import gaits
from gaits.tasks.qdgym import QDGYM

ROBOTS = [task.name for task in QDGYM]
BACKENDS = ("engine", "bullet", "pybullet")


def random_solutions(task: gaits.Task, n: int, seed: int = 0, scale: float = 1.0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return np.float32(scale) * np.stack([task.policy.init(rng) for _ in range(n)])


def same(one, *others) -> bool:
    """Results are equal to the last bit."""
    return all(
        np.array_equal(getattr(one, name), getattr(other, name))
        for other in others
        for name in ("objective", "measures", "length", "failed", "episode_objective", "episode_measures", "seeds")
    )


def assert_same_archive(run: object, other: object) -> None:
    """The archives of two runs are equal to the last bit."""
    one, two = (gaits.load_archive(folder).data() for folder in (run, other))
    assert set(one) == set(two)
    for name in one:
        np.testing.assert_array_equal(one[name][np.argsort(one["index"])], two[name][np.argsort(two["index"])])


def unbind(folder: Path) -> None:
    """Forget what a run's files were, as runs of older versions did: what is tested comes after the check of that."""
    shutil.rmtree(folder / "checkpoint")
    (folder / "manifest.json").unlink()
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**config, "versions": {**config["versions"], "gaits": "0.1.0"}}))
