"""gaits: train repertoires of policies, not one way to walk but many."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

import gymnasium

from gaits.policies import MLP
from gaits.tasks import TASKS, Task, make_task, register_task
from gaits.tasks.qdgym import QDGYM

if TYPE_CHECKING:
    from gaits import loggers
    from gaits.adaptation.damage import Damage
    from gaits.adaptation.search import adapt
    from gaits.algorithms import ALGORITHMS
    from gaits.analysis.compare import compare
    from gaits.analysis.robustness import evaluate_run
    from gaits.episodes import Batch
    from gaits.evaluation import Compute, LocalEvaluator, Results, Transitions
    from gaits.evaluation.cluster import ClusterEvaluator
    from gaits.export import export_policy
    from gaits.progress import Watcher
    from gaits.runs import Run, load_archive, load_run
    from gaits.study import load_study, run_study
    from gaits.tasks.environment import Trajectory
    from gaits.training import resume, train
    from gaits.video import make_video

__version__ = "0.2.0"

__all__ = [
    "ALGORITHMS",
    "MLP",
    "TASKS",
    "Batch",
    "ClusterEvaluator",
    "Compute",
    "Damage",
    "LocalEvaluator",
    "Results",
    "Run",
    "Task",
    "Trajectory",
    "Transitions",
    "Watcher",
    "adapt",
    "compare",
    "evaluate_run",
    "export_policy",
    "load_archive",
    "load_run",
    "load_study",
    "loggers",
    "make_task",
    "make_video",
    "register_task",
    "resume",
    "run_study",
    "train",
]

# Names whose modules bring Numba, ribs or JAX along: imported when first used.
_LAZY = {
    "ALGORITHMS": "gaits.algorithms",
    "Batch": "gaits.episodes",
    "ClusterEvaluator": "gaits.evaluation.cluster",
    "Damage": "gaits.adaptation.damage",
    "Compute": "gaits.evaluation",
    "LocalEvaluator": "gaits.evaluation",
    "Results": "gaits.evaluation",
    "Run": "gaits.runs",
    "Trajectory": "gaits.tasks.environment",
    "Transitions": "gaits.evaluation",
    "Watcher": "gaits.progress",
    "adapt": "gaits.adaptation.search",
    "compare": "gaits.analysis.compare",
    "evaluate_run": "gaits.analysis.robustness",
    "export_policy": "gaits.export",
    "load_archive": "gaits.runs",
    "load_run": "gaits.runs",
    "load_study": "gaits.study",
    "make_video": "gaits.video",
    "resume": "gaits.training",
    "run_study": "gaits.study",
    "train": "gaits.training",
}


def __getattr__(name: str) -> Any:
    if name in _LAZY:
        return getattr(importlib.import_module(_LAZY[name]), name)
    if name == "loggers":
        return importlib.import_module("gaits.loggers")
    raise AttributeError(f"module 'gaits' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])


for _task in QDGYM:
    gymnasium.register(
        _task.env_id,
        entry_point="gaits.physics.envs:QDEnv",
        kwargs={"task": _task.name},
        reward_threshold=_task.objective_range[1],
        order_enforce=True,
    )
