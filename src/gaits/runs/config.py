"""What a run is: everything needed to start it again."""

from __future__ import annotations

import dataclasses
import datetime
import functools
import json
import os
import platform
import subprocess
import uuid
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from gaits.algorithms import ALGORITHMS, Algorithm, settings_for
from gaits.checks import check_label, check_source, lookup, make_settings, positive, whole_number
from gaits.console import brief, command
from gaits.reading import Refused, read_json
from gaits.runs.binding import check_config
from gaits.runs.files import write_text
from gaits.tasks import OURS, TASKS, Task, make_task, register_task
from gaits.tasks.unknown import Unknown
from gaits.versions import run_versions

VERSION = 1
NAME_LETTERS = 100
OWN_FIELDS = ("title", "measure_names", "measure_range", "obs_dim", "action_dim")
"""What must also be known of a task of the user's own, to read its run where the task is not known."""


@functools.cache
def find_git_revision() -> str | None:
    """Revision of the working copy gaits runs from, or None where it was installed as a package."""

    def git(*words: str) -> str:
        asked = ["git", "-C", str(Path(__file__).parent), *words]
        return subprocess.run(asked, capture_output=True, text=True, check=True, timeout=10).stdout.strip()

    try:
        git(
            "ls-files", "--error-unmatch", Path(__file__).name
        )  # installed inside somebody's own repository, it is not theirs
        return git("describe", "--always", "--dirty", "--abbrev=40", "--match=")
    except (OSError, subprocess.SubprocessError):
        return None


