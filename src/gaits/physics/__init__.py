"""Bullet without Python in the loop, and the Gymnasium environments on top of it."""

from __future__ import annotations

import functools
import os

from gaits.console import say
from gaits.physics import capi
from gaits.physics.native import NativeSimulator
from gaits.physics.pybullet_module import ModuleSimulator
from gaits.physics.world import Simulator
from gaits.tasks.task import Task

BACKEND_VARIABLE = "GAITS_PHYSICS"
"""Setting this environment variable to ``pybullet`` plays all episodes through the pybullet module."""


def make_simulator(task: Task) -> Simulator:
    return NativeSimulator(task) if use_native(os.environ.get(BACKEND_VARIABLE, "native")) else ModuleSimulator(task)


@functools.cache
def use_native(backend: str) -> bool:
    """Whether episodes run in compiled code. Says so, once, if they do not."""
    if backend not in ("native", "pybullet"):
        raise ValueError(f"{BACKEND_VARIABLE} must be 'native' or 'pybullet'; got {backend!r}.")
    reason = f"{BACKEND_VARIABLE}={backend}"
    if backend == "native":
        try:
            capi.load()
            return True
        except (OSError, AttributeError, RuntimeError) as error:
            reason = f"this pybullet hides Bullet's C API ({error})"
    say(f"episodes run through the pybullet module: same results, slower ({reason}).")
    return False
