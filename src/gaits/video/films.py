"""An episode as pictures of any moment: a robot drawn by us, or what an environment drew of itself."""

from __future__ import annotations

import io
from typing import Protocol

import numpy as np
from PIL import Image

from gaits.drawing import Painter, Puppet, follow
from gaits.episodes import Episode, Pictures, Trace
from gaits.tasks.task import Task

FOLLOW_SECONDS = 0.4
"""The camera goes where the torso is on average over so much time before and after."""
PAPER = (255, 255, 255)


class Film(Protocol):
    """Pictures of one episode."""

    length: int
    seconds_per_step: float

    def picture(self, step: float) -> np.ndarray:
        """(height, width, 3) uint8 after so many steps, from 0 to ``length``; a fraction is between two."""


def make_film(task: Task, episode: Episode, size: tuple[int, int]) -> Film:
    puppet = task.problem.make_puppet(task)
    return Drawn(episode, size) if puppet is None else Puppets(episode, puppet, size)


def find_rate(task: Task, episode: Episode) -> float:
    """Seconds that a step takes."""
    puppet = task.problem.make_puppet(task)
    if puppet is not None:
        return puppet.seconds_per_step
    assert isinstance(episode.trace, Pictures)
    return episode.trace.seconds_per_step


class Puppets(Film):
    """The robot, the time, the return so far and the feet that stand."""

    def __init__(self, episode: Episode, puppet: Puppet, size: tuple[int, int]) -> None:
        assert episode.steps is not None
        assert isinstance(episode.trace, Trace)
        self.length, self.seconds_per_step = episode.length, puppet.seconds_per_step
        self.ends = puppet.find_ends(episode.trace.positions)
        self.contacts = np.concatenate([np.zeros_like(episode.trace.contacts[:1]), episode.trace.contacts])
        self.totals = np.append(0.0, np.cumsum(episode.steps.rewards))
        torso = self.ends[:, 0, :, :2].mean(axis=1)
        self.path = follow(torso, round(FOLLOW_SECONDS / puppet.seconds_per_step))
        self.painter = Painter(puppet.figure, self.ends[0], *size)

    def picture(self, step: float) -> np.ndarray:
        before, after = int(step), int(np.ceil(step))
        ends, target = (
            values[before] + (step - before) * (values[after] - values[before]) for values in (self.ends, self.path)
        )
        return self.painter.draw(ends, self.contacts[after], target, step * self.seconds_per_step, self.totals[before])


class Drawn(Film):
    """The environment's own pictures, on a page of the size that is asked for."""

    def __init__(self, episode: Episode, size: tuple[int, int]) -> None:
        assert isinstance(episode.trace, Pictures)
        self.pictures, self.size = episode.trace, size
        self.length, self.seconds_per_step = episode.length, self.pictures.seconds_per_step

    def picture(self, step: float) -> np.ndarray:
        images = self.pictures.images
        found = Image.open(io.BytesIO(images[min(int(step) // self.pictures.every, len(images) - 1)]))
        share = min(self.size[0] / found.width, self.size[1] / found.height)
        image = found.resize((max(round(share * found.width), 1), max(round(share * found.height), 1)))
        page = Image.new("RGB", self.size, PAPER)
        page.paste(image, ((self.size[0] - image.width) // 2, (self.size[1] - image.height) // 2))
        return np.asarray(page)
