"""Pictures of a robot, without a screen."""

from __future__ import annotations

import numpy as np

from gaits.physics import capi, world
from gaits.tasks.qdgym import Robot

DISTANCE, YAW, PITCH, FIELD_OF_VIEW = 2.6, 10.0, -15.0, 60.0
ROBOT_COLOR = (0.87, 0.56, 0.02, 1.0)
LIGHT = (1.0, -2.0, 6.0)


class Camera:
    """Draws poses of a robot with Bullet's software renderer, following it from the side.

    It moves a puppet in a client of its own, so that looking at an episode can never change it.
    """

    def __init__(self, robot: Robot, width: int, height: int) -> None:
        self.width, self.height = width, height
        self.layout = world.find_layout(robot)
        self.p = p = capi.pybullet()
        self.client = p.connect(p.DIRECT)
        self.here = {"physicsClientId": self.client}
        p.loadSDF(world.floor_path(), **self.here)
        (self.puppet,) = p.loadMJCF(world.model_path(robot.model), flags=world.MODEL_FLAGS, **self.here)
        for link in range(-1, len(self.layout.links)):
            p.changeVisualShape(self.puppet, link, rgbaColor=ROBOT_COLOR, **self.here)

    def picture(self, base: np.ndarray, joints: np.ndarray) -> np.ndarray:
        """An RGB picture (height, width, 3) uint8 of the robot with its base at (position, quaternion) and these joints."""
        p = self.p
        p.resetBasePositionAndOrientation(self.puppet, base[:3], base[3:], **self.here)
        for joint, angle in zip(self.layout.moving, joints, strict=True):
            p.resetJointState(self.puppet, joint, angle, **self.here)
        torso = base if self.layout.torso < 0 else p.getLinkState(self.puppet, self.layout.torso, **self.here)[0]
        view = p.computeViewMatrixFromYawPitchRoll((torso[0], torso[1], 0.6), DISTANCE, YAW, PITCH, 0.0, 2)
        lens = p.computeProjectionMatrixFOV(FIELD_OF_VIEW, self.width / self.height, 0.1, 100.0)
        image = p.getCameraImage(
            *(self.width, self.height, view, lens),
            lightDirection=LIGHT,
            shadow=0,  # the software renderer's shadow map covers only a part of the floor
            renderer=p.ER_TINY_RENDERER,
            flags=p.ER_NO_SEGMENTATION_MASK,
            **self.here,
        )
        pixels = np.frombuffer(bytes(image[2]), np.uint8)  # a tuple of ints: four times as fast as through np.array
        return pixels.reshape(self.height, self.width, 4)[:, :, :3].copy()

    def picture_at(self, positions: np.ndarray) -> np.ndarray:
        """The same, from a row of a trace."""
        return self.picture(positions[:7], positions[list(self.layout.q_index)])

    def close(self) -> None:
        self.p.disconnect(self.client)
