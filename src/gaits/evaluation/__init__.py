"""Turning solutions into objectives and measures."""

from __future__ import annotations

from gaits.episodes import Batch, EpisodeFailed
from gaits.evaluation.compute import Compute
from gaits.evaluation.local import LocalEvaluator, available_cores
from gaits.evaluation.results import Evaluator, Pending, Results, Transitions
from gaits.tasks.task import Task


def make_evaluator(task: Task, compute: Compute = Compute()) -> Evaluator:  # noqa: B008 - it is frozen
    """What evaluates this task: here, on threads or processes, or on the cluster of a Dask scheduler."""
    if compute.scheduler is None:
        return LocalEvaluator(task, compute.workers)
    from gaits.evaluation.cluster import ClusterEvaluator

    return ClusterEvaluator(task, compute.scheduler, compute.workers, compute.deadline, compute.tls)


__all__ = [
    "Batch",
    "Compute",
    "EpisodeFailed",
    "Evaluator",
    "LocalEvaluator",
    "Pending",
    "Results",
    "Transitions",
    "available_cores",
    "make_evaluator",
]
