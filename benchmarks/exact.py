"""Random episodes in the engine and in Bullet: is every number the same?

Usage: python benchmarks/exact.py [--episodes N] [--robots NAME ...] [--threads N] [--seed S]
    --episodes N   of each robot; default 20,000, and 2,000 of Ant and Half-Cheetah, whose episodes are long
    --robots       default: ant half_cheetah hopper walker humanoid
    --threads N    default: one per core
    --seed S       other episodes

Policies have weights of several scales, actions have noise from 0 to 1.5, joints are weakened and feet slip at random. In a
third of the episodes the robot is kept on past the end of its task, to lie and roll on the ground for 300 steps. Compared,
with ==, are every observation, action, reward, contact, position of base and joints, measure, objective and length.

Humanoid touches itself in many places at once, above all on the ground, and Bullet's order of equal contacts then depends on
what it did before. So each of its episodes gets a client of its own in Bullet, which is the order that the engine has.
*Beyond* are episodes that the engine leaves to Bullet; they are counted, not compared.

Needs Bullet: pip install 'gaits[bullet]'. Takes about twenty minutes of two quiet cores, more than half of it for Humanoid.
"""

from __future__ import annotations

import argparse
import dataclasses
import os
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np

import gaits
from gaits.episodes import Batch, Job, Trace, make_job
from gaits.physics.bullet import capi, make_simulator
from gaits.physics.bullet.player import BulletPlayer
from gaits.physics.engine import player as engine
from gaits.physics.engine.episodes import UNCOVERED

EPISODES = {"ant": 2_000, "half_cheetah": 2_000, "hopper": 20_000, "walker": 20_000, "humanoid": 20_000}
BATCH = 48
SCALES = (0.1, 0.3, 1.0, 3.0, 10.0)
NOISES = (0.0, 0.1, 0.5, 1.5)
GROUND_STEPS = 300
IN_TASK, ON_GROUND = "in its task", "on the ground"


@dataclass(frozen=True)
class Experiment:
    """Some episodes of one robot in one condition."""

    robot: str
    where: str
    episodes: int
    number: tuple[int, ...]  # seeds all that is random

    def run(self) -> Count:
        rng = np.random.default_rng(self.number)
        task = self._make_task(rng)
        scales = rng.choice(SCALES, (self.episodes, 1))
        solutions = np.stack([task.policy.init(rng) for _ in range(self.episodes)]) * scales
        batch = Batch(solutions, transitions=True, action_noise=float(rng.choice(NOISES)))
        seeds = rng.integers(2**32, size=self.episodes)
        ours, bullets = (make_job(task, batch, seeds, trace=True) for _ in range(2))
        engine.EnginePlayer(task).play(ours)
        play_in_bullet(task, bullets, fresh=self.robot == "humanoid")
        return compare(ours, bullets)

    def _make_task(self, rng: np.random.Generator) -> gaits.Task:
        task = gaits.make_task(f"qd_{self.robot}")
        if self.where == ON_GROUND:
            task = dataclasses.replace(
                task, max_steps=GROUND_STEPS, problem=dataclasses.replace(task.robot, terminates=False)
            )
        robot, weak, slippery = task.robot, rng.random(), rng.random()
        joints = {name: rng.choice((0.0, rng.random())) for name in robot.joints if rng.random() < 0.3 and weak < 0.5}
        feet = {name: rng.choice((0.0, 2.0 * rng.random())) for name in robot.feet if slippery < 0.5}
        return gaits.Damage(tuple(joints.items()), tuple(feet.items())).apply(task)


def play_in_bullet(task: gaits.Task, job: Job, fresh: bool) -> None:
    """``fresh``: every episode in a client of its own."""
    player = BulletPlayer(make_simulator(task))
    if not fresh:
        player.play(job)
    while fresh and (i := job.take()) is not None:
        alone = job.only(i)
        player.play(alone)
        job.put(i, alone.episode(0))
        player.close()
        player = BulletPlayer(make_simulator(task))
    player.close()


