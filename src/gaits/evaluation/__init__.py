"""Turning solutions into objectives and measures."""

from gaits.evaluation.function import FunctionEvaluator
from gaits.evaluation.local import LocalEvaluator, available_cores
from gaits.evaluation.results import Evaluator, Pending, Results, Transitions
from gaits.tasks.task import Task


def make_evaluator(task: Task, workers: int | None = None) -> LocalEvaluator | FunctionEvaluator:
    """What evaluates this task on this machine."""
    return LocalEvaluator(task, workers) if task.function is None else FunctionEvaluator(task)


__all__ = [
    "Evaluator",
    "FunctionEvaluator",
    "LocalEvaluator",
    "Pending",
    "Results",
    "Transitions",
    "available_cores",
    "make_evaluator",
]
