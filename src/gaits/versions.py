"""Versions of what decides the outcome of a run: written beside it, compared when it goes on and on every worker."""

from __future__ import annotations

import functools
import importlib.metadata
import importlib.util
import platform

from gaits.tasks.task import Task

EPISODES = ("gaits", "numpy", "numba", "gymnasium")
SEARCH = ("ribs", "scipy")

_version = functools.cache(importlib.metadata.version)


def episode_versions(task: Task) -> dict[str, str]:
    """Versions of what decides an episode of the task."""
    versions = {name: _version(name) for name in EPISODES}
    for module in task.problem.modules:
        if importlib.util.find_spec(module) is None:
            raise ValueError(f"{task.name} needs {task.problem.remedy}")
        versions |= module_versions(module)
    return versions


@functools.cache
def module_versions(module: str) -> dict[str, str]:
    """Version of the distribution that a module comes from, whatever it is called: there are forks of pybullet."""
    names = sorted(set(importlib.metadata.packages_distributions().get(module, ())))
    names = [module] if module in names else names  # others may add to its folder
    return {name: _version(name) for name in names} or {module: "unknown"}


def run_versions(task: Task) -> dict[str, str]:
    """Versions of what decides a run on the task."""
    return episode_versions(task) | {name: _version(name) for name in SEARCH} | {"python": platform.python_version()}
