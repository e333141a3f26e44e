"""Episodes for the page: warm simulators, and episodes packed small."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np

from gaits.adaptation.damage import Damage
from gaits.drawing import Puppet
from gaits.episodes import NON_FINITE, TERMINATED, TRUNCATED, Batch, Episode, Pictures, Pool, Trace, make_job
from gaits.evaluation import available_cores
from gaits.explorer.files import NotNow
from gaits.explorer.packing import pack, plain
from gaits.explorer.records import Elite, Record
from gaits.tasks.task import Task

UNITS_PER_METRE = 8192
"""Positions relative to the torso are sent as 16-bit whole numbers: an eighth of a millimetre, up to four metres away."""
DEFAULT_SEED = 1
"""Of elites whose own is not known."""
KEEP = 6
"""Players that are kept; every damage has players of its own."""
KNOWN = 200
"""Episodes whose return on the sound robot is remembered, for when the robot is damaged."""
Key = tuple[int, int, float | None, int]
"""A run, a cell, what its archive has there, and a seed."""
ENDS = {TRUNCATED: "time", TERMINATED: "fell", NON_FINITE: "broke"}


class Players:
    """Plays episodes for the page, from many threads at once, as many at a time as there are cores."""

    def __init__(self) -> None:
        self._pool = Pool(KEEP, lambda task: task.problem.make_local_player(task))
        self._turns = threading.Semaphore(available_cores())
        self._lock = threading.Lock()
        self._sound: dict[Key, float] = {}

    def play(self, record: Record, cell: int, seed: int | None, damage: Damage, asked: bool = False) -> bytes:
        """The episode of a cell's policy, packed; without a seed, the one that the archive recorded.

        With ``asked``, of the one policy that can be told a cell.
        """
        elite, sound = record.asked(cell) if asked else record.elite(cell), record.run.task
        damaged = damage.apply(sound)
        if seed is None:
            seed = DEFAULT_SEED if elite.seed is None else elite.seed
        episode = self.episode(damaged, elite, seed)
        key = (record.id, cell, elite.objective, seed)
        if not damage:
            self._remember(key, episode.objective)
        header = {
            "cell": cell,
            "asked": asked,
            "seed": str(seed),  # JavaScript's numbers end at 2**53
            "damage": str(damage) if damage else "",
            "sound": self._recall(key, sound, elite, seed),
            "recorded": {
                "objective": elite.objective,
                "measures": elite.measures,
                "seed": None if elite.seed is None else str(elite.seed),
            },
        }
        return pack_episode(episode, sound.problem.make_puppet(sound), header)

    def episode(self, task: Task, elite: Elite, seed: int) -> Episode:
        """The very episode that an evaluator plays, to be drawn."""
        job = make_job(task, Batch(elite.solution[None], **elite.statistics), [seed], trace=True)
        with self._turns:
            self._pool.play(task, job)
        if not job.complete:
            raise NotNow("The explorer is being closed.")
        return job.episode(0)

    def _recall(self, key: Key, task: Task, elite: Elite, seed: int) -> float:
        """The return on the sound robot, played if it is not known."""
        with self._lock:
            known = self._sound.get(key)
        return self._remember(key, self.episode(task, elite, seed).objective) if known is None else known

    def _remember(self, key: Key, objective: float) -> float:
        with self._lock:
            self._sound[key] = objective
            while len(self._sound) > KNOWN:
                del self._sound[next(iter(self._sound))]
        return objective

    def warm(self, task: Task) -> None:
        """Make a player before it is needed."""
        self._pool.play(task, make_job(task, Batch(np.zeros((0, task.solution_dim))), []))

    def close(self) -> None:
        self._pool.close()


def pack_episode(episode: Episode, puppet: Puppet | None, header: dict[str, Any]) -> bytes:
    """What happened, and what is seen of it."""
    about = {
        **header,
        "length": episode.length,
        "end": ENDS[episode.end],
        "objective": plain(episode.objective),
        "measures": plain(episode.measures),
    }
    if puppet is None:
        assert isinstance(episode.trace, Pictures)
        return pack_pictures(episode.trace, about)
    assert isinstance(episode.trace, Trace)
    return pack_motion(episode.trace, puppet, about)


def pack_motion(trace: Trace, puppet: Puppet, header: dict[str, Any]) -> bytes:
    """Where the torso is after every step, where every capsule's ends are relative to it, and contacts."""
    ends = puppet.find_ends(trace.positions)
    root = ends[:, 0].mean(axis=1)
    near = np.clip(np.rint((ends - root[:, None, None]) * UNITS_PER_METRE), -32768, 32767)
    return pack(
        {**header, "seconds_per_step": puppet.seconds_per_step, "units_per_metre": UNITS_PER_METRE},
        root=root.astype(np.float32),
        ends=near.astype(np.int16),
        contacts=trace.contacts.astype(np.uint8),
    )


def pack_pictures(pictures: Pictures, header: dict[str, Any]) -> bytes:
    """All pictures in a row, and where each of them ends."""
    return pack(
        {**header, "seconds_per_step": pictures.seconds_per_step, "every": pictures.every},
        images=np.frombuffer(b"".join(pictures.images), np.uint8),
        stops=np.cumsum([len(image) for image in pictures.images], dtype=np.uint32),
    )


def describe_robot(task: Task) -> dict[str, Any]:
    """What the page needs to draw a task's robot and to damage it; the same for all runs of the task."""
    puppet = task.problem.make_puppet(task)
    if puppet is None:
        return {"capsules": [], "flat": False, "joints": [], "feet": [], "measures": list(task.measure_names)}
    figure, parts = puppet.figure, task.problem.find_parts(task)
    capsules = zip(figure.radii.tolist(), figure.feet.tolist(), puppet.parts, strict=True)
    return {
        "capsules": [{"radius": radius, "foot": foot, "name": name} for radius, foot, name in capsules],
        "flat": figure.flat,
        "joints": list(parts.joints),
        "feet": [
            {"name": name, "label": label or name.replace("_", " "), "measured": bool(label)}
            for name, label in zip(parts.feet, figure.labels, strict=True)
        ],
        "measures": [],
    }
