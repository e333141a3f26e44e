"""MuJoCo rollouts against bare mj_step and Gymnasium's environments. Usage: python benchmarks/mujoco_speed.py [ROUNDS]

(a) bare: the actions of recorded episodes are replayed with mj_step and nothing else, once from Python through MuJoCo's
    binding (``nstep=frame_skip``) and once from compiled code.
(b) gaits: ``MujocoPlayer`` on the same policies and seeds.
(c) Gymnasium: its environment, with a policy in NumPy.

The policies are the longest-lived tenth of many random ones, as an archive would keep. Sides alternate within each round.
Reported are medians over the rounds; ratios are medians of each round's ratio.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from statistics import median
from typing import Any, NamedTuple

import gymnasium
import numpy as np

from gaits.bench.rollout import steps_per_second
from gaits.console import say
from gaits.physics import mujoco_kernel as kernel
from gaits.physics.mujoco import MujocoPlayer, draw_start
from gaits.physics.world import Episode, Setup
from gaits.policies import MLP
from gaits.tasks import Task, make_task

TASK_NAMES = ("mj_ant", "mj_half_cheetah", "mj_hopper", "mj_walker")
SIDES = ("python", "bare 1", "gaits 1", "bare 2", "gaits 2", "gymnasium")
STEPS = 2000


class Recorded(NamedTuple):
    solution: np.ndarray
    seed: int
    actions: np.ndarray


@kernel.compiled
def replay(body, state, qpos, qvel, actions):
    """MuJoCo alone: ``simulate`` without the contact forces."""
    kernel.reset(body, state, qpos, qvel)
    for t in range(actions.shape[0]):
        for j in range(actions.shape[1]):
            body.ctrl[j] = actions[t, j]
        for _ in range(body.frame_skip):
            kernel.mj_step(body.model, body.data)


def play(player: MujocoPlayer, solution: np.ndarray, seed: int, record: bool = False) -> Episode:
    zeros, no_noise = np.zeros(player.task.obs_dim, np.float32), np.zeros((0, player.task.action_dim), np.float32)
    return player.play(Setup(solution, seed, zeros, zeros + 1, no_noise, record))


def gaits_episode(player: MujocoPlayer, episode: Recorded) -> None:
    play(player, episode.solution, episode.seed)


def bare_episode(player: MujocoPlayer, episode: Recorded) -> None:
    assert player.task.mujoco
    start = draw_start(player.task.mujoco, player.model, episode.seed)
    replay(player.body, player.state, *start, episode.actions)


def python_episode(player: MujocoPlayer, episode: Recorded) -> None:
    assert player.task.mujoco
    mujoco, model, data, frame_skip = player.mujoco, player.model, player.data, player.task.mujoco.frame_skip
    mujoco.mj_resetData(model, data)
    data.qpos[:], data.qvel[:] = draw_start(player.task.mujoco, model, episode.seed)
    mujoco.mj_forward(model, data)
    for action in episode.actions:
        data.ctrl[:] = action
        mujoco.mj_step(model, data, nstep=frame_skip)


def gymnasium_episode(place: tuple[Any, MLP], episode: Recorded) -> None:
    """The policy is asked, but the recorded action taken: NumPy rounds differently, and the episode would go astray."""
    env, policy = place
    obs, _ = env.reset(seed=episode.seed)
    for action in episode.actions:
        policy.act(episode.solution, obs)
        obs = env.step(action)[0]


def record(task: Task, player: MujocoPlayer) -> list[Recorded]:
    """About STEPS steps of episodes of long-lived random policies."""
    rng = np.random.default_rng(0)
    candidates = [task.policy.init(rng) for _ in range(100 if task.name == "mj_half_cheetah" else 1000)]
    lengths = np.array([play(player, solution, seed).length for seed, solution in enumerate(candidates)])
    best = rng.permutation(np.argsort(-lengths, kind="stable")[: len(candidates) // 10])
    chosen = best[: max(4, int(np.searchsorted(np.cumsum(lengths[best]), STEPS)))]
    return [Recorded(candidates[i], int(i), play(player, candidates[i], int(i), record=True).actions) for i in chosen]


def run(threads: ThreadPoolExecutor, work: Callable[[Any, Recorded], None], places: list[Any], episodes: Any) -> None:
    """Each place (a player or an environment) takes the next episode whenever it is free."""
    turns: Iterator[Recorded] = iter(episodes)

    def take(place: Any) -> None:
        for episode in turns:
            work(place, episode)

    list(threads.map(take, places))


def measure(task: Task, rounds: int) -> dict[str, list[float]]:
    """Steps per second of each side, per round."""
    players = [MujocoPlayer(task), MujocoPlayer(task)]
    env: Any = gymnasium.make(task.env_id)
    episodes = record(task, players[0])
    work: dict[str, tuple[Any, list[Any]]] = {
        "python": (python_episode, players[:1]),
        "bare 1": (bare_episode, players[:1]),
        "gaits 1": (gaits_episode, players[:1]),
        "bare 2": (bare_episode, players),
        "gaits 2": (gaits_episode, players),
        "gymnasium": (gymnasium_episode, [(env, task.policy)]),
    }
    steps = sum(len(episode.actions) for episode in episodes)
    speeds: dict[str, list[float]] = {side: [] for side in SIDES}
    with ThreadPoolExecutor(2) as threads:
        for _ in range(rounds + 1):
            for side in SIDES:
                speeds[side].append(steps_per_second(steps, run, threads, *work[side], episodes))
    return {side: values[1:] for side, values in speeds.items()}  # the first round warms up


def main(rounds: int) -> None:
    header = ("task", *SIDES[:3], "of python", "of bare", *SIDES[3:5], "of bare", SIDES[5], "gaits / gym")
    print(("{:<16}" + "{:>12}" * 10).format(*header))
    for name in TASK_NAMES:
        say(f"measuring {name}, {rounds} rounds")
        speeds = measure(make_task(name), rounds)

        def ratio(top: str, bottom: str, speeds: dict[str, list[float]] = speeds) -> float:
            return median(t / b for t, b in zip(speeds[top], speeds[bottom], strict=True))

        middle = {side: f"{median(values):,.0f}" for side, values in speeds.items()}
        print(
            f"{name:<16}{middle['python']:>12}{middle['bare 1']:>12}{middle['gaits 1']:>12}"
            f"{ratio('gaits 1', 'python'):>12.0%}{ratio('gaits 1', 'bare 1'):>12.0%}"
            f"{middle['bare 2']:>12}{middle['gaits 2']:>12}{ratio('gaits 2', 'bare 2'):>12.0%}"
            f"{middle['gymnasium']:>12}{ratio('gaits 1', 'gymnasium'):>11.1f}x"
        )


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 15)
