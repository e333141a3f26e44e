"""Starting and resuming runs: what ``gaits train`` and ``gaits.train`` do."""

from __future__ import annotations

import contextlib
import dataclasses
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from gaits.algorithms import ALGORITHMS, Iteration
from gaits.archives import settle
from gaits.checks import lookup
from gaits.console import say, say_from_signal
from gaits.evaluation import Compute, EpisodeFailed, make_evaluator
from gaits.evaluation.compute import NAMES, make_compute, split
from gaits.evaluation.schedulers import ClusterLost
from gaits.gradients import Diverged
from gaits.progress import Watcher, find_watcher
from gaits.runs import Run, load_run
from gaits.runs.config import Config, make_config
from gaits.runs.directory import RunDirectory, check_free, locked, new_folder
from gaits.search import Search, seed_key
from gaits.tasks import make_task
from gaits.tasks.task import CHANGEABLE, Task
from gaits.versions import run_versions

Callback = Callable[[dict[str, float], Any], bool | None]
"""Called after every iteration with its row of metrics and the archive; return True to stop the run there."""


class Interrupted(Exception):
    """The run was asked to stop; it was saved and can be resumed."""

    def __init__(self, folder: Path, config: Config, iteration: int) -> None:
        super().__init__(
            f"Stopped after iteration {iteration}; everything is saved. Go on with: {config.resume_command(folder)}"
        )


def train(
    task: str | Task,
    algorithm: str,
    *,
    evaluations: int = 1_000_000,
    seed: int = 1,
    out: str | Path | None = None,
    name: str | None = None,
    callback: Callback | None = None,
    watchers: Sequence[Watcher] = (),
    progress: bool = True,
    checkpoint_iterations: int = 100,
    checkpoint_minutes: float = 5.0,
    **options: Any,
) -> Run:
    """Train a repertoire.

    Args:
        task: Name of a task or ``MODULE:NAME`` of one's own, or the task itself, some of its fields changed or not.
        algorithm: Name of an algorithm.
        evaluations: Stop after this many; an iteration that was begun is finished.
        seed: Same seed, same run, whatever the number of workers.
        out: Folder of the run; default: ``runs/TASK-ALGORITHM-seedSEED``.
        name: What it is compared as; default: the algorithm, with those settings in which runs differ.
        callback: Called after every iteration with its metrics and the archive; returns True to stop.
        watchers: Told of every iteration, such as the loggers of ``gaits.loggers``; closed at the end.
        progress: Whether to show a bar, where somebody looks: on a terminal, or in a notebook.
        checkpoint_iterations: A checkpoint is written after so many,
        checkpoint_minutes: or after so much time.
        options: What to compute on, ``workers``, ``scheduler``, ``deadline`` and ``learner_cores`` (see ``Compute``),
            the settings of the algorithm, and fields of the task to change (``grid``, ``max_steps``, ...).

    Returns:
        The run, which is also in its folder: ``gaits.load_run`` gives it again.

    Examples:
        >>> run = gaits.train("lp_sphere", "map_elites", evaluations=2000, seed=1, batch_size=50)
        >>> run.finished, len(run.metrics)
        (True, 40)
        >>> best = run.archive.best_elite  # a ribs archive: solution, objective, measures, index
        >>> best["solution"].shape
        (100,)
    """
    with watching(watchers, progress) as everyone:
        compute, rest = split(options)
        task, settings = split_task(task, algorithm, rest)
        config = make_config(
            task,
            algorithm,
            settings,
            seed=seed,
            evaluations=evaluations,
            name=name,
            checkpoint_iterations=checkpoint_iterations,
            checkpoint_minutes=checkpoint_minutes,
        )
        folder = Path(out) if out is not None else Path("runs", f"{config.task}-{algorithm}-seed{config.seed}")
        check_free(folder)
        with make_search(config, compute) as search, new_folder(folder):
            config.save(folder)
            return _run(search, RunDirectory(folder, config), callback, everyone)


def resume(
    folder: str | Path,
    *,
    evaluations: int | None = None,
    previous: bool = False,
    callback: Callback | None = None,
    watchers: Sequence[Watcher] = (),
    progress: bool = True,
    **compute: Any,
) -> Run:
    """Continue a run from its newest checkpoint, exactly as if it had never stopped.

    Args:
        folder: The run.
        evaluations: A new total, to make a finished run longer.
        previous: Go back to the checkpoint before the newest.
        callback: Called after every iteration, as for ``train``.
        watchers: Told of every iteration, as for ``train``.
        progress: Whether to show a bar, as for ``train``.
        compute: What to compute on, as for ``train``; it may differ from before.

    Examples:
        >>> run = gaits.train("lp_sphere", "map_elites", evaluations=1000, out="runs/longer")
        >>> run = gaits.resume("runs/longer", evaluations=2000)
        >>> int(run.metrics["evaluations"].iloc[-1])
        2000
    """
    with watching(watchers, progress) as everyone:
        run = load_run(folder)
        config = run.config if evaluations is None else dataclasses.replace(run.config, evaluations=evaluations)
        for name, version in run_versions(run.task).items():
            if config.versions.get(name) != version:
                say(f"{name} was {config.versions.get(name)} when the run began and is {version} now: results may differ.")
        with make_search(config, make_compute(compute)) as search, locked(run.folder):
            directory = RunDirectory(run.folder, config)
            directory.restore(search, previous)
            done = search.counters.evaluations
            if evaluations is not None and evaluations < min(done, run.config.evaluations):
                raise ValueError(
                    f"{run.folder} has done {done:,} evaluations already; --evaluations {evaluations} is below that."
                )
            if config != run.config:
                config.save(run.folder)
            return _run(search, directory, callback, everyone)


