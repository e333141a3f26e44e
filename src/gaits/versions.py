"""Versions of what decides the outcome of a run: written beside it, compared when it goes on and on every worker."""

from __future__ import annotations

import functools
import importlib.metadata
import platform

from gaits.tasks.mujoco import NEEDS_MUJOCO
from gaits.tasks.task import Task

EPISODES = ("gaits", "numpy", "numba", "gymnasium")
SEARCH = ("ribs", "jax", "optax", "scipy")

_version = functools.cache(importlib.metadata.version)


def episode_versions(task: Task) -> dict[str, str]:
    """Versions of what decides an episode of the task."""
    engine = ("pybullet-arm64",) if task.robot else ("mujoco",) if task.mujoco else ()
    try:
        return {name: _version(name) for name in (*EPISODES, *engine)}
    except importlib.metadata.PackageNotFoundError:
        if task.mujoco is None:
            raise
        raise ValueError(NEEDS_MUJOCO.format(task.name)) from None


def run_versions(task: Task) -> dict[str, str]:
    """Versions of what decides a run on the task."""
    return episode_versions(task) | {name: _version(name) for name in SEARCH} | {"python": platform.python_version()}
