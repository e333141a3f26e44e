"""Malformed requests to the explorer, on sound and on hostile runs: python benchmarks/fuzz.py 5000

No answer may be a 5xx, and every refusal has to say why. Memory is measured over the second half.
"""

from __future__ import annotations

import contextlib
import io
import json
import random
import shutil
import sys
import tempfile
import warnings
from collections import Counter
from pathlib import Path
from typing import Any

import corrupt
import numpy as np

from gaits.explorer.app import make_app
from gaits.explorer.records import make_records
from gaits.runs import load_run

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # newer ones would rather have httpx2
    from starlette.testclient import TestClient

FILES = ("archive.npz", "history.npz", "metrics.csv", "evaluation.npz", "manifest.json")
METHODS = ("GET", "POST", "PUT", "DELETE", "HEAD", "OPTIONS", "PATCH")
WORDS = ("0", "1", "-1", "99", "1e3", "%00", "..", "%2e%2e%2fconfig.json", "é", "\u0660", "a" * 3000, "config.json", "")
VALUES: tuple[Any, ...] = (
    0,
    1,
    -1,
    3,
    10**30,
    1.5,
    True,
    None,
    "x",
    "\ud800",
    [],
    {},
    float("nan"),
    float("inf"),
    "a" * 9000,
)


def make_hostile(sound: Path, place: Path, chance: random.Random, n: int) -> list[Path]:
    """Copies of a run with a file damaged, replaced by numbers that are no numbers, or gone."""
    found = []
    for i in range(n):
        run = shutil.copytree(sound, place / f"hostile{i}")
        path = run / chance.choice(FILES)
        kind = chance.randrange(4)
        if kind == 0:
            path.unlink()
        elif kind == 1 and path.suffix == ".npz":
            with np.load(path) as file:
                arrays = dict(file)
            name = chance.choice([key for key, values in arrays.items() if values.dtype.kind in "fi" and values.size])
            arrays[name] = np.array(arrays[name]) * np.array(chance.choice([-1, 0, 2**40]), arrays[name].dtype.kind)
            np.savez(path, **arrays)
        elif kind == 2 and path.suffix == ".csv":
            path.write_text("iteration,evaluations,qd_score,coverage,objective_max,elites\n1,nan,inf,-inf,1e999,x\n")
        else:
            path.write_bytes(corrupt.damage(path.read_bytes(), chance))
        found.append(run)
    return found


def make_request(chance: random.Random, runs: int) -> tuple[str, str, dict[str, Any]]:
    number = str(chance.randrange(runs)) if chance.random() < 0.8 else chance.choice(WORDS)
    kind = chance.random()
    if kind < 0.5:
        body: Any = {"cell": chance.randrange(8)}
        if chance.random() < 0.7:
            body[chance.choice(["cell", "seed", "damage", "other"])] = chance.choice(VALUES)
        if chance.random() < 0.3:
            body["damage"] = {chance.choice(["joints", "friction", "x"]): {"foot_joint": chance.choice(VALUES)}}
        content = (
            json.dumps(body).encode(errors="replace") if chance.random() < 0.9 else chance.randbytes(chance.randrange(40))
        )
        kinds = ("application/json", "application/json; charset=x", "text/plain", "")
        return "POST", f"/api/runs/{number}/episode", {"content": content, "headers": {"Content-Type": chance.choice(kinds)}}
    if kind < 0.85:
        what = chance.choice(["archive", "metrics", "history", "robot", "episode", *WORDS])
        return chance.choice(METHODS) if kind > 0.8 else "GET", f"/api/runs/{number}/{what}", {}
    path = chance.choice(["/", "/api/runs", "/static/app.js", f"/static/{chance.choice(WORDS)}", f"/{chance.choice(WORDS)}"])
    headers = chance.choice([{}, {"Origin": "http://evil.example"}, {"Host": "evil.example"}, {"Cookie": "gaits-8000=x.y"}])
    return chance.choice(METHODS), path, {"headers": headers}


def resident() -> float:
    """Megabytes of this process."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096 / 1e6


def fuzz(n: int, seed: int = 0, hostile: int = 12) -> tuple[Counter[int], list[str], float]:
    """Send n requests; returns how often each status came, what is wrong, and the memory gained over the second half."""
    chance, statuses, wrong, before = random.Random(seed), Counter[int](), [], 0.0
    with tempfile.TemporaryDirectory() as place, contextlib.redirect_stderr(io.StringIO()):
        sound = corrupt.make_sound(Path(place) / "sound")
        folders, readable = make_hostile(sound, Path(place), chance, hostile), []
        for folder in [sound, *folders]:
            with contextlib.suppress(ValueError):
                readable.append(load_run(folder))
        app = make_app(make_records(readable), token="secret")
        with TestClient(app, base_url="http://127.0.0.1:8000", raise_server_exceptions=False) as client:
            statuses[client.get("/").status_code] += 1
            assert statuses == {403: 1}
            assert client.get("/?token=secret").status_code == 200  # which leaves the cookie
            for i in range(n):
                method, path, options = make_request(chance, len(readable))
                try:
                    answer = client.request(method, path, **options)
                except (ValueError, TypeError, UnicodeError):  # the client itself refuses to send it
                    continue
                except Exception as error:
                    if type(error).__module__.startswith("httpx"):
                        continue
                    raise
                statuses[answer.status_code] += 1
                if answer.status_code >= 500:
                    wrong.append(f"{answer.status_code}: {method} {path[:80]} {options!s:.200}")
                elif answer.status_code >= 400 and method != "HEAD" and not answer.json().get("error"):
                    wrong.append(f"no reason: {method} {path[:80]}")
                if i == n // 2:
                    before = resident()
            if len(client.get("/api/runs").json()) != len(readable):
                wrong.append("a run hides others")
        return statuses, wrong, resident() - before


if __name__ == "__main__":
    statuses, wrong, gained = fuzz(int(sys.argv[1]) if len(sys.argv) > 1 else 5000)
    for status, count in sorted(statuses.items()):
        print(f"{status}: {count}")
    print(f"5xx or without a reason: {len(wrong)}; memory over the second half: {gained:+.1f} MB")
    print("\n".join(wrong[:20]))
    sys.exit(bool(wrong))