def split_task(task: str | Task, algorithm: str, options: dict[str, Any]) -> tuple[Task, dict[str, Any]]:
    """The task, with its fields changed that the options name, and the options that are left: the algorithm's settings."""
    kind = lookup("algorithm", algorithm, ALGORITHMS).settings
    known = dict.fromkeys([*(field.name for field in dataclasses.fields(kind)), *CHANGEABLE, *NAMES])
    for name in options:
        lookup(f"setting of {algorithm}, field of a task or option of where to compute", name, known)
    changes = {name: value for name, value in options.items() if name in CHANGEABLE}
    settings = {name: value for name, value in options.items() if name not in CHANGEABLE}
    return (make_task(task) if isinstance(task, str) else task).with_(**changes), settings


@contextlib.contextmanager
def watching(watchers: Sequence[Watcher], progress: bool) -> Iterator[Sequence[Watcher]]:
    """Those who watch a run, and a bar where there is a place for one; closed at the end."""
    bar = find_watcher() if progress else None
    everyone = [*watchers, *([] if bar is None else [bar])]
    with contextlib.ExitStack() as stack:
        for watcher in everyone:
            stack.callback(watcher.close)
        yield everyone


@contextlib.contextmanager
def make_search(config: Config, compute: Compute) -> Iterator[Search]:
    """A search at its beginning, with everything it needs open."""
    algorithm = config.make_algorithm()
    if config.evaluations > algorithm.archive.cells:  # which it may fill
        settle(algorithm.archive)
    with make_evaluator(config.make_task(), compute) as evaluator:
        yield Search(algorithm, evaluator, seed_key(config.seed), compute.learner_cores)


def _run(search: Search, directory: RunDirectory, callback: Callback | None, watchers: Sequence[Watcher]) -> Run:
    config = directory.config
    with stop_signals() as stop:
        directory.save(search)  # so that there is a checkpoint to go back to from the start
        for watcher in watchers:
            watcher.begin(config, directory.folder)
        try:
            while search.counters.evaluations < config.evaluations and not stop.is_set():
                row = directory.record(search, iterate(search, directory))
                for watcher in watchers:
                    watcher.update(row, search.algorithm.archive)
                if callback is not None and callback(row, search.algorithm.archive):
                    break
        finally:
            directory.wait()
        directory.save(search)
        if stop.is_set() and search.counters.evaluations < config.evaluations:
            raise Interrupted(directory.folder, config, search.counters.iteration)
        if search.counters.evaluations >= config.evaluations:
            directory.finish()
    return Run(directory.folder, config)


def iterate(search: Search, directory: RunDirectory) -> Iteration:
    """One iteration; if a critic diverges or an episode cannot be played, say what is left and what to do."""
    try:
        return search.iterate()
    except (EpisodeFailed, ClusterLost) as error:
        raise type(error)(
            f"{error}\nThat was in iteration {search.counters.iteration + 1}. {directory.folder} keeps its checkpoint of "
            f"iteration {directory.saved_iteration}. Go on with: {directory.config.resume_command(directory.folder)}"
        ) from None
    except Diverged as error:
        raise ValueError(
            f"{error} That was in iteration {search.counters.iteration + 1}. {directory.folder} keeps its last good "
            f"checkpoint, iteration {directory.saved_iteration}, and the archive it had then. Training it further would "
            f"diverge again: start anew with a lower {error.option}, or another --seed."
        ) from None


_stops: list[threading.Event] = []


@contextlib.contextmanager
def stop_signals() -> Iterator[threading.Event]:
    """An event set by the first Ctrl-C or SIGTERM. The second one raises KeyboardInterrupt at once.

    They nest: a signal sets the events of all that are open, so that a study stops with its run.
    """
    stop = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield stop
        return

    def handle(number: int, frame: Any) -> None:
        if stop.is_set():
            raise KeyboardInterrupt
        for event in _stops:
            event.set()
        say_from_signal("stopping: finishing this iteration, then saving. Once more to leave at once.")

    before = {number: signal.signal(number, handle) for number in (signal.SIGINT, signal.SIGTERM)}
    _stops.append(stop)
    try:
        yield stop
    finally:
        _stops.remove(stop)
        for number, handler in before.items():
            signal.signal(number, handler)
