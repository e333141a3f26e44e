"""What belongs together is bound together: a run's files say of each other what they hold.

Every checkpoint carries the configuration and digests of the metrics, the history and the archive of its moment, and
``manifest.json`` says the same of the files beside it, also when the checkpoints are gone. The checkpoint is written
first, the manifest last; so whatever moment a run is killed at, each file is what one of them says. One that is not was
changed by somebody else. Results that are made of a run later, by evaluating or adapting, say themselves which run they
are of and what they hold.
"""

from __future__ import annotations

import dataclasses
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from gaits.console import brief
from gaits.reading import Refused, digest_array, digest_arrays, digest_json, digest_lines, read_json
from gaits.runs import checkpoint
from gaits.runs.files import write_whole

if TYPE_CHECKING:
    from gaits.runs.config import Config

FORMAT, VERSION = "gaits manifest", 1
FILES = {"metrics": "metrics.csv", "archive": "archive.npz", "history": "history.npz"}
"""What is bound, and the file that it is in."""
FREE = ("evaluations", "name")
"""Fields of config.json that may be edited."""
FREE_UNTIL = "0.1"
"""The last gaits that did not bind a run's files."""
RESULT_BYTES = 1 << 24
PATIENCE = (0.0, 0.1, 0.3)
"""Seconds to wait before looking again: a run that is being written is out of step for a moment."""


class Changed(ValueError):
    """A file of a run that is not what the run wrote."""


def bind(
    config: Config, lines: list[bytes], archive: dict[str, np.ndarray], history: dict[str, np.ndarray]
) -> dict[str, Any]:
    """What the files of a run hold at one moment."""
    return {
        "config": bound_fields(config),
        "metrics": {"lines": len(lines), "sha256": digest_lines(lines)},
        "archive": digest_arrays(archive),
        "history": digest_arrays(history),
    }


def bound_fields(config: Config) -> dict[str, Any]:
    """What may not be edited in a config, as JSON has it."""
    fields = json.loads(json.dumps(dataclasses.asdict(config)))
    return {name: value for name, value in fields.items() if name not in FREE}


def save_manifest(folder: Path, run_id: str, binds: dict[str, Any]) -> None:
    content = {"format": FORMAT, "version": VERSION, "run": run_id, "binds": binds}
    text = json.dumps(content, indent=2) + "\n"
    write_whole(folder / "manifest.json", lambda file: file.write(text.encode()))


def load_manifest(folder: Path, run_id: str) -> dict[str, Any] | None:
    """What the manifest says of the other files; None if there is none, as in a run begun by an older gaits."""
    path = folder / "manifest.json"
    try:
        content = read_json(path)
    except FileNotFoundError:
        return None
    try:
        binds = content["binds"]
        sound = content["format"] == FORMAT and content["version"] == VERSION and binds.keys() == {*FILES, "config"}
        sound = sound and "run" in content and _is_sound(binds)
    except (KeyError, TypeError, AttributeError):
        sound = False
    if not sound:
        raise Changed(f"{path} is damaged, or of another version of gaits.")
    if content["run"] != run_id:
        raise Changed(f"{path} belongs to another run than {folder / 'config.json'}.")
    return binds


def _is_sound(binds: dict[str, Any]) -> bool:
    """Whether what is said of the other files has the form in which it is written."""
    metrics = binds["metrics"]
    lines = metrics.keys() == {"lines", "sha256"} and type(metrics["lines"]) is int and metrics["lines"] >= 0
    return lines and all(isinstance(part, dict) for part in binds.values())


def known(folder: Path, run_id: str) -> list[dict[str, Any]]:
    """What manifest and checkpoints say of the other files; nothing for a run that is not bound."""
    manifest = load_manifest(folder, run_id)
    found = [] if manifest is None else [manifest]
    for path in checkpoint.available(folder / "checkpoint"):
        try:
            binds = checkpoint.read_binds(path, run_id)
        except ValueError:  # resuming says so
            continue
        if binds.keys() == {*FILES, "config"} and _is_sound(binds):
            found.append(binds)
    return found


