"""``gaits train --config``: a run from a file, as the words of a command line."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from gaits.checks import lookup, make_settings
from gaits.console import brief
from gaits.reading import JSON_BYTES, parse_json, parse_toml, read_bytes
from gaits.tasks import TASKS


@dataclass(frozen=True)
class Options:
    """What a file may say of a run besides its task, its algorithm and their settings.

    Only what has these types becomes part of a command line: a list of texts could bring options of its own, a --scheduler.
    """

    evaluations: int = 1
    seed: int = 1
    name: str = ""
    checkpoint_iterations: int = 1
    checkpoint_minutes: float = 1.0


OPTIONS = tuple(field.name for field in fields(Options))
TABLES = ("settings", "task_fields")
KEYS = ("task", "algorithm", *OPTIONS, *TABLES)
ONLY_WRITTEN = ("own_task", "id", "created", "versions", "git_revision", "machine", "version")
"""What a run's config.json has besides: where it came from, and not what it is."""
OWN_TASK = "A file does not decide which code runs: name one of your own before the options, as gaits train MODULE:NAME"


def expand(words: Sequence[str]) -> list[str]:
    """The words of ``gaits train``, with those of a file in the place of ``--config FILE``. What is given besides wins."""
    words = [part for word in words for part in (word.split("=", 1) if word.startswith("--config=") else [word])]
    if "--config" not in words or {"-h", "--help"} & set(words):
        return words
    at = words.index("--config")
    if at + 1 == len(words) or words[at + 1].startswith("-"):
        raise ValueError("--config needs a file: a TOML file, or a run's folder or config.json.")
    path, rest = Path(words[at + 1]), [*words[:at], *words[at + 2 :]]
    named = [word for i, word in enumerate(rest) if not word.startswith("-") and not any(map(_is_option, rest[:i]))]
    try:
        document = read(path)
        if not named and isinstance(document.get("task"), str) and document["task"] not in TASKS:
            raise ValueError(f"No task of gaits is called {document['task']!r}. {OWN_TASK}")
        task, algorithm = [*named, *[document.get("task"), document.get("algorithm")][len(named) :]][:2]
        given = {word.partition("=")[0] for word in rest if _is_option(word)}
        return [*_names(task, algorithm), *_options(document, str(algorithm), given), *rest[len(named) :]]
    except ValueError as error:
        raise ValueError(f"{brief(path)}: {brief(error)}") from None


def _is_option(word: str) -> bool:
    return word.startswith("-")


def read(path: Path) -> dict[str, Any]:
    """What a file says of a run: TOML, or the config.json of a run."""
    file = path / "config.json" if path.is_dir() else path
    try:
        content = read_bytes(file if path.is_dir() else file.resolve(), JSON_BYTES)  # a file that is named may be a link
    except FileNotFoundError:
        raise ValueError("There is no such file. Give a TOML file, or a run's folder or config.json.") from None
    if file.suffix == ".json":
        document = parse_json(content)
        if isinstance(document, dict):
            document = {key: value for key, value in document.items() if key not in ONLY_WRITTEN and value is not None}
    else:
        try:
            document = parse_toml(content.decode("utf-8-sig"))
        except UnicodeDecodeError:
            raise ValueError("It is not a text file in UTF-8.") from None
    if not isinstance(document, dict):
        raise ValueError("It is no table.")
    for key in document:
        lookup("key of a run's file", key, dict.fromkeys(KEYS))
    for key in TABLES:
        if not isinstance(document.setdefault(key, {}), dict):
            raise ValueError(f"{key} must be a table; got {document[key]!r}.")
    return document


def _names(task: Any, algorithm: Any) -> list[str]:
    from gaits.algorithms import ALGORITHMS

    for kind, name, table in (("task", task, TASKS), ("algorithm", algorithm, ALGORITHMS)):
        if not isinstance(name, str):
            raise ValueError(f"{kind} is missing: write {kind} = {next(iter(table))!r}, or name it on the command line.")
    lookup("algorithm", algorithm, ALGORITHMS)
    return [task, algorithm]


def _options(document: dict[str, Any], algorithm: str, given: set[str]) -> Iterator[str]:
    """Options of the command line, but for those that are given there."""
    from gaits.algorithms import ALGORITHMS
    from gaits.study.read import check_changes

    plain = {name: document[name] for name in OPTIONS if name in document}
    make_settings(Options, "a run", plain)  # complains better than a parser
    make_settings(ALGORITHMS[algorithm].settings, algorithm, document["settings"])
    check_changes(document["task_fields"])
    for name, value in {**plain, **document["settings"], **document["task_fields"]}.items():
        option = "--" + name.replace("_", "-")
        if value is None or {option, f"--no-{option[2:]}"} & given:
            continue
        if isinstance(value, bool):
            yield option if value else f"--no-{option[2:]}"
        elif isinstance(value, (list, tuple)):
            yield from (option, *map(str, value))
        else:
            yield f"{option}={value}"
