"""What is solved. ``make_task`` turns a name into a :class:`Task`."""

from __future__ import annotations

import dataclasses
import importlib
import os
import sys
import traceback
from pathlib import Path
from typing import Any

from gaits.checks import check_source, lookup
from gaits.console import describe
from gaits.tasks.linear_projection import LINEAR_PROJECTION
from gaits.tasks.mujoco import MUJOCO
from gaits.tasks.qdgym import QDGYM
from gaits.tasks.task import Changes, Task

TASKS = {task.name: task for task in (*QDGYM, *MUJOCO, *LINEAR_PROJECTION)}
"""The tasks that come with gaits, and those of the user's own that were registered."""
OURS = frozenset(TASKS)


def make_task(name: str, **changes: Any) -> Task:
    """A task by its name, or from a module of yours.

    Args:
        name: One of ``TASKS``, or ``MODULE:NAME`` of a task, or of a function that gives one.
        changes: Fields to change: ``grid``, ``archive``, ``cells``, ``objective_range``, ``max_steps``, ``hidden``.

    Examples:
        >>> task = gaits.make_task("qd_ant", grid=[6, 6, 6, 6], hidden=[32, 32])
        >>> len(task.measure_names), task.total_cells, task.policy.sizes
        (4, 1296, (28, 32, 32, 8))
    """
    task = import_task(name) if ":" in name else lookup("task", name, TASKS)
    return task.with_(**changes)


def register_task(task: Task) -> Task:
    """Make a task of your own known by its name, so that its runs can be resumed, evaluated and part of a study."""
    if not isinstance(task, Task):
        raise ValueError(f"Only a Task can be registered, as Task.from_env makes; got {task!r}.")
    if task.name in OURS:
        raise ValueError(f"{task.name} is a task that comes with gaits; give yours another name.")
    TASKS[task.name] = task
    return task


def import_task(name: str) -> Task:
    """The task at ``MODULE:NAME``: a Task, or a function without arguments that gives one. It is registered."""
    check_source(name)
    module_name, _, path = name.partition(":")
    if (here := os.getcwd()) not in sys.path:
        sys.path.insert(0, here)  # where the user's own modules are, as for python -m
    try:
        found = importlib.import_module(module_name)
        for part in path.split("."):
            candidates = {key: value for key, value in vars(found).items() if callable(value) or isinstance(value, Task)}
            found = lookup(f"task in {module_name}", part, candidates)
        task = found() if callable(found) else found
    except ModuleNotFoundError as error:
        if error.name is None or not (module_name + ".").startswith(error.name + "."):
            raise ValueError(f"{name} cannot be imported: {describe(error)}") from None
        raise ValueError(f"There is no module {error.name!r}, looking for the task {name!r} from {here}.") from None
    except (Exception, SystemExit) as error:
        if isinstance(error, ValueError) and _is_ours(error):
            raise ValueError(f"The task {name!r}: {error}") from None
        # The user's own, with the place where it happened.
        raise ValueError(f"The task {name!r} cannot be made: {describe(error)}") from None
    if not isinstance(task, Task):
        raise ValueError(f"{name} must be a Task, or give one when called without arguments; it gave {task!r}.")
    return register_task(dataclasses.replace(task, problem=task.problem.named(name)))


def _is_ours(error: BaseException) -> bool:
    """Whether gaits itself raised it, with a message that says all."""
    last = traceback.extract_tb(error.__traceback__)[-1]
    return Path(last.filename).is_relative_to(Path(__file__).parents[1])


__all__ = ["TASKS", "Changes", "Task", "import_task", "make_task", "register_task"]
