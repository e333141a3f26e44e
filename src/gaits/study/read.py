"""Studies from files, checked to the end before anything runs. All of them have one shape, that of the TOML file."""

from __future__ import annotations

import contextlib
import typing
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from gaits.algorithms import ALGORITHMS, settings_for
from gaits.checks import lookup, make_settings
from gaits.console import brief
from gaits.reading import JSON_BYTES, parse_json, parse_toml, read_bytes
from gaits.study.plan import FILE, VERSION, Study, Variant, make_variant, parse_seeds
from gaits.tasks import TASKS, Changes, Task

KEYS = ("evaluations", "seeds", "tasks", "algorithms", "settings", "task", "variant")
VARIANT_KEYS = ("name", "algorithm", "settings")
PRESETS: dict[str, dict[str, Any]] = {
    "paper": {
        "evaluations": 1_000_000,
        "seeds": "1..5",
        "tasks": ["qd_ant", "qd_half_cheetah", "qd_hopper", "qd_walker"],
        "algorithms": ["cma_mega_es", "cma_mega_td3_es", "pga_me", "me_es", "map_elites"],
    },
}


def preset(name: str) -> Study:
    """A study that comes with gaits. ``paper``: five algorithms, four tasks, five seeds, a million evaluations each."""
    return make_study(lookup("preset", name, PRESETS), name)


def load_study(path: str | Path) -> Study:
    """The study of a TOML file, or of a folder that a study was begun in.

    Examples:
        >>> text = 'evaluations = 500\\nseeds = "1..2"\\ntasks = ["lp_sphere"]\\nalgorithms = ["map_elites"]'
        >>> _ = Path("small.toml").write_text(text)
        >>> study = gaits.load_study("small.toml")
        >>> done = gaits.run_study(study, "runs/small")  # calling it again goes on
    """
    path = Path(path)
    file = path / FILE if path.is_dir() else path
    try:
        content = read_bytes(file if path.is_dir() else file.resolve(), JSON_BYTES)  # a file that is named may be a link
        text = content.decode("utf-8-sig")  # with the mark that some editors put in front
    except FileNotFoundError:
        raise ValueError(
            f"{path} is not a study: it has no {FILE}. Give a TOML file, or the folder of a study that was begun."
            if path.is_dir()
            else f"There is no {path}. Give a TOML file, or the folder of a study that was begun."
        ) from None
    except OSError as error:
        raise ValueError(f"{path} cannot be read: {error.strerror}.") from None
    except UnicodeDecodeError as error:
        raise ValueError(f"{file} is not a text file in UTF-8 (byte {error.start}).") from None
    with _in(str(file)):
        if file.suffix == ".json":
            return _from_json(text)
        return make_study(parse_toml(text), file.stem)


def _from_json(text: str) -> Study:
    document = parse_json(text.encode())
    if not isinstance(document, dict) or not isinstance(document.get("name"), str):
        raise ValueError("This is not a study: gaits study writes a version and a name into it.")
    if (version := document.pop("version", None)) != VERSION:
        raise ValueError(f"It has version {version!r}, and this gaits reads version {VERSION}. Use the gaits that wrote it.")
    return make_study(document, document.pop("name"))


def make_study(document: dict[str, Any], name: str) -> Study:
    """A study from the content of its file, with everything in it checked."""
    for key in document:
        lookup("key of a study", key, dict.fromkeys(KEYS))
    for key in ("evaluations", "seeds", "tasks"):
        if key not in document:
            raise ValueError(f"{key} is missing. A study has evaluations, seeds, tasks, and algorithms or variants.")
    tasks = _tasks(document)
    study = Study(name, document["evaluations"], _seeds(document["seeds"]), tasks, _variants(document, tasks))
    _check_pairs(study)
    return study


def _seeds(value: Any) -> tuple[int, ...]:
    if isinstance(value, str):
        return parse_seeds(value)
    if not isinstance(value, list):
        raise ValueError(f'seeds must be a list such as [1, 2, 3], or text such as "1..5"; got {value!r}.')
    return tuple(value)


def _tasks(document: dict[str, Any]) -> tuple[Task, ...]:
    names, changes = _names(document, "tasks", "qd_hopper"), _tables(document, "task", "qd_hopper")
    for name in (*names, *changes):
        try:
            lookup("task", name, TASKS)  # never MODULE:NAME: a file does not decide which code runs
        except ValueError as error:
            raise ValueError(f"{error} One of your own is named on the command line, too: --task MODULE:NAME") from None
        if name not in names:
            raise ValueError(f"[task.{name}] is for a task that the study does not run: add it to tasks, or remove it.")
    return tuple(_task(name, changes.get(name, {})) for name in names)


def _task(name: str, changes: dict[str, Any]) -> Task:
    with _in(f"[task.{name}]"):
        check_changes(changes)
        return TASKS[name].with_(**changes)


