"""QDGym's five tasks. Four of them are the paper's; Humanoid comes with QDGym only.

Objective ranges of the four: the lowest objective ever inserted in the paper's experiments, and QDGym's reward
threshold. Humanoid has neither. Its minimum is the lowest return that ``benchmarks/humanoid_range.py`` met (-2963.8 in
12,000 episodes), rounded down; its maximum is two for each of 1000 steps alive plus 1000 for moving forward at about
a metre a second.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from gaits.tasks.problem import Parts, Problem, multiply
from gaits.tasks.task import Task

if TYPE_CHECKING:
    from gaits.drawing.puppet import Puppet
    from gaits.episodes.player import Player


@dataclass(frozen=True)
class Robot(Problem):
    """One of QDGym's robots: everything about it that is not in its model, which is named.

    ``joints``, ``torques`` (N·m at full action) and the action share one order; ``feet`` is the order of the contact
    flags in the observation, and ``measured_feet`` are the positions in it whose contact time is a measure.
    """

    side_by_side: ClassVar = 4
    remedy: ClassVar = "Bullet, for GAITS_PHYSICS asks for it. Unset that, or: pip install 'gaits[bullet]'"

    model: str
    joints: tuple[str, ...]
    torques: tuple[float, ...]
    feet: tuple[str, ...]
    measured_feet: tuple[int, ...]
    alive_bonus: float = 1.0
    min_height: float = -math.inf
    max_pitch: float = math.inf
    no_touch: tuple[int, ...] = ()
    """Positions in ``feet`` whose contact ends the bonus for being alive."""
    terminates: bool = True
    stands: bool = False
    """Whether it stands without having learned to."""
    initial_height: float | None = None
    """Height that the observed height is relative to; None takes the torso's height at the start."""
    effort_scale: float = 1.0
    """Factor on both costs of using the motors."""
    friction: tuple[tuple[str, float], ...] = ()
    """Feet whose lateral friction differs from the model's, each with a factor on it."""

    @property
    def suited(self) -> Mapping[str, Any]:
        """Critics that are paid for standing hardly look for more, if a robot stands anyway."""
        return {"reward_offset": -self.alive_bonus} if self.stands else {}

    @property
    def modules(self) -> tuple[str, ...]:
        from gaits.physics import ENGINE, choose_physics

        return () if choose_physics() == ENGINE else ("pybullet",)

    def make_player(self, task: Task) -> Player:
        from gaits.physics import make_player

        return make_player(task)

    def env_id(self, task: Task) -> str:
        return "gaits/" + task.title.replace(" ", "").replace("-", "") + "-v0"

    def describe_policy(self) -> dict[str, Any]:
        from gaits.physics.world import name_observations

        return {"observations": name_observations(self), "actions": list(self.joints), "torques": list(self.torques)}

    def unwatchable(self, task: Task) -> str:
        return ""

    def make_puppet(self, task: Task) -> Puppet:
        from gaits.physics.figure import make_puppet

        return make_puppet(task)

    def find_parts(self, task: Task) -> Parts:
        return Parts(self.joints, self.feet)

    def damaged(self, strength: Mapping[str, float], friction: Mapping[str, float]) -> Robot:
        torques = tuple(torque * strength.get(name, 1.0) for name, torque in zip(self.joints, self.torques, strict=True))
        return dataclasses.replace(self, torques=torques, friction=multiply(self.feet, self.friction, friction))

    def find_robot(self, task: Task) -> Robot:
        return self

    def step_measures(self, task: Task, next_obs: np.ndarray, last: np.ndarray, measures: np.ndarray) -> np.ndarray:
        """Contact flags. An observation has those of the step before, so what the last step's was is what is missing."""
        shown = next_obs[:, task.obs_dim - len(self.feet) :][:, list(self.measured_feet)]
        n = np.arange(len(last))
        flags = np.where((n < last)[:, None], shown[np.minimum(n + 1, last)], 0.0)
        ends, length = np.unique(last, return_counts=True)
        total = np.cumsum(flags, axis=0)[ends]
        flags[ends] = np.round(measures[ends] * length[:, None]) - np.diff(total, axis=0, prepend=0)
        return flags


