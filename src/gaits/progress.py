"""Watching a run: a live view on a terminal, a bar in a notebook, plain lines in a log."""

from __future__ import annotations

import contextlib
import html
import os
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

import rich.markup
from rich.console import Console, Group
from rich.live import Live
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from gaits.console import plain, tell

if TYPE_CHECKING:
    from gaits.runs.config import Config

SPARKS = "▁▂▃▄▅▆▇█"


class Watcher:
    """Something that follows a run: it shows it, or logs it elsewhere. What a watcher does not need it leaves out."""

    def begin(self, config: Config, folder: Path) -> None:
        """Everything was checked, and the first iteration begins."""

    def update(self, row: dict[str, float], archive: Any) -> None:
        """An iteration was completed: its row of metrics.csv, and the archive."""

    def close(self) -> None:
        """The run ended, one way or another; it may never have begun."""


def duration(seconds: float) -> str:
    """1:02:03, 2:03 or 0:03; ? of what has no end."""
    if seconds == float("inf"):
        return "?"
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
    """Speeds and time left, from the first row that this process saw on: what was compiled before it comes only once."""

    def __init__(self, evaluations: int) -> None:
        self.target = evaluations
        self._first: tuple[float, float, float] | None = None

    def measure(self, row: dict[str, float]) -> tuple[float, float, float]:
        """(evaluations per second, steps per second, seconds left). With the first row, by the whole run so far."""
        now = time.monotonic()
        evaluations, steps, began = self._first or (0, 0, now - row["seconds"])
        self._first = self._first or (row["evaluations"], row["steps"], now)
        elapsed = max(now - began, 1e-9)
        speed = (row["evaluations"] - evaluations) / elapsed
        left = max(self.target - row["evaluations"], 0) / speed if speed > 0 else float("inf")
        return speed, (row["steps"] - steps) / elapsed, left


def print_line(line: str, stream: TextIO | None = None) -> None:
    """A line for a log, at once."""
    try:
        tell(line, stream)
    except BrokenPipeError:  # nobody listens any more (`| head`); the run goes on
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115


class PlainWatcher(Watcher):
    """One line every few seconds, for logs and pipes."""

    def __init__(self, every: float = 5.0) -> None:
        self.every = every
        self._printed = -float("inf")

    def begin(self, config: Config, folder: Path) -> None:
        self.target, self.pace = config.evaluations, Pace(config.evaluations)

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


class View(Watcher):
    """What a person is shown of a run, on a terminal and in a notebook."""

    def __init__(self) -> None:
        self.left = "first iteration ..."
        self.share = 0.0
        self.scores: list[float] = []
        self.numbers: dict[str, str] = {}

    def begin(self, config: Config, folder: Path) -> None:
        self.title = plain(f"{config.algorithm} on {config.task}")
        self.target, self.pace = config.evaluations, Pace(config.evaluations)
        self.show()

    def update(self, row: dict[str, float], archive: Any) -> None:
        speed, steps, left = self.pace.measure(row)
        self.scores.append(row["qd_score"])
        self.left, self.share = f"{duration(left)} left", min(row["evaluations"] / self.target, 1.0)
        self.numbers = {
            "QD score": f"{row['qd_score']:,.0f}",
            "coverage": f"{row['coverage']:.1%}",
            "best": f"{row['objective_max']:,.1f}",
            "mean": f"{row['objective_mean']:,.1f}",
            "evaluations": f"{row['evaluations']:,.0f}",
            "evaluations/s": f"{speed:,.0f}",
            "steps/s": f"{steps:,.0f}",
        }
        self.show()

    def show(self) -> None:
        """Called whenever something is new."""


