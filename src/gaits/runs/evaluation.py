"""evaluation.npz: every elite of a run played again, several times, to see how much of its record was luck.

Robustness is the mean over new episodes minus the objective in the archive, as in the paper. What is left of the archive can
be asked in two ways. *Corrected*: every elite is inserted again, by the mean or the median of its new episodes, and elites
that meet in a cell compete for it. *In place*: every elite stays in the cell that it is kept for, and counts with its mean
objective there, and with how far from the cell's centre its episodes end up.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from gaits.archives import Archive, insert, make_archive, summary, summary_of
from gaits.archives.cells import centres
from gaits.console import command
from gaits.reading import Refused, Shapes, read_arrays
from gaits.runs import Run
from gaits.runs.binding import Changed, check_sealed, seal
from gaits.runs.files import write_text, write_whole
from gaits.tasks.task import Task

By = Literal["mean", "median"]
MIDDLES: tuple[By, By] = ("mean", "median")
LOSSES = ("qd_score", "coverage", "objective_max")
"""Numbers of an archive that luck adds to."""
LEVELS = 101
"""Objectives at which a profile is taken."""


@dataclass(frozen=True)
class Evaluation:
    """n elites, E new episodes each."""

    cell: np.ndarray  # (n,) int64
    recorded: np.ndarray  # (n,) float64: objectives in the archive
    objective: np.ndarray  # (n, E) float64: returns of the new episodes
    measures: np.ndarray  # (n, E, k) float64: of the new episodes
    failed: np.ndarray  # (n,) bool: met numbers that are not finite
    seed: int
    evaluations: int
    """How far the run had come when its archive was saved."""

    @property
    def elite_robustness(self) -> np.ndarray:
        """Per elite: mean of the new returns minus the recorded one; below 0 where the record was luck."""
        return self.objective.mean(axis=1) - self.recorded

    def robustness_in(self, archive: Archive) -> np.ndarray:
        """(elites,) robustness of an archive's elites, in the order of its data; NaN of those who took their cells later."""
        pairs = zip(self.cell.tolist(), self.recorded.tolist(), strict=True)
        known = dict(zip(pairs, self.elite_robustness.tolist(), strict=True))
        elites = zip(archive.data("index").tolist(), archive.data("objective").tolist(), strict=True)
        return np.array([known.get(elite, np.nan) for elite in elites])

    @property
    def robustness(self) -> float:
        """Mean elite robustness."""
        return self.mean(self.elite_robustness)

    def mean(self, values: np.ndarray) -> float:
        """Over elites; those that failed count nowhere. NaN if there are none."""
        return _mean(values[~self.failed])

    @property
    def objective_std(self) -> np.ndarray:
        """(n,) standard deviation of each elite's returns; NaN of a single episode."""
        return _std(self.objective)

    @property
    def measures_std(self) -> np.ndarray:
        """(n, k) standard deviation of each elite's measures; NaN of a single episode."""
        return _std(self.measures)

    def corrected(self, task: Task, by: By = "mean") -> Archive:
        """The elites inserted again by their mean or median objective and measures; objectives only, no solutions."""
        middle: Any = {"mean": np.mean, "median": np.median}[by]
        archive = make_archive(task, solution_dim=0)
        nothing = np.zeros((len(self.cell), 0), np.float32)
        insert(archive, nothing, middle(self.objective, axis=1), middle(self.measures, axis=1), self.failed)
        return archive

    def expected_qd_score(self, min_objective: float) -> float:
        """The QD score in place: the sum over elites of (mean return - min_objective), without those that failed."""
        return float((self.objective.mean(axis=1) - min_objective)[~self.failed].sum())

    def distance(self, task: Task) -> np.ndarray:
        """(n,) how far from the centre of its cell an elite's episodes are on average; 1 is the range of a measure."""
        archive = make_archive(task, solution_dim=0)
        low, high = np.transpose(task.ranges)
        apart = (self.measures - centres(archive, self.cell)[:, None]) / (high - low)
        return np.linalg.norm(apart, axis=2).mean(axis=1)

    def profile(self, task: Task) -> dict[str, np.ndarray]:
        """How many elites are above each of ``LEVELS`` objectives: as recorded, and corrected by their means."""
        corrected = self.corrected(task).data("objective")
        every = np.concatenate([self.recorded, corrected])
        levels = np.linspace(every.min(initial=np.inf), every.max(initial=-np.inf), LEVELS) if len(every) else np.zeros(0)
        return {"objective": levels, "recorded": above(self.recorded, levels), "corrected": above(corrected, levels)}

    def numbers(self, task: Task) -> dict[str, Any]:
        """The summary: null where no elite is left to count. A loss is what was recorded minus what is left."""
        low = task.objective_range[0]
        recorded = summary_of(self.recorded, task.total_cells, low)
        mean, median = (summary(self.corrected(task, by), low) for by in MIDDLES)
        numbers = {
            "episodes": self.objective.shape[1],
            "seed": self.seed,
            "evaluations": self.evaluations,
            "mean_elite_robustness": self.robustness,
            "recorded": recorded,
            "corrected": mean,
            "corrected_by_median": median,
            "loss": {name: recorded[name] - mean[name] for name in LOSSES},
            "loss_by_median": {name: recorded[name] - median[name] for name in LOSSES},
            "expected_qd_score": self.expected_qd_score(low),
            "distance_to_centre": self.mean(self.distance(task)),
            "objective_std": self.mean(self.objective_std),
            "measures_std": {
                name: self.mean(std) for name, std in zip(task.measure_names, self.measures_std.T, strict=True)
            },
            "profile": {name: values.tolist() for name, values in self.profile(task).items()},
        }
        return _strict(numbers)

    def save(self, run: Run) -> None:
        """evaluation.npz with all of it, evaluation.json with the summary."""
        arrays = {name: np.asarray(value) for name, value in vars(self).items()}
        write_text(run.folder / "evaluation.json", seal(self.numbers(run.task), run.config.id, arrays))
        write_whole(run.folder / "evaluation.npz", lambda file: np.savez(file, **arrays))  # type: ignore[arg-type]


