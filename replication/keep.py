"""Keep what long runs showed: python replication/keep.py RUN ...

Copies each run's configuration and every tenth row of its metrics here, and writes the table of README.md anew.
"""

import csv
import json
import shutil
import sys
from pathlib import Path

HERE = Path(__file__).parent
EVERY = 10


def keep(run: Path) -> None:
    """A run that has been kept before is kept as it is now."""
    config = json.loads((run / "config.json").read_text())
    folder = HERE / f"{config['task']}-{config.get('name') or config['algorithm']}-seed{config['seed']}"
    folder.mkdir(exist_ok=True)
    shutil.copy(run / "config.json", folder)
    head, *rows = (run / "metrics.csv").read_text().splitlines(keepends=True)
    kept = [row for i, row in enumerate(rows, start=1) if i % EVERY == 0 or i == len(rows)]
    (folder / "metrics.csv").write_text(head + "".join(kept))


def describe(folder: Path) -> str:
    config = json.loads((folder / "config.json").read_text())
    with (folder / "metrics.csv").open() as file:
        last = list(csv.DictReader(file))[-1]
    numbers = [f"{float(last[name]):,.{digits}f}" for name, digits in (("evaluations", 0), ("qd_score", 0))]
    coverage, best = f"{float(last['coverage']):.1%}", f"{float(last['objective_max']):,.1f}"
    name = config.get("name") or config["algorithm"]
    cells = [config["task"], name, str(config["seed"]), *numbers, coverage, best, f"{int(last['steps']):,}"]
    return "| " + " | ".join([*cells, (config["git_revision"] or "")[:9]]) + " |"


def write_table() -> None:
    path = HERE / "README.md"
    text = path.read_text()
    head = "| task | algorithm | seed | evaluations | QD score | coverage | best | environment steps | commit |"
    rows = [describe(file.parent) for file in sorted(HERE.glob("*/config.json"))]
    path.write_text(text[: text.index("| task")] + "\n".join([head, "|---" * 9 + "|", *rows]) + "\n")


if __name__ == "__main__":
    for argument in sys.argv[1:]:
        keep(Path(argument))
    write_table()
