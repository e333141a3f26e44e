"""How fast are rollouts? Bare physics, gaits, and QDGym's way, side by side on the same episodes.

(a) bare: Bullet alone. The torques of the episodes are replayed from C, with ``stepSimulation`` and nothing else.
(b) gaits: ``LocalEvaluator`` on the same policies and seeds.
(c) QDGym's way: one pybullet call per joint, link and foot from Python, and a policy call per step.

The policies are taken from the longest-lived tenth of many random ones, as an archive would keep. Sides alternate within
each round. Reported are medians over the rounds; ratios are medians of each round's ratio.
"""

from __future__ import annotations

import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from statistics import median
from typing import Any

import numpy as np

from gaits.console import say
from gaits.evaluation import LocalEvaluator
from gaits.physics.bullet import kernel
from gaits.physics.bullet.native import NativeSimulator
from gaits.physics.original import QDGymEnv
from gaits.physics.world import start_angles
from gaits.tasks import Task, make_task

TASK_NAMES = ("qd_ant", "qd_half_cheetah", "qd_hopper", "qd_walker")


@kernel.compiled
def replay(client, saved, ids, body, state, q0, actions):
    """Bullet alone: the torques of a recorded episode, and stepSimulation."""
    kernel.reset_bullet(client, saved, ids, body, state, q0)
    for t in range(actions.shape[0]):
        kernel.apply_torques(client, ids, body, actions[t])
        kernel.submit(client, kernel.step_simulation(client))


class Bare:
    """Replays recorded episodes on ``threads`` threads, one physics client each."""

    def __init__(self, task: Task, threads: int) -> None:
        self.simulators = [NativeSimulator(task) for _ in range(threads)]
        self.pool = ThreadPoolExecutor(threads)

    def run(self, episodes: list[tuple[int, np.ndarray]]) -> None:
        turns = iter(episodes)
        for future in [self.pool.submit(self._work, simulator, turns) for simulator in self.simulators]:
            future.result()

    def _work(self, simulator: NativeSimulator, turns: Any) -> None:
        for seed, actions in turns:
            q0 = start_angles(seed, actions.shape[1])
            replay(simulator.client.handle, simulator.saved, simulator.ids, simulator.body, simulator.state, q0, actions)

    def close(self) -> None:
        self.pool.shutdown()
        for simulator in self.simulators:
            simulator.close()


def step_policy(task: Task) -> tuple[str, Any]:
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


def qdgym_episodes(env: QDGymEnv, act: Any, solutions: np.ndarray, seeds: np.ndarray) -> None:
    for solution, seed in zip(solutions, seeds, strict=True):
        obs, done = env.reset(int(seed)), False
        while not done:
            obs, _, done, _ = env.step(act(solution, obs))


def steps_per_second(steps: int, run: Any, *args: Any) -> float:
    start = time.perf_counter()
    run(*args)
    return steps / (time.perf_counter() - start)


def measure(task: Task, rounds: int, steps: int, threads: int) -> dict[str, list[float]]:
    """Steps per second of each side, per round, on episodes of about ``steps`` steps in all."""
    one, many = LocalEvaluator(task, workers=1), LocalEvaluator(task, workers=threads)
    rng = np.random.default_rng(0)
    candidates = np.stack([task.policy.init(rng) for _ in range(1000 if task.robot.terminates else 100)])
    lengths = many.evaluate(candidates, np.arange(len(candidates))).length
    best = np.argsort(-lengths, kind="stable")[: len(candidates) // 10]
    n = min(len(best), max(2 * threads, round(steps / lengths[best].mean())))
    seeds = rng.permutation(best)[:n]
    solutions = candidates[seeds]
    recorded = many.evaluate(solutions, seeds, transitions=True)
    assert recorded.transitions is not None
    total = int(recorded.length.sum())
    episodes = [(int(seed), recorded.transitions.action[recorded.transitions.solution == i]) for i, seed in enumerate(seeds)]
    few = max(1, int(np.searchsorted(np.cumsum(recorded.length), total / 5)))
    _, act = step_policy(task)
    env, bare_one, bare_many = QDGymEnv(task), Bare(task, 1), Bare(task, threads)
    sides: dict[str, tuple[int, Any, Any]] = {
        "bare 1": (total, bare_one.run, (episodes,)),
        "gaits 1": (total, one.evaluate, (solutions, seeds)),
        f"bare {threads}": (total, bare_many.run, (episodes,)),
        f"gaits {threads}": (total, many.evaluate, (solutions, seeds)),
        "qdgym": (int(recorded.length[:few].sum()), qdgym_episodes, (env, act, solutions[:few], seeds[:few])),
    }
    speeds: dict[str, list[float]] = {name: [] for name in sides}
    for _ in range(rounds + 1):
        for name, (count, run, args) in sides.items():
            speeds[name].append(steps_per_second(count, run, *args))
    for thing in (one, many, bare_one, bare_many, env):
        thing.close()
    return {name: values[1:] for name, values in speeds.items()}  # the first round warms up


def evaluator_megabytes(task_name: str, workers: int) -> float:
    """Peak resident memory of a fresh process that makes an evaluator and uses it with transitions."""
    code = f"""
import gaits, re, numpy as np
task = gaits.make_task({task_name!r})
with gaits.LocalEvaluator(task, workers={workers}) as evaluator:
    solution = task.policy.init(np.random.default_rng(0))
    evaluator.evaluate([solution] * {2 * workers}, range({2 * workers}), transitions=True)
print(re.search(r"VmHWM:\\s+(\\d+)", open("/proc/self/status").read())[1])
"""
    return float(subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout) / 1024


def rollout(tasks: tuple[str, ...] | None = None, rounds: int = 15, steps: int = 4000, threads: int = 2) -> None:
    """Print steps per second and ratios for each task."""
    header = (
        "task",
        "bare 1",
        "gaits 1",
        "of bare",
        f"bare {threads}",
        f"gaits {threads}",
        "of bare",
        "qdgym",
        "gaits/qdgym",
        "MB",
    )
    print(("{:<16}" + "{:>12}" * 9).format(*header))
    names = tasks or TASK_NAMES
    for done, name in enumerate(names):
        say(f"measuring {name}, {done + 1} of {len(names)} ({rounds} rounds; about a minute and a half with the defaults)")
        speeds = measure(make_task(name), rounds, steps, threads)

        def ratio(top: str, bottom: str, speeds: dict[str, list[float]] = speeds) -> float:
            return median(t / b for t, b in zip(speeds[top], speeds[bottom], strict=True))

        bare, gaits = f"bare {threads}", f"gaits {threads}"
        middle = {side: f"{median(values):,.0f}" for side, values in speeds.items()}
        print(
            f"{name:<16}{middle['bare 1']:>12}{middle['gaits 1']:>12}{ratio('gaits 1', 'bare 1'):>12.0%}"
            f"{middle[bare]:>12}{middle[gaits]:>12}{ratio(gaits, bare):>12.0%}"
            f"{middle['qdgym']:>12}{ratio('gaits 1', 'qdgym'):>11.1f}x{evaluator_megabytes(name, threads):>12.0f}"
        )
    policy, _ = step_policy(make_task(TASK_NAMES[0]))
    print(
        f"\nSteps per second with 1 and {threads} threads; qdgym: the original environments, one thread, {policy} policy. "
        f"MB: an evaluator with {threads} threads.\nTargets: 90 % of bare, 3x qdgym (Hopper 5x), under 400 MB."
    )
