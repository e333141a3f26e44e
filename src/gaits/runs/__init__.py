"""A run's folder, and reading it back.

config.json     everything needed to start it again
metrics.csv     a row per iteration
archive.npz     the elites
history.npz     every insertion
evaluation.npz  the elites played again, by gaits evaluate
checkpoint/     the exact state, newest two; of a finished run the last
manifest.json   what config.json, metrics.csv, archive.npz and history.npz hold, so that a changed number is noticed
"""

from __future__ import annotations

import dataclasses
import functools
import io
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from gaits import archives
from gaits.archives import Archive, make_archive
from gaits.console import brief, command, say
from gaits.reading import read_lines
from gaits.runs import history
from gaits.runs.binding import Changed, changed_words, check_file, load_manifest, same_arrays, same_lines
from gaits.runs.config import Config, load_config
from gaits.tasks import Task

if TYPE_CHECKING:
    import pandas as pd

    from gaits.runs.pictures import Picture


@dataclass(frozen=True)
class Run:
    """A run on disk: its config, its metrics, and its archive at the end or at any iteration before.

    Attributes:
        folder: Where it is.
        config: Everything needed to start it again: task, algorithm, seed, settings, versions.

    Examples:
        >>> run = gaits.train("lp_sphere", "map_elites", evaluations=1000, out="runs/mine")
        >>> run.config.algorithm, run.config.seed
        ('map_elites', 1)
        >>> run.metrics[["evaluations", "qd_score", "coverage"]].shape
        (10, 3)
        >>> len(run.archive_at(5)) <= len(run.archive)  # how it came about
        True
    """

    folder: Path
    config: Config

    @functools.cached_property
    def task(self) -> Task:
        """What is solved, as the configuration says."""
        return self.config.make_task()

    @property
    def metrics(self) -> pd.DataFrame:
        """One row per iteration."""
        import pandas as pd

        path = self.folder / "metrics.csv"
        try:
            lines = read_lines(path)
            check_file(self.folder, self.config.id, "metrics", same_lines(lines))
            if not lines:
                return pd.DataFrame()  # no iteration yet
            table = pd.read_csv(io.BytesIO(b"".join(lines)))
        except FileNotFoundError:
            return pd.DataFrame()
        except Changed:
            raise
        except (OSError, ValueError) as error:
            raise ValueError(f"{path} cannot be read as metrics ({brief(error)}).") from None
        absent = [name for name in ("iteration", "evaluations", "seconds") if name not in table]
        if absent:
            raise ValueError(
                f"{path} has no {' and no '.join(absent)}. Write it again with: {command('resume', self.folder)}"
            )
        self._check_end(table)
        return table

    def _check_end(self, table: pd.DataFrame) -> None:
        """Raise if a run that has done all its evaluations has rows after its last one."""
        manifest = load_manifest(self.folder, self.config.id)
        n = 0 if manifest is None else manifest["metrics"]["lines"] - 1
        if 0 < n < len(table) and _count(table["evaluations"].iloc[n - 1]) >= self.config.evaluations:
            raise Changed(changed_words(self.folder, "metrics"))

    @property
    def archive(self) -> Archive:
        """The archive at the last checkpoint, solutions included."""
        return self._fitting(archives.load(_existing(self.folder / "archive.npz"), self._verify("archive")))

    @functools.cached_property
    def history(self) -> dict[str, np.ndarray]:
        """iteration, objective, measures, cell, status and seed of every solution offered to the archive."""
        return history.load(_existing(self.folder / "history.npz"), self._verify("history"))

    def _verify(self, name: str, whole: bool = True) -> Callable[[dict[str, np.ndarray]], None]:
        """Raises if arrays of one of the run's files, all or some, are not those that were written."""
        return lambda arrays: check_file(self.folder, self.config.id, name, same_arrays(arrays, whole))

    @property
    def objectives(self) -> Archive:
        """The archive at the last checkpoint without its solutions, which are not read."""
        return self._fitting(archives.load_objectives(self.folder / "archive.npz", self._verify("archive", whole=False)))

    def _fitting(self, archive: Archive) -> Archive:
        """The same, if it is one of the run's task."""
        try:
            archives.check_fits(archive, self.task)
        except ValueError as error:
            raise ValueError(f"{self.folder / 'archive.npz'} cannot be used: {error}.") from None
        return archive

    @property
    def last_iteration(self) -> int:
        """The last iteration in the history; -1 if that is missing or damaged."""
        return history.last_iteration(self.folder / "history.npz", self._verify("history", whole=False))

    @property
    def lowest_inserted(self) -> float:
        """The lowest objective that entered the archive."""
        return history.lowest_inserted(self.folder / "history.npz", self._verify("history", whole=False))

    def check_history(self) -> None:
        """Raise if the history is not as it was written; what is said of the archive's age comes from it."""
        dataclasses.replace(self).history  # noqa: B018 - anew, and not kept

    @property
    def finished(self) -> bool:
        """Whether all evaluations are done, and saved."""
        return self.saved_evaluations >= self.config.evaluations

    @property
    def saved_evaluations(self) -> int:
        """Evaluations that the archive on disk has had.

        Metrics alone do not tell: they are written every iteration, archive and history only with checkpoints, so a run
        that is being written, or was killed, has an older archive.
        """
        table = self.metrics
        if table.empty or not (self.folder / "archive.npz").exists():
            return 0
        saved = self.last_iteration
        found = table.loc[table["iteration"] == saved, "evaluations"]
        return _count(found.iloc[0]) if len(found) else 0

    def archive_at(self, iteration: int) -> Archive:
        """The archive as it was after an iteration: objectives and measures, without solutions."""
        last = int(self.history["iteration"].max(initial=0))
        if not 0 <= iteration <= last:
            raise ValueError(f"This run's history covers iterations 0 to {last}; got {iteration}.")
        rows = history.elites_at(self.history, iteration)
        archive = make_archive(self.task, solution_dim=0)
        if len(rows):
            archive.add(np.zeros((len(rows), 0)), self.history["objective"][rows], self.history["measures"][rows])
        return archive

    def plot(self) -> Picture:
        """The archive, and how it came about: a Matplotlib figure that notebooks show, and ``savefig`` saves."""
        from gaits.runs.pictures import draw_run

        return draw_run(self)

    def _repr_html_(self) -> str:
        from gaits.runs.pictures import describe_run

        return describe_run(self)

    def __repr__(self) -> str:
        return f"Run({str(self.folder)!r}: {self.config.algorithm} on {self.config.task}, seed {self.config.seed})"


