"""How much of an archive is luck: every elite played again, several times.

An elite got its cell by one good episode. Robustness is the mean over new episodes minus the objective in the archive, as in
the paper; the corrected archive holds what is left when every elite is inserted again by its means.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from gaits.archives import Archive, insert, make_archive, summary
from gaits.episodes import check_seed
from gaits.evaluation import make_evaluator
from gaits.evaluation.compute import make_compute
from gaits.runs import Run, load_run
from gaits.runs.files import write_whole
from gaits.search import episode_seeds
from gaits.settings import whole_number
from gaits.tasks.task import Task

CHUNK = 50
"""Elites per batch, so that there is progress to show."""


@dataclass(frozen=True)
class Evaluation:
    """n elites, E new episodes each."""

    cell: np.ndarray  # (n,) int64
    recorded: np.ndarray  # (n,) float64: objectives in the archive
    objective: np.ndarray  # (n, E) float64: returns of the new episodes
    measures: np.ndarray  # (n, k) float64: mean over the new episodes
    failed: np.ndarray  # (n,) bool: met numbers that are not finite
    seed: int
    evaluations: int
    """How far the run had come when its archive was saved."""

    @property
    def elite_robustness(self) -> np.ndarray:
        """Per elite: mean of the new returns minus the recorded one; below 0 where the record was luck."""
        return self.objective.mean(axis=1) - self.recorded

    @property
    def robustness(self) -> float:
        """Mean elite robustness."""
        return float(self.elite_robustness.mean()) if len(self.cell) else float("nan")

    def corrected(self, task: Task) -> Archive:
        """The elites inserted again by their mean objective and mean measures; objectives only, no solutions."""
        archive = make_archive(task, solution_dim=0)
        nothing = np.zeros((len(self.cell), 0), np.float32)
        insert(archive, nothing, self.objective.mean(axis=1), self.measures, self.failed)
        return archive

    def save(self, folder: Path, task: Task) -> None:
        """evaluation.npz with all of it, evaluation.json with the summary."""
        arrays = {name: np.asarray(value) for name, value in vars(self).items()}
        write_whole(folder / "evaluation.npz", lambda file: np.savez(file, **arrays))  # type: ignore[arg-type]
        numbers = {
            "episodes": self.objective.shape[1],
            "seed": self.seed,
            "evaluations": self.evaluations,
            "mean_elite_robustness": self.robustness,
            "corrected": summary(self.corrected(task), task.objective_range[0]),
        }
        text = json.dumps(numbers, indent=2) + "\n"
        write_whole(folder / "evaluation.json", lambda file: file.write(text.encode()))


def load_evaluation(folder: Path) -> Evaluation | None:
    """The evaluation saved beside a run, or None if there is none."""
    path = folder / "evaluation.npz"
    try:
        with open(path, "rb") as raw, np.load(raw, allow_pickle=False) as file:
            arrays = {name: file[name] for name in Evaluation.__dataclass_fields__}
        return Evaluation(**{**arrays, "seed": int(arrays["seed"]), "evaluations": int(arrays["evaluations"])})
    except FileNotFoundError:
        return None
    except Exception as error:  # zip, npy and shape errors come in a dozen types
        raise ValueError(f"{path} is not a readable evaluation ({error}). Make it again: gaits evaluate {folder}") from None


def evaluate_run(
    run: Run | str | Path,
    episodes: int = 10,
    seed: int = 42,
    progress: Callable[[int, int], None] | None = None,
    **compute: Any,
) -> Evaluation:
    """Play every elite of a run ``episodes`` times and save the outcome beside the run. If it is there already, read it.

    All elites, of all runs with the same seed, get the same episodes. Those of ME-ES play with the observation statistics
    they were stored with.

    Args:
        progress: Called with (elites done, elites in all).
        compute: What to compute on, as for ``train``.
    """
    run = run if isinstance(run, Run) else load_run(run)
    whole_number("episodes", episodes, 1)
    check_seed(seed)
    run.task.problem.check_luck(run.task)
    evaluations = run.saved_evaluations
    with contextlib.suppress(ValueError):  # a damaged one is made again
        before = load_evaluation(run.folder)
        if before and (before.evaluations, before.seed, before.objective.shape[1]) == (evaluations, seed, episodes):
            return before
    data = run.archive.data()
    n = len(data["index"])
    if n == 0:
        raise ValueError(f"The archive of {run.folder} is empty: there is nothing to evaluate. Train it first.")
    statistics = {name: data[name] for name in ("obs_mean", "obs_std") if name in data}
    seeds = episode_seeds(seed, 0, episodes)
    parts = []
    with make_evaluator(run.task, make_compute(compute)) as evaluator:
        for start in range(0, n, CHUNK):
            rows = slice(start, min(start + CHUNK, n))
            solutions = data["solution"][rows]
            options: dict[str, Any] = {name: values[rows] for name, values in statistics.items()}
            parts.append(evaluator.evaluate(solutions, np.tile(seeds, (len(solutions), 1)), **options))
            if progress is not None:
                progress(rows.stop, n)
    evaluation = Evaluation(
        cell=data["index"],
        recorded=data["objective"],
        objective=np.concatenate([part.episode_objective for part in parts]),
        measures=np.concatenate([part.measures for part in parts]),
        failed=np.concatenate([part.failed for part in parts]),
        seed=seed,
        evaluations=evaluations,
    )
    evaluation.save(run.folder, run.task)
    return evaluation