def check_changes(changes: dict[str, Any]) -> None:
    """Raise unless a file's changes of a task are of fields that can be changed, with values of their types, or none."""
    hints = typing.get_type_hints(Changes)
    for field, value in changes.items():
        lookup("changeable field of a task", field, hints)
        if value is not None:
            _check_kind(field, value, typing.get_args(hints[field])[0])  # without its None


def _check_kind(field: str, value: Any, kind: Any) -> None:
    """Raise unless a value of the file has the type of its field."""
    items = typing.get_args(kind)
    if not items:
        fits, wanted = type(value) is kind, {int: "a whole number", str: "a name in quotes"}[kind]
    elif items[-1] is Ellipsis:
        fits = isinstance(value, list) and all(type(item) is items[0] for item in value)
        wanted = "a list of whole numbers" + (", one per measure" if field == "grid" else "")
    else:
        fits = isinstance(value, list) and len(value) == len(items) and all(type(item) in (int, float) for item in value)
        wanted = "two numbers, [min, max]"
    if not fits:
        raise ValueError(f"{field} must be {wanted}; got {value!r}.")


def _variants(document: dict[str, Any], tasks: tuple[Task, ...]) -> tuple[Variant, ...]:
    if "algorithms" not in document and "variant" not in document:
        raise ValueError("There is nothing to run: name some algorithms, or add a [[variant]].")
    names = _names(document, "algorithms", "map_elites") if "algorithms" in document else []
    shared, named = _tables(document, "settings", "map_elites"), document.get("variant", [])
    if not isinstance(named, list) or not all(isinstance(table, dict) for table in named):
        raise ValueError(f"variant must be tables, each headed [[variant]]; got {named!r}.")
    for name in (*names, *shared):
        lookup("algorithm", name, ALGORITHMS)
        if name not in names and not any(table.get("algorithm") == name for table in named):
            raise ValueError(f"[settings.{name}] is for an algorithm that the study does not run: add it, or remove them.")
    for name, settings in shared.items():
        with _in(f"[settings.{name}]"):
            make_settings(ALGORITHMS[name].settings, name, settings)
    plain = (make_variant(name, name, shared.get(name, {}), tasks) for name in names)
    return (*plain, *(_variant(table, shared, tasks) for table in named))


def _variant(table: dict[str, Any], shared: dict[str, dict[str, Any]], tasks: tuple[Task, ...]) -> Variant:
    """A variant has the settings of its algorithm in this study, then its own."""
    with _in(f"[[variant]] {table.get('name', 'without a name')}"):
        for key in table:
            lookup("key of a variant", key, dict.fromkeys(VARIANT_KEYS))
        for key in ("name", "algorithm"):
            if not isinstance(table.get(key), str):
                raise ValueError(f"{key} must be a name in quotes; got {table.get(key, 'nothing')!r}.")
        own, algorithm = table.get("settings", {}), table["algorithm"]
        if not isinstance(own, dict):
            raise ValueError(f"settings must be a table such as {{ sigma = 0.05 }}; got {own!r}.")
        if table["name"] == algorithm:
            raise ValueError(f"It needs a name of its own. For all runs of {algorithm}, write [settings.{algorithm}].")
        return make_variant(table["name"], algorithm, {**shared.get(algorithm, {}), **own}, tasks)


def _names(document: dict[str, Any], key: str, example: str) -> list[str]:
    value = document[key]
    if not isinstance(value, list) or not all(isinstance(name, str) for name in value):
        raise ValueError(f'{key} must be a list of names, such as {key} = ["{example}"]; got {value!r}.')
    if not value:
        raise ValueError(f"{key} is empty: name at least one.")
    return value


def _tables(document: dict[str, Any], key: str, example: str) -> dict[str, dict[str, Any]]:
    value = document.get(key, {})
    if not isinstance(value, dict) or not all(isinstance(table, dict) for table in value.values()):
        raise ValueError(f"{key} must be tables, each headed by a name, such as [{key}.{example}]; got {value!r}.")
    return value


def _check_pairs(study: Study) -> None:
    """Build every algorithm for every task once: only they know what they cannot be built for, and it takes milliseconds."""
    for task in study.tasks:
        for variant in study.variants:
            entry = ALGORITHMS[variant.algorithm]
            settings = settings_for(task, variant.algorithm, variant.settings)
            with _in(f"{variant.name} on {task.name}"):
                try:
                    entry.make(task, settings, np.random.SeedSequence(0))
                except (MemoryError, OverflowError) as error:
                    raise ValueError(
                        f"It does not fit in memory ({error}): a smaller grid, network or buffer may."
                    ) from None


@contextlib.contextmanager
def _in(where: str) -> Iterator[None]:
    """Say where a mistake is."""
    try:
        yield
    except ValueError as error:
        raise ValueError(f"{brief(where)}: {brief(error)}") from None
