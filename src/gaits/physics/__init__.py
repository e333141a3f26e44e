"""Robots that move: the engine that plays them, Bullet and MuJoCo beside it, and the Gymnasium environments on top."""

from __future__ import annotations

import os

from gaits.episodes.player import Player
from gaits.physics.world import Simulator
from gaits.tasks.task import Task

PHYSICS_VARIABLE = "GAITS_PHYSICS"
"""Environment variable that chooses who moves QDGym's robots: the same numbers either way."""
ENGINE, BULLET, MODULE = "engine", "bullet", "pybullet"


def choose_physics() -> str:
    """``engine``, ours; ``bullet``, in compiled code; or ``pybullet``, through that module."""
    name = os.environ.get(PHYSICS_VARIABLE, ENGINE)
    if name not in (ENGINE, BULLET, MODULE):
        raise ValueError(f"{PHYSICS_VARIABLE} must be {ENGINE!r}, {BULLET!r} or {MODULE!r}; got {name!r}.")
    return name


def make_simulator(task: Task) -> Simulator:
    """A robot of QDGym's, to be reset and stepped."""
    name = choose_physics()
    if name == ENGINE:
        from gaits.physics.engine.simulator import EngineSimulator

        return EngineSimulator(task)
    from gaits.physics import bullet

    return bullet.make_simulator(task, module=name == MODULE)


def make_player(task: Task) -> Player:
    """What plays a robot of QDGym's."""
    if choose_physics() == ENGINE:
        from gaits.physics.beyond import play_beyond
        from gaits.physics.engine.player import EnginePlayer

        return EnginePlayer(task, play_beyond)
    from gaits.physics.bullet import make_simulator as make_bullet
    from gaits.physics.bullet.player import BulletPlayer

    return BulletPlayer(make_bullet(task, module=choose_physics() == MODULE))
