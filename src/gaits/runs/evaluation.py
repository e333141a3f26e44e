"""evaluation.npz: every elite of a run played again, several times, to see how much of its record was luck.

Robustness is the mean over new episodes minus the objective in the archive, as in the paper; the corrected archive holds
what is left when every elite is inserted again by its means.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from gaits.archives import Archive, insert, make_archive, summary
from gaits.console import command
from gaits.reading import Refused, Shapes, read_arrays
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

    def save(self, folder: Path, task: Task) -> None:
        """evaluation.npz with all of it, evaluation.json with the summary: null where no elite is left to count."""
        arrays = {name: np.asarray(value) for name, value in vars(self).items()}
        write_whole(folder / "evaluation.npz", lambda file: np.savez(file, **arrays))  # type: ignore[arg-type]
        corrected = summary(self.corrected(task), task.objective_range[0])
        numbers = {
            "episodes": self.objective.shape[1],
            "seed": self.seed,
            "evaluations": self.evaluations,
            "mean_elite_robustness": _or_none(self.robustness),
            "corrected": {name: _or_none(number) for name, number in corrected.items()},
        }
        text = json.dumps(numbers, indent=2, allow_nan=False) + "\n"
        write_text(folder / "evaluation.json", text)


def _or_none(number: float) -> float | None:
    return number if np.isfinite(number) else None


def load_evaluation(folder: Path) -> Evaluation | None:
    """The evaluation saved beside a run, or None if there is none."""
    path = folder / "evaluation.npz"
    try:
        arrays: dict[str, Any] = read_arrays(path, check=_check_shapes)
        return Evaluation(**{**arrays, "seed": int(arrays["seed"]), "evaluations": int(arrays["evaluations"])})
    except FileNotFoundError:
        return None
    except Refused as error:
        again = command("evaluate", folder)
        raise ValueError(f"{path} is not a readable evaluation ({error.reason}). Make it again: {again}") from None


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