@dataclass
class Count:
    episodes: int = 0
    steps: int = 0
    values: int = 0
    values_differ: int = 0
    episodes_differ: int = 0
    beyond: int = 0

    def add(self, other: Count) -> None:
        for field in dataclasses.fields(self):
            setattr(self, field.name, getattr(self, field.name) + getattr(other, field.name))


def compare(ours: Job, bullets: Job) -> Count:
    count = Count(episodes=ours.n_episodes, steps=int(bullets.length.sum()))
    for i in range(ours.n_episodes):
        if ours.end[i] == UNCOVERED:
            count.beyond += 1
            continue
        differ = 0
        for a, b in zip(numbers(ours, i), numbers(bullets, i), strict=True):
            count.values += b.size
            differ += b.size if a.shape != b.shape else int((~((a == b) | (np.isnan(a) & np.isnan(b)))).sum())
        count.values_differ += differ
        count.episodes_differ += differ > 0
    return count


def numbers(job: Job, i: int) -> Iterator[np.ndarray]:
    """All that is known of an episode."""
    steps, trace = job.steps[i], job.traces[i]
    assert isinstance(trace, Trace)
    yield from (steps.obs, steps.actions, steps.rewards, trace.positions, trace.contacts)
    yield from (job.measures[i], job.objective[i : i + 1], job.length[i : i + 1], job.end[i : i + 1])


def plan(robot: str, episodes: int, seed: int) -> Iterator[Experiment]:
    """A third of the batches on the ground, and no more episodes than asked for."""
    ends_early = gaits.make_task(f"qd_{robot}").robot.terminates
    size = min(BATCH, max(1, episodes // 12))  # conditions are random, so a small number of episodes gets small batches
    for batch, first in enumerate(range(0, episodes, size)):
        where = ON_GROUND if ends_early and batch % 3 == 2 else IN_TASK
        yield Experiment(robot, where, min(size, episodes - first), (seed, list(EPISODES).index(robot), batch))


class Progress:
    """A line that says how far it is."""

    def __init__(self, total: int) -> None:
        self.total, self.done, self.began = total, 0, time.perf_counter()
        self.lock = threading.Lock()

    def advance(self, count: Count, differing: int) -> None:
        with self.lock:
            self.done += count.episodes
            left = (time.perf_counter() - self.began) / self.done * (self.total - self.done)
            line = f"{self.done:,} of {self.total:,} episodes, {differing} differ, {left / 60:.0f} min left"
            if sys.stderr.isatty():
                print(f"\r{line}   ", end="", file=sys.stderr, flush=True)
            elif self.done % 1000 < count.episodes or self.done == self.total:
                print(line, file=sys.stderr, flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--episodes", type=int)
    parser.add_argument("--robots", nargs="+", choices=list(EPISODES), default=list(EPISODES))
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    capi.pybullet()

    table = "{:14}{:15}{:>10}{:>12}{:>17}{:>11}{:>13}{:>8}"
    header = ("robot", "where", "episodes", "steps", "values compared", "differing", "in episodes", "beyond")
    print(table.format(*header), flush=True)
    for robot in args.robots:
        experiments = list(plan(robot, args.episodes or EPISODES[robot], args.seed))
        progress = Progress(sum(one.episodes for one in experiments))
        totals = {where: Count() for where in sorted({one.where for one in experiments})}

        def work(one: Experiment, progress: Progress = progress, totals: dict[str, Count] = totals) -> None:
            count = one.run()
            with progress.lock:
                totals[one.where].add(count)
                differing = sum(total.episodes_differ for total in totals.values())
            progress.advance(count, differing)

        experiments[0].run()  # compiles
        with ThreadPoolExecutor(args.threads) as pool:
            list(pool.map(work, experiments))
        print("\r", end="", file=sys.stderr)
        for where, total in totals.items():
            print(table.format(robot, where, *(f"{number:,}" for number in dataclasses.astuple(total))), flush=True)


if __name__ == "__main__":
    main()
