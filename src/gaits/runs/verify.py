"""``gaits check`` and ``gaits prune``: what of a run is as it was written, and what a finished one can do without."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from gaits import archives
from gaits.reading import read_arrays
from gaits.runs import Run, checkpoint, load_run
from gaits.runs.binding import FILES, Changed, check_file, check_sealed, known, load_manifest, same_arrays
from gaits.runs.directory import RunDirectory, locked
from gaits.runs.evaluation import load_evaluation
from gaits.search import Search
from gaits.states import Misfit


@dataclass
class Verdict:
    """What is wrong with a run, what is worth knowing, and what can be saved."""

    folder: Path
    wrong: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    remedies: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        lines = [f"{self.folder}: {'everything is as it was written' if not self.wrong else 'something is wrong'}."]
        return "\n  ".join([*lines, *self.wrong, *self.notes, *self.remedies])


def check_run(folder: Path) -> Verdict:
    """Read all of a run, and compare its files with each other and with its configuration."""
    verdict = Verdict(folder)
    try:
        run = load_run(folder)
    except ValueError as error:
        if not (folder / "config.json").is_file():
            raise
        verdict.wrong.append(str(error))
        _save_archive(folder, verdict)
        return verdict
    good = _check_checkpoints(run, verdict)
    for name in FILES:
        _check_file(run, name, verdict)
    if not known(folder, run.config.id):
        verdict.notes.append("It was made by an older gaits, which did not bind its files: changed numbers are not noticed.")
    if verdict.wrong and good is not None:
        newest = good == checkpoint.available(folder / "checkpoint")[0]
        command = run.config.resume_command(folder) + ("" if newest else " --previous")
        verdict.remedies.append(f"The checkpoint of iteration {int(good.stem)} is good. Go on from it with: {command}")
    elif verdict.wrong:
        _save_archive(folder, verdict)
    _check_results(run, verdict)
    return verdict


def _check_file(run: Run, name: str, verdict: Verdict) -> None:
    path, written = run.folder / FILES[name], load_manifest(run.folder, run.config.id)
    if written is None and not path.exists():
        return  # it was not written yet
    try:
        if name == "metrics":
            _ = run.metrics
            if not path.exists() and written and written["metrics"]["lines"]:
                raise FileNotFoundError
        else:
            check_file(run.folder, run.config.id, name, same_arrays(read_arrays(path)))
            _ = run.archive if name == "archive" else run.history
    except FileNotFoundError:
        verdict.wrong.append(f"{path} is missing.")
    except ValueError as error:
        verdict.wrong.append(str(error))


def _check_results(run: Run, verdict: Verdict) -> None:
    """What was made of the run later, and can be made again."""
    try:
        load_evaluation(run)
    except ValueError as error:
        verdict.wrong.append(str(error))
    path = run.folder / "adapt" / "adapt.json"
    if path.exists():
        try:
            if path.parent.is_symlink():
                raise Changed("its folder is a link, and links are not followed")
            check_sealed(path, run.config.id)
        except Changed as error:
            verdict.wrong.append(f"{path} cannot be used as the run's adaptation: {error}. Make it again with gaits adapt.")


def _check_checkpoints(run: Run, verdict: Verdict) -> Path | None:
    """The newest checkpoint that can be gone on from, if there is one."""
    found = checkpoint.available(run.folder / "checkpoint")
    if not found:
        verdict.notes.append("It has no checkpoint: it cannot be made longer.")
        return None
    try:
        search = Search(run.config.make_algorithm(), None, seed_key=0)  # type: ignore[arg-type]
    except (ValueError, NotImplementedError) as error:
        verdict.notes.append(f"Its checkpoints were not read: {error}")
        return None
    directory = RunDirectory(run.folder, run.config)
    like, good = directory.state(search), None
    for path in found:
        try:
            directory.take(search, checkpoint.load(path, run.config.id, like))
            good = good or path
        except Misfit as error:
            verdict.wrong.append(f"{path} cannot be used: {error}.")
        except ValueError as error:
            verdict.wrong.append(str(error))
    return good


def _save_archive(folder: Path, verdict: Verdict) -> None:
    try:
        archive: Any = archives.load(folder / "archive.npz")
    except (ValueError, OSError):
        verdict.remedies.append("Nothing of it can be vouched for; take it from a copy.")
    else:
        verdict.remedies.append(f"archive.npz can be read, copied out of the folder: {len(archive)} elites.")


def prune(run: Run) -> int:
    """Delete the checkpoints of a finished run; returns the bytes that are free now."""
    if not run.finished:
        raise ValueError(f"{run.folder} is not finished, and goes on from its checkpoint: it is left alone.")
    with locked(run.folder):
        for name in FILES:
            verdict = Verdict(run.folder)
            _check_file(run, name, verdict)
            if verdict.wrong:
                raise ValueError(f"{verdict.wrong[0]} Its checkpoint is left alone.")
        found = checkpoint.available(run.folder / "checkpoint")
        freed = sum(path.lstat().st_size for path in found)
        for path in found:
            path.unlink()
    return freed
