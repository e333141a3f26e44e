"""One planned run of a study: made, resumed, extended, or found to be done. Whatever happens becomes an outcome."""

from __future__ import annotations

import contextlib
import dataclasses
import errno
import math
import threading
import traceback as tracebacks
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from gaits import training
from gaits.evaluation import Compute
from gaits.runs import Run, load_run
from gaits.runs.config import Config
from gaits.study.plan import PlannedRun, Study

if TYPE_CHECKING:
    import pandas as pd

    from gaits.study.overview import Overview

Status = Literal["done", "skipped", "refused", "failed", "interrupted", "disk full"]
SAVED = "it is saved, and goes on with the study"


@dataclass(frozen=True)
class Outcome:
    """What became of a planned run.

    done: now has all its evaluations. skipped: had them before. refused: its folder holds another run. failed: an error.
    interrupted, disk full: not finished, and the study ends with it.
    """

    run: PlannedRun
    status: Status
    message: str = ""
    traceback: str = ""

    @property
    def ends_study(self) -> bool:
        return self.status in ("interrupted", "disk full")


def execute(
    run: PlannedRun,
    folder: Path,
    *,
    overview: Overview | None = None,
    stop: threading.Event | None = None,
    compute: Compute = Compute(),  # noqa: B008 - it is frozen
) -> Outcome:
    """Bring the planned run in ``folder / run.name`` to its end.

    Args:
        run: What is planned.
        folder: The study's folder.
        overview: Told when there is something to do, and shown every iteration.
        stop: Ends the run after an iteration when set; it can be resumed.
        compute: What to compute on.
    """
    try:
        return _execute(run, folder / run.name, overview, stop, compute)
    except training.Interrupted:
        return Outcome(run, "interrupted", SAVED)
    except Exception as error:
        status: Status = "disk full" if is_disk_full(error) else "failed"
        return Outcome(run, status, _describe(error), tracebacks.format_exc())


def execute_in_turn(
    runs: Sequence[PlannedRun], folder: Path, overview: Overview, stop: threading.Event, compute: Compute
) -> Iterator[Outcome]:
    """The outcomes of runs, one after the other, until ``stop`` is set or one ends the study."""
    for run in runs:
        if stop.is_set():
            return
        outcome = execute(run, folder, overview=overview, stop=stop, compute=compute)
        yield outcome
        if outcome.ends_study:
            return


def _execute(
    run: PlannedRun,
    place: Path,
    overview: Overview | None,
    stop: threading.Event | None,
    compute: Compute,
) -> Outcome:
    if place.is_symlink():
        return Outcome(run, "refused", f"{place} is a link, and nothing is written through links. Remove it.")
    found = load_run(place) if (place / "config.json").exists() else None
    if found and (others := differences(run, found.config)):
        return Outcome(run, "refused", f"{place} holds another run: {'; '.join(others)}. Move it, or change the study.")
    if found and _has(found, run.evaluations):
        return Outcome(run, "skipped", f"it has {run.evaluations:,} evaluations already")
    if overview is not None:
        overview.start(run)
    common: dict[str, Any] = {
        **vars(compute),
        "progress": False,
        "watchers": () if overview is None else (overview.watch(run),),
        "callback": lambda row, archive: stop is not None and stop.is_set(),
    }
    if found is None:
        ended = training.train(
            run.task,
            run.algorithm,
            evaluations=run.evaluations,
            seed=run.seed,
            out=place,
            name=None if run.variant.name == run.algorithm else run.variant.name,
            **common,
            **run.settings,
        )
    else:
        ended = training.resume(place, evaluations=_new_total(run, found), **common)
    if stop is not None and stop.is_set() and not ended.finished:
        return Outcome(run, "interrupted", SAVED)
    return Outcome(run, "done")


def differences(run: PlannedRun, config: Config) -> list[str]:
    """What a run on disk has that is not as planned. Its length may differ: that can be changed."""
    task = config.make_task()
    there = {"task": config.task, "algorithm": config.algorithm, "seed": config.seed}
    planned = {"task": run.task.name, "algorithm": run.algorithm, "seed": run.seed}
    if there["task"] == planned["task"]:
        there |= task.changeable
        planned |= run.task.changeable
    if there["algorithm"] == planned["algorithm"]:
        there |= dataclasses.asdict(config.make_settings())
        planned |= run.settings
    return [
        f"{key} is {value!r} there and {planned.get(key)!r} in the study"
        for key, value in there.items()
        if value != planned.get(key)
    ]


def progress(run: Run) -> pd.DataFrame:
    """iteration, evaluations and seconds of a run so far; rows that a power cut left incomplete are left out."""
    import pandas as pd

    names = ["iteration", "evaluations", "seconds"]
    try:
        return run.metrics[names].apply(pd.to_numeric, errors="coerce").replace([math.inf, -math.inf], math.nan).dropna()
    except (ValueError, KeyError):  # resuming writes them again, from the checkpoint
        return pd.DataFrame(columns=names)


def _has(run: Run, evaluations: int) -> bool:
    try:
        return run.saved_evaluations >= evaluations
    except (ValueError, KeyError, TypeError):  # unreadable metrics: resuming writes them again
        return False


def _new_total(run: PlannedRun, found: Run) -> int | None:
    """Evaluations to resume with: None unless the plan changed, and never fewer than were done."""
    if found.config.evaluations == run.evaluations:
        return None
    return max([run.evaluations, *progress(found)["evaluations"].astype(int).tail(1)])


def survey(study: Study, folder: Path) -> dict[str, tuple[int, float]]:
    """Evaluations and seconds of the runs that are there already, by name."""
    found: dict[str, tuple[int, float]] = {}
    for planned in study.runs:
        with contextlib.suppress(ValueError, OSError):  # no run yet, or one that will be refused when its turn comes
            run = load_run(folder / planned.name)
            if not differences(planned, run.config) and len(table := progress(run)):
                found[planned.name] = (int(table["evaluations"].iloc[-1]), float(table["seconds"].iloc[-1]))
    return found


def is_disk_full(error: BaseException | None) -> bool:
    """Whether a full disk or a used-up quota is behind an error."""
    while error is not None:
        if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
            return True
        error = error.__cause__ or error.__context__
    return False


def _describe(error: Exception) -> str:
    """The first line of what went wrong; errors that were not written for people get their type."""
    text = str(error).strip().partition("\n")[0]
    return text if isinstance(error, ValueError) and text else f"{type(error).__name__}: {text}".rstrip(": ")
