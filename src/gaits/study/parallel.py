"""Several runs of a study at once, each in a process of its own here, all of them on one cluster.

The processes tell how they go on through pipes, and are asked to stop through them: a run saves and ends after the
iteration under way, also when the study's own process is gone.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import threading
from collections.abc import Iterable, Iterator, Sequence
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any

from gaits.evaluation import Compute
from gaits.progress import Watcher
from gaits.study.execute import Outcome, execute
from gaits.study.overview import Overview, RunWatcher
from gaits.study.plan import PlannedRun
from gaits.tasks import OURS, register_task

POLL = 0.25
SECONDS_TO_END = 5.0


def execute_together(
    runs: Sequence[PlannedRun],
    folder: Path,
    at_once: int,
    overview: Overview,
    stop: threading.Event,
    compute: Compute,
) -> Iterator[Outcome]:
    """The outcomes of runs, ``at_once`` of them under way at a time, until ``stop`` is set or one ends the study."""
    waiting = list(runs)
    under_way: dict[Any, tuple[PlannedRun, Any]] = {}
    pipe: Any
    ending = False
    try:
        while under_way or (waiting and not ending):
            while waiting and len(under_way) < at_once and not ending:
                run = waiting.pop(0)
                pipe, process = _start(run, folder, compute)
                under_way[pipe] = run, process
            for pipe in wait(list(under_way), POLL):
                outcome = _hear(pipe, under_way[pipe][0], overview)
                if outcome is not None:
                    under_way.pop(pipe)[1].join(SECONDS_TO_END)
                    pipe.close()
                    yield outcome
                    if outcome.ends_study and not ending:
                        ending = _ask_to_stop(under_way)
            if stop.is_set() and not ending:
                ending = _ask_to_stop(under_way)
    finally:
        for _, process in under_way.values():  # left at once
            process.terminate()


def _start(run: PlannedRun, folder: Path, compute: Compute) -> tuple[Any, Any]:
    context = multiprocessing.get_context("spawn")
    here, there = context.Pipe()
    process = context.Process(target=serve, args=(there, run, folder, compute), name=run.name)
    process.start()
    there.close()
    return here, process


def _ask_to_stop(pipes: Iterable[Any]) -> bool:
    for pipe in pipes:
        with contextlib.suppress(OSError):
            pipe.send("stop")
    return True


def _hear(pipe: Any, run: PlannedRun, overview: Overview) -> Outcome | None:
    """Take one message; an outcome if the run has ended."""
    try:
        kind, value = pipe.recv()
    except (EOFError, OSError):
        return Outcome(run, "failed", "its process died; the same command goes on from its last checkpoint")
    if kind == "end":
        return value
    if kind == "start":
        overview.start(run)
    else:
        overview.update(run, value)
    return None


class Messenger(Overview):
    """An overview that passes on what it is told."""

    def __init__(self, pipe: Connection) -> None:
        self.pipe = pipe

    def start(self, run: PlannedRun) -> None:
        self._send("start", None)

    def update(self, run: PlannedRun, row: dict[str, float]) -> None:
        self._send("row", {name: float(value) for name, value in row.items()})

    def watch(self, run: PlannedRun) -> Watcher:
        return RunWatcher(self, run)

    def _send(self, kind: str, value: Any) -> None:
        with contextlib.suppress(OSError):  # nobody listens any more; the run stops after this iteration
            self.pipe.send((kind, value))


def serve(pipe: Connection, run: PlannedRun, folder: Path, compute: Compute) -> None:
    """What the process does."""
    if hasattr(os, "setsid"):
        os.setsid()  # Ctrl-C is for the study, which asks its runs to stop
    if run.task.name not in OURS:
        register_task(run.task)
    stop = threading.Event()
    threading.Thread(target=_await_stop, args=(pipe, stop), daemon=True).start()
    outcome = execute(run, folder, overview=Messenger(pipe), stop=stop, compute=compute)
    with contextlib.suppress(OSError):
        pipe.send(("end", outcome))


def _await_stop(pipe: Connection, stop: threading.Event) -> None:
    with contextlib.suppress(EOFError, OSError):
        pipe.recv()
    stop.set()
