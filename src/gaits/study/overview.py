"""All runs of a study at a glance: a live grid on a terminal, plain lines elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from gaits.progress import Watcher, duration, print_line
from gaits.study.execute import Outcome
from gaits.study.plan import PlannedRun, Study, Variant
from gaits.tasks import Task

COMPLETE = ("done", "skipped")
FAILED = ("refused", "failed", "disk full")


class Overview:
    """How far the runs of a study are, and how long the rest will take. By itself it shows nothing.

    Everything is kept per run, so it does not matter whether runs go one after the other or at once.
    """

    def __init__(self, study: Study) -> None:
        self.study = study
        self.runs = study.runs
        self.at_once = 1
        self.status = {run.name: "waiting" for run in self.runs}
        self.evaluations = {run.name: 0.0 for run in self.runs}
        self.seconds = {run.name: 0.0 for run in self.runs}
        self.rows: dict[str, dict[str, float]] = {run.name: {} for run in self.runs}
        """Newest row of metrics of each run that went on since the study was taken up."""

    def begin(self, found: dict[str, tuple[int, float]]) -> None:
        """The study is taken up; ``found`` are evaluations and seconds of runs that are there already."""
        for run in self.runs:
            self.evaluations[run.name], self.seconds[run.name] = found.get(run.name, (0, 0.0))
            if self.evaluations[run.name] >= run.evaluations:
                self.status[run.name] = "skipped"

    def start(self, run: PlannedRun) -> None:
        """A run is taken up."""
        self.status[run.name] = "running"

    def watch(self, run: PlannedRun) -> Watcher:
        """What to hand to ``train`` as the watcher of this run."""
        return RunWatcher(self, run)

    def update(self, run: PlannedRun, row: dict[str, float]) -> None:
        """A run has completed an iteration."""
        self.rows[run.name] = row
        self.evaluations[run.name], self.seconds[run.name] = row["evaluations"], row["seconds"]

    def end(self, outcome: Outcome) -> None:
        """A run has ended."""
        self.status[outcome.run.name] = outcome.status

    def close(self) -> None:
        """The study has ended, or was left."""

    def count(self, *statuses: str) -> int:
        return sum(status in statuses for status in self.status.values())

    def share(self, run: PlannedRun) -> float:
        """How much of a run is done, from 0 to 1."""
        return min(self.evaluations[run.name] / run.evaluations, 1.0)

    def seconds_left(self) -> float | None:
        """From the evaluations per second so far of the same algorithm on the same task, or else of all; None at first."""
        cells: dict[tuple[str, str], tuple[float, float]] = {}
        for run in self.runs:
            evaluations, seconds = cells.get(_cell(run), (0.0, 0.0))
            cells[_cell(run)] = (evaluations + self.evaluations[run.name], seconds + self.seconds[run.name])
        everything = (sum(e for e, _ in cells.values()), sum(s for _, s in cells.values()))
        left = 0.0
        for run in self.runs:
            if self.status[run.name] in COMPLETE + FAILED:
                continue
            known = cells[_cell(run)]
            evaluations, seconds = known if known[0] > 0 else everything
            if evaluations <= 0:
                return None
            left += (1.0 - self.share(run)) * run.evaluations * seconds / evaluations
        return left / self.at_once

    def totals(self) -> str:
        done = sum(self.share(run) * run.evaluations for run in self.runs)
        left, failed = self.seconds_left(), self.count(*FAILED)
        parts = [
            f"{self.count(*COMPLETE)}/{len(self.runs)} runs",
            f"{done:,.0f}/{sum(run.evaluations for run in self.runs):,} evaluations",
            *([f"{failed} failed"] if failed else []),
            "time left unknown yet" if left is None else f"left {duration(left)}",
        ]
        return " | ".join(parts)


def _cell(run: PlannedRun) -> tuple[str, str]:
    return run.task.name, run.variant.name


class RunWatcher(Watcher):
    """Tells the overview about one run. A run closes its watchers; the overview stays open for the next."""

    def __init__(self, overview: Overview, run: PlannedRun) -> None:
        self.overview, self.run = overview, run

    def update(self, row: dict[str, float], archive: Any) -> None:
        self.overview.update(self.run, row)


def describe(row: dict[str, float]) -> str:
    """A run in numbers, from a row of its metrics."""
    return f"QD score {row['qd_score']:,.0f} | coverage {row['coverage']:.1%} | best {row['objective_max']:,.1f}"


class PlainOverview(Overview):
    """A line when a run starts and when it ends, and now and then in between; for logs and pipes."""

    def __init__(self, study: Study, every: float = 30.0, print_line: Callable[[str], None] = print_line) -> None:
        super().__init__(study)
        self.every, self._print = every, print_line
        self._printed = time.monotonic()
        self._labels = {run.name: f"[{i}/{len(self.runs)}] {run.name}" for i, run in enumerate(self.runs, 1)}

    def begin(self, found: dict[str, tuple[int, float]]) -> None:
        super().begin(found)
        self._print(f"study {self.study.name}: {self.totals()}")

    def start(self, run: PlannedRun) -> None:
        super().start(run)
        done = self.evaluations[run.name]
        how = f"goes on at {done:,.0f} of {run.evaluations:,} evaluations" if done else f"{run.evaluations:,} evaluations"
        self._print(f"{self._labels[run.name]}: {how}")
        self._printed = time.monotonic()

    def update(self, run: PlannedRun, row: dict[str, float]) -> None:
        super().update(run, row)
        if time.monotonic() - self._printed >= self.every:
            self._print(f"{self._labels[run.name]}: {self.share(run):.0%} | {describe(row)} | study: {self.totals()}")
            self._printed = time.monotonic()

    def end(self, outcome: Outcome) -> None:
        super().end(outcome)
        name, row = outcome.run.name, self.rows[outcome.run.name]
        if outcome.status == "done":
            numbers = f" in {duration(row['seconds'])} | {describe(row)}" if row else ""
            self._print(f"{self._labels[name]}: done{numbers} | study: {self.totals()}")
        elif outcome.status != "skipped":  # those were counted at the beginning
            self._print(f"{self._labels[name]}: {outcome.status}: {outcome.message}")


class LiveOverview(Overview):
    """A grid of algorithms and tasks with seeds done, the run under way, and the time left; one screen for any study."""

    def __init__(self, study: Study, console: Console) -> None:
        super().__init__(study)
        self.live = Live(console=console, refresh_per_second=4, get_renderable=self.render)

    def begin(self, found: dict[str, tuple[int, float]]) -> None:
        super().begin(found)
        self.live.start()

    def close(self) -> None:
        self.live.stop()

    def render(self) -> RenderableType:
        table = Table(title=Text(f"study {self.study.name}: seeds done"), title_justify="left", title_style="bold")
        table.add_column("", overflow="fold")
        for task in self.study.tasks:
            table.add_column(task.name, justify="right", overflow="fold")
        for variant in self.study.variants:
            table.add_row(variant.name, *(self._cell(task, variant) for task in self.study.tasks))
        done = sum(self.share(run) for run in self.runs)
        bar = Table.grid(expand=True, padding=(0, 1))
        bar.add_column(ratio=1)
        bar.add_column(justify="right")
        bar.add_row(ProgressBar(total=len(self.runs), completed=done), f"{done / len(self.runs):.0%}")
        return Group(table, *map(self._under_way, self._running()), bar, Text(self.totals()))

    def _running(self) -> list[PlannedRun]:
        return [run for run in self.runs if self.status[run.name] == "running"]

    def _cell(self, task: Task, variant: Variant) -> Text:
        """``2/5``, then how far the running one is, then how many failed."""
        runs = [run for run in self.runs if (run.task.name, run.variant.name) == (task.name, variant.name)]
        complete = sum(self.status[run.name] in COMPLETE for run in runs)
        failed = sum(self.status[run.name] in FAILED for run in runs)
        text = Text(f"{complete}/{len(runs)}", style="green" if complete == len(runs) else "")
        for run in runs:
            if self.status[run.name] in ("running", "interrupted"):
                text.append(f" {self.share(run):.0%}", style="bold cyan")
        return text.append(f" {failed} failed", style="red") if failed else text

    def _under_way(self, run: PlannedRun) -> Text:
        row = self.rows[run.name]
        numbers = f"{self.share(run):.0%} | {describe(row)}" if row else "first iteration ..."
        return Text.assemble((run.name, "bold cyan"), f"  {numbers}")


def make_overview(study: Study) -> Overview:
    """The live grid if a person is looking, lines if not."""
    return LiveOverview(study, Console()) if sys.stdout.isatty() else PlainOverview(study)
