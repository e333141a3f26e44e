"""Make the pictures of docs/five_minutes.md and docs/gallery.md: policies of the demo at play, and an archive filling up.

Usage: python tools/make_pictures.py [FOLDER]
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from PIL import Image

import gaits
from gaits.analysis.figures import save_growth
from gaits.archives.heatmaps import save_archive_figure
from gaits.explorer.launch import find_demo
from gaits.runs import Run
from gaits.video import caption, draw, find_seeds, play
from gaits.video.films import make_film

FPS, SECONDS, SIZE = 15, 4, (240, 180)


def main(folder: Path) -> None:
    folder.mkdir(exist_ok=True)
    cheetah, hopper = (gaits.load_run(path) for path in find_demo())
    film(cheetah, best_of_groups(cheetah, 4), folder / "half_cheetah.webp")
    film(hopper, best_of_groups(hopper, 4), folder / "hopper.webp")
    damage = gaits.Damage(joints=(("thigh_joint", 0.5),))
    data = hopper.archive.data()
    with gaits.LocalEvaluator(damage.apply(hopper.task)) as evaluator:
        hurt = evaluator.evaluate(data["solution"], data["seed"]).objective
    rows = [int(data["objective"].argmax()), int(hurt.argmax())]
    film(hopper, rows, folder / "hopper_damaged.webp", damage)
    with tempfile.TemporaryDirectory() as parent:
        run = gaits.train("qd_walker", "map_elites", evaluations=10_000, seed=1, out=Path(parent) / "run", progress=False)
        save_archive_figure(run.archive, run.task, folder / "archive.png")
        save_growth(run, folder / "archive_growing.gif", frames=25, seconds=5)


def best_of_groups(run: Run, n: int) -> list[int]:
    """Rows of the archive: the best of each nth part, by the first measure."""
    data = run.archive.data()
    groups = np.array_split(np.argsort(data["measures"][:, 0]), n)
    return [int(group[data["objective"][group].argmax()]) for group in groups]


def film(run: Run, rows: Sequence[int], path: Path, damage: gaits.Damage | None = None) -> None:
    """Policies side by side, each its recorded episode, as a picture that moves."""
    task = (damage or gaits.Damage()).apply(run.task)
    data = run.archive.data()
    names = [str(data["index"][row]) for row in rows]
    played = play(task, data, list(rows), names, find_seeds(data, list(rows), None))
    films = [make_film(task, one.episode, SIZE) for one in played]
    captions = [caption(task, one, SIZE[0], damage) for one in played]
    frames = [Image.fromarray(frame) for frame in draw(films, captions, FPS, FPS * SECONDS, None)]
    frames[0].save(path, save_all=True, append_images=frames[1:], duration=1000 // FPS, loop=0, quality=50, method=4)


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "docs/pictures"))
