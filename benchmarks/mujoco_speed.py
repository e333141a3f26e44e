"""MuJoCo rollouts against bare mj_step and Gymnasium's environments. Usage: python benchmarks/mujoco_speed.py [ROUNDS]

(a) bare: the actions of recorded episodes are replayed with mj_step and nothing else, once from Python through MuJoCo's
    binding (``nstep=frame_skip``) and once from compiled code.
(b) gaits: ``MujocoPlayer`` on the same policies and seeds.
(c) Gymnasium: its environment, with a policy in NumPy.

The policies are the longest-lived tenth of many random ones, as an archive would keep. Sides alternate within each round.
Reported are medians over the rounds; ratios are medians of each round's ratio. One thread is timed by the processor's
clock, which other programs hardly disturb. What a second thread adds can only be seen on the wall's: it needs a second core
that is free.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from statistics import median
from typing import Any, NamedTuple

import gymnasium
import numpy as np

from gaits.console import say
from gaits.episodes import Episode, Setup
from gaits.physics import mujoco_kernel as kernel
from gaits.physics.mujoco import MujocoPlayer, draw_start
from gaits.policies import MLP
from gaits.tasks import Task, make_task

TASK_NAMES = ("mj_ant", "mj_half_cheetah", "mj_hopper", "mj_walker")
SIDES = ("python", "bare", "gaits", "gymnasium", "bare x 2", "gaits x 2")
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
    return player.rollout(Setup(solution, seed, zeros, zeros + 1, no_noise, record))


def gaits_episode(player: MujocoPlayer, episode: Recorded) -> None:
    play(player, episode.solution, episode.seed)


def bare_episode(player: MujocoPlayer, episode: Recorded) -> None:
    start = draw_start(player.robot, player.model, episode.seed)
    replay(player.body, player.state, *start, episode.actions)


def python_episode(player: MujocoPlayer, episode: Recorded) -> None:
    mujoco, model, data, frame_skip = player.mujoco, player.model, player.data, player.robot.frame_skip
    mujoco.mj_resetData(model, data)
    data.qpos[:], data.qvel[:] = draw_start(player.robot, model, episode.seed)
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
    played = [play(player, candidates[i], int(i), record=True).steps for i in chosen]
    return [Recorded(candidates[i], int(i), steps.actions) for i, steps in zip(chosen, played, strict=True) if steps]


def run(threads: ThreadPoolExecutor, work: Callable[[Any, Recorded], None], places: list[Any], episodes: Any) -> None:
    """Each place (a player or an environment) takes the next episode whenever it is free."""
    turns: Iterator[Recorded] = iter(episodes)

    def take(place: Any) -> None:
        for episode in turns:
            work(place, episode)

    list(threads.map(take, places))


def measure(task: Task, rounds: int) -> dict[str, list[tuple[float, float]]]:
    """Steps per second of each side, per round: of processor time, and of real time."""
    robot: Any = task.problem
    players = [MujocoPlayer(task, robot), MujocoPlayer(task, robot)]
    env = gymnasium.make(task.env_id)
    episodes = record(task, players[0])
    work: dict[str, tuple[Any, list[Any]]] = {
        "python": (python_episode, players[:1]),
        "bare": (bare_episode, players[:1]),
        "gaits": (gaits_episode, players[:1]),
        "gymnasium": (gymnasium_episode, [(env, task.policy)]),
        "bare x 2": (bare_episode, players),
        "gaits x 2": (gaits_episode, players),
    }
    steps = sum(len(episode.actions) for episode in episodes)
    speeds: dict[str, list[tuple[float, float]]] = {side: [] for side in SIDES}
    with ThreadPoolExecutor(2) as threads:
        for _ in range(rounds + 1):
            for side in SIDES:
                start = time.process_time(), time.perf_counter()
                run(threads, *work[side], episodes)
                speeds[side].append((steps / (time.process_time() - start[0]), steps / (time.perf_counter() - start[1])))
    return {side: values[1:] for side, values in speeds.items()}  # the first round warms up


def main(rounds: int) -> None:
    header = ("task", *SIDES[:3], "of python", "of bare", "gymnasium", "gaits / gym", *SIDES[4:])
    print(("{:<16}" + "{:>12}" * 9).format(*header))
    for name in TASK_NAMES:
        say(f"measuring {name}, {rounds} rounds")
        speeds = measure(make_task(name), rounds)

        def ratio(top: str, bottom: str, clock: int = 0, speeds: dict[str, Any] = speeds) -> float:
            return median(t[clock] / b[clock] for t, b in zip(speeds[top], speeds[bottom], strict=True))

        python, bare, gaits, gym = (f"{median(cpu for cpu, _ in speeds[side]):>12,.0f}" for side in SIDES[:4])
        print(
            f"{name:<16}{python}{bare}{gaits}{ratio('gaits', 'python'):>12.0%}{ratio('gaits', 'bare'):>12.0%}"
            f"{gym}{ratio('gaits', 'gymnasium'):>11.1f}x"
            f"{ratio('bare x 2', 'bare', clock=1):>11.2f}x{ratio('gaits x 2', 'gaits', clock=1):>11.2f}x",
            flush=True,
        )
    print("\nSteps per second of processor time, one thread. x 2: speed-up of two threads, by the wall's clock.")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 15)
