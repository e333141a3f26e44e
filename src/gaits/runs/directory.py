"""A run's folder while it is being written.

The newest checkpoint is the truth: it holds the search, the history and the metrics of one moment. The other files are
views of it for people and tools; they are written after it, bound to it, and can be made again from it where they are
missing. See ``gaits.runs.binding``.

They are written while the next episodes are played, from the search's own arrays. Their results are told only then.
"""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np

from gaits import archives
from gaits.algorithms.base import Iteration
from gaits.archives import Archive
from gaits.console import command
from gaits.reading import read_arrays, read_lines
from gaits.runs import checkpoint
from gaits.runs.binding import (
    FILES,
    Changed,
    bind,
    changed_words,
    check_file,
    load_manifest,
    same_arrays,
    save_manifest,
)
from gaits.runs.config import Config, load_config
from gaits.runs.files import drop_parts, make_folder, open_to_change, sync, write_whole
from gaits.runs.history import History
from gaits.search import Search, Times
from gaits.states import Misfit, Rows, settled

MAX_CHECKPOINT_SHARE = 0.01
"""Checkpoints wait until they cost no more than this share of the wall time."""


class RunDirectory:
    """Writes the files of one run."""

    def __init__(self, folder: Path, config: Config) -> None:
        self.folder, self.config = folder, config
        self.history = History(len(config.make_task().grid))
        self._metrics: list[str] = []
        self._saved = -1
        self._writing: Future[None] | None = None
        self._saved_at = time.monotonic()
        self._save_seconds = 0.0

    @property
    def checkpoints(self) -> Path:
        return self.folder / "checkpoint"

    @property
    def saved_iteration(self) -> int:
        """The iteration that the newest checkpoint is of; -1 before the first."""
        self.wait()
        return self._saved

    @property
    def metrics_path(self) -> Path:
        return self.folder / "metrics.csv"

    def record(self, search: Search, iteration: Iteration) -> dict[str, float]:
        """Note an iteration: a row of metrics, its insertions, and a checkpoint when one is due. Returns the row."""
        row = search.metrics(iteration)
        self.history.add(search.counters.iteration, iteration.insertions)
        names = self._metrics[0].split(",") if self._metrics else list(row)  # an older run goes on with its own columns
        lines = [] if self._metrics else [",".join(names)]
        lines.append(",".join(_cell(row[name]) for name in names))
        self._metrics += lines
        with open_to_change(self.metrics_path) as file:
            file.write("".join(line + "\n" for line in lines))
        if self._is_due(search.counters.iteration):
            self.begin_saving(search)
        return row

    def _is_due(self, iteration: int) -> bool:
        waited = time.monotonic() - self._saved_at
        if waited * MAX_CHECKPOINT_SHARE < self._save_seconds:
            return False
        passed = iteration - self._saved
        return passed >= self.config.checkpoint_iterations or waited > 60 * self.config.checkpoint_minutes

    def save(self, search: Search) -> None:
        """Write a checkpoint and the views of it, unless this iteration has one already."""
        self.begin_saving(search)
        self.wait()

    def begin_saving(self, search: Search) -> None:
        """The same, but go on meanwhile. The search waits before it is told anything that would change what is written."""
        iteration, archive = search.counters.iteration, search.algorithm.archive
        if iteration == self.saved_iteration:
            return
        make_folder(self.checkpoints)
        state = settled(self.state(search))
        search.before_tell = self.wait
        self._writing = in_background(lambda: self._write(state, archive, iteration))

    def wait(self) -> None:
        """Until what is being written is there. If it could not be written, this says why."""
        writing, self._writing = self._writing, None
        if writing is not None:
            writing.result()

    def _write(self, state: dict[str, Any], archive: Archive, iteration: int) -> None:
        began = time.monotonic()
        sync(self.metrics_path)  # what is bound must be there after a power cut
        arrays = archives.to_arrays(archive)
        binds = bind(self.config, self._lines, arrays, self.history.arrays())
        checkpoint.save(self.checkpoints, state, self.config.id, iteration, binds)
        self._write_views(arrays, binds)
        self._saved, self._saved_at = iteration, time.monotonic()
        self._save_seconds = self._saved_at - began

    def state(self, search: Search) -> dict[str, Any]:
        """The search, and what was noted of it."""
        text = np.frombuffer(b"".join(self._lines), np.uint8)
        return {"search": search.state(), "history": self.history.state(), "metrics": Rows(text)}

    def take(self, search: Search, state: dict[str, Any]) -> None:
        """Become what ``state()`` described, and the search with it."""
        search.restore(state["search"])
        self.history.restore(state["history"])
        self._metrics = _read_metrics(state["metrics"], search.counters.iteration)
        search.times = _last_times(self._metrics)

    @property
    def _lines(self) -> list[bytes]:
        return [f"{line}\n".encode() for line in self._metrics]

    def _write_views(self, archive: dict[str, np.ndarray], binds: dict[str, Any]) -> None:
        """Manifest last: until it is there, the checkpoint says what the others hold."""
        write_whole(self.folder / "archive.npz", lambda file: np.savez(file, **archive))  # type: ignore[arg-type]
        write_whole(self.folder / "history.npz", self.history.save)
        save_manifest(self.folder, self.config.id, binds)

    def finish(self) -> None:
        """Keep one checkpoint: a finished run goes back to none before its last."""
        for old in checkpoint.available(self.checkpoints)[1:]:
            old.unlink(missing_ok=True)

    def restore(self, search: Search, previous: bool = False) -> None:
        """Go back to the newest checkpoint (or the one before), or to the beginning if there is none.

        Files that are missing are written again; one that was changed is refused.
        """
        found = checkpoint.available(self.checkpoints)
        if previous and len(found) < 2:
            raise ValueError(f"{self.checkpoints} holds no previous checkpoint.")
        if not found and load_manifest(self.folder, self.config.id) is not None:
            raise ValueError(f"{self.folder} was pruned: it has no checkpoint to go on from. Its archive is still there.")
        for folder in (self.folder, self.checkpoints):
            drop_parts(folder)
        if found:
            check_views(self.folder, self.config)
            state = self._load(found[previous:], self.state(search))
            try:
                self.take(search, state)
            except Misfit as error:
                raise checkpoint.CheckpointError(f"{found[previous]} cannot be used: {error}.") from None
            self._check_metrics()
            self._saved = search.counters.iteration
        archive = archives.to_arrays(search.algorithm.archive)
        binds = bind(self.config, self._lines, archive, self.history.arrays())
        write_whole(self.metrics_path, lambda file: file.write(b"".join(self._lines)))
        if found:
            self._write_views(archive, binds)
        if previous:
            found[0].unlink()

    def _check_metrics(self) -> None:
        """Raise if rows of metrics.csv differ from the checkpoint's. Rows after it are played again, lost ones written."""
        with contextlib.suppress(FileNotFoundError):
            there = read_lines(self.metrics_path)
            whole = [line for line in there if line.endswith(b"\n")]  # a last one without its end was being written
            if any(one != other for one, other in zip(whole, self._lines, strict=False)):
                raise Changed(changed_words(self.folder, "metrics"))

    def _load(self, found: list[Path], like: dict[str, Any]) -> dict[str, Any]:
        try:
            return checkpoint.load(found[0], self.config.id, like)
        except checkpoint.CheckpointError as error:
            good = next((path for path in found[1:] if self._is_good(path, like)), None)
            back = command("resume", self.folder, "--previous")
            remedy = (
                f"The previous checkpoint, iteration {int(good.stem)}, is good: {back}"
                if good
                else "There is no other checkpoint to go back to."
            )
            raise checkpoint.CheckpointError(f"{error} {remedy}") from None

    def _is_good(self, path: Path, like: dict[str, Any]) -> bool:
        try:
            checkpoint.load(path, self.config.id, like)
        except checkpoint.CheckpointError:
            return False
        return True