class LiveWatcher(View):
    """A bar with the time left, the archive in numbers, and the QD score so far as a sparkline."""

    def __init__(self, console: Console | None = None) -> None:
        super().__init__()
        self.console = console or Console()
        self.live: Live | None = None

    def begin(self, config: Config, folder: Path) -> None:
        super().begin(config, folder)
        self.live = Live(get_renderable=self._draw, console=self.console, refresh_per_second=4)
        self.live.start()

    def _draw(self) -> Group:
        """Drawn when the screen is, and not with every iteration, of which there may be fifty a second."""
        width, end = self.console.width, f"{100 * self.share:3.0f} %  {self.left}"
        beside = len(self.title) + len(end) + 24 <= width  # else the title has a line of its own
        bar = Table.grid(padding=(0, 1), expand=True)
        for ratio in (None, 1, None) if beside else (1, None):
            bar.add_column(no_wrap=True, ratio=ratio)
        title = Text(self.title, no_wrap=True, overflow="ellipsis")
        bar.add_row(*([title] if beside else []), ProgressBar(total=1.0, completed=self.share), end)
        lines: list[Any] = [bar] if beside else [title, bar]
        lines += map(_columns, _rows(self.numbers, width))
        if self.scores and "utf" in self.console.encoding.lower():
            label = "QD score so far  " if width >= 60 else "QD score "
            spark = Text(sparkline(self.scores, max(10, min(width - len(label) - 1, 80))), style="green")
            lines.append(Text.assemble((label, "dim"), spark))
        return Group(*lines)

    def close(self) -> None:
        if self.live is not None:
            self.live.stop()


def _rows(numbers: dict[str, str], width: int) -> Iterator[list[tuple[str, str]]]:
    """The numbers, as many beside each other as fit."""
    row: list[tuple[str, str]] = []
    room = width
    for name, value in numbers.items():
        room -= max(len(name), len(value)) + 3
        if room < -3 and row:
            yield row
            row, room = [], width - max(len(name), len(value)) - 3
        row.append((name, value))
    if row:
        yield row


def _columns(row: list[tuple[str, str]]) -> Table:
    table = Table.grid(padding=(0, 3))
    table.add_row(*(name for name, _ in row), style="dim")
    table.add_row(*(Text(value, style="bold" if name in ("QD score", "coverage", "best") else "") for name, value in row))
    return table


class NotebookWatcher(View):
    """The same in a cell of a notebook."""

    def __init__(self, every: float = 0.5) -> None:
        super().__init__()
        self.every, self._shown, self._handle = every, -float("inf"), None

    def show(self, last: bool = False) -> None:
        if not last and time.monotonic() - self._shown < self.every:
            return
        from IPython.display import HTML, display

        self._shown = time.monotonic()
        if self._handle is None:
            self._handle = display(HTML(self._html()), display_id=True)
        else:
            self._handle.update(HTML(self._html()))

    def _html(self) -> str:
        numbers = " &nbsp; ".join(f"{name} <b>{value}</b>" for name, value in self.numbers.items())
        bar = f"<progress value='{self.share:.4f}' max='1' style='width: 40%'></progress>"
        end = f"{100 * self.share:.0f} % &nbsp; {self.left}"
        return f"<div>{html.escape(self.title)} &nbsp; {bar} {end}<br>{numbers}</div>"

    def close(self) -> None:
        if self._handle is not None:
            self.show(last=True)


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
            task = bar.add_task(rich.markup.escape(plain(title)), total=None)
            yield lambda done, total: bar.update(task, completed=done, total=total)
        return

    def show(done: int, total: int) -> None:
        now = time.monotonic()
        if now - printed[0] >= 5:
            printed[0] = now
            print_line(f"{title}: {done:,}/{total:,} | left {duration((now - began) * (total - done) / done)}", stream)

    yield show


def make_watcher() -> Watcher:
    """For a command: the live view if a person is looking, lines if not."""
    return LiveWatcher() if sys.stdout.isatty() else PlainWatcher()


def find_watcher() -> Watcher | None:
    """For a call from Python: the live view on a terminal, a bar in a notebook, nothing in between."""
    if in_notebook():
        return NotebookWatcher()
    return LiveWatcher() if sys.stdout.isatty() else None


def in_notebook() -> bool:
    """Whether this is the kernel of a notebook. IPython is asked only where somebody else has imported it."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    return shell is not None and getattr(shell, "kernel", None) is not None