@dataclass(frozen=True)
class Config:
    """The content of config.json. ``task_fields`` and ``settings`` are resolved: defaults are written out."""

    task: str
    algorithm: str
    seed: int
    evaluations: int
    task_fields: dict[str, Any]
    settings: dict[str, Any]
    checkpoint_iterations: int = 100
    checkpoint_minutes: float = 5.0
    own_task: dict[str, Any] | None = None
    """``OWN_FIELDS`` of a task that does not come with gaits, and ``source``, the MODULE:NAME that gives it, or None."""
    name: str | None = None
    """What the run is compared as, if not its algorithm."""
    id: str = field(default_factory=lambda: uuid.uuid4().hex)
    created: str = field(default_factory=lambda: datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"))
    versions: dict[str, str] = field(default_factory=dict)
    git_revision: str | None = field(default_factory=find_git_revision)
    machine: dict[str, Any] = field(default_factory=lambda: describe_machine())
    version: int = VERSION

    def __post_init__(self) -> None:
        object.__setattr__(self, "seed", whole_number("seed", self.seed, 0, None))
        for name in ("evaluations", "checkpoint_iterations"):
            object.__setattr__(self, name, whole_number(name, getattr(self, name), 1))
        positive(self, "checkpoint_minutes")
        if self.name is not None:
            check_label("name", self.name)
        for name in ("task", "algorithm", "id"):
            if len(str(getattr(self, name))) > NAME_LETTERS:
                raise ValueError(f"{name} has {len(str(getattr(self, name))):,} letters; at most {NAME_LETTERS} fit.")
        if self.name != self.algorithm and self.name in (*ALGORITHMS, *TASKS):
            raise ValueError(f"name {self.name!r} is that of another algorithm or task; choose one of its own.")
        for name in ("task_fields", "settings", "versions", "machine"):
            if not isinstance(getattr(self, name), dict):
                raise ValueError(f"{name} must be a table; got {getattr(self, name)!r}.")
        for name, value in {"id": self.id, "created": self.created, "git_revision": self.git_revision or "none"}.items():
            check_label(name, value)
        for name, version in self.versions.items():
            check_label("The name of a package", name)
            check_label(f"The version of {name}", version)
        if self.own_task is not None and self.own_task.get("source") is not None:
            check_source(self.own_task["source"])

    def make_task(self) -> Task:
        """The task. One of the user's own that is not registered can be looked at, not played: no code is imported."""
        if self.own_task is not None and self.task not in TASKS:
            own = {name: _tuples(value) for name, value in self.own_task.items() if name in OWN_FIELDS}
            fields = {name: _tuples(value) for name, value in self.task_fields.items()}
            return Task(name=self.task, problem=Unknown(self.own_task.get("source")), **own, **fields)
        task = lookup("task", self.task, TASKS).with_(**self.task_fields)
        if self.own_task is not None:
            changed = _changed({name: self.own_task.get(name) for name in OWN_FIELDS}, _own_fields(task))
            if changed:
                told = ", ".join(f"{name} = {value}" for name, value in changed.items())
                raise ValueError(f"the task {self.task} that is known now is another; this run's had {told}")
        return task

    def make_settings(self) -> Any:
        return make_settings(ALGORITHMS[self.algorithm].settings, self.algorithm, self.settings)

    def make_algorithm(self) -> Algorithm:
        """The algorithm at the beginning of the run."""
        seed = np.random.SeedSequence(self.seed, spawn_key=(0,))
        return ALGORITHMS[self.algorithm].make(self.make_task(), self.make_settings(), seed)

    @property
    def changed_fields(self) -> dict[str, Any]:
        """Fields of the task that are not its own; all of them, where the task is not known."""
        task = TASKS.get(self.task)
        return _changed(self.task_fields, {} if task is None else task.changeable)

    @property
    def changed_settings(self) -> dict[str, Any]:
        """Settings of the algorithm that are not its defaults on this task."""
        own = settings_for(self.make_task(), self.algorithm, {})
        return _changed(dataclasses.asdict(self.make_settings()), dataclasses.asdict(own))

    @property
    def command(self) -> str:
        """The command line that makes this run."""
        task = (self.own_task or {}).get("source") or self.task
        words: list[Any] = ["train", task, self.algorithm, "--evaluations", self.evaluations, "--seed", self.seed]
        for name, value in {**self.changed_fields, **self.changed_settings}.items():
            option = name.replace("_", "-")
            if isinstance(value, bool):
                words.append(f"--{option}" if value else f"--no-{option}")
            else:
                words += [f"--{option}", *(value if isinstance(value, (list, tuple)) else [value])]
        if self.name is not None:
            words += ["--name", self.name]
        return command(*words, program="gaits")

    def resume_command(self, folder: Path) -> str:
        """The command line that goes on with this run."""
        source = (self.own_task or {}).get("source")
        return command("resume", folder, *(["--task", source] if source else []))

    def save(self, folder: Path) -> None:
        text = json.dumps(dataclasses.asdict(self), indent=2) + "\n"
        write_text(folder / "config.json", text)


def _changed(values: dict[str, Any], defaults: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if _tuples(value) != _tuples(defaults.get(name))}


def _tuples(value: Any) -> Any:
    """JSON's lists as the tuples they were."""
    return tuple(map(_tuples, value)) if isinstance(value, (list, tuple)) else value


def _own_fields(task: Task) -> dict[str, Any]:
    return {name: getattr(task, name) for name in OWN_FIELDS}


def make_config(task: str | Task, algorithm: str, settings: dict[str, Any], **fields: Any) -> Config:
    """A checked config, with the defaults of the task and the algorithm written out."""
    lookup("algorithm", algorithm, ALGORITHMS)
    if isinstance(task, str):
        task = make_task(task)
    resolved = settings_for(task, algorithm, settings)
    own = None
    known = TASKS.get(task.name)
    changed = known is None or known.problem != task.problem or _own_fields(known) != _own_fields(task)
    if task.name not in OURS:
        own = {**_own_fields(task), "source": task.problem.source}
        if changed:
            register_task(task)
    elif changed:
        raise ValueError(f"A run can only be resumed on a registered task; this {task.name!r} is another than ours.")
    return Config(
        task=task.name,
        algorithm=algorithm,
        task_fields=task.changeable,
        settings=dataclasses.asdict(resolved),
        own_task=own,
        versions=run_versions(task),
        **fields,
    )


def load_config(folder: Path) -> Config:
    path = folder / "config.json"
    try:
        content = read_json(path)
        version = content["version"]
        if version != VERSION:
            raise ValueError(f"it has version {version}, and this gaits reads version {VERSION}")
        known = {field.name: field for field in dataclasses.fields(Config)}
        for key in content:
            lookup("field of a configuration", key, known)  # a default would stand for the one that was misspelled
        config = Config(**content)
        lookup("algorithm", config.algorithm, ALGORITHMS)
        config.make_task()
        config.make_settings()
    except (FileNotFoundError, NotADirectoryError):
        raise ValueError(
            f"{folder} is not a run: it has no config.json. A run's folder is the --out of gaits train."
        ) from None
    except Refused as error:
        raise ValueError(str(error)) from None
    except (ValueError, TypeError, KeyError, AttributeError, OverflowError, MemoryError) as error:
        raise ValueError(f"{path} cannot be used: {brief(error)}") from None
    check_config(folder, config)
    return config


def describe_machine() -> dict[str, Any]:
    return {"system": platform.platform(), "processor": platform.machine(), "cores": os.cpu_count(), "host": platform.node()}
