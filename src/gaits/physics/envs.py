"""QDGym's environments behind Gymnasium's interface."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces

from gaits.drawing import Painter
from gaits.episodes import TRUNCATED, check_seed
from gaits.physics import make_simulator
from gaits.physics.figure import find_ends, make_figure
from gaits.physics.walking import SECONDS_PER_STEP
from gaits.physics.world import Simulator
from gaits.tasks import make_task

REWARD_TERMS = ("alive", "progress", "electricity", "joints_at_limit")


class QDEnv(gymnasium.Env[np.ndarray, np.ndarray]):
    """One of gaits' robots. ``reset(seed=s)`` starts exactly the episode that an evaluation with seed s plays.

    ``info`` has ``measures`` (share of the steps so far with each measured foot on the ground), ``feet_contact`` (flags
    of the step just made) and ``reward_terms``. ``render()`` draws the robot with the time and the return so far.
    """

    metadata = {  # noqa: RUF012
        "render_modes": ["rgb_array"],
        "render_fps": 60,
    }

    def __init__(self, task: str, render_mode: str | None = None, width: int = 480, height: int = 360) -> None:
        if render_mode not in (None, *self.metadata["render_modes"]):
            raise ValueError(f"render_mode must be None or 'rgb_array'; got {render_mode!r}.")
        self.task = make_task(task)
        self.render_mode = render_mode
        self.observation_space = spaces.Box(-5.0, 5.0, (self.task.obs_dim,), np.float32)
        self.action_space = spaces.Box(-1.0, 1.0, (self.task.action_dim,), np.float32)
        self._size = width, height
        self._simulator: Simulator | None = make_simulator(self.task)
        self._painter: Painter | None = None
        self._touched = np.zeros(len(self.task.robot.feet))
        self._steps: int | None = None
        self._return = 0.0

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[np.ndarray, dict[str, Any]]:
        super().reset(seed=None if seed is None else check_seed(seed))
        simulator = self._open()
        simulator.reset(self.np_random.uniform(-0.1, 0.1, self.task.action_dim))
        self._touched[:] = 0
        self._steps, self._return = 0, 0.0
        if self.render_mode is not None:
            self._painter = Painter(make_figure(self.task), self._ends(simulator), *self._size)
        return simulator.state.obs.copy(), self._info(simulator)

    def step(self, action: np.ndarray) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        action = np.ascontiguousarray(action, np.float32)
        if action.shape != self.action_space.shape or not np.isfinite(action).all():
            raise ValueError(f"An action for {self.task.name} is {self.task.action_dim} finite numbers; got {action}.")
        simulator = self._open()
        if self._steps is None:
            raise gymnasium.error.ResetNeeded("Call reset() before the first step().")
        reward, end = simulator.step(action)
        self._steps += 1
        self._return += float(reward)
        self._touched += simulator.state.contact
        truncated = end == TRUNCATED and self._steps >= self.task.max_steps
        return simulator.state.obs.copy(), float(reward), end != TRUNCATED, truncated, self._info(simulator)

    def _open(self) -> Simulator:
        if self._simulator is None:
            raise RuntimeError("This environment is closed; make a new one.")
        return self._simulator

    def _info(self, simulator: Simulator) -> dict[str, Any]:
        state = simulator.state
        return {
            "measures": self._touched[list(self.task.robot.measured_feet)] / max(self._steps or 0, 1),
            "feet_contact": state.contact.copy(),
            "reward_terms": dict(zip(REWARD_TERMS, state.terms.tolist(), strict=True)),
        }

    def render(self) -> np.ndarray | None:
        if self.render_mode is None:
            gymnasium.logger.warn(f"render() needs a mode: gymnasium.make({self.task.env_id!r}, render_mode='rgb_array').")
            return None
        simulator = self._open()
        if self._painter is None or self._steps is None:
            raise gymnasium.error.ResetNeeded("Call reset() before the first render().")
        seconds = self._steps * SECONDS_PER_STEP
        return self._painter.draw(self._ends(simulator), simulator.state.contact, seconds=seconds, total=self._return)

    def _ends(self, simulator: Simulator) -> np.ndarray:
        """Where the robot's capsules are now."""
        base, joints = simulator.pose()
        return find_ends(self.task.robot, base[None], joints[None])[0]

    def close(self) -> None:
        if self._simulator is not None:
            self._simulator.close()
            self._simulator = None
