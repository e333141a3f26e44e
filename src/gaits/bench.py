"""How fast are rollouts? Bare Bullet, gaits, and the original environments, side by side on the same episodes.

(a) bare: Bullet alone. The torques of the episodes are replayed from C, with ``stepSimulation`` and nothing else.
(b) gaits: ``LocalEvaluator`` on the same policies and seeds: physics, policy, observation, reward, measures, results.
(c) original: QDGym's way, one pybullet call per joint, link and foot from Python, and a policy call per step.

The policies are the longest-lived eighth of many random ones, as an archive would keep. All sides play from one list of
episodes, the slower ones less of it. Sides alternate within each round. Reported are medians over the rounds; ratios are
medians of each round's ratio. The first and the last need Bullet (``gaits[bullet]``).
"""

from __future__ import annotations

import itertools
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from statistics import median
from typing import Any, NamedTuple

import numpy as np

from gaits.console import say
from gaits.evaluation import LocalEvaluator
from gaits.physics.bullet import capi
from gaits.physics.bullet.kernel import replay
from gaits.physics.bullet.native import NativeSimulator
from gaits.physics.original import QDGymEnv
from gaits.physics.world import start_angles
from gaits.tasks import Task, make_task

TASK_NAMES = ("qd_ant", "qd_half_cheetah", "qd_hopper", "qd_walker")
PAPER_STEPS = {"qd_ant": 37_500, "qd_half_cheetah": 38_400}
CANDIDATES, KEPT = 256, 32
GAITS_SHARE, ORIGINAL_SHARE = (
    12.0,
    0.2,
)  # of the steps that bare Bullet plays, so that no side takes much longer than another


class Episodes(NamedTuple):
    """Episodes to play, in order. A side that is to play more steps than they have starts again with the first."""

    solutions: np.ndarray
    seeds: np.ndarray
    lengths: np.ndarray
    actions: list[np.ndarray]

    def first(self, steps: float, at_least: int = 1) -> np.ndarray:
        """Numbers of the first episodes that have so many steps in all."""
        turns = itertools.cycle(range(len(self.seeds)))
        chosen: list[int] = []
        while len(chosen) < at_least or self.lengths[chosen].sum() < steps:
            chosen.append(next(turns))
        return np.array(chosen)


def choose_episodes(task: Task, evaluator: LocalEvaluator) -> Episodes:
    """Of policies that live long, where not all do."""
    rng = np.random.default_rng(0)
    candidates = np.stack([task.policy.init(rng) for _ in range(CANDIDATES)])
    kept = np.arange(KEPT)
    if task.robot.terminates:
        lengths = evaluator.evaluate(candidates, np.arange(CANDIDATES)).length
        kept = rng.permutation(np.argsort(-lengths, kind="stable")[:KEPT])
    results = evaluator.evaluate(candidates[kept], kept, transitions=True)
    assert results.transitions is not None
    actions = np.split(results.transitions.action, results.length.cumsum()[:-1])
    return Episodes(candidates[kept], kept, results.length, actions)


class Bare:
    """Replays recorded episodes on ``threads`` threads, one physics client each."""

    def __init__(self, task: Task, threads: int) -> None:
        self.simulators = [NativeSimulator(task) for _ in range(threads)]
        self.pool = ThreadPoolExecutor(threads)

    def run(self, seeds: Iterable[int], actions: Iterable[np.ndarray]) -> None:
        turns = zip(seeds, actions, strict=True)
        for future in [self.pool.submit(self._work, simulator, turns) for simulator in self.simulators]:
            future.result()

    def _work(self, simulator: NativeSimulator, turns: Iterator[tuple[int, np.ndarray]]) -> None:
        for seed, actions in turns:
            q0 = start_angles(seed, actions.shape[1])
            replay(simulator.client.handle, simulator.saved, simulator.ids, simulator.body, simulator.state, q0, actions)

    def close(self) -> None:
        self.pool.shutdown()
        for simulator in self.simulators:
            simulator.close()


def step_policy(task: Task) -> tuple[str, Callable[[np.ndarray, np.ndarray], np.ndarray]]:
    """The policy call QDGym's users make at every step: PyTorch's where it is installed, else NumPy's."""
    try:
        import torch
    except ImportError:
        return "NumPy", task.policy.act

    def act(solution: np.ndarray, obs: np.ndarray) -> np.ndarray:
        x = torch.from_numpy(obs)
        with torch.no_grad():
            for weights, biases in task.policy.layers(torch.from_numpy(solution)):
                x = torch.tanh(torch.nn.functional.linear(x, weights, biases))
        return x.numpy()

    torch.set_num_threads(1)
    return "PyTorch", act


def play_originals(env: QDGymEnv, act: Callable, solutions: np.ndarray, seeds: np.ndarray) -> None:
    for solution, seed in zip(solutions, seeds, strict=True):
        obs, done = env.reset(int(seed)), False
        while not done:
            obs, _, done, _ = env.step(act(solution, obs))


