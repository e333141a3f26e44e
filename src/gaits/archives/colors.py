"""Which objectives the colours of a map span."""

from __future__ import annotations

from gaits.tasks.task import Task


def color_limits(task: Task) -> tuple[float, float]:
    """The same for all runs of a task: its range, from 0 on if that goes at least as far above 0 as below.

    A robot that does nothing returns about 0. How much worse others do would leave walking few colours.
    """
    low, high = task.objective_range
    return (0.0 if -high <= low < 0.0 else low), high
