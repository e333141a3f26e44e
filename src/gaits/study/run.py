"""Running a study: every planned run in order, whatever becomes of the others."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gaits.checks import whole_number
from gaits.console import command, say
from gaits.evaluation.compute import make_compute
from gaits.evaluation.schedulers import open_cluster
from gaits.reading import read_json
from gaits.runs import load_run
from gaits.runs.directory import locked
from gaits.runs.files import write_text
from gaits.runs.verify import prune as prune_run
from gaits.study.execute import Outcome, Status, execute_in_turn, survey
from gaits.study.overview import Overview
from gaits.study.parallel import execute_together
from gaits.study.plan import FILE, Study
from gaits.training import stop_signals

FAILURES = "failed.txt"


@dataclass(frozen=True)
class StudyReport:
    """What became of a study. Its text is what to tell a person at the end."""

    folder: Path
    study: Study
    outcomes: tuple[Outcome, ...]
    """Of the runs whose turn came, in the order they ended."""
    interrupted: bool = False

    @property
    def planned(self) -> int:
        return len(self.study.runs)

    def having(self, *statuses: Status) -> list[Outcome]:
        return [outcome for outcome in self.outcomes if outcome.status in statuses]

    @property
    def failed(self) -> list[Outcome]:
        return self.having("failed", "refused", "disk full")

    @property
    def complete(self) -> bool:
        """Whether every planned run has all its evaluations."""
        return len(self.having("done", "skipped")) == self.planned

    def __str__(self) -> str:
        again = self.study.command(self.folder)
        counts = {
            "done": len(self.having("done")),
            "done before": len(self.having("skipped")),
            "failed": len(self.failed),
            "unfinished": len(self.having("interrupted")),
            "not begun": self.planned - len(self.outcomes),
        }
        told = ", ".join(f"{n} {what}" for what, n in counts.items() if n)
        lines = [f"{self.planned} runs in {self.folder}: {told}."]
        lines += [f"  {outcome.run.name}: {outcome.message}" for outcome in self.failed]
        if self.having("failed"):
            lines.append(f"Tracebacks are in {self.folder / FAILURES}.")
        if self.having("disk full"):
            lines.append(f"The disk is full, so the study stopped. Make room, then go on with: {again}")
        elif self.interrupted:
            lines.append(f"Stopped; everything is saved. Go on with: {again}")
        elif self.failed:
            lines.append(f"Once the reason is gone, the same command tries them again: {again}")
        if self.having("done", "skipped"):
            lines.append(f"Compare the runs with:\n  {command('compare', self.folder)}")
        return "\n".join(lines)


def run_study(
    study: Study,
    folder: str | Path,
    *,
    watcher: Overview | None = None,
    at_once: int = 1,
    prune: bool = False,
    **compute: Any,
) -> StudyReport:
    """Make the runs of a study, each in a folder of its own. Calling it again goes on.

    Runs that are complete are skipped, those begun are resumed, and those with fewer evaluations than planned are made
    longer. A run that fails does not stop the others; a full disk and Ctrl-C do.

    Args:
        study: What to run; it is written to study.json, so that ``load_study(folder)`` gives it back.
        folder: Where its runs are.
        watcher: Shows how it is going, as ``make_overview(study)`` does; default: nothing.
        at_once: Runs that go on at the same time on a cluster, each in a process of its own here.
        prune: Whether runs that are finished lose their checkpoints, and so cannot be made longer.
        compute: What to compute on, as for ``train``; all runs share the cluster.
    """
    folder, overview = Path(folder), watcher or Overview(study)
    whole_number("at_once", at_once, 1)
    shared = make_compute(compute)
    if at_once > 1 and shared.scheduler is None:
        raise ValueError("Several runs at once need a cluster to play on: --scheduler local, or a scheduler's address.")
    overview.at_once = at_once
    outcomes: list[Outcome] = []
    try:
        with _held(folder), stop_signals() as stop, contextlib.ExitStack() as stack:
            if shared.scheduler is not None:
                address = stack.enter_context(open_cluster(shared.scheduler, shared.workers, shared.tls))
                shared = dataclasses.replace(shared, scheduler=address, workers=None)
            stack.enter_context(contextlib.closing(overview))
            _remember(study, folder)
            overview.begin(survey(study, folder))
            if at_once == 1:
                ended = execute_in_turn(study.runs, folder, overview, stop, shared)
            else:
                ended = execute_together(study.runs, folder, at_once, overview, stop, shared)
            for outcome in ended:
                outcomes.append(outcome)
                if prune and outcome.status in ("done", "skipped"):
                    _prune(folder / outcome.run.name)
                overview.end(outcome)
                _keep_tracebacks(folder, outcomes)
    except KeyboardInterrupt:
        say(f"left at once. Go on from the last checkpoints with: {study.command(folder)}")
        raise
    interrupted = any(outcome.status == "interrupted" for outcome in outcomes)
    cut_short = stop.is_set() and len(outcomes) < len(study.runs)
    report = StudyReport(folder, study, tuple(outcomes), interrupted or cut_short)
    if report.complete:
        (folder / FAILURES).unlink(missing_ok=True)  # of an earlier attempt
    return report


def _prune(place: Path) -> None:
    try:
        prune_run(load_run(place))
    except ValueError as error:  # one that is damaged, or whose plan became shorter: said, and left alone
        say(str(error))


def _remember(study: Study, folder: Path) -> None:
    """Write study.json. A study may grow; one that would forget tasks or algorithms of the one before is another study."""
    names, seeds = _names_and_seeds(folder)
    here = {task.name for task in study.tasks} | {variant.name for variant in study.variants}
    gone = [name for name in names if name not in here]
    if gone:
        raise ValueError(f"{folder} holds another study, which also has {', '.join(gone)}. Choose another --out.")
    study.with_(seeds=list(dict.fromkeys([*seeds, *study.seeds]))).save(folder)


def _names_and_seeds(folder: Path) -> tuple[list[str], list[int]]:
    """Tasks and variants, and seeds, of the study before; whether or not its tasks are known now."""
    try:
        document = read_json(folder / FILE)
        variants = [variant["name"] for variant in document.get("variant", [])]
        names = [*document["tasks"], *document.get("algorithms", []), *variants]
        return list(map(str, names)), [whole_number("A seed", seed, 0, None) for seed in document["seeds"]]
    except (OSError, ValueError, LookupError, TypeError, AttributeError):  # there is none, or it is damaged
        return [], []


@contextlib.contextmanager
def _held(folder: Path) -> Iterator[None]:
    """Make the study's folder and hold it: two processes on one study would trip over each other's runs."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ValueError(f"Cannot write to {folder}: {error.strerror}. Choose another folder.") from None
    with locked(folder):
        yield


def _keep_tracebacks(folder: Path, outcomes: list[Outcome]) -> None:
    """All failures so far in one file. Not in the run's folder: a run that failed to begin needs that one empty."""
    if outcomes[-1].status != "failed":
        return
    text = "\n".join(f"{outcome.run.name}\n{outcome.traceback}" for outcome in outcomes if outcome.status == "failed")
    with contextlib.suppress(OSError):  # the study matters more than its log
        write_text(folder / FAILURES, text)
