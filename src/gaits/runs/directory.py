"""A run's folder while it is being written.

The newest checkpoint is the truth: it holds the search, the history and the metrics of one moment. The other files are
views of it for people and tools; they are written after it and can be made again from it.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from gaits import archives
from gaits.algorithms.base import Iteration
from gaits.console import command
from gaits.runs import checkpoint
from gaits.runs.config import Config, load_config
from gaits.runs.files import make_folder, open_to_change, write_text, write_whole
from gaits.runs.history import History
from gaits.search import Search

MAX_CHECKPOINT_SHARE = 0.01
"""Checkpoints wait until they cost no more than this share of the wall time."""


class RunDirectory:
    """Writes the files of one run."""

    def __init__(self, folder: Path, config: Config) -> None:
        self.folder, self.config = folder, config
        self.history = History(len(config.make_task().grid))
        self._metrics: list[str] = []
        self.saved_iteration = -1
        self._saved_at = time.monotonic()
        self._save_seconds = 0.0

    @property
    def checkpoints(self) -> Path:
        folder = self.folder / "checkpoint"
        if folder.is_symlink():
            raise ValueError(f"{folder} is a link, and links are not followed. Put the folder itself there.")
        return folder

    @property
    def metrics_path(self) -> Path:
        return self.folder / "metrics.csv"

    def record(self, search: Search, iteration: Iteration) -> dict[str, float]:
        """Note an iteration: a row of metrics, its insertions, and a checkpoint when one is due. Returns the row."""
        row = search.metrics(iteration)
        self.history.add(search.counters.iteration, iteration.insertions)
        lines = [] if self._metrics else [",".join(row)]
        lines.append(",".join(_cell(value) for value in row.values()))
        self._metrics += lines
        with open_to_change(self.metrics_path) as file:
            file.write("".join(line + "\n" for line in lines))
        if self._is_due(search.counters.iteration):
            self.save(search)
        return row

    def _is_due(self, iteration: int) -> bool:
        waited = time.monotonic() - self._saved_at
        if waited * MAX_CHECKPOINT_SHARE < self._save_seconds:
            return False
        passed = iteration - self.saved_iteration
        return passed >= self.config.checkpoint_iterations or waited > 60 * self.config.checkpoint_minutes

    def save(self, search: Search) -> None:
        """Write a checkpoint and the views of it, unless this iteration has one already."""
        iteration = search.counters.iteration
        if iteration == self.saved_iteration:
            return
        began = time.monotonic()
        state = {"search": search.state(), "history": self.history.arrays(), "metrics": self._metrics}
        checkpoint.save(make_folder(self.checkpoints), state, self.config.id, iteration)
        self._write_views(search)
        self.saved_iteration, self._saved_at = iteration, time.monotonic()
        self._save_seconds = self._saved_at - began

    def _write_views(self, search: Search) -> None:
        write_whole(self.folder / "archive.npz", lambda file: archives.save(search.algorithm.archive, file))
        write_whole(self.folder / "history.npz", self.history.save)

    def restore(self, search: Search, previous: bool = False) -> None:
        """Go back to the newest checkpoint (or the one before), or to the beginning if there is none."""
        found = checkpoint.available(self.checkpoints)
        if previous and len(found) < 2:
            raise ValueError(f"{self.checkpoints} holds no previous checkpoint.")
        if found:
            state = self._load(found[previous:])
            search.restore(state["search"])
            self.history = History(0, state["history"])
            self._metrics = state["metrics"]
            self.saved_iteration = search.counters.iteration
        if previous:
            found[0].unlink()
        text = "".join(line + "\n" for line in self._metrics)
        write_text(self.metrics_path, text)
        self._write_views(search)

    def _load(self, found: list[Path]) -> dict[str, Any]:
        try:
            return checkpoint.load(found[0], self.config.id)
        except checkpoint.CheckpointError as error:
            good = next((path for path in found[1:] if self._is_good(path)), None)
            back = command("resume", self.folder, "--previous")
            remedy = (
                f"The previous checkpoint, iteration {int(good.stem)}, is good: {back}"
                if good
                else "There is no other checkpoint to go back to."
            )
            raise checkpoint.CheckpointError(f"{error} {remedy}") from None

    def _is_good(self, path: Path) -> bool:
        try:
            checkpoint.load(path, self.config.id)
        except checkpoint.CheckpointError:
            return False
        return True


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
