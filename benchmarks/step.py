"""Where a step's time goes, and what of it is arithmetic that must be done.

Usage: python benchmarks/step.py [--robots NAME ...]

Nanoseconds of processor time per step of an episode, on one thread. Parts are timed one by one, in loops on states from the
middle of episodes that last; *whole* is what episodes take, and *rest* what no part accounts for. *floor* is the least that
this processor needs for two things that cannot be left out: the policy's multiplications and additions in float32, as fast
as they ever go, and sines and cosines of the joints. *episode* is what an episode costs besides its steps, in microseconds.
Compiles for about a minute first.
"""

from __future__ import annotations

import argparse
import dataclasses
import itertools
import math
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from numba import njit

import gaits
from gaits.episodes import Batch, make_job
from gaits.lanes import EIGHT, FOUR, ONE, lanes, part, wide, width
from gaits.physics.engine import planar, spatial, step
from gaits.physics.engine.constants import SUBSTEPS
from gaits.physics.engine.contact import collide_floor
from gaits.physics.engine.model import Memory, view_memory, view_model
from gaits.physics.engine.player import EnginePlayer
from gaits.physics.engine.reading import read
from gaits.physics.engine.solver import iterate
from gaits.physics.engine.spots import find_spots
from gaits.physics.policy import choose_action, lay_out, view_network
from gaits.physics.walking import judge, state_of, view_body, view_states

ROBOTS = ("ant", "half_cheetah", "hopper", "walker", "humanoid")
LANES = len(FOUR)
PARTS = ("policy", "observe", "collide", "accelerate", "rows", "iterate", "place")
POLICY, OBSERVE, COLLIDE, ACCELERATE, ROWS, ROWS_ITERATE, PLACE = range(7)
TIMES, MOMENTS, CANDIDATES = 200, 8, 256


@njit(nogil=True, error_model="numpy")
def repeat(model, memory, body, states, network, weights, solution, mean, std, action, which, times):
    """Do one part of a step so often, for all lanes."""
    robot, work = view_model(model), view_memory(memory, FOUR)
    body, states, net = view_body(body), view_states(states), view_network(network)
    weights, action, mean, std = lanes(weights, ONE), lanes(action, ONE), lanes(mean, ONE), lanes(std, ONE)
    lay_out(net, lanes(solution, ONE), weights)
    for _ in range(times):
        if which == POLICY:
            for lane in range(width(work.q)):
                choose_action(net, weights, state_of(body, states, lane).obs, mean, std, action)
        elif which == OBSERVE:
            for lane in range(width(work.q)):
                state = state_of(body, states, lane)
                read(robot, work, lane, body, state)
                judge(body, state, action)
        elif which == COLLIDE:
            collide_floor(robot, work, work.pose)
        elif which == ACCELERATE:
            if robot.planar:
                planar.accelerate(robot, work)
            else:
                spatial.accelerate(robot, work)
        elif which == PLACE:
            if robot.planar:
                planar.integrate(robot, work)
            else:
                spatial.integrate(robot, work)
            step.place(robot, work, work.before)
        else:
            limits = step.limit_rows(robot, work)
            spots = find_spots(robot, work)
            step.spot_rows(robot, work, spots)
            if which == ROWS_ITERATE and limits + spots > 0:
                iterate(robot, work, limits, spots)


@njit(nogil=True, error_model="numpy")
def multiply_add(numbers, times):
    """float32 products and sums, eight vectors of eight side by side, as the policy does them: 64 of each."""
    v = wide(lanes(numbers, ONE), EIGHT)
    k = part(v, 8)[0]
    a, b, c, d, e, f, g, h = v[0], v[1], v[2], v[3], v[4], v[5], v[6], v[7]
    for _ in range(times):
        a, b, c, d = k + a * k, k + b * k, k + c * k, k + d * k
        e, f, g, h = k + e * k, k + f * k, k + g * k, k + h * k
    v[0], v[1], v[2], v[3], v[4], v[5], v[6], v[7] = a, b, c, d, e, f, g, h


@njit(nogil=True, error_model="numpy")
def sine_cosine(times):
    total, angle = 0.0, 0.1
    for _ in range(times):
        angle += 1e-7
        total += math.sin(angle) + math.cos(angle)
    return total


def nanoseconds(run: Callable[[], Any], times: int, rounds: int = 5) -> float:
    """Of the fastest round, so that a busy machine matters less."""
    seconds = []
    for _ in range(rounds):
        began = time.thread_time()
        run()
        seconds.append(time.thread_time() - began)
    return min(seconds) / times * 1e9