def in_background(work: Callable[[], None]) -> Future[None]:
    """Do it in a thread of its own, which the interpreter does not end before."""
    future: Future[None] = Future()

    def run() -> None:
        try:
            work()
            future.set_result(None)
        except BaseException as error:
            future.set_exception(error)

    threading.Thread(target=run, name="gaits-checkpoint").start()
    return future


def _read_metrics(text: np.ndarray, iterations: int) -> list[str]:
    try:
        lines = text.tobytes().decode("ascii").splitlines()
    except UnicodeDecodeError:
        lines = []
    if len(lines) != (iterations + 1 if iterations else 0):
        raise Misfit(f"its metrics have {len(lines)} lines after {iterations} iterations")
    return lines


def _last_times(lines: list[str]) -> Times:
    """The times in the last row; those that an older run has no column for begin at zero."""
    last = dict(zip(lines[0].split(","), lines[-1].split(","), strict=False)) if lines else {}
    try:
        return Times(**{one.name: float(last[one.name]) for one in fields(Times) if one.name in last})
    except ValueError:
        raise Misfit("its metrics have times that are not numbers") from None


def check_views(folder: Path, config: Config) -> None:
    """Raise unless the archive and the history beside a checkpoint, where they are, hold what was written."""
    for name in ("archive", "history"):
        with contextlib.suppress(FileNotFoundError):
            check_file(folder, config.id, name, same_arrays(read_arrays(folder / FILES[name])))


def _cell(value: float) -> str:
    return str(value) if isinstance(value, int) else repr(float(value))


@contextlib.contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Hold the run's folder for this process; the system lets go of it when the process ends, however it ends."""
    with open_to_change(folder / ".lock") as file:
        try:
            _lock(file.fileno())
        except OSError:
            file.seek(0)
            owner = file.read().strip() or "unknown"
            raise ValueError(
                f"{folder} is in use by another process (pid {owner}). Wait for it or stop it, then try again."
            ) from None
        file.seek(0)
        file.truncate()
        file.write(str(os.getpid()))
        file.flush()
        yield


def _lock(descriptor: int) -> None:
    try:
        import fcntl
    except ImportError:  # Windows
        import msvcrt

        msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined]
    else:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)


def check_free(folder: Path) -> None:
    """Raise unless a new run can be made in this folder."""
    if (folder / "config.json").exists():
        again = command("resume", folder)
        with contextlib.suppress(ValueError):  # of a config that is damaged
            again = load_config(folder).resume_command(folder)
        raise ValueError(f"{folder} already holds a run. Continue it with: {again}   or choose another --out.")
    if folder.is_dir() and any(
        name != ".lock" and not (name.startswith(".") and ".part" in name) for name in os.listdir(folder)
    ):
        raise ValueError(f"{folder} is not empty. Choose another --out, so that nothing of yours is overwritten.")


@contextlib.contextmanager
def new_folder(folder: Path) -> Iterator[None]:
    """Make the folder of a new run, and hold it."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ValueError(f"Cannot write to {folder}: {error.strerror}. Choose another --out.") from None
    with locked(folder):
        check_free(folder)  # again: another process may have been faster
        yield
