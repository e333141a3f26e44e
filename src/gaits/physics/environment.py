"""Playing episodes of any Gymnasium environment."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces

from gaits.episodes import NON_FINITE, TERMINATED, TRUNCATED, Episode, Job, Player, Setup, Steps, play_each
from gaits.physics.pictures import Camera
from gaits.physics.policy import Actor
from gaits.tasks.environment import Actions, Environment, Trajectory, flat_size
from gaits.tasks.task import Task


class EnvironmentPlayer(Player):
    """One environment, played through its interface. The policy's arithmetic is that of the compiled kernel."""

    def __init__(self, task: Task, made: Environment) -> None:
        self.task, self.made = task, made
        self.actor = Actor(task.policy.sizes)
        self.keep_infos = callable(self.made.measures)
        self.drawn: gymnasium.Env[Any, Any] | None = None  # made when an episode is to be drawn
        self._open()

    def _open(self) -> None:
        self.env = self.made.open()
        self.actions = Actions(self.env.action_space)
        space = self.env.observation_space
        self.box = isinstance(space, spaces.Box)
        if (flat_size(space), self.actions.size) != (self.task.obs_dim, self.task.action_dim):
            raise ValueError(
                f"{self.task.name} has {self.task.obs_dim} observations and {self.task.action_dim} actions, and the "
                f"environment that was made for it has {flat_size(space)} and {self.actions.size}."
            )

    def play(self, job: Job) -> None:
        play_each(job, lambda i: self.rollout(job.setup(i)))

    def rollout(self, setup: Setup) -> Episode:
        if setup.trace and self.drawn is None:
            self.drawn = self.made.open(draw=True)
        env = self.drawn if setup.trace and self.drawn is not None else self.env
        camera = Camera(env, self.task.max_steps) if setup.trace else None
        self.actor.take(setup.solution)
        obs = self._flat(env.reset(seed=setup.seed)[0])
        if camera is not None:
            camera.look(0)
        seen: list[np.ndarray] = [obs]
        done: list[np.ndarray] = []
        rewards: list[float] = []
        infos: list[dict[str, Any]] = []
        end = TRUNCATED if np.isfinite(obs).all() else NON_FINITE
        while len(done) < self.task.max_steps and end == TRUNCATED:
            action = self.actor.act(obs, setup.obs_mean, setup.obs_std)
            if len(done) < len(setup.action_noise):
                action += setup.action_noise[len(done)]
            if not np.isfinite(action).all():
                end = NON_FINITE
                break
            raw, given, terminated, truncated, info = env.step(self.actions.convert(action))
            obs, reward = self._flat(raw), float(given)
            if not (np.isfinite(reward) and np.isfinite(obs).all()):
                end = NON_FINITE
                break
            if not self.keep_infos:
                infos.clear()
            infos.append({key: np.copy(value) if isinstance(value, np.ndarray) else value for key, value in info.items()})
            seen.append(obs)
            done.append(action)
            rewards.append(reward)
            if camera is not None:
                camera.look(len(done))
            if terminated:
                end = TERMINATED
            if truncated:
                break
        episode = self._finish(seen, done, rewards, infos, end, setup.record)
        return episode if camera is None else episode._replace(trace=camera.develop())

    def _finish(
        self,
        obs: list[np.ndarray],
        actions: list[np.ndarray],
        rewards: list[float],
        infos: list[Any],
        end: int,
        record: bool,
    ) -> Episode:
        trajectory = Trajectory(
            np.array(obs),
            np.array(actions, np.float32).reshape(-1, self.task.action_dim),
            np.array(rewards, float),
            infos,
            end == TERMINATED,
        )
        k = len(self.task.grid)
        measures = self.made.measure(trajectory, k) if rewards and end != NON_FINITE else np.zeros(k)
        if not np.isfinite(measures).all():
            measures, end = np.zeros(k), NON_FINITE
        if end == NON_FINITE:  # numbers that are not finite may survive in the environment
            self.close()
            self._open()
        steps = Steps(trajectory.obs, trajectory.action, trajectory.reward) if record else None
        return Episode(float(sum(rewards)), measures, len(rewards), end, steps)

    def _flat(self, obs: Any) -> np.ndarray:
        if not self.box:
            obs = spaces.flatten(self.env.observation_space, obs)
        with np.errstate(over="ignore"):  # what float32 cannot hold is not finite
            flat = np.array(obs, np.float32).reshape(-1)  # a copy: the environment may reuse its array
        if flat.size != self.task.obs_dim:
            raise ValueError(
                f"{self.task.name} gave an observation of {flat.size} numbers; its space has {self.task.obs_dim}."
            )
        return flat

    def close(self) -> None:
        self.env.close()
        if self.drawn is not None:
            self.drawn.close()
            self.drawn = None