class Probe:
    """A robot with policies that last."""

    def __init__(self, robot: str) -> None:
        self.task = gaits.make_task(f"qd_{robot}")
        rng = np.random.default_rng(0)
        candidates = np.stack([self.task.policy.init(rng) for _ in range(CANDIDATES)])
        job = self._play(self.task, candidates, np.arange(CANDIDATES))
        self.seeds = np.argsort(-job.length, kind="stable")[: 8 * LANES]
        self.solutions, self.lengths = candidates[self.seeds], job.length[self.seeds]

    def _play(self, task: gaits.Task, solutions: np.ndarray, seeds: np.ndarray, player: EnginePlayer | None = None) -> Any:
        job = make_job(task, Batch(solutions), seeds)
        (player or EnginePlayer(task)).play(job)
        return job

    def parts(self) -> dict[str, float]:
        """Nanoseconds of each part."""
        found = np.zeros((MOMENTS, len(PARTS)))
        for moment, after in enumerate(np.linspace(5, self.lengths[LANES - 1] - 1, MOMENTS).astype(int)):
            task = dataclasses.replace(self.task, max_steps=int(after))
            player = EnginePlayer(task)
            self._play(task, self.solutions[:LANES], self.seeds[:LANES], player)  # leaves its lanes after so many steps
            for which in range(len(PARTS)):
                found[moment, which] = self._time(player, which)
        substeps = np.where(np.arange(len(PARTS)) < COLLIDE, 1, SUBSTEPS) / LANES
        each = found.mean(axis=0) * substeps
        each[ROWS_ITERATE] -= each[ROWS]
        return dict(zip(PARTS, each.tolist(), strict=True))

    def _time(self, player: EnginePlayer, which: int) -> float:
        place = player.workplace
        desk = place.make_desk()
        mean, std = np.zeros(self.task.obs_dim, np.float32), np.ones(self.task.obs_dim, np.float32)
        memories = iter([copy_memory(place.memory) for _ in range(6)])
        fixed = place.body, place.states, place.network, desk.weights[0], self.solutions[0], mean, std, desk.action[0]

        def run() -> None:
            repeat(place.model, next(memories), *fixed, which, TIMES)

        run()  # compiles
        return nanoseconds(run, TIMES)

    def whole(self) -> float:
        """Nanoseconds of a step, with everything."""
        player, steps = EnginePlayer(self.task), int(self.lengths.sum())
        return nanoseconds(lambda: self._play(self.task, self.solutions, self.seeds, player), steps)

    def episode(self, a_step: float) -> float:
        """Microseconds of an episode besides its steps."""
        task, n = dataclasses.replace(self.task, max_steps=1), 4000
        player, seeds = EnginePlayer(task), np.arange(n)
        solutions = np.resize(self.solutions, (n, self.solutions.shape[1]))
        return (nanoseconds(lambda: self._play(task, solutions, seeds, player), n) - a_step) / 1e3

    def floor(self, per_multiply_add: float, per_sine_cosine: float) -> tuple[float, float]:
        """Nanoseconds of a policy's arithmetic, and of the joints' sines and cosines."""
        sizes = self.task.policy.sizes
        joints = self.task.action_dim + (1 if EnginePlayer(self.task).workplace.model.planar else 0)  # a torso's pitch
        products = sum(n_in * n_out for n_in, n_out in itertools.pairwise(sizes))
        return products * per_multiply_add, SUBSTEPS * joints * per_sine_cosine


def copy_memory(memory: Memory) -> Memory:
    """The same views of a copy of all its numbers."""
    everything, start = memory.all.copy(), memory.all.__array_interface__["data"][0]

    def move(array: np.ndarray) -> np.ndarray:
        at = (array.__array_interface__["data"][0] - start) // everything.itemsize
        inside = array.dtype == everything.dtype and at >= 0 and at + array.size <= everything.size
        return everything[at : at + array.size] if inside else array.copy()

    return Memory(*map(move, memory))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--robots", nargs="+", choices=ROBOTS, default=ROBOTS)
    args = parser.parse_args()

    numbers = np.full(80, 0.5, np.float32)
    multiply_add(numbers, 1)
    sine_cosine(1)
    per_multiply_add = nanoseconds(lambda: multiply_add(numbers, 10**6), 64 * 10**6)
    per_sine_cosine = nanoseconds(lambda: sine_cosine(10**6), 10**6)

    columns = (*PARTS, "rest", "whole", "floor: policy", "floor: sin, cos", "episode µs")
    print(f"{'robot':14}" + "".join(f"{name:>{max(11, len(name) + 2)}}" for name in columns))
    for robot in args.robots:
        probe = Probe(robot)
        parts, whole = probe.parts(), probe.whole()
        row = [*parts.values(), whole - sum(parts.values()), whole, *probe.floor(per_multiply_add, per_sine_cosine)]
        cells = [*(f"{value:,.0f}" for value in row), f"{probe.episode(whole):.1f}"]
        print(
            f"{robot:14}" + "".join(f"{c:>{max(11, len(n) + 2)}}" for c, n in zip(cells, columns, strict=True)), flush=True
        )
    print(
        f"\nNanoseconds per step of an episode; {per_multiply_add:.4f} ns for a product and a sum in float32, "
        f"{per_sine_cosine:.1f} ns for a sine and a cosine."
    )


if __name__ == "__main__":
    main()
