"""A robot in the engine that is stepped from Python, as Gymnasium's environments are."""

from __future__ import annotations

import numpy as np

from gaits.episodes import NON_FINITE, Batch, make_job
from gaits.physics.beyond import tell
from gaits.physics.engine.desk import Workplace, write_orders
from gaits.physics.engine.episodes import PLAYING, TAKEN, UNCOVERED
from gaits.physics.walking import take_state
from gaits.tasks.task import Task


class EngineSimulator:
    """The first lane of four: what is compiled for whole episodes serves single steps too."""

    def __init__(self, task: Task) -> None:
        self.task = task
        self.workplace = Workplace(task)
        self.body, self.state = self.workplace.body, take_state(self.workplace.states, 0)
        nothing = make_job(task, Batch(np.zeros((0, task.solution_dim))), [])
        self.orders = write_orders(nothing)._replace(by_hand=True)
        self.desk, self.shelf = self.workplace.make_desk(), self.workplace.make_shelf(False, False)

    def reset(self, q0: np.ndarray) -> None:
        self.desk.stage[0] = TAKEN
        self.desk.angles[:] = q0
        self.workplace.play(self.orders, self.desk, self.shelf)

    def step(self, action: np.ndarray) -> tuple[float, int]:
        if not np.isfinite(action).all():
            return 0.0, NON_FINITE
        self.desk.stage[0] = PLAYING
        self.desk.action[0] = action
        self.workplace.play(self.orders, self.desk, self.shelf)
        reward, end = float(self.desk.objective[0]), int(self.desk.episode[0])
        if end == UNCOVERED:
            tell(f"{self.task.name} went beyond our physics, which ends its episode. GAITS_PHYSICS=bullet goes on.")
        return reward, end

    def pose(self) -> tuple[np.ndarray, np.ndarray]:
        memory, width = self.workplace.memory, len(self.workplace.side_by_side)
        base, q = memory.base.reshape(7, width)[:, 0], memory.q.reshape(-1, width)[:, 0]
        return base * (1, 1, 1, -1, -1, -1, 1), q[0 if self.workplace.model.planar else 6 :].copy()

    def close(self) -> None:
        """Nothing to free."""
