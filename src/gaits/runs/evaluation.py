"""evaluation.npz: every elite of a run played again, several times, to see how much of its record was luck.

Robustness is the mean over new episodes minus the objective in the archive, as in the paper; the corrected archive holds
what is left when every elite is inserted again by its means.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from gaits.archives import Archive, insert, make_archive, summary
from gaits.console import command
from gaits.reading import Refused, Shapes, read_arrays
from gaits.runs import Run
from gaits.runs.binding import Changed, check_sealed, seal
from gaits.runs.files import write_text, write_whole
from gaits.tasks.task import Task


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

    def save(self, run: Run) -> None:
        """evaluation.npz with all of it, evaluation.json with the summary: null where no elite is left to count."""
        arrays = {name: np.asarray(value) for name, value in vars(self).items()}
        corrected = summary(self.corrected(run.task), run.task.objective_range[0])
        numbers = {
            "episodes": self.objective.shape[1],
            "seed": self.seed,
            "evaluations": self.evaluations,
            "mean_elite_robustness": _or_none(self.robustness),
            "corrected": {name: _or_none(number) for name, number in corrected.items()},
        }
        write_text(run.folder / "evaluation.json", seal(numbers, run.config.id, arrays))
        write_whole(run.folder / "evaluation.npz", lambda file: np.savez(file, **arrays))  # type: ignore[arg-type]


def _or_none(number: float) -> float | None:
    return number if np.isfinite(number) else None


def load_evaluation(run: Run) -> Evaluation | None:
    """The evaluation saved beside a run, or None if there is none."""
    path = run.folder / "evaluation.npz"
    try:
        arrays: dict[str, Any] = read_arrays(path, check=_check_shapes)
        check_sealed(path.with_suffix(".json"), run.config.id, arrays)
        _check_cells(arrays, run.task)
        return Evaluation(**{**arrays, "seed": int(arrays["seed"]), "evaluations": int(arrays["evaluations"])})
    except FileNotFoundError:
        return None
    except (Refused, Changed) as error:
        again = command("evaluate", run.folder)
        reason = error.reason if isinstance(error, Refused) else error
        raise ValueError(f"{path} cannot be used as the run's evaluation: {reason}. Make it again: {again}") from None


def _check_cells(arrays: dict[str, np.ndarray], task: Task) -> None:
    cell, cells = arrays["cell"], task.total_cells
    if len(np.unique(cell)) < len(cell) or cell.min(initial=0) < 0 or cell.max(initial=0) >= cells:
        raise Refused("its cells are not those of an archive of the run's task")
    if arrays["measures"].shape[1] != len(task.measure_names) or not arrays["objective"].shape[1]:
        raise Refused("its episodes are not those of the run's task")


def _check_shapes(shapes: Shapes) -> None:
    if shapes.keys() != Evaluation.__dataclass_fields__.keys():
        raise Refused("its arrays are not those of an evaluation")
    n = shapes["cell"][0]
    forms = {
        "cell": (n, ("<i4", "<i8")),
        "recorded": (n, ("<f8",)),
        "objective": ((*n, *shapes["objective"][0][1:2]), ("<f8",)),
        "measures": ((*n, *shapes["measures"][0][1:2]), ("<f8",)),
        "failed": (n, ("|b1",)),
        "seed": ((), ("<i8",)),
        "evaluations": ((), ("<i8",)),
    }
    for name, (shape, dtypes) in forms.items():
        found, dtype = shapes[name]
        if found != shape or dtype not in dtypes or len(n) != 1 or (name in ("objective", "measures") and len(found) != 2):
            raise Refused(f"its {name} has another form than an evaluation's")
