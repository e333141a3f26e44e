"""Watching a run: a live view on a terminal, plain lines elsewhere, TensorBoard on request."""

from __future__ import annotations

import contextlib
import os
import secrets
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TextIO

from rich.console import Console, Group
from rich.live import Live
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

from gaits.console import plain, tell
from gaits.runs.files import make_folder

SPARKS = "▁▂▃▄▅▆▇█"


def duration(seconds: float) -> str:
    """1:02:03, 2:03 or 0:03."""
    whole = round(seconds)
    hours, rest = divmod(whole, 3600)
    return f"{hours}:{rest // 60:02d}:{rest % 60:02d}" if hours else f"{rest // 60}:{rest % 60:02d}"


def sparkline(values: list[float], width: int) -> str:
    """The values as a row of little bars, resampled to a width."""
    if len(values) > width:
        values = [values[i * (len(values) - 1) // (width - 1)] for i in range(width)]
    low, high = min(values), max(values)
    scale = (len(SPARKS) - 1) / (high - low) if high > low else 0.0
    return "".join(SPARKS[round((value - low) * scale)] for value in values)


class Pace:
    """Speeds and time left, from what happened since this process took the run up."""

    def __init__(self, evaluations: int) -> None:
        self.target = evaluations
        self._first: tuple[float, float, float] | None = None

    def measure(self, row: dict[str, float]) -> tuple[float, float, float]:
        """(evaluations per second, steps per second, seconds left)."""
        if self._first is None:  # iteration times begin before the first row
            per_iteration = row["seconds"] / row["iteration"]
            share = 1 / row["iteration"]
            self._first = (
                row["evaluations"] * (1 - share),
                row["steps"] * (1 - share),
                time.monotonic() - per_iteration,
            )
        evaluations, steps, began = self._first
        elapsed = max(time.monotonic() - began, 1e-9)
        speed = (row["evaluations"] - evaluations) / elapsed
        left = max(self.target - row["evaluations"], 0) / speed if speed > 0 else float("inf")
        return speed, (row["steps"] - steps) / elapsed, left


def print_line(line: str, stream: TextIO | None = None) -> None:
    """A line for a log, at once."""
    try:
        tell(line, stream)
    except BrokenPipeError:  # nobody listens any more (`| head`); the run goes on
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115


class PlainWatcher:
    """One line every few seconds, for logs and pipes."""

    def __init__(self, evaluations: int, every: float = 5.0) -> None:
        self.target, self.every = evaluations, every
        self.pace = Pace(evaluations)
        self._printed = -float("inf")

    def update(self, row: dict[str, float], archive: Any) -> None:
        speed, steps, left = self.pace.measure(row)
        done = row["evaluations"] >= self.target
        if not done and time.monotonic() - self._printed < self.every:
            return
        self._printed = time.monotonic()
        print_line(
            f"evaluations {row['evaluations']:,.0f}/{self.target:,} | QD score {row['qd_score']:,.0f} | "
            f"coverage {row['coverage']:.1%} | best {row['objective_max']:,.1f} | {speed:,.0f} evaluations/s | "
            f"{steps:,.0f} steps/s | {'done' if done else 'left ' + duration(left)}"
        )

    def close(self) -> None:
        pass


class LiveWatcher:
    """A bar with the time left, the archive in numbers, and the QD score so far as a sparkline."""

    def __init__(self, title: str, evaluations: int, console: Console) -> None:
        self.pace = Pace(evaluations)
        self.title, self.console = title, console
        self.scores: list[float] = []
        self.bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(bar_width=None),
            TextColumn("{task.percentage:>3.0f} %  {task.fields[left]}"),
            console=console,
            expand=True,
        )
        self.bar_id = self.bar.add_task(escape(plain(title)), total=evaluations, left="first iteration ...")
        self._shown: tuple[dict[str, float], float, float] | None = None
        self.live = Live(get_renderable=self._draw, console=console, refresh_per_second=4)
        self.live.start()

    def update(self, row: dict[str, float], archive: Any) -> None:
        speed, steps, left = self.pace.measure(row)
        self.scores.append(row["qd_score"])
        self.bar.update(self.bar_id, completed=row["evaluations"], left=f"{duration(left)} left")
        self._shown = row, speed, steps

    def _draw(self) -> Group:
        """Drawn when the screen is, and not with every iteration, of which there may be fifty a second."""
        if self._shown is None:
            return Group(self.bar)
        row, speed, steps = self._shown
        numbers = Table.grid(padding=(0, 3))
        numbers.add_row("QD score", "coverage", "best", "mean", "evaluations", "evaluations/s", "steps/s", style="dim")
        numbers.add_row(
            Text(f"{row['qd_score']:,.0f}", style="bold"),
            Text(f"{row['coverage']:.1%}", style="bold"),
            Text(f"{row['objective_max']:,.1f}", style="bold"),
            f"{row['objective_mean']:,.1f}",
            f"{row['evaluations']:,.0f}",
            f"{speed:,.0f}",
            f"{steps:,.0f}",
        )
        spark = Text(sparkline(self.scores, max(10, min(self.console.width - 20, 80))), style="green")
        return Group(self.bar, numbers, Text.assemble(("QD score so far  ", "dim"), spark))

    def close(self) -> None:
        self.live.stop()


class TensorBoardWatcher:
    """Every metric as a TensorBoard scalar over evaluations."""

    def __init__(self, folder: Path) -> None:
        try:
            from tensorboardX import SummaryWriter
        except ImportError:
            raise ValueError("--tensorboard needs tensorboardX: pip install 'gaits[tensorboard]'") from None
        self.folder = folder
        self._make = SummaryWriter
        self._writer: Any = None  # made late: a new run's folder must be empty when the run begins

    def update(self, row: dict[str, float], archive: Any) -> None:
        if self._writer is None:
            self._writer = self._make(
                str(make_folder(self.folder / "tensorboard")), filename_suffix=f".{secrets.token_hex(8)}"
            )
        for name, value in row.items():
            self._writer.add_scalar(name, value, global_step=int(row["evaluations"]))

    def close(self) -> None:
        if self._writer is not None:
            self._writer.close()


@contextlib.contextmanager
def make_counter(title: str, stream: TextIO | None = None) -> Iterator[Callable[[int, int], None]]:
    """Show how many of something are done, with the time left: a bar for a person, a line every few seconds for a log.

    Args:
        stream: Where to; default: stdout. A command whose stdout is for machines shows it on stderr.
    """
    stream = stream or sys.stdout
    began, printed = time.monotonic(), [time.monotonic()]
    if stream.isatty():
        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
        with Progress(*columns, transient=True, console=Console(file=stream)) as bar:
            task = bar.add_task(escape(plain(title)), total=None)
            yield lambda done, total: bar.update(task, completed=done, total=total)
        return

    def show(done: int, total: int) -> None:
        now = time.monotonic()
        if now - printed[0] >= 5:
            printed[0] = now
            print_line(f"{title}: {done:,}/{total:,} | left {duration((now - began) * (total - done) / done)}", stream)

    yield show


def make_watcher(title: str, evaluations: int) -> PlainWatcher | LiveWatcher:
    """The live view if a person is looking, lines if not."""
    if sys.stdout.isatty():
        return LiveWatcher(title, evaluations, Console())
    return PlainWatcher(evaluations)
