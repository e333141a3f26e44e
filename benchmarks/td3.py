"""Critic training against the same in eager PyTorch, as the paper's released code does it: side by side, in turns.

Usage: python benchmarks/td3.py [ROUNDS] [TASK]     needs PyTorch: pip install 'gaits[bench]'

Sizes are the paper's: minibatches of 256 for two critics of 256-256, the policy gradient over 65,536 states, the variation
of 49 parents by 10 steps of Adam on 256 states. Both sides get their minibatches as arrays; sampling is not measured.
"""

import copy
import statistics
import sys
import time
from collections.abc import Callable

import jax
import numpy as np
import torch
from torch import nn

import gaits
from gaits.gradients import TD3, TD3Settings

STEPS, STATES, PARENTS, PG_STEPS = 100, 65_536, 49, 10


class Eager:
    """TD3 in plain PyTorch."""

    def __init__(self, obs_dim: int, action_dim: int) -> None:
        self.obs_dim, self.action_dim = obs_dim, action_dim
        self.critics = nn.ModuleList([self.network(obs_dim + action_dim, 256, 1, nn.ReLU) for _ in range(2)])
        self.actor = self.make_actor()
        self.critics_target, self.actor_target = copy.deepcopy(self.critics), copy.deepcopy(self.actor)
        self.critics_adam = torch.optim.Adam(self.critics.parameters(), lr=3e-4)
        self.actor_adam = torch.optim.Adam(self.actor.parameters(), lr=3e-4)

    @staticmethod
    def network(n_in: int, hidden: int, n_out: int, activation: type[nn.Module]) -> nn.Sequential:
        return nn.Sequential(
            nn.Linear(n_in, hidden), activation(), nn.Linear(hidden, hidden), activation(), nn.Linear(hidden, n_out)
        )

    def make_actor(self) -> nn.Sequential:
        return self.network(self.obs_dim, 128, self.action_dim, nn.Tanh).append(nn.Tanh())

    def policy_loss(self, actor: nn.Module, obs: torch.Tensor) -> torch.Tensor:
        return -self.critics[0](torch.cat([obs, actor(obs)], 1)).mean()

    def train(self, rows: torch.Tensor, noise: torch.Tensor) -> None:
        sizes = (self.obs_dim, self.action_dim, self.obs_dim, 1, 1)
        for t, (batch, z) in enumerate(zip(rows, noise, strict=True), start=1):
            obs, action, next_obs, reward, terminal = batch.split(sizes, 1)
            with torch.no_grad():
                next_action = (self.actor_target(next_obs) + (0.2 * z).clamp(-0.5, 0.5)).clamp(-1, 1)
                x = torch.cat([next_obs, next_action], 1)
                y = reward + 0.99 * (1 - terminal) * torch.min(self.critics_target[0](x), self.critics_target[1](x))
            x = torch.cat([obs, action], 1)
            loss = nn.functional.mse_loss(self.critics[0](x), y) + nn.functional.mse_loss(self.critics[1](x), y)
            self.critics_adam.zero_grad()
            loss.backward()
            self.critics_adam.step()
            if t % 2 == 0:
                self.actor_adam.zero_grad()
                self.policy_loss(self.actor, obs).backward()
                self.actor_adam.step()
                with torch.no_grad():
                    for leader, target in ((self.critics, self.critics_target), (self.actor, self.actor_target)):
                        for p, q in zip(leader.parameters(), target.parameters(), strict=True):
                            q.mul_(0.995).add_(0.005 * p)

    def gradient(self, obs: torch.Tensor) -> None:
        self.actor.zero_grad()
        self.policy_loss(self.actor, obs).backward()

    def vary(self, actors: list[nn.Sequential], obs: torch.Tensor) -> None:
        for actor, minibatches in zip(actors, obs, strict=True):
            adam = torch.optim.Adam(actor.parameters(), lr=1e-3)
            for minibatch in minibatches:
                adam.zero_grad()
                self.policy_loss(actor, minibatch).backward()
                adam.step()


def seconds(function: Callable[[], object]) -> float:
    began = time.perf_counter()
    jax.block_until_ready(function())
    return time.perf_counter() - began


def main(rounds: int, task_name: str) -> None:
    task = gaits.make_task(task_name)
    rng = np.random.default_rng(0)
    td3 = TD3(task.policy, TD3Settings(buffer_size=1), seed=0)
    eager = Eager(task.obs_dim, task.action_dim)
    rows = rng.standard_normal((STEPS, 256, td3.buffer.rows.shape[1]), np.float32)
    noise = rng.standard_normal((STEPS, 256, task.action_dim), np.float32)
    states = rng.standard_normal((STATES, task.obs_dim), np.float32)
    pg_states = rng.standard_normal((PARENTS, PG_STEPS, 256, task.obs_dim), np.float32)
    parents = np.stack([task.policy.init(rng) for _ in range(PARENTS)])
    actors = [eager.make_actor() for _ in range(PARENTS)]
    t_rows, t_noise, t_states, t_pg = map(torch.from_numpy, (rows, noise, states, pg_states))
    sides: dict[str, tuple[Callable[[], object], Callable[[], object], str]] = {
        f"{STEPS} critic steps": (
            lambda: td3.maths.train(td3.nets, rows, noise),
            lambda: eager.train(t_rows, t_noise),
            "1.8x",
        ),
        "65,536-state gradient": (
            lambda: td3.maths.gradient(parents[0], td3.nets.critics[0], states),
            lambda: eager.gradient(t_states),
            "2x",
        ),
        "49-parent variation": (
            lambda: td3.maths.vary(parents, td3.nets.critics[0], pg_states, 1e-3),
            lambda: eager.vary(actors, t_pg),
            "1x",
        ),
    }
    print(f"{task_name}, {rounds} rounds, PyTorch {torch.__version__} with {torch.get_num_threads()} threads\n")
    print(f"{'':<24}{'gaits s':>10}{'PyTorch s':>12}{'ratio':>8}{'target':>9}")
    for name, (ours, theirs, target) in sides.items():
        for warm_up in (ours, theirs):
            seconds(warm_up)
        pairs = [(seconds(ours), seconds(theirs)) for _ in range(rounds)]
        a, b = (statistics.median(times) for times in zip(*pairs, strict=True))
        ratio = statistics.median(theirs / ours for ours, theirs in pairs)
        print(f"{name:<24}{a:>10.3f}{b:>12.3f}{ratio:>7.1f}x{target:>9}", flush=True)
    print("\nMedians; the ratio is the median of each round's ratio.")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 11, sys.argv[2] if len(sys.argv) > 2 else "qd_half_cheetah")
