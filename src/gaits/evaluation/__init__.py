"""Turning solutions into objectives and measures."""

from __future__ import annotations

from gaits.checks import above_zero, whole_number
from gaits.evaluation.function import FunctionEvaluator
from gaits.evaluation.local import LocalEvaluator, available_cores
from gaits.evaluation.player import EpisodeFailed
from gaits.evaluation.results import Evaluator, Pending, Results, Transitions
from gaits.tasks.task import Task


def make_evaluator(
    task: Task, workers: int | None = None, scheduler: str | None = None, deadline: float = 300.0
) -> Evaluator:
    """What evaluates this task: here, on ``workers`` threads or processes, or on the cluster of a Dask ``scheduler``."""
    if workers is not None:
        whole_number("workers", workers, 1)
    above_zero("deadline", deadline)
    if task.function is not None:
        return FunctionEvaluator(task)
    if scheduler is None:
        return LocalEvaluator(task, workers)
    from gaits.evaluation.cluster import ClusterEvaluator

    return ClusterEvaluator(task, scheduler, workers, deadline)


__all__ = [
    "EpisodeFailed",
    "Evaluator",
    "FunctionEvaluator",
    "LocalEvaluator",
    "Pending",
    "Results",
    "Transitions",
    "available_cores",
    "make_evaluator",
]