def check_config(folder: Path, config: Config) -> None:
    """Raise unless a run's configuration is the one that its other files were made with."""
    now, found = bound_fields(config), known(folder, config.id)
    if (
        not found
        and not config.versions.get("gaits", FREE_UNTIL).startswith(FREE_UNTIL)
        and (folder / "archive.npz").exists()
    ):
        raise Changed(f"{folder / 'manifest.json'} is missing, which says what the run's files hold. Take it from a copy.")
    for binds in found:
        then = binds["config"]
        changed = [name for name in sorted(now.keys() | then.keys()) if now.get(name) != then.get(name)]
        if changed:
            told = "; ".join(
                f"{key} is {_short(a)} and was {_short(b)}" for name in changed for key, a, b in _inside(name, now, then)
            )
            raise Changed(
                f"{folder / 'config.json'} was changed since the run was saved: {brief(told)}. "
                f"Only {' and '.join(FREE)} may be edited; put it back, or begin another run."
            )


def _inside(name: str, now: dict[str, Any], then: dict[str, Any]) -> list[tuple[str, Any, Any]]:
    a, b = now.get(name), then.get(name)
    if not (isinstance(a, dict) and isinstance(b, dict)):
        return [(name, a, b)]
    return [(key, a.get(key), b.get(key)) for key in sorted(a.keys() | b.keys()) if a.get(key) != b.get(key)]


def _short(value: Any) -> str:
    text = json.dumps(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def check_file(folder: Path, run_id: str, name: str, fits: Callable[[Any], bool]) -> None:
    """Raise unless what was read of a file is what a checkpoint or the manifest says of it."""
    for seconds in PATIENCE:
        time.sleep(seconds)
        says = [binds[name] for binds in known(folder, run_id)]
        if not says or any(fits(one) for one in says):
            return
    raise Changed(changed_words(folder, name))


def changed_words(folder: Path, name: str) -> str:
    remedy = (
        "Move it away; gaits resume then writes it again from the checkpoint."
        if checkpoint.available(folder / "checkpoint")
        else "The checkpoint that it could be written from is gone; take the file from a copy of the run."
    )
    return f"{folder / FILES[name]} was changed since the run was saved: its numbers are not those written then. {remedy}"


def same_arrays(arrays: dict[str, np.ndarray], whole: bool = True) -> Callable[[Any], bool]:
    """Whether arrays are those that were written: all of a file's, none of which may be gone, or only some."""
    digests = {name: digest_array(array) for name, array in arrays.items()}
    return lambda says: digests == (says if whole else {name: says.get(name) for name in digests})


def same_lines(lines: list[bytes]) -> Callable[[Any], bool]:
    """Whether lines of metrics begin with those that were written; a run adds to them before it is saved again."""

    def fits(says: Any) -> bool:
        n = says["lines"]
        return len(lines) >= n and digest_lines(lines[:n]) == says["sha256"]

    return fits


# --- results of a run, made later -----------------------------------------------------------------------------------------


def seal(content: dict[str, Any], run_id: str, arrays: dict[str, np.ndarray] | None = None) -> str:
    """A result as JSON that says which run it is of, and what it and the arrays in the npz beside it hold."""
    bound: dict[str, Any] = {"run": run_id, "arrays": digest_arrays(arrays or {})}
    bound["sha256"] = digest_json({**content, "bound": bound})
    return json.dumps({**content, "bound": bound}, indent=2, allow_nan=False) + "\n"


def check_sealed(path: Path, run_id: str, arrays: dict[str, np.ndarray] | None = None) -> None:
    """Raise unless a result, and the arrays beside it, are what was made of this run."""
    try:
        content = read_json(path, RESULT_BYTES)
        bound = content["bound"]
        digest = bound.pop("sha256")
        says = (bound["run"], bound["arrays"])
    except FileNotFoundError:
        raise Changed(f"there is no {path.name} that says which run it is of") from None
    except Refused as error:
        raise Changed(f"{path.name}: {error.reason}") from None
    except (KeyError, TypeError, AttributeError):
        raise Changed(f"{path.name} does not say which run it is of") from None
    if says[0] != run_id:
        raise Changed("it is of another run")
    if digest != digest_json(content) or says[1] != digest_arrays(arrays or {}):
        raise Changed("its numbers are not those written then")