_LEG = ("thigh_joint", "leg_joint", "foot_joint")

_HUMANOID_JOINTS = (
    *("abdomen_z", "abdomen_y", "abdomen_x"),
    *("right_hip_x", "right_hip_z", "right_hip_y", "right_knee"),
    *("left_hip_x", "left_hip_z", "left_hip_y", "left_knee"),
    *("right_shoulder1", "right_shoulder2", "right_elbow"),
    *("left_shoulder1", "left_shoulder2", "left_elbow"),
)
_HUMANOID_POWER = (100, 100, 100) + 2 * (100, 100, 300, 200) + 6 * (75,)

QDGYM = (
    Task(
        name="qd_ant",
        title="QD Ant",
        problem=Robot(
            model="ant",
            joints=("hip_1", "ankle_1", "hip_2", "ankle_2", "hip_3", "ankle_3", "hip_4", "ankle_4"),
            torques=8 * (2.5 * 100.0,),
            feet=("front_left_foot", "front_right_foot", "left_back_foot", "right_back_foot"),
            measured_feet=(0, 1, 2, 3),
            min_height=0.26,
            stands=True,
        ),
        obs_dim=28,
        action_dim=8,
        measure_names=(
            "front left foot contact",
            "front right foot contact",
            "back left foot contact",
            "back right foot contact",
        ),
        grid=(6, 6, 6, 6),
        objective_range=(-374.702526595403, 2500.0),
    ),
    Task(
        name="qd_half_cheetah",
        title="QD Half-Cheetah",
        problem=Robot(
            model="half_cheetah",
            joints=("bthigh", "bshin", "bfoot", "fthigh", "fshin", "ffoot"),
            torques=tuple(0.90 * power for power in (120.0, 90.0, 60.0, 140.0, 60.0, 30.0)),
            feet=("ffoot", "fshin", "fthigh", "bfoot", "bshin", "bthigh"),
            measured_feet=(0, 3),
            max_pitch=1.0,
            no_touch=(1, 2, 4, 5),
            terminates=False,
        ),
        obs_dim=26,
        action_dim=6,
        measure_names=("front foot contact", "back foot contact"),
        grid=(32, 32),
        objective_range=(-2797.5195251991777, 3000.0),
    ),
    Task(
        name="qd_hopper",
        title="QD Hopper",
        problem=Robot(
            model="hopper",
            joints=_LEG,
            torques=3 * (0.75 * 100.0,),
            feet=("foot",),
            measured_feet=(0,),
            min_height=0.8,
            max_pitch=1.0,
        ),
        obs_dim=15,
        action_dim=3,
        measure_names=("foot contact",),
        grid=(1024,),
        objective_range=(-362.0897231940748, 2500.0),
    ),
    Task(
        name="qd_walker",
        title="QD Walker",
        problem=Robot(
            model="walker",
            joints=(*_LEG, "thigh_left_joint", "leg_left_joint", "foot_left_joint"),
            torques=2 * (0.40 * 100.0, 0.40 * 100.0, 0.40 * 30.0),
            feet=("foot", "foot_left"),
            measured_feet=(0, 1),
            min_height=0.8,
            max_pitch=1.0,
        ),
        obs_dim=22,
        action_dim=6,
        measure_names=("right foot contact", "left foot contact"),
        grid=(32, 32),
        objective_range=(-67.16652198025106, 2500.0),
    ),
    Task(
        name="qd_humanoid",
        title="QD Humanoid",
        problem=Robot(
            model="humanoid",
            joints=_HUMANOID_JOINTS,
            torques=tuple(power * 0.41 for power in _HUMANOID_POWER),
            feet=("right_foot", "left_foot"),
            measured_feet=(0, 1),
            alive_bonus=2.0,
            min_height=0.78,
            initial_height=0.8,
            effort_scale=4.25,
        ),
        obs_dim=44,
        action_dim=17,
        measure_names=("right foot contact", "left foot contact"),
        grid=(32, 32),
        objective_range=(-3000.0, 3000.0),
    ),
)
