"""Bullet, whose numbers the engine computes: the oracle of its tests, and the physics where GAITS_PHYSICS asks for it.

It is an extra (``gaits[bullet]``): any distribution that provides the module pybullet will do.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

from gaits.console import say
from gaits.physics.bullet import capi
from gaits.tasks.task import Task

if TYPE_CHECKING:
    from gaits.physics.bullet.player import BulletSimulator


def make_simulator(task: Task, module: bool = False) -> BulletSimulator:
    """A robot in Bullet: in compiled code where it can be, else, or if asked for, through the pybullet module."""
    if module or not use_native():
        from gaits.physics.bullet.through_python import ModuleSimulator

        return ModuleSimulator(task)
    from gaits.physics.bullet.native import NativeSimulator

    return NativeSimulator(task)


@functools.cache
def use_native() -> bool:
    """Whether episodes run in compiled code. Says so, once, if they do not."""
    try:
        capi.load()
        return True
    except (OSError, AttributeError, RuntimeError) as error:
        say(f"episodes run through the pybullet module: same results, slower (this pybullet hides Bullet's C API: {error}).")
        return False
