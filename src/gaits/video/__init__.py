"""Policies of an archive as an mp4 or a GIF: one, or several side by side, each with a caption."""

from __future__ import annotations

import contextlib
import functools
import itertools
import math
import shutil
import subprocess
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from PIL import Image, ImageDraw

from gaits.adaptation.damage import Damage
from gaits.archives import NO_SEED
from gaits.archives.cells import best_row, find_cell, name_cell
from gaits.checks import whole_number
from gaits.console import say
from gaits.drawing.text import font
from gaits.episodes import TRUNCATED, Batch, Episode, Pool, check_seed, make_job
from gaits.runs import Run, load_run
from gaits.runs.files import check_output, write_whole, writing
from gaits.tasks.task import Task
from gaits.video.films import PAPER, Film, find_rate, make_film

SIZE, TILE_SIZE = (480, 360), (320, 240)
"""Default (width, height) of a single policy's picture, and of each of several."""
DEFAULT_SEED = 42
"""Of elites whose own is not known."""
GIF_FPS = 50
"""The most that browsers play in real time."""
FONT_SIZE, MARGIN = 13, 6
INK, ENDED = (30, 30, 30), (150, 150, 150)


@dataclass(frozen=True)
class Played:
    """One policy's episode, with what is seen of it."""

    cell: str
    episode: Episode
    seconds_per_step: float

    @property
    def fell(self) -> bool:
        return self.episode.end != TRUNCATED

    @property
    def seconds(self) -> float:
        return self.episode.length * self.seconds_per_step


@dataclass(frozen=True)
class Video:
    """A video that was written."""

    path: Path
    seconds: float
    played: tuple[Played, ...]