def above(objective: np.ndarray, levels: np.ndarray) -> np.ndarray:
    """How many objectives are at least each of these levels."""
    return len(objective) - np.searchsorted(np.sort(objective), levels)


def _mean(values: np.ndarray) -> float:
    return float(values.mean()) if len(values) else float("nan")


def _std(values: np.ndarray) -> np.ndarray:
    """Along the episodes, of which one alone tells nothing."""
    return values.std(axis=1, ddof=1) if values.shape[1] > 1 else np.full_like(values[:, 0], np.nan)


def _strict(value: Any) -> Any:
    """With None for numbers that JSON does not have."""
    if isinstance(value, dict):
        return {name: _strict(one) for name, one in value.items()}
    return None if isinstance(value, float) and not np.isfinite(value) else value


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
    if arrays["measures"].shape[2] != len(task.measure_names) or not arrays["objective"].shape[1]:
        raise Refused("its episodes are not those of the run's task")


def _check_shapes(shapes: Shapes) -> None:
    if shapes.keys() != Evaluation.__dataclass_fields__.keys():
        raise Refused("its arrays are not those of an evaluation")
    n, episodes, k = shapes["cell"][0], shapes["objective"][0][1:2], shapes["measures"][0][2:3]
    if len(shapes["measures"][0]) == 2:
        raise Refused("it is of an older version, which kept the measures' means alone")
    forms = {
        "cell": (n, ("<i4", "<i8")),
        "recorded": (n, ("<f8",)),
        "objective": ((*n, *episodes), ("<f8",)),
        "measures": ((*n, *episodes, *k), ("<f8",)),
        "failed": (n, ("|b1",)),
        "seed": ((), ("<i8",)),
        "evaluations": ((), ("<i8",)),
    }
    if (len(n), len(episodes), len(k)) != (1, 1, 1):
        raise Refused("its arrays have another form than an evaluation's")
    for name, (shape, dtypes) in forms.items():
        found, dtype = shapes[name]
        if found != shape or dtype not in dtypes:
            raise Refused(f"its {name} has another form than an evaluation's")
