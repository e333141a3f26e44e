"""The world that Bullet simulates: its constants, its files, and where Bullet keeps what."""

from __future__ import annotations

import os

import numpy as np

from gaits.physics.bullet import capi
from gaits.physics.bullet.kernel import Ids
from gaits.physics.robots import MODELS
from gaits.physics.world import Layout

GRAVITY = -9.8
CONTACT_ERP = 0.9
SUBSTEPS = 4
SOLVER_ITERATIONS = 5
FLOOR_FRICTION, FLOOR_RESTITUTION = 0.8, 0.5
MOTOR_GAIN = 0.1
MODEL_FLAGS = 8 | 32  # links collide with each other, but not with their ancestors


def find_ids(layout: Layout, body: int, floor: int) -> Ids:
    actuated = np.array(layout.actuated)
    q, u = np.array(layout.q_index), np.array(layout.u_index)
    return Ids(body, floor, q, q[actuated], u[actuated], np.zeros(13, np.intp))


def model_path(name: str) -> str:
    """The model file that Bullet loads for a robot."""
    return os.path.join(data_folder(), "mjcf", MODELS[name])


def floor_path() -> str:
    return os.path.join(data_folder(), "plane_stadium.sdf")


def data_folder() -> str:
    """Where the pybullet package keeps its models."""
    capi.pybullet()  # says what to do where it is missing
    import pybullet_data

    return pybullet_data.getDataPath()