def make_video(
    run: Run | str | Path,
    cells: str | Sequence[str] = (),
    *,
    best: bool = False,
    out: str | Path | None = None,
    seed: int | None = None,
    fps: int = 30,
    size: tuple[int, int] | None = None,
    seconds: float | None = None,
    damage: Damage | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Video:
    """Film policies of a run's archive, in real time.

    Args:
        run: The run, or its folder.
        cells: Such as "3,12", or plain cell indices; one or several. None: the best policy.
        best: The best policy too, before the others.
        out: An .mp4 or .gif file; default: an .mp4 in the run's folder.
        seed: Of the episode that all of them play; default: each the episode that the archive recorded.
        fps: Pictures per second.
        size: (width, height) of each policy's picture, even numbers.
        seconds: Stop after so much time; default: when the last episode ends.
        damage: What is wrong with the robot.
        progress: Called with (frames done, frames in all).
    """
    run = run if isinstance(run, Run) else load_run(run)
    cells = [cells] if isinstance(cells, str) else cells
    if seed is not None:
        check_seed(seed)
    whole_number("fps", fps, 1)
    size = size or (SIZE if len(cells) + best <= 1 else TILE_SIZE)
    if len(size) != 2 or any(n % 2 or not 64 <= n <= 4096 for n in size):
        raise ValueError(f"size must be a width and a height, even numbers from 64 to 4096; got {size}.")
    if seconds is not None and not (math.isfinite(seconds) and seconds > 0):
        raise ValueError(f"seconds must be a number above 0; got {seconds}.")
    if run.task.unwatchable:
        raise ValueError(run.task.unwatchable)
    task = (damage or Damage()).apply(run.task)
    archive = run.archive
    rows = [best_row(archive)] if best or not cells else []
    rows += [find_cell(archive, cell) for cell in cells]
    path = Path(out) if out is not None else run.folder / f"{default_name(cells, best)}.mp4"
    if path.suffix.lower() not in (".mp4", ".gif"):
        raise ValueError(f"A video is an .mp4 or .gif file; got {path}.")
    gif = path.suffix.lower() == ".gif"
    if gif and fps > GIF_FPS:
        raise ValueError(f"fps of a GIF must be at most {GIF_FPS}, or browsers play it slowly; got {fps}.")
    check_output(path)
    encode = encode_gif if gif else functools.partial(encode_mp4, find_ffmpeg())

    data = archive.data()
    names = [name_cell(archive, int(data["index"][row])) for row in rows]
    played = play(task, data, rows, names, find_seeds(data, rows, seed))
    n_frames = max(round(min(max(p.seconds for p in played), seconds or math.inf) * fps), 1)
    captions = [caption(task, p, size[0], damage) for p in played]
    films = [make_film(task, p.episode, size) for p in played]
    encode(path, fps, draw(films, captions, fps, n_frames, progress))
    return Video(path, n_frames / fps, tuple(played))


def default_name(cells: Sequence[str], best: bool) -> str:
    if not cells:
        return "best"
    return "cells" if best or len(cells) > 1 else "cell-" + cells[0].replace(",", "-").replace(" ", "")


def find_seeds(data: dict[str, np.ndarray], rows: list[int], seed: int | None) -> np.ndarray:
    """The seed that is asked for, or those of the episodes that the archive recorded."""
    if seed is None and "seed" in data and (data["seed"][rows] != NO_SEED).all():
        return data["seed"][rows]
    if seed is None:
        say(f"this run is older than the seeds in archives: filming seed {DEFAULT_SEED}, not what was recorded.")
    return np.full(len(rows), DEFAULT_SEED if seed is None else seed)


def play(task: Task, data: dict[str, np.ndarray], rows: list[int], names: list[str], seeds: ArrayLike) -> list[Played]:
    """The episodes that an evaluator plays for these rows and seeds."""
    statistics: dict[str, Any] = {name: data[name][rows] for name in ("obs_mean", "obs_std") if name in data}
    job = make_job(task, Batch(data["solution"][rows], transitions=True, **statistics), seeds, trace=True)
    pool = Pool(1, lambda task: task.problem.make_local_player(task))
    try:
        pool.play(task, job)
    finally:
        pool.close()
    episodes = [job.episode(i) for i in range(len(names))]
    return [Played(name, episode, find_rate(task, episode)) for name, episode in zip(names, episodes, strict=True)]


def draw(
    films: Sequence[Film],
    captions: Sequence[tuple[np.ndarray, np.ndarray]],
    fps: int,
    n_frames: int,
    progress: Callable[[int, int], None] | None,
) -> Iterator[np.ndarray]:
    """Frames of all policies side by side. One whose episode has ended stands still."""
    pictures: list[np.ndarray] = [np.zeros(0)] * len(films)
    shown = [-1.0] * len(films)
    for frame in range(n_frames):
        for i, (film, (running, ended)) in enumerate(zip(films, captions, strict=True)):
            now = min(frame / fps / film.seconds_per_step, film.length)
            if now != shown[i]:
                pictures[i] = np.concatenate([film.picture(now), ended if now == film.length else running])
                shown[i] = now
        yield tile(pictures)
        if progress is not None:
            progress(frame + 1, n_frames)


def tile(pictures: Sequence[np.ndarray]) -> np.ndarray:
    """Pictures of one size in a grid about as wide as high; what is left over is blank."""
    columns = math.ceil(math.sqrt(len(pictures)))
    blank = np.full_like(pictures[0], PAPER[0])
    padded = [*pictures, *[blank] * (-len(pictures) % columns)]
    return np.concatenate([np.concatenate(padded[i : i + columns], axis=1) for i in range(0, len(padded), columns)])


def caption(task: Task, played: Played, width: int, damage: Damage | None) -> tuple[np.ndarray, np.ndarray]:
    """What is written under a picture, while its episode runs and when it has ended."""
    episode = played.episode
    values = [f"{value:.2f}" for value in episode.measures]
    named = ", ".join(f"{name} {value}" for name, value in zip(task.measure_names, values, strict=True))
    long, short = named, "measures " + ", ".join(values)
    lines = [
        f"cell {played.cell}: return {episode.objective:,.1f}",
        long if font(FONT_SIZE).getlength(long) + 2 * MARGIN <= width else short,
    ]
    if damage:
        lines += wrap(str(damage), width)
    end = f" ({'fell' if played.fell else 'ended'} after {played.seconds:.1f} s)"
    return _write(lines, width, INK), _write([lines[0] + end, *lines[1:]], width, ENDED)


def wrap(text: str, width: int) -> list[str]:
    """Lines of a text that fit under a picture, broken at commas."""
    lines: list[str] = []
    for part in text.split(", "):
        longer = f"{lines[-1]}, {part}" if lines else part
        if lines and font(FONT_SIZE).getlength(longer) + 2 * MARGIN <= width:
            lines[-1] = longer
        else:
            lines.append(part)
    return lines


def _write(lines: Sequence[str], width: int, ink: tuple[int, int, int]) -> np.ndarray:
    line = FONT_SIZE + 5
    height = 2 * MARGIN + line * len(lines)
    image = Image.new("RGB", (width, height + height % 2), PAPER)
    pen = ImageDraw.Draw(image)
    for i, text in enumerate(lines):
        pen.text((MARGIN, MARGIN + i * line), text, fill=ink, font=font(FONT_SIZE))
    return np.asarray(image)


def find_ffmpeg() -> str:
    """The ffmpeg of the imageio-ffmpeg package, or else the system's."""
    try:
        import imageio_ffmpeg

        return str(imageio_ffmpeg.get_ffmpeg_exe())
    except (ImportError, RuntimeError):  # RuntimeError: the package without its program
        found = shutil.which("ffmpeg")
    if found is None:
        raise ValueError("Videos need ffmpeg: pip install 'gaits[video]', an ffmpeg on the PATH, or --out best.gif")
    return found


def encode_mp4(ffmpeg: str, path: Path, fps: int, frames: Iterator[np.ndarray]) -> None:
    """Write frames (height, width, 3) uint8 to an mp4 that every browser plays; it is there whole or not at all."""
    first = next(frames)
    path.parent.mkdir(parents=True, exist_ok=True)
    source = ["-f", "rawvideo", "-pix_fmt", "rgb24", "-s", f"{first.shape[1]}x{first.shape[0]}", "-r", str(fps)]
    target = ["-c:v", "libx264", "-pix_fmt", "yuv420p", "-crf", "20", "-movflags", "+faststart"]
    with writing(path) as part:
        command = [ffmpeg, "-loglevel", "error", "-y", *source, "-i", "-", *target, "-f", "mp4", f"file:{part}"]
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.PIPE)
        assert process.stdin is not None
        try:
            with contextlib.suppress(BrokenPipeError):  # it died; what it said is read below
                for frame in itertools.chain([first], frames):
                    process.stdin.write(frame.tobytes())
            _, errors = process.communicate()
            if process.returncode != 0:
                raise OSError(f"{ffmpeg} could not write {path}: {errors.decode(errors='replace').strip()}")
        finally:
            process.kill()
            process.communicate()


def encode_gif(path: Path, fps: int, frames: Iterator[np.ndarray]) -> None:
    """Write frames to a GIF that plays for ever, in 256 colours of its first second; it is there whole or not at all."""
    head = list(itertools.islice(frames, fps))
    colors = Image.fromarray(np.concatenate(head[:: math.ceil(fps / 8)])).quantize(method=Image.Quantize.FASTOCTREE)
    first, *others = (
        Image.fromarray(frame).quantize(palette=colors, dither=Image.Dither.NONE) for frame in itertools.chain(head, frames)
    )
    hundredths = np.diff(np.round(100 * np.arange(len(others) + 2) / fps))  # GIF's unit; they add up to real time
    times = (10 * hundredths).astype(int).tolist()
    write_whole(path, lambda file: first.save(file, "GIF", save_all=True, append_images=others, duration=times, loop=0))
