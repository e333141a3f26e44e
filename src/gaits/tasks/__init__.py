"""What is solved. ``make_task`` turns a name into a :class:`Task`."""

from __future__ import annotations

from collections.abc import Sequence

from gaits.names import lookup
from gaits.tasks.linear_projection import LINEAR_PROJECTION
from gaits.tasks.mujoco import MUJOCO
from gaits.tasks.qdgym import QDGYM
from gaits.tasks.task import MujocoRobot, Robot, Task

TASKS = {task.name: task for task in (*QDGYM, *MUJOCO, *LINEAR_PROJECTION)}


def make_task(
    name: str,
    *,
    grid: Sequence[int] | None = None,
    objective_range: tuple[float, float] | None = None,
    max_steps: int | None = None,
    hidden: Sequence[int] | None = None,
) -> Task:
    """The task called ``name``, with any of its fields overridden."""
    task = lookup("task", name, TASKS)
    return task.with_(grid=grid, objective_range=objective_range, max_steps=max_steps, hidden=hidden)


__all__ = ["TASKS", "MujocoRobot", "Robot", "Task", "make_task"]
