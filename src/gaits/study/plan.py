"""What a study is: which runs it makes, and in which order."""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gaits.algorithms import ALGORITHMS, settings_for
from gaits.checks import check_label, lookup, make_settings, whole_number
from gaits.console import command
from gaits.runs.files import write_text
from gaits.tasks import Task

VERSION = 1
FILE = "study.json"
MAX_SEEDS = 1000


@dataclass(frozen=True)
class Variant:
    """An algorithm with its settings, under the name that its runs are compared by; often the algorithm's own."""

    name: str
    algorithm: str
    settings: dict[str, Any]
    """Resolved: defaults are written out, so that a study goes on the same when defaults change."""


def make_variant(name: str, algorithm: str, settings: dict[str, Any], tasks: Iterable[Task] = ()) -> Variant:
    """A checked variant; ``settings`` are those that differ from the defaults. What suits a task better is left to it."""
    check_label("A variant's name", name)
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_.+-]*", name):
        raise ValueError(f"A variant's name becomes part of folder names: letters, digits and _ . + - only; got {name!r}.")
    if name != algorithm and name in ALGORITHMS:
        raise ValueError(f"A variant of {algorithm} cannot be called {name!r}, the name of an algorithm.")
    resolved: Any = make_settings(lookup("algorithm", algorithm, ALGORITHMS).settings, algorithm, settings)
    left = {name for task in tasks for name in task.problem.suited} - set(settings)
    return Variant(name, algorithm, {key: value for key, value in dataclasses.asdict(resolved).items() if key not in left})


@dataclass(frozen=True)
class PlannedRun:
    """One run of a study."""

    task: Task
    variant: Variant
    seed: int
    evaluations: int

    @property
    def algorithm(self) -> str:
        return self.variant.algorithm

    @property
    def settings(self) -> dict[str, Any]:
        return dataclasses.asdict(settings_for(self.task, self.algorithm, self.variant.settings))

    @property
    def name(self) -> str:
        """Its folder in the study's folder."""
        return f"{self.task.name}-{self.variant.name}-seed{self.seed}"


@dataclass(frozen=True)
class Study:
    """Every variant on every task with every seed."""

    name: str
    evaluations: int
    """Of each run."""
    seeds: tuple[int, ...]
    tasks: tuple[Task, ...]
    variants: tuple[Variant, ...]

    def __post_init__(self) -> None:
        check_label("A study's name", self.name)
        if re.search(r"[/\\:]", self.name) or self.name.startswith("."):
            raise ValueError(f"A study's name becomes a folder's: no / \\ : in it, and no dot first; got {self.name!r}.")
        if len(self.seeds) > MAX_SEEDS:
            raise ValueError(f"There are {len(self.seeds):,} seeds; a study takes {MAX_SEEDS:,} at most.")
        object.__setattr__(self, "evaluations", whole_number("evaluations", self.evaluations, 1))
        object.__setattr__(self, "seeds", tuple(whole_number("A seed", seed, 0, None) for seed in self.seeds))
        _check_distinct("seeds", self.seeds)
        _check_distinct("tasks", [task.name for task in self.tasks])
        _check_distinct("algorithms", [variant.name.lower() for variant in self.variants])  # some file systems fold case

    @property
    def runs(self) -> tuple[PlannedRun, ...]:
        """In the order they are made: everything with the first seed, then the second, so that a part is worth comparing."""
        return tuple(
            PlannedRun(task, variant, seed, self.evaluations)
            for seed in self.seeds
            for task in self.tasks
            for variant in self.variants
        )

    def with_(self, *, evaluations: int | None = None, seeds: Sequence[int] | str | None = None) -> Study:
        """A copy with other evaluations or seeds, as the command line gives them; ``None`` leaves what is there."""
        return dataclasses.replace(
            self,
            evaluations=self.evaluations if evaluations is None else evaluations,
            seeds=self.seeds if seeds is None else parse_seeds(seeds) if isinstance(seeds, str) else tuple(seeds),
        )

    def command(self, folder: Path) -> str:
        """The command line that goes on with this study."""
        sources = [task.problem.source for task in self.tasks if task.problem.source]
        return command("study", folder, *(["--task", *sources] if sources else []))

    def document(self) -> dict[str, Any]:
        """The study in the shape of its TOML file, with every default written out."""
        plain = [variant for variant in self.variants if variant.name == variant.algorithm]
        named = [variant for variant in self.variants if variant.name != variant.algorithm]
        document: dict[str, Any] = {
            "evaluations": self.evaluations,
            "seeds": list(self.seeds),
            "tasks": [task.name for task in self.tasks],
            "algorithms": [variant.name for variant in plain],
            "task": {task.name: _fields(task) for task in self.tasks},
            "settings": {variant.name: variant.settings for variant in plain},
            "variant": [dataclasses.asdict(variant) for variant in named],
        }
        return {key: value for key, value in document.items() if value}

    def save(self, folder: Path) -> None:
        """Write study.json, which ``load_study(folder)`` reads."""
        text = json.dumps({"version": VERSION, "name": self.name, **self.document()}, indent=2) + "\n"
        write_text(folder / FILE, text)


def _fields(task: Task) -> dict[str, Any]:
    return {field: value for field, value in task.changeable.items() if value is not None}  # TOML has no null


def _check_distinct(what: str, values: Iterable[Hashable]) -> None:
    seen: set[Hashable] = set()
    for value in values:
        if value in seen:
            raise ValueError(f"{what} has {value!r} twice; each would be the same run. Remove one.")
        seen.add(value)
    if not seen:
        raise ValueError(f"{what} is empty: a study needs at least one.")


def parse_seeds(text: str) -> tuple[int, ...]:
    """Seeds as people write them: ``1..5``, both ends included, or ``1,2,7``, or ``1..3,7``."""
    seeds: list[int] = []
    for part in text.split(","):
        match = re.fullmatch(r"\s*([0-9]{1,20})\s*(?:\.\.\s*([0-9]{1,20})\s*)?", part)
        if match is None:
            raise ValueError(f"seeds must look like 1..5 or 1,2,7; got {text!r}.")
        first = int(match[1])
        last = first if match[2] is None else int(match[2])
        if last < first:
            raise ValueError(f"seeds {first}..{last} runs backwards; write {last}..{first}.")
        if len(seeds) + last - first >= MAX_SEEDS:
            raise ValueError(f"seeds {text!r} are more than {MAX_SEEDS:,}, the most that a study takes.")
        seeds += range(first, last + 1)
    return tuple(seeds)
