"""Gymnasium's MuJoCo robots (v5), with the contact time of their feet as measures.

Grids are those of QDGym's robots of the same names. Minimum objectives are the lowest return that
``benchmarks/mujoco_range.py`` met in 6,000 episodes of random policies, rounded down to whole tens. Maximum objectives
are Gymnasium's reward thresholds; Walker has none and takes Hopper's: one for each of 1000 steps alive, and 2.8 m/s.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from gaits.tasks.problem import Factors, Parts, Problem, multiply
from gaits.tasks.task import Task

if TYPE_CHECKING:
    from gaits.drawing.puppet import Puppet
    from gaits.episodes.player import Player


@dataclass(frozen=True)
class MujocoRobot(Problem):
    """One of Gymnasium's MuJoCo robots: everything about it that is not in its model file.

    A robot is healthy while its height, its pitch and its other state are within their ranges, ends excluded. Not to be
    healthy ends an episode.
    """

    env: str
    """Gymnasium's name of the environment."""
    model: str
    """File in Gymnasium's assets."""
    joints: tuple[str, ...]
    """Those that motors move, in the order of the actions."""
    feet: tuple[str, ...]
    """Geoms whose contact with the floor is measured, in the order of the measures."""
    frame_skip: int
    control_cost: float
    reset_noise: float
    """Spread of the positions and velocities that an episode starts with."""
    normal_velocities: bool = False
    """Whether starting velocities are drawn from a normal instead of a uniform distribution."""
    hidden_positions: int = 1
    """Leading positions (x, or x and y) that are not observed. The next one is the height."""
    velocity_clip: float = math.inf
    healthy_reward: float = 0.0
    healthy_height: tuple[float, float] = (-math.inf, math.inf)
    healthy_pitch: tuple[float, float] = (-math.inf, math.inf)
    healthy_state: tuple[float, float] = (-math.inf, math.inf)
    """Range of every position and velocity from the pitch on."""
    contact_forces: bool = False
    """Whether contact forces, clipped to ±1, are observed and cost something, and x is the first body's."""
    contact_cost: float = 0.0
    strength: Factors = ()
    """Joints whose motors are weaker than the model's, each with what is left."""
    friction: Factors = ()
    """Feet that grip the floor differently, each with a factor."""

    remedy: ClassVar = "MuJoCo. Install it with: pip install 'gaits[mujoco]'"

    def make_player(self, task: Task) -> Player:
        from gaits.physics.mujoco import MujocoPlayer

        return MujocoPlayer(task, self)

    @property
    def modules(self) -> tuple[str, ...]:
        return ("mujoco",)

    def env_id(self, task: Task) -> str:
        return self.env

    def unwatchable(self, task: Task) -> str:
        return ""

    def make_puppet(self, task: Task) -> Puppet:
        from gaits.physics.mujoco_figure import make_puppet

        return make_puppet(task, self)

    def find_parts(self, task: Task) -> Parts:
        return Parts(self.joints, self.feet)

    def damaged(self, strength: Mapping[str, float], friction: Mapping[str, float]) -> MujocoRobot:
        return dataclasses.replace(
            self,
            strength=multiply(self.joints, self.strength, strength),
            friction=multiply(self.feet, self.friction, friction),
        )


_LEG = ("thigh_joint", "leg_joint", "foot_joint")


MUJOCO = (
    Task(
        name="mj_ant",
        title="MuJoCo Ant",
        problem=MujocoRobot(
            env="Ant-v5",
            model="ant.xml",
            joints=("hip_4", "ankle_4", "hip_1", "ankle_1", "hip_2", "ankle_2", "hip_3", "ankle_3"),
            feet=("left_ankle_geom", "right_ankle_geom", "third_ankle_geom", "fourth_ankle_geom"),
            frame_skip=5,
            control_cost=0.5,
            reset_noise=0.1,
            normal_velocities=True,
            hidden_positions=2,
            healthy_reward=1.0,
            healthy_height=(math.nextafter(0.2, 0.0), math.nextafter(1.0, 2.0)),  # Ant's ends are healthy
            contact_forces=True,
            contact_cost=5e-4,
        ),
        obs_dim=105,
        action_dim=8,
        measure_names=(
            "front left foot contact",
            "front right foot contact",
            "back left foot contact",
            "back right foot contact",
        ),
        grid=(6, 6, 6, 6),
        objective_range=(-2500.0, 6000.0),
    ),
    Task(
        name="mj_half_cheetah",
        title="MuJoCo Half-Cheetah",
        problem=MujocoRobot(
            env="HalfCheetah-v5",
            model="half_cheetah.xml",
            joints=("bthigh", "bshin", "bfoot", "fthigh", "fshin", "ffoot"),
            feet=("ffoot", "bfoot"),
            frame_skip=5,
            control_cost=0.1,
            reset_noise=0.1,
            normal_velocities=True,
        ),
        obs_dim=17,
        action_dim=6,
        measure_names=("front foot contact", "back foot contact"),
        grid=(32, 32),
        objective_range=(-2300.0, 4800.0),
    ),
    Task(
        name="mj_hopper",
        title="MuJoCo Hopper",
        problem=MujocoRobot(
            env="Hopper-v5",
            model="hopper.xml",
            joints=_LEG,
            feet=("foot_geom",),
            frame_skip=4,
            control_cost=1e-3,
            reset_noise=5e-3,
            velocity_clip=10.0,
            healthy_reward=1.0,
            healthy_height=(0.7, math.inf),
            healthy_pitch=(-0.2, 0.2),
            healthy_state=(-100.0, 100.0),
        ),
        obs_dim=11,
        action_dim=3,
        measure_names=("foot contact",),
        grid=(1024,),
        objective_range=(-10.0, 3800.0),
    ),
    Task(
        name="mj_walker",
        title="MuJoCo Walker",
        problem=MujocoRobot(
            env="Walker2d-v5",
            model="walker2d_v5.xml",
            joints=(*_LEG, "thigh_left_joint", "leg_left_joint", "foot_left_joint"),
            feet=("foot_geom", "foot_left_geom"),
            frame_skip=4,
            control_cost=1e-3,
            reset_noise=5e-3,
            velocity_clip=10.0,
            healthy_reward=1.0,
            healthy_height=(0.8, 2.0),
            healthy_pitch=(-1.0, 1.0),
        ),
        obs_dim=17,
        action_dim=6,
        measure_names=("right foot contact", "left foot contact"),
        grid=(32, 32),
        objective_range=(-60.0, 3800.0),
    ),
)
