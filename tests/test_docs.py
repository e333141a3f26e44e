"""The docs are true: links lead somewhere, commands and options exist, and nothing public is left out."""

from __future__ import annotations

import doctest
import inspect
import json
import re
from dataclasses import fields
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

import gaits
from gaits.algorithms import ALGORITHMS
from gaits.cli import main
from gaits.gradients import TD3Settings

ROOT = Path(__file__).parents[1]
PAGES = sorted([ROOT / "README.md", ROOT / "CONTRIBUTING.md", *ROOT.glob("docs/**/*.md")])
ALL = "\n".join(page.read_text() for page in PAGES)
LINK = r"""(?:\]\(|src=")([^)"#]+)[)"#]"""
COMMANDS = sorted({line.split("#")[0].strip() for line in re.findall(r"^    (gaits [a-z].*)$", ALL, re.MULTILINE)})

ids = {"ids": lambda page: str(page.relative_to(ROOT)) if isinstance(page, Path) else None}


@pytest.mark.parametrize("page", PAGES, **ids)
def test_links(page):
    for target in re.findall(LINK, page.read_text()):
        assert target.startswith("https://") or (page.parent / target).exists(), target


@pytest.mark.parametrize("page", PAGES, **ids)
def test_nothing_is_left_to_write(page):
    assert not re.search(r"\b(TODO|FIXME|XXX)\b", page.read_text())


def options_of(words: tuple[str, ...], capsys) -> set[str]:
    """Options that the help of a command names."""
    with pytest.raises(SystemExit) as exit_info:
        main([*words, "--help"])
    assert exit_info.value.code == 0
    return set(re.findall(r"--[a-z][a-z0-9-]+", capsys.readouterr().out))


def test_commands_and_options(capsys):
    """Every option of a command in the docs exists, and every option that exists is in the docs."""
    helped: dict[tuple[str, ...], set[str]] = {}
    for command in COMMANDS:
        words = command.split()[1:]
        words = ["train", "qd_hopper", "map_elites"] if words[:2] == ["train", "--config"] else words  # named by a file
        key = ("train", "qd_hopper", words[2]) if words[0] == "train" else (words[0],)
        helped.setdefault(key, options_of(key, capsys))
        used = set(re.findall(r"(?<!\S)--[a-z][a-z0-9-]+", command))
        assert used <= helped[key], command
    assert {key[0] for key in helped} >= {
        "train",
        "resume",
        "study",
        "evaluate",
        "compare",
        "explore",
        "adapt",
        "video",
        "export",
    }
    written = {plain(name) for name in re.findall(r"--[a-z][a-z0-9-]+", ALL)} | settings() | {"--help"}
    missing = {(key[0], name) for key, known in helped.items() for name in known if plain(name) not in written}
    assert not missing


def plain(option: str) -> str:
    return option.replace("--no-", "--", 1)


def settings() -> set[str]:
    """Options for settings, which the tables of the algorithms' pages name as Python does."""
    return {"--" + name.replace("_", "-") for name in re.findall(r"`([a-z][a-z0-9_]+)`", ALL)}


SETTINGS = {name: entry.settings for name, entry in ALGORITHMS.items()} | {"td3": TD3Settings}


@pytest.mark.parametrize("name", [name for name in SETTINGS if (ROOT / f"docs/algorithms/{name}.md").exists()])
def test_defaults_in_tables(name):
    """Numbers and switches that an algorithm's page gives as defaults are those of its settings."""
    defaults = {field.name: field.default for field in fields(SETTINGS[name])}
    table = (ROOT / f"docs/algorithms/{name}.md").read_text().split("| setting | default |")[1].split("\n\n")[0]
    told = {}
    for names, values in re.findall(r"^\| (`[a-z_0-9`, ]+`) \| ([^|;]+?)(?: \||;)", table, re.MULTILINE):
        told |= dict(zip(re.findall("[a-z_0-9]+", names), values.replace("off", "false").split(", "), strict=False))
    told = {name: value.replace(",", "") for name, value in told.items()}
    numbers = {name: json.loads(value) for name, value in told.items() if re.fullmatch(r"true|false|[-\d.e]+", value)}
    assert numbers
    assert numbers == {name: defaults[name] for name in numbers}


@pytest.mark.parametrize("page", ["pga_me", "td3"])
def test_defaults_of_what_came_after_the_paper(page):
    """Columns of tables that are headed by algorithms."""
    text, told = (ROOT / f"docs/algorithms/{page}.md").read_text(), 0
    head, *rows = re.search(r"\| setting (\| `[^\n]+)\n\|[-|]+\n((?:\|[^\n]+\n)+)", text).groups()
    columns = [re.findall(r"`(\w+)`", column) for column in head.split("|")[1:-1]]
    for names, *values in (row.split("|")[1:-1] for row in rows[0].splitlines()):
        for algorithms, value in zip(columns, values, strict=True):
            for name, word in zip(re.findall(r"`(\w+)`", names), value.split(":")[0].split(", "), strict=True):
                written = word.replace(",", "").split()
                for defaults in (SETTINGS[algorithm]() for algorithm in algorithms):
                    default = getattr(defaults, name)
                    default = default if isinstance(default, tuple) else (default,)
                    assert [str(part).lower() for part in default] == written, (name, algorithms)
                    told += 1
    assert told > 8


def test_every_public_name_is_there():
    assert not [name for name in gaits.__all__ if not re.search(rf"\b{name}\b", ALL)]


def test_every_argument_is_described():
    functions = [getattr(gaits, name) for name in gaits.__all__]
    for function in [gaits.Task.from_env, *filter(inspect.isfunction, functions)]:
        names = [name for name in inspect.signature(function).parameters if name != "cls"]
        said = re.findall(r"^ +(\w+): ", function.__doc__, re.MULTILINE)
        assert len(names) == 1 or set(names) <= set(said), (function.__name__, set(names) - set(said))


EXAMPLES = {name: getattr(gaits, name) for name in gaits.__all__} | {"Task.from_env": gaits.Task.from_env}


@pytest.mark.parametrize("name", [name for name, thing in EXAMPLES.items() if ">>>" in (thing.__doc__ or "")])
def test_examples_of_the_reference(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = {"gaits": gaits, "np": np, "Path": Path}
    example = doctest.DocTestParser().get_doctest(EXAMPLES[name].__doc__, names, name, None, None)
    told: list[str] = []
    doctest.DocTestRunner(verbose=False).run(example, out=told.append)
    assert not told, "".join(told)


@pytest.mark.parametrize("page", PAGES, **ids)
def test_snippets_name_what_exists(page):
    for code in re.findall(r"```python\n(.*?)```", page.read_text(), re.DOTALL):
        compile(code, page.name, "exec")
        for name in re.findall(r"\bgaits\.([A-Za-z_]+)", code):
            assert hasattr(gaits, name) or find_spec(f"gaits.{name}"), name
