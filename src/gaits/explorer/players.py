"""Episodes for the page: warm simulators, and episodes packed small."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from typing import Any

import numpy as np

from gaits.adaptation.damage import Damage
from gaits.evaluation import available_cores
from gaits.explorer.packing import pack, plain
from gaits.explorer.records import Elite, Record
from gaits.physics import kernel, make_simulator, world
from gaits.physics.playback import Playback, play
from gaits.physics.skeleton import Skeleton, make_skeleton
from gaits.physics.world import Simulator
from gaits.tasks.task import Task

UNITS_PER_METRE = 8192
"""Positions relative to the torso are sent as 16-bit whole numbers: an eighth of a millimetre, up to four metres away."""
DEFAULT_SEED = 1
KNOWN = 200
"""Episodes whose seed and return on the sound robot are remembered, for when the robot is damaged."""
ENDS = {kernel.TRUNCATED: "time", kernel.TERMINATED: "fell", kernel.NON_FINITE: "broke"}


class Players:
    """Simulators, kept between episodes: building one takes longer than many an episode. Safe to use from many threads."""

    def __init__(self, keep: int = 6) -> None:
        self._idle: list[Simulator] = []  # least recently used first
        self._keep = keep
        self._lock = threading.Lock()
        self._turns = threading.Semaphore(available_cores())
        self._closed = False
        self._sound: dict[tuple[int, int, float, int | None], tuple[int, float]] = {}

    @contextlib.contextmanager
    def simulator(self, task: Task) -> Iterator[Simulator]:
        """A simulator of this task, for one thread at a time."""
        with self._turns:
            simulator = self._take(task) or make_simulator(task)
            try:
                yield simulator
            finally:
                self._give_back(simulator)

    def _take(self, task: Task) -> Simulator | None:
        with self._lock:
            for i, simulator in enumerate(self._idle):
                if simulator.task == task:
                    return self._idle.pop(i)
        return None

    def _give_back(self, simulator: Simulator) -> None:
        with self._lock:
            self._idle.append(simulator)
            excess = len(self._idle) if self._closed else max(len(self._idle) - self._keep, 0)
            dropped, self._idle = self._idle[:excess], self._idle[excess:]
        for one in dropped:
            one.close()

    def play(self, record: Record, cell: int, seed: int | None, damage: Damage) -> bytes:
        """The episode of a cell's policy, packed. Without a seed, the one that the archive recorded, as far as is known."""
        elite, sound = record.elite(cell), record.run.task
        damaged = damage.apply(sound)
        key = (record.id, cell, elite.objective, seed)
        found = None
        if key not in self._sound or not damage:
            seed, found = self._find(sound, elite, elite.seeds or [DEFAULT_SEED] if seed is None else [seed])
            self._sound = dict([*self._sound.items()][-KNOWN:]) | {key: (seed, found.episode.objective)}
        seed, objective = self._sound[key]
        if damage or found is None:
            found = self._play(damaged, elite, seed)
        header = {
            "cell": cell,
            "seed": str(seed),  # JavaScript's numbers end at 2**53
            "damage": str(damage) if damage else "",
            "sound": objective,
            "recorded": {"objective": elite.objective, "measures": elite.measures},
        }
        return pack_episode(found, make_skeleton(sound.body), header)

    def _play(self, task: Task, elite: Elite, seed: int) -> Playback:
        with self.simulator(task) as simulator:
            return play(task, simulator, elite.solution, seed, **elite.statistics)

    def _find(self, task: Task, elite: Elite, seeds: list[int]) -> tuple[int, Playback]:
        """The seed whose episode gives what the archive says, else the one that comes closest, and that episode.

        On another machine the last bits may differ, and with them whole episodes.
        """
        best = None
        for seed in seeds:
            playback = self._play(task, elite, seed)
            distance = abs(playback.episode.objective - elite.objective)
            if best is None or distance < best[0]:
                best = distance, seed, playback
            if distance == 0:
                break
        assert best is not None
        return best[1:]

    def close(self) -> None:
        with self._lock:
            self._closed = True
            dropped, self._idle = self._idle, []
        for simulator in dropped:
            simulator.close()


def pack_episode(playback: Playback, skeleton: Skeleton, header: dict[str, Any]) -> bytes:
    """Where the torso is after every step, where every capsule's ends are relative to it, and contacts."""
    ends = skeleton.ends(playback.positions)
    root = ends[:, 0].mean(axis=1)  # the torso comes first in every model file
    near = np.clip(np.rint((ends - root[:, None, None]) * UNITS_PER_METRE), -32768, 32767)
    episode = playback.episode
    return pack(
        {
            **header,
            "length": episode.length,
            "end": ENDS[episode.end],
            "objective": plain(episode.objective),
            "measures": plain(episode.measures),
            "seconds_per_step": kernel.SECONDS_PER_STEP,
            "units_per_metre": UNITS_PER_METRE,
        },
        root=root.astype(np.float32),
        ends=near.astype(np.int16),
        contacts=playback.contacts.astype(np.uint8),
    )


def describe_robot(task: Task) -> dict[str, Any]:
    """What the page needs to draw a task's robot and to damage it; the same for all runs of the task."""
    robot, skeleton = task.body, make_skeleton(task.body)
    links = world.find_layout(robot).links
    feet = {links.index(name): position for position, name in enumerate(robot.feet)}
    labels = [name.replace("_", " ") for name in robot.feet]
    for position, name in zip(robot.measured_feet, task.measure_names, strict=True):
        labels[position] = name.removesuffix(" contact")
    return {
        "capsules": [
            {
                "radius": capsule.radius,
                "foot": feet.get(capsule.link, -1),
                "name": links[capsule.link] if capsule.link >= 0 else "torso",
            }
            for capsule in skeleton.capsules
        ],
        "flat": any(joint.slides for joint in skeleton.joints),
        "joints": list(robot.joints),
        "feet": [
            {"name": name, "label": label, "measured": i in robot.measured_feet}
            for i, (name, label) in enumerate(zip(robot.feet, labels, strict=True))
        ],
    }