def _count(value: object) -> int:
    """A count in a table; 0 where something else is written."""
    try:
        return int(value)  # type: ignore[call-overload]
    except (ValueError, TypeError, OverflowError):
        return 0


def load_run(folder: str | Path) -> Run:
    """The run in a folder. Its configuration is checked now, everything else when it is looked at."""
    folder = Path(folder)
    return Run(folder, load_config(folder))


def find_runs(folders: Iterable[str | Path]) -> list[Path]:
    """Run folders; a folder of runs and studies stands for all of them. What is neither stays, to be named as such."""
    found: list[Path] = []
    for folder in map(Path, folders):
        inside = _inside(folder, "config.json")
        for study in _inside(folder, "study.json"):
            inside += _inside(study, "config.json")
        found += [folder] if (folder / "config.json").exists() or not inside else inside
    return list(dict.fromkeys(found))


def _inside(folder: Path, name: str) -> list[Path]:
    """Folders in a folder that have such a file. A stranger's links could lead to any run of yours, so they are left out."""
    found = []
    for path in sorted(path.parent for path in folder.glob(f"*/{name}")):
        if path.is_symlink():
            say(f"left out {path}: it is a link. To have it, name it.")
        elif not path.name.isprintable():
            say(f"left out {folder / ascii(path.name)}: it has control characters in its name. Rename it.")
        else:
            found.append(path)
    return found


def load_archive(path: str | Path) -> Archive:
    """The archive of a run's folder, or of an archive.npz, as a ribs archive.

    Examples:
        >>> run = gaits.train("lp_sphere", "map_elites", evaluations=1000, out="runs/one")
        >>> elites = gaits.load_archive("runs/one").data()  # arrays with a row for every elite
        >>> sorted(elites)
        ['index', 'measures', 'objective', 'seed', 'solution', 'threshold']
    """
    path = Path(path)
    if path.name == "archive.npz" and (path.parent / "config.json").exists():
        path = path.parent
    if (path / "config.json").exists():
        return load_run(path).archive
    return archives.load(_existing(path / "archive.npz" if path.is_dir() else path))


def _existing(path: Path) -> Path:
    if not path.exists():
        raise ValueError(f"There is no {path}. A run writes it with its first checkpoint and when it ends.")
    return path


__all__ = ["Config", "Run", "find_runs", "load_archive", "load_run"]
