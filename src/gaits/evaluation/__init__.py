"""Turning solutions into objectives and measures."""

from gaits.evaluation.local import LocalEvaluator, available_cores
from gaits.evaluation.results import Evaluator, Pending, Results, Transitions

__all__ = ["Evaluator", "LocalEvaluator", "Pending", "Results", "Transitions", "available_cores"]
