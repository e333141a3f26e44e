"""Train a repertoire, stop early, go on, and look at it. Usage: python examples/02_train.py [EVALUATIONS] [FOLDER]"""

import sys

import gaits
from gaits.archives.heatmaps import save_archive_figure

evaluations = int(sys.argv[1]) if len(sys.argv) > 1 else 5000
folder = sys.argv[2] if len(sys.argv) > 2 else "runs/example"


def halfway(row, archive):
    return row["evaluations"] >= evaluations / 2


gaits.train("qd_hopper", "map_elites", evaluations=evaluations, seed=1, out=folder, callback=halfway)
run = gaits.resume(folder)  # exactly as if it had never stopped

print(run.metrics[["evaluations", "qd_score", "coverage", "objective_max"]].tail(3).to_string(index=False))
save_archive_figure(run.archive, run.task, run.folder / "archive.png")
print(
    f"{len(run.archive_at(1))} elites after the first iteration, {len(run.archive)} at the end. See {run.folder}/archive.png"
)
