"""What a run is: everything needed to start it again."""

from __future__ import annotations

import dataclasses
import datetime
import functools
import importlib.metadata
import json
import os
import platform
import shlex
import subprocess
import uuid
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from gaits.algorithms import ALGORITHMS
from gaits.names import lookup
from gaits.runs.files import write_whole
from gaits.settings import make_settings, positive, whole_number
from gaits.tasks import TASKS, Task, make_task

VERSION = 1
PACKAGES = ("gaits", "numpy", "numba", "ribs", "gymnasium", "pybullet-arm64", "jax", "optax", "scipy")
TASK_FIELDS = ("grid", "objective_range", "max_steps", "hidden", "archive", "cells")


@functools.cache
def find_git_revision() -> str | None:
    """Revision of the working copy gaits runs from, or None where it was installed as a package."""

    def git(*words: str) -> str:
        command = ["git", "-C", str(Path(__file__).parent), *words]
        return subprocess.run(command, capture_output=True, text=True, check=True, timeout=10).stdout.strip()

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
    name: str | None = None
    """What the run is compared as, if not its algorithm."""
    id: str = field(default_factory=lambda: uuid.uuid4().hex)
    created: str = field(default_factory=lambda: datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"))
    versions: dict[str, str] = field(default_factory=lambda: package_versions())
    git_revision: str | None = field(default_factory=find_git_revision)
    machine: dict[str, Any] = field(default_factory=lambda: describe_machine())
    version: int = VERSION

    def __post_init__(self) -> None:
        for name, low in (("seed", 0), ("evaluations", 1), ("checkpoint_iterations", 1)):
            object.__setattr__(self, name, whole_number(name, getattr(self, name), low))
        positive(self, "checkpoint_minutes")
        if self.name is not None and (not isinstance(self.name, str) or not self.name.strip()):
            raise ValueError(f"name must be some text; got {self.name!r}.")
        if self.name != self.algorithm and self.name in (*ALGORITHMS, *TASKS):
            raise ValueError(f"name {self.name!r} is that of another algorithm or task; choose one of its own.")
        for name in ("task_fields", "settings", "versions"):
            if not isinstance(getattr(self, name), dict):
                raise ValueError(f"{name} must be a table; got {getattr(self, name)!r}.")

    def make_task(self) -> Task:
        return make_task(self.task, **self.task_fields)

    def make_settings(self) -> Any:
        return make_settings(ALGORITHMS[self.algorithm].settings, self.algorithm, self.settings)

    @property
    def changed_fields(self) -> dict[str, Any]:
        """Fields of the task that are not its own."""
        return _changed(self.task_fields, {name: getattr(TASKS[self.task], name) for name in TASK_FIELDS})

    @property
    def changed_settings(self) -> dict[str, Any]:
        """Settings of the algorithm that are not its defaults."""
        return _changed(self.settings, dataclasses.asdict(ALGORITHMS[self.algorithm].settings()))

    @property
    def command(self) -> str:
        """The command line that makes this run."""
        words = ["gaits train", self.task, self.algorithm, f"--evaluations {self.evaluations}", f"--seed {self.seed}"]
        for name, value in {**self.changed_fields, **self.changed_settings}.items():
            option = name.replace("_", "-")
            if isinstance(value, bool):
                words.append(f"--{option}" if value else f"--no-{option}")
            else:
                words.append(f"--{option} {' '.join(map(str, value)) if isinstance(value, (list, tuple)) else value}")
        if self.name is not None:
            words.append(f"--name {shlex.quote(self.name)}")
        return " ".join(words)

    def save(self, folder: Path) -> None:
        text = json.dumps(dataclasses.asdict(self), indent=2) + "\n"
        write_whole(folder / "config.json", lambda file: file.write(text.encode()))


def _changed(values: dict[str, Any], defaults: dict[str, Any]) -> dict[str, Any]:
    def plain(value: Any) -> Any:
        return list(value) if isinstance(value, tuple) else value

    return {name: value for name, value in values.items() if plain(value) != plain(defaults.get(name))}


def make_config(task: str | Task, algorithm: str, settings: dict[str, Any], **fields: Any) -> Config:
    """A checked config, with the defaults of the task and the algorithm written out."""
    entry = lookup("algorithm", algorithm, ALGORITHMS)
    resolved: Any = make_settings(entry.settings, algorithm, settings)
    if isinstance(task, str):
        task = make_task(task)
    if task.name not in TASKS or (task.robot, task.function) != (TASKS[task.name].robot, TASKS[task.name].function):
        raise ValueError(f"A run can only be resumed on a registered task; {task.name!r} is not one, or was changed.")
    return Config(
        task=task.name,
        algorithm=algorithm,
        task_fields={name: getattr(task, name) for name in TASK_FIELDS},
        settings=dataclasses.asdict(resolved),
        **fields,
    )


def load_config(folder: Path) -> Config:
    path = folder / "config.json"
    try:
        content = json.loads(path.read_text())
        version = content["version"]
        if version != VERSION:
            raise ValueError(f"it has version {version}, and this gaits reads version {VERSION}")
        known = {field.name for field in dataclasses.fields(Config)}
        config = Config(**{key: value for key, value in content.items() if key in known})
        lookup("algorithm", config.algorithm, ALGORITHMS)
        config.make_task()
        config.make_settings()
    except (FileNotFoundError, NotADirectoryError):
        raise ValueError(
            f"{folder} is not a run: it has no config.json. A run's folder is the --out of gaits train."
        ) from None
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise ValueError(f"{path} cannot be used: {error}") from None
    return config


def package_versions() -> dict[str, str]:
    return {name: importlib.metadata.version(name) for name in PACKAGES} | {"python": platform.python_version()}


def describe_machine() -> dict[str, Any]:
    return {"system": platform.platform(), "processor": platform.machine(), "cores": os.cpu_count(), "host": platform.node()}
