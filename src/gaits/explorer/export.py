"""The page as one file, with chosen policies inside: it can be sent, and works when opened from disk."""

from __future__ import annotations

import base64
import dataclasses
import json
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

from gaits.adaptation.damage import Damage
from gaits.archives.cells import parse_cell
from gaits.console import say
from gaits.episodes import EpisodeFailed
from gaits.explorer.assets import MODULES, read_asset
from gaits.explorer.files import NotNow
from gaits.explorer.players import Players, describe_robot
from gaits.explorer.records import Record
from gaits.runs.files import write_whole

DEFAULT_CELLS = 12


def export(
    records: list[Record],
    path: Path,
    cells: Sequence[str] = (),
    progress: Callable[[int, int], None] | None = None,
) -> int:
    """Write the page with these runs, and return how many policies can be watched in it.

    Args:
        cells: Such as "3,12", or a plain index; default: a dozen of each run's best, well spread.
        progress: Called with (episodes played, episodes in all).
    """
    if path.suffix.lower() != ".html":
        raise ValueError(f"--export writes a web page, and {path} does not end in .html. Choose a name such as page.html.")
    records, maps = _read_maps(records)
    chosen = _choose(records, maps, cells)
    total, done, runs = sum(map(len, chosen)), 0, []
    players = Players()
    try:
        for record, archive, own in zip(records, maps, chosen, strict=True):
            episodes = {}
            for cell in own:
                try:
                    episodes[str(cell)] = _text(players.play(record, cell, None, Damage()))
                except EpisodeFailed as error:  # an environment of the user's own
                    say(f"{record.name} comes without its policies: {error}")
                    total -= len(own)
                    break
                done += 1
                if progress is not None:
                    progress(done, total)
            runs.append(_everything(record, archive, episodes))
    finally:
        players.close()
    content = make_page({"runs": runs})
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, lambda file: file.write(content.encode()))
    except OSError as error:
        raise ValueError(f"Cannot write to {path}: {error.strerror}. Choose another --export.") from None
    return done


def _everything(record: Record, archive: dict[str, Any], episodes: dict[str, str]) -> dict[str, Any]:
    try:
        history = _text(record.history())
    except NotNow as error:
        say(f"without its history: {error}")
        history = None
    return {
        "about": record.describe(),
        "metrics": record.metrics(),
        "archive": archive,
        "history": history,
        "robot": None if record.unplayable else describe_robot(record.run.task),
        "episodes": episodes,
    }


def make_page(data: dict[str, Any]) -> str:
    """index.html with everything that it loads, and these data, inside."""
    text = json.dumps(data, allow_nan=False, separators=(",", ":")).replace("<", "\\u003c")
    icon = "data:image/svg+xml;base64," + base64.b64encode(read_asset("icon.svg").encode()).decode()
    policy = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:"
    replacements = {
        '<meta charset="utf-8">': f'<meta charset="utf-8"><meta http-equiv="Content-Security-Policy" content="{policy}">',
        '<link rel="stylesheet" href="static/explorer.css">': f"<style>\n{read_asset('explorer.css')}</style>",
        '<script type="module" src="static/app.js"></script>': (
            f'<script type="application/json" id="data">{text}</script>\n<script type="module">\n{join_modules()}</script>'
        ),
    }
    page = read_asset("index.html").replace("static/icon.svg", icon)
    for tag, inside in replacements.items():
        assert page.count(tag) == 1, tag
        page = page.replace(tag, inside)
    return page


def join_modules() -> str:
    """All modules in one script, each a function of its own: browsers refuse to import from disk."""
    parts = ["const modules = {};"]
    for name in MODULES:
        text = re.sub(
            r'^import (\{[^}]*\}) from "\./([\w.]+)";', r'const \1 = modules["\2"];', read_asset(name), flags=re.MULTILINE
        )
        exported = re.findall(r"^export (?:async )?(?:function|class|const) ([\w$]+)", text, re.MULTILINE)
        text = re.sub(r"^export ", "", text, flags=re.MULTILINE)
        parts.append(f'modules["{name}"] = (() => {{\n{text}return {{ {", ".join(exported)} }};\n}})();')
    return "\n".join(parts) + "\n"


def _read_maps(records: list[Record]) -> tuple[list[Record], list[dict[str, Any]]]:
    """The runs that have an archive, numbered anew, and their archives; the others are named and left out."""
    found: list[Record] = []
    maps, problems = [], []
    for record in records:
        try:
            archive, _ = record.archive(), record.metrics()
            maps.append(archive)
            found.append(dataclasses.replace(record, id=len(found)))
        except ValueError as error:
            problems.append(error)
    if not found:
        raise problems[0]
    for problem in problems:
        say(f"left out: {problem}")
    return found, maps


def _choose(records: list[Record], maps: list[dict[str, Any]], words: Sequence[str]) -> list[list[int]]:
    """Per run, the cells to play: those asked for. Its best if none were, or if its archive cannot have them."""
    chosen = [
        [] if one.unplayable else spread_out(archive, DEFAULT_CELLS) for one, archive in zip(records, maps, strict=True)
    ]
    if not words:
        return chosen
    asked: dict[int, list[int]] = {}
    problems: dict[int, ValueError] = {}
    for record, archive in zip(records, maps, strict=True):
        try:
            if not record.unplayable:
                asked[record.id] = _filled(record, archive, words)
        except ValueError as error:
            problems[record.id] = error
    if problems and not asked:
        raise next(iter(problems.values()))
    if not any(asked.values()):
        raise ValueError(f"None of the cells {' '.join(words)} is filled in these runs.")
    for i, problem in problems.items():
        say(f"{records[i].name} comes with its best cells instead: {problem}")
    return [asked.get(i, best) for i, best in enumerate(chosen)]


def _filled(record: Record, archive: dict[str, Any], words: Sequence[str]) -> list[int]:
    cells = {parse_cell(SimpleNamespace(**archive), word): word for word in words}
    empty = [word for cell, word in cells.items() if cell not in archive["cell"]]
    if empty:
        say(f"left out, because {record.name} has nothing there: {' '.join(empty)}")
    return [cell for cell in cells if cell in archive["cell"]]


def spread_out(archive: dict[str, Any], n: int) -> list[int]:
    """The best elite, the best one that is not near it, and so on: the farthest apart that still gives n."""
    objective, measures = np.array(archive["objective"], float), np.array(archive["measures"], float)
    chosen: list[int] = []
    if not len(objective):
        return chosen
    apart = float(np.linalg.norm(np.ptp(measures, axis=0)))
    order = np.argsort(-objective, kind="stable")
    while len(chosen) < min(n, len(order)):
        chosen, free = [], np.ones(len(order), bool)
        for i in order:
            if free[i] and len(chosen) < n:
                chosen.append(int(i))
                free &= np.linalg.norm(measures - measures[i], axis=1) > apart
        apart = 0.8 * apart if apart > 1e-6 else -1.0
    return [archive["cell"][i] for i in chosen]


def _text(data: bytes) -> str:
    return base64.b64encode(data).decode()
