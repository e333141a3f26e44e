"""What a thread needs to play a task: the robot, memory for four episodes side by side, and a desk for their paperwork."""

from __future__ import annotations

from typing import Any

import numpy as np

from gaits.episodes import Job
from gaits.lanes import FOUR
from gaits.physics.engine.episodes import Desk, Orders, Shelf, play
from gaits.physics.engine.model import make_memory, make_model
from gaits.physics.policy import make_network, room
from gaits.physics.robots import load_robot
from gaits.physics.walking import make_states
from gaits.physics.world import find_layout, make_body
from gaits.tasks.task import Task

SHELF_EPISODES = 8
"""Longest episodes that a shelf has room for, besides one in every lane."""


class Workplace:
    """Not to be shared between threads."""

    def __init__(self, task: Task, side_by_side: tuple[int, ...] = FOUR) -> None:
        data = load_robot(task.robot.model)
        self.task, self.side_by_side = task, side_by_side
        self.model = make_model(data, dict(find_layout(task.robot).changed_friction))
        self.memory = make_memory(self.model, len(side_by_side))
        self.body = make_body(task.robot)
        self.states = make_states(self.body, len(side_by_side))
        self.start = np.array([*data.base.position, *data.base.rotation])
        self.network = make_network(task.policy.sizes)
        self.n_positions = 7 + len(data.moving)

    def make_desk(self, noisy: bool = False, recording: bool = False, tracing: bool = False) -> Desk:
        """With room for what is wanted of episodes."""
        n, joints, feet, steps = len(self.side_by_side), self.body.n_joints, self.body.n_feet, self.task.max_steps
        weights, _ = room(self.network.sizes)
        return Desk(
            side_by_side=self.side_by_side,
            n_weights=weights,
            n_positions=self.n_positions,
            stage=np.zeros(n, np.int64),
            episode=np.zeros(n, np.int64),
            length=np.zeros(n, np.int64),
            objective=np.zeros(n),
            touched=np.zeros((n, feet)),
            action=np.zeros((n, joints), np.float32),
            angles=np.zeros(joints),
            weights=np.zeros((n, weights), np.float32),
            noise=np.zeros((n, steps if noisy else 0, joints), np.float32),
            **self._make_rows((n, steps + 1), recording, tracing),
        )

    def make_shelf(self, recording: bool, tracing: bool) -> Shelf:
        """Room for several episodes; none if nothing of them is wanted."""
        rows = (SHELF_EPISODES + len(self.side_by_side)) * (self.task.max_steps + 1) if recording or tracing else 0
        return Shelf(
            rows=rows,
            used=np.zeros(2, np.int64),
            episode=np.zeros(rows, np.int64),
            first=np.zeros(rows, np.int64),
            **self._make_rows((rows,), recording, tracing),
        )

    def _make_rows(self, shape: tuple[int, ...], recording: bool, tracing: bool) -> dict[str, np.ndarray]:
        *others, rows = shape
        recorded, drawn = (*others, rows if recording else 0), (*others, rows if tracing else 0)
        return {
            "obs": np.zeros((*recorded, self.task.obs_dim), np.float32),
            "actions": np.zeros((*recorded, self.body.n_joints), np.float32),
            "rewards": np.zeros(recorded),
            "positions": np.zeros((*drawn, self.n_positions)),
            "contacts": np.zeros((*drawn, self.body.n_feet), np.float32),
        }

    def play(self, orders: Orders, desk: Desk, shelf: Shelf) -> tuple[int, int]:
        """See ``episodes.play``."""
        world: Any = self.model, self.memory, self.body, self.states, self.start, self.network
        return play(*world, orders, desk, shelf)


def write_orders(job: Job) -> Orders:
    """A job as compiled code sees it: its own arrays."""
    return Orders(
        n=job.n_episodes,
        each=job.episodes_each,
        max_steps=job.max_steps,
        by_hand=False,
        noisy=job.action_noise > 0.0,
        recording=bool(job.record.any()),
        tracing=job.trace,
        n_mean=len(job.obs_mean),
        n_solution=job.solutions.shape[1],
        solutions=job.solutions,
        seeds=job.seeds,
        record=job.record.view(np.uint8),
        mean=job.obs_mean,
        std=job.obs_std,
        next=job.next,
        objective=job.objective,
        measures=job.measures,
        length=job.length,
        end=job.end,
    )
