"""Random damage to every file of a small run, through every command: python benchmarks/corrupt.py 1000

Counts what must not happen: code run, files changed outside the run, tracebacks, hangs, and numbers that change without a
word. A command may refuse (exit code 2, a message) or do what it does on the sound run, number for number.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import random
import shutil
import signal
import sys
import tempfile
import traceback
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import gaits
from gaits.cli import main

COMMANDS = {
    "check": ["check", "RUN"],
    "resume": ["resume", "RUN", "--evaluations", "64", "--workers", "1"],
    "evaluate": ["evaluate", "RUN", "--episodes", "2", "--workers", "1"],
    "compare": ["compare", "RUN", "--out", "RUN/comparison"],
    "explore": ["explore", "RUN", "--export", "RUN/page.html"],
    "video": ["video", "RUN", "--seconds", "0.1", "--size", "64", "64"],
    "export": ["export", "RUN"],
    "adapt": ["adapt", "RUN", "--damage", "foot_joint=0.5", "--trials", "2", "--episodes", "2", "--workers", "1", "--json"],
}
HANG = 60
FORBIDDEN = ("os.system", "os.exec", "os.posix_spawn", "os.spawn", "pickle.find_class", "marshal.loads", "ctypes.dlopen")


def make_sound(folder: Path) -> Path:
    """A small finished run with an evaluation beside it."""
    task = gaits.make_task("qd_hopper", grid=(6,), max_steps=20, hidden=(4,))
    gaits.train(task, "map_elites", out=folder, evaluations=48, batch_size=16, workers=1, seed=1)
    with contextlib.redirect_stdout(io.StringIO()):
        assert main(["evaluate", str(folder), "--episodes", "2", "--workers", "1"]) == 0
    return folder


def damage(content: bytes, chance: random.Random) -> bytes:
    """Flip a bit, change, drop or double some bytes, change a digit, cut the end off, or append."""
    there, n = chance.randrange(max(len(content), 1)), chance.randint(1, 8)
    before, part, after = content[:there], content[there : there + n] or b"\0", content[there + n :]
    digits = [i for i, byte in enumerate(content) if chr(byte).isdigit()]
    digit = chance.choice(digits) if digits else 0
    return chance.choice(
        [
            before + bytes([part[0] ^ 1 << chance.randrange(8)]) + part[1:] + after,
            before + chance.randbytes(len(part)) + after,
            before + after,
            before + part * 2 + after,
            before,
            content + chance.randbytes(n),
            content[:digit] + str(chance.randrange(10)).encode() + content[digit + 1 :],
            before + b"\x1b[2J" + after,
        ]
    )


class Watch:
    """What the process does that a file must not make it do. Audit hooks cannot be taken off, so there is one."""

    def __init__(self) -> None:
        self.inside: Path | None = None
        self.seen: list[str] = []
        sys.addaudithook(self.hear)

    def hear(self, event: str, args: tuple[Any, ...]) -> None:
        if self.inside is None:
            return
        if (event in FORBIDDEN and not (event == "ctypes.dlopen" and args[0] is None)) or (
            event == "subprocess.Popen" and "ffmpeg" not in str(args[0]) and not str(args[0]).endswith("git")
        ):
            self.seen.append(f"{event} {args!r:.100}")
        elif event == "open" and isinstance(args[2], int) and args[2] & (os.O_WRONLY | os.O_RDWR | os.O_CREAT):
            path = os.path.abspath(os.fsdecode(args[0])) if isinstance(args[0], (str, bytes)) else ""
            caches = (os.environ.get("NUMBA_CACHE_DIR", "\0"), "/dev/null", "/proc", "/sys", str(Path.home() / ".cache"))
            if path and not path.startswith((str(self.inside), *caches)) and "__pycache__" not in path:
                self.seen.append(f"write {path}")

    @contextlib.contextmanager
    def over(self, folder: Path) -> Iterator[None]:
        self.inside, self.seen = folder, []
        try:
            yield
        finally:
            self.inside = None


WATCH: list[Watch] = []


def call(name: str, run: Path, seconds: int = HANG) -> tuple[int | str, str, str]:
    """Exit code or what went wrong, stdout, stderr; 0 seconds are as many as it takes."""
    out, err = io.StringIO(), io.StringIO()

    def stop(*_: Any) -> None:
        raise TimeoutError("hang")

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(seconds)
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code: int | str = main([word.replace("RUN", str(run)) for word in COMMANDS[name]])
    except SystemExit as error:
        code = error.code if isinstance(error.code, int) else "exit"
    except BaseException:
        code = traceback.format_exc(limit=-3)
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)
    return code, out.getvalue(), err.getvalue()


def results(name: str, run: Path, out: str) -> dict[str, Any]:
    """The numbers that a command gave."""

    def arrays(path: Path) -> dict[str, Any]:
        with np.load(path) as file:
            return {key: file[key].tolist() for key in file.files}

    if name == "check":  # which vouches for all of them
        tables = {file: json.loads((run / file).read_text()) for file in ("config.json", "evaluation.json")}
        stored = {file: arrays(run / file) for file in ("archive.npz", "history.npz", "evaluation.npz")}
        return {**tables, **stored, "metrics": (run / "metrics.csv").read_text()}
    if name == "resume":
        table = pd.read_csv(run / "metrics.csv")
        columns = {str(key): values.tolist() for key, values in table.items() if not str(key).startswith("seconds")}
        return {**arrays(run / "archive.npz"), **columns}
    if name == "evaluate":
        return arrays(run / "evaluation.npz")
    if name == "export":
        return arrays(run / "best.npz")
    if name == "adapt":
        found = json.loads(out)
        return {key: value for key, value in found.items() if key not in ("run", "folder")}
    if name == "compare":
        table = pd.read_csv(run / "comparison" / "runs.csv")
        kept = [str(key) for key in table if key != "run" and "seconds" not in str(key)]
        return {key: str(table[key]) for key in kept}
    if name == "explore":
        text = (run / "page.html").read_text().split('id="data">', 1)[1].split("</script>", 1)[0]
        (found,) = json.loads(text)["runs"]
        return {key: found[key] for key in ("archive", "history", "episodes", "metrics")}
    assert name == "video"
    return {"told": [line for line in out.splitlines() if line.startswith("cell ")]}  # not how long it took


def allowed(run: Path, sound: Path) -> bool:
    """Whether the damage is one of the edits that are allowed: evaluations and name."""
    try:
        here, there = (json.loads((folder / "config.json").read_text()) for folder in (run, sound))
    except ValueError:
        return False
    return here != there and all(
        here.get(key) == value for key, value in there.items() if key not in ("evaluations", "name")
    )


def attack(n: int, seed: int = 0, folder: Path | None = None) -> tuple[Counter[str], list[str]]:
    """Damage n times; returns counts and what must not have happened."""
    chance, problems = random.Random(seed), []
    counts: Counter[str] = Counter()
    if not WATCH:
        WATCH.append(Watch())
    (watch,) = WATCH
    with tempfile.TemporaryDirectory(dir=folder) as place:
        home = Path(place).resolve()
        sound = make_sound(home / "sound" / "run")
        (home / "victim").write_text("mine")
        files = [path.relative_to(sound) for path in sorted(sound.rglob("*")) if path.is_file() and path.name != ".lock"]
        truth = {}
        for name in COMMANDS:
            run = shutil.copytree(sound, home / "run")
            code, out, err = call(name, run, seconds=0)  # it may compile
            assert code == 0, (name, code, err)
            truth[name] = results(name, run, out)
            shutil.rmtree(run)
        for i in range(n):
            file, name = files[i % len(files)], list(COMMANDS)[(i // len(files)) % len(COMMANDS)]
            run = shutil.copytree(sound, home / "run")
            content = (run / file).read_bytes()
            (run / file).write_bytes(changed := damage(content, chance))
            fine = allowed(run, sound)
            with watch.over(home):
                code, out, err = call(name, run)
            what = f"{i}: {name}, {file.name}"
            outside = [line for line in watch.seen if line.startswith("write")]
            others = sorted(path.name for path in home.iterdir())
            if [line for line in watch.seen if line not in outside]:
                problems.append(f"code: {what}: {watch.seen}")
            if outside or others != ["run", "sound", "victim"] or (home / "victim").read_text() != "mine":
                problems.append(f"outside: {what}: {outside} {others}")
            if any(not (one.isprintable() or one in "\n\t") for one in out + err):
                problems.append(f"escape: {what}: {err[:200]!r}")
            if code == 1 and name == "check":
                counts["refused"] += 1
            elif code not in (0, 2):
                problems.append(f"{'hang' if 'hang' in str(code) else 'traceback'}: {what}: {code}")
            elif code == 2:
                counts["refused"] += 1
                if "Traceback" in err or len(err) > 5000:
                    problems.append(f"traceback: {what}: {err[:300]}")
            elif changed == content:
                counts["same bytes"] += 1
            elif fine:
                counts["allowed edit"] += 1
            elif json.dumps(results(name, run, out)) == json.dumps(truth[name]):
                counts["no effect"] += 1
            elif "left out" in err or "without its" in err:
                counts["said"] += 1
            else:
                problems.append(f"silent: {what}")
            shutil.rmtree(run)
    return counts, problems


if __name__ == "__main__":
    counts, problems = attack(int(sys.argv[1]) if len(sys.argv) > 1 else 1000, int(sys.argv[2]) if len(sys.argv) > 2 else 0)
    kinds = Counter(problem.partition(":")[0] for problem in problems)
    for kind in ("code", "outside", "traceback", "hang", "silent", "escape"):
        print(f"{kind:>12}: {kinds[kind]}")
    for kind, number in counts.most_common():
        print(f"{kind:>12}: {number}")
    print("\n".join(problems))
    sys.exit(bool(problems))
