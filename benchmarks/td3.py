"""Critics, variation and policy gradient against their floor, and against JAX and eager PyTorch: side by side, in turns.

Usage: python benchmarks/td3.py [ROUNDS] [TASK]     PyTorch is left out where it is not installed: pip install 'gaits[bench]'

Sizes are the paper's: minibatches of 256 for two critics of 256-256, the policy gradient over 65,536 states, the variation
of 49 parents by 10 steps of Adam on 256 states. The floor is what the matrix products alone take in NumPy's BLAS, with all
its threads: one product after another, written to where they are wanted. PyTorch is as the paper's released code uses it.
"""

from __future__ import annotations

import copy
import importlib.util
import statistics
import sys
import time
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np

import gaits
from gaits.gradients import TD3, TD3Settings
from gaits.gradients.actor_critic import ActorCritic
from gaits.gradients.networks import NO_GOAL
from gaits.policies import MLP

STEPS, BATCH, STATES, PARENTS, PG_STEPS = 100, 256, 65_536, 49, 10


class Floor:
    """The matrix products of TD3, and nothing else."""

    def __init__(self, policy: MLP, critic: MLP) -> None:
        both = products_of(policy, BATCH), products_of(critic, BATCH)
        (a_forward, a_weights, a_inputs), (c_forward, c_weights, c_inputs) = both
        self.climb = [*a_forward, *c_forward, *c_inputs, *a_weights, *a_inputs[1:]]
        step = [*a_forward, *c_forward * 4, *c_weights * 2, *c_inputs[1:] * 2]
        self.two_steps = [*step * 2, *self.climb]

    def train(self) -> None:
        multiply(self.two_steps, STEPS // 2)

    def gradient(self) -> None:
        multiply(self.climb, STATES // BATCH)

    def vary(self) -> None:
        multiply(self.climb, PARENTS * PG_STEPS)


def products_of(shape: MLP, n: int) -> tuple[list[Any], list[Any], list[Any]]:
    """Products of a network for n states: forward, to its weights' derivatives, to its inputs' derivatives."""
    forward, to_weights, to_inputs = [], [], []
    for n_in, n_out in pairwise(shape.sizes):
        x, w, z = (np.full(size, 0.01, np.float32) for size in ((n, n_in), (n_out, n_in), (n, n_out)))
        forward.append((x, w.T, np.empty_like(z)))
        to_weights.append((z.T, x, np.empty_like(w)))
        to_inputs.append((z, w, np.empty_like(x)))
    return forward, to_weights, to_inputs


def multiply(products: list[Any], times: int) -> None:
    for _ in range(times):
        for a, b, out in products:
            np.dot(a, b, out=out)


def make_eager(policy: MLP, arrays: tuple[np.ndarray, ...]) -> Any:
    """TD3 in plain PyTorch."""
    import torch
    from torch import nn

    obs_dim, action_dim = policy.obs_dim, policy.action_dim

    def network(n_in: int, hidden: int, n_out: int, activation: type[nn.Module]) -> nn.Sequential:
        return nn.Sequential(
            nn.Linear(n_in, hidden), activation(), nn.Linear(hidden, hidden), activation(), nn.Linear(hidden, n_out)
        )

    def make_actor() -> nn.Sequential:
        return network(obs_dim, 128, action_dim, nn.Tanh).append(nn.Tanh())

    class Eager:
        def __init__(self) -> None:
            self.critics = nn.ModuleList([network(obs_dim + action_dim, 256, 1, nn.ReLU) for _ in range(2)])
            self.actor = make_actor()
            self.critics_target, self.actor_target = copy.deepcopy(self.critics), copy.deepcopy(self.actor)
            self.critics_adam = torch.optim.Adam(self.critics.parameters(), lr=3e-4)
            self.actor_adam = torch.optim.Adam(self.actor.parameters(), lr=3e-4)
            self.rows, self.noise, self.states, self.pg_states = map(torch.from_numpy, arrays)
            self.parents = [make_actor() for _ in range(PARENTS)]

        def policy_loss(self, actor: nn.Module, obs: Any) -> Any:
            return -self.critics[0](torch.cat([obs, actor(obs)], 1)).mean()

        def train(self) -> None:
            sizes = (obs_dim, action_dim, obs_dim, 1, 1)
            for t, (batch, z) in enumerate(zip(self.rows, self.noise, strict=True), start=1):
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

        def gradient(self) -> None:
            self.actor.zero_grad()
            self.policy_loss(self.actor, self.states).backward()

        def vary(self) -> None:
            for actor, minibatches in zip(self.parents, self.pg_states, strict=True):
                adam = torch.optim.Adam(actor.parameters(), lr=1e-3)
                for minibatch in minibatches:
                    adam.zero_grad()
                    self.policy_loss(actor, minibatch).backward()
                    adam.step()

    return Eager()


def seconds(function: Callable[[], object]) -> float:
    began = time.perf_counter()
    function()
    return time.perf_counter() - began


def main(rounds: int, task_name: str) -> None:
    task = gaits.make_task(task_name)
    rng = np.random.default_rng(0)
    td3 = TD3(task.policy, TD3Settings(buffer_size=100_000, device="cpu"), seed=0)
    td3.buffer.rows[:] = rng.standard_normal(td3.buffer.rows.shape, np.float32)
    td3.buffer.size = len(td3.buffer.rows)
    parents = np.stack([task.policy.init(rng) for _ in range(PARENTS)])
    batches = [td3.buffer.draw(rng, *shape) for shape in ((STEPS, BATCH), (STATES,), (PARENTS, PG_STEPS, BATCH))]
    noise = rng.standard_normal((STEPS, BATCH, task.action_dim), np.float32)
    rows, theta = td3.buffer.rows, td3.nets.critics[0]

    def calls(learner: Any) -> dict[str, Callable[[], object]]:
        return {
            "train": lambda: learner.train(td3.nets, 0, rows, batches[0], noise),
            "gradient": lambda: learner.gradient(parents[0], theta, NO_GOAL, rows, batches[1]),
            "vary": lambda: learner.vary(parents, theta, np.zeros((len(parents), 0), np.float32), rows, batches[2], 1e-3),
        }

    floor = Floor(task.policy, td3.critic)
    sides = {
        "gaits": calls(td3.learner),
        "floor": {name: getattr(floor, name) for name in ("train", "gradient", "vary")},
        "JAX": calls(ActorCritic(task.policy, task.policy, td3.critic, td3.settings)),
    }
    if importlib.util.find_spec("torch"):
        arrays = rows[batches[0]], noise, *(rows[which][..., : task.obs_dim].copy() for which in batches[1:])
        eager = make_eager(task.policy, arrays)
        sides["PyTorch"] = {name: getattr(eager, name) for name in ("train", "gradient", "vary")}
    print(
        f"{task_name}, {rounds} rounds; seconds, medians. In brackets: of the floor's speed, the median of each round's.\n"
    )
    print(f"{'':<24}" + "".join(f"{side:>18}" for side in sides))
    names = {
        "train": f"{STEPS} critic steps",
        "gradient": f"{STATES:,}-state gradient",
        "vary": f"{PARENTS}-parent variation",
    }
    for name, title in names.items():
        for side in sides.values():
            side[name]()
        times = [[seconds(side[name]) for side in sides.values()] for _ in range(rounds)]
        columns = list(zip(*times, strict=True))
        shares = [statistics.median(b / a for a, b in zip(one, columns[1], strict=True)) for one in columns]
        cells = [f"{statistics.median(one):.3f} ({share:.0%})" for one, share in zip(columns, shares, strict=True)]
        print(f"{title:<24}" + "".join(f"{cell:>18}" for cell in cells), flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 11, sys.argv[2] if len(sys.argv) > 2 else "qd_half_cheetah")