class Speeds(NamedTuple):
    """Steps per second of each side, by round."""

    bare: list[float]
    gaits: list[float]
    bare_threads: list[float]
    gaits_threads: list[float]
    original: list[float]


def measure(task: Task, rounds: int, steps: int, threads: int) -> Speeds:
    """Bare Bullet plays about ``steps`` steps a round."""
    one, many = LocalEvaluator(task, workers=1), LocalEvaluator(task, workers=threads)
    bare_one, bare_many, env = Bare(task, 1), Bare(task, threads), QDGymEnv(task)
    _, act = step_policy(task)
    episodes = choose_episodes(task, many)

    def gaits(evaluator: LocalEvaluator, which: np.ndarray) -> None:
        evaluator.evaluate(episodes.solutions[which], episodes.seeds[which])

    def bare(side: Bare, which: np.ndarray) -> None:
        side.run(episodes.seeds[which].tolist(), [episodes.actions[i] for i in which])

    def original(env: QDGymEnv, which: np.ndarray) -> None:
        play_originals(env, act, episodes.solutions[which], episodes.seeds[which])

    few, lanes = episodes.first(ORIGINAL_SHARE * steps), 16 * threads  # a lane without an episode is time lost
    sides: list[tuple[Callable, Any, np.ndarray]] = [
        (bare, bare_one, episodes.first(steps)),
        (gaits, one, episodes.first(GAITS_SHARE * steps, lanes)),
        (bare, bare_many, episodes.first(steps, 2 * threads)),
        (gaits, many, episodes.first(GAITS_SHARE * steps, lanes)),
        (original, env, few),
    ]
    for side, player, which in sides:
        side(player, which[:1])  # warm up
    speeds = Speeds([], [], [], [], [])
    for _ in range(rounds):
        for (side, player, which), values in zip(sides, speeds, strict=True):
            began = time.perf_counter()
            side(player, which)
            values.append(episodes.lengths[which].sum() / (time.perf_counter() - began))
    for thing in (one, many, bare_one, bare_many, env):
        thing.close()
    return speeds


def ratio(top: list[float], bottom: list[float]) -> str:
    return f"{median(t / b for t, b in zip(top, bottom, strict=True)):.1f}x"


def evaluator_megabytes(task_name: str, workers: int) -> float:
    """Peak resident memory of a fresh process that makes an evaluator and uses it with transitions."""
    code = f"""
import gaits, re, numpy as np
task = gaits.make_task({task_name!r})
with gaits.LocalEvaluator(task, workers={workers}) as evaluator:
    solution = task.policy.init(np.random.default_rng(0))
    evaluator.evaluate([solution] * {8 * workers}, range({8 * workers}), transitions=True)
print(re.search(r"VmHWM:\\s+(\\d+)", open("/proc/self/status").read())[1])
"""
    return float(subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout) / 1024


def rollout(tasks: tuple[str, ...] = TASK_NAMES, rounds: int = 7, steps: int = 4000, threads: int = 2) -> None:
    """Print steps per second and ratios for each task."""
    capi.pybullet()  # says what to do where it is missing
    for name in tasks:
        make_task(name).robot  # noqa: B018 - says so of a task that has none
    header = (
        *("task", "bare 1", "gaits 1", "x bare", f"bare {threads}", f"gaits {threads}", "x bare"),
        *("original", "x original", f"x original, {threads}", "MB"),
    )
    layout = "{:<16}" + "{:>10}" * 7 + "{:>12}{:>15}{:>8}"
    print(layout.format(*header))
    began = time.perf_counter()
    for done, name in enumerate(tasks):
        left = f", about {(time.perf_counter() - began) / done * (len(tasks) - done):.0f} s left" if done else ""
        say(f"measuring {name}, {done + 1} of {len(tasks)}{left}")
        speeds = measure(make_task(name), rounds, steps, threads)
        bare, gaits, bare_threads, gaits_threads, original = (f"{median(values):,.0f}" for values in speeds)
        print(
            layout.format(
                *(name, bare, gaits, ratio(speeds.gaits, speeds.bare)),
                *(bare_threads, gaits_threads, ratio(speeds.gaits_threads, speeds.bare_threads), original),
                *(ratio(speeds.gaits, speeds.original), ratio(speeds.gaits_threads, speeds.original)),
                f"{evaluator_megabytes(name, threads):.0f}",
            )
        )
    policy, _ = step_policy(make_task(tasks[0]))
    paper = ", ".join(f"{steps:,} ({name})" for name, steps in PAPER_STEPS.items())
    print(f"""
Steps per second with 1 and {threads} threads. bare: Bullet replaying the same torques from C, nothing else.
original: the environments QDGym is built on, one thread, {policy} policy. MB: peak memory with {threads} threads.
Targets: 8x bare (goal 12x; qd_humanoid 4x), under 200 MB; the paper's hundred CPUs make {paper}.""")
