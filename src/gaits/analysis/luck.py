"""What is left of a run without luck, in numbers that are compared."""

from __future__ import annotations

import numpy as np

from gaits.archives import summary, summary_of
from gaits.console import command
from gaits.runs import Run
from gaits.runs.evaluation import MIDDLES, load_evaluation

COLUMNS = {"qd_score": "qd_score", "coverage": "coverage", "best": "objective_max"}
"""Of a run, and of an archive's summary."""
LUCK = (
    *("episodes", "robustness", "robustness_normalized", "corrected_qd_score_normalized"),
    *(f"{kind}_{name}" for kind in ("corrected", "median_corrected", "lost", "median_lost") for name in COLUMNS),
    *("expected_qd_score", "distance_to_centre", "objective_std", "measures_std"),
)


def luck_of(run: Run, evaluations: int, offset: float, notes: list[str]) -> dict[str, float]:
    """What ``gaits evaluate`` found of the archive after so many evaluations; NaN if nothing, and ``notes`` say why."""
    nothing = dict.fromkeys(LUCK, np.nan)
    try:
        found = load_evaluation(run)
    except ValueError as error:
        notes.append(f"{error} Until then its robustness is left out.")
        return nothing
    if found is None:
        return nothing
    if found.evaluations != evaluations:
        again = f"Make it again: {command('evaluate', run.folder)}"
        end = int(run.metrics["evaluations"].iloc[-1])
        there = "ends.csv has it where the run ends." if found.evaluations == end else again
        earlier = f"Only whole runs have it: the policies of earlier archives are not kept. {there}"
        remedy = earlier if evaluations < end else again
        notes.append(
            f"The evaluation of {run.folder} is of its archive after {found.evaluations:,} evaluations, which is not "
            f"the one compared: its robustness is left out. {remedy}"
        )
        return nothing
    recorded = summary_of(found.recorded, run.task.total_cells, offset)
    mean, median = (summary(found.corrected(run.task, by), offset) for by in MIDDLES)
    lost, median_lost = ({name: recorded[name] - left[name] for name in recorded} for left in (mean, median))
    kinds = {"corrected": mean, "median_corrected": median, "lost": lost, "median_lost": median_lost}
    width = run.task.objective_range[1] - offset
    return {
        "episodes": found.objective.shape[1],
        "robustness": found.robustness,
        "robustness_normalized": found.robustness / width,
        "corrected_qd_score_normalized": mean["qd_score"] / (run.task.total_cells * width),
        **{f"{kind}_{name}": numbers[column] for kind, numbers in kinds.items() for name, column in COLUMNS.items()},
        "expected_qd_score": found.expected_qd_score(offset),
        "distance_to_centre": found.mean(found.distance(run.task)),
        "objective_std": found.mean(found.objective_std),
        "measures_std": found.mean(found.measures_std),
    }
