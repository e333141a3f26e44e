"""A camera that looks at a point, as the explorer's does: x forward, y left, z up, metres."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

HALF_VIEW = math.tan(math.radians(32 / 2))
SIDE, FREE = (0.0, 0.11), (0.42, 0.33)
"""Yaw and pitch for robots that move in a plane, and for all others."""


class Camera(NamedTuple):
    """Where it is, its axes, and pixels per metre at a distance of one, around its centre."""

    eye: np.ndarray  # (3,)
    forward: np.ndarray
    right: np.ndarray
    up: np.ndarray
    focal: float
    column: float
    row: float

    def see(self, points: np.ndarray) -> np.ndarray:
        """Points (..., 3) of the world along the camera's axes: right, up, forward."""
        return (points - self.eye) @ np.stack([self.right, self.up, self.forward], axis=1)

    def project(self, points: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Columns, rows and depths of points (..., 3); only what is deeper than 0 is before the camera."""
        right, up, depth = np.moveaxis(self.see(points), -1, 0)
        return self.column + self.focal * right / depth, self.row - self.focal * up / depth, depth


def aim(target: np.ndarray, extent: float, flat: bool, width: int, height: int) -> Camera:
    """Look at ``target`` (3,) so that ``extent`` metres fill about half of the picture."""
    yaw, pitch = SIDE if flat else FREE
    distance = extent * 1.65 / (2 * HALF_VIEW) * max(1.0, 0.8 * height / width)
    forward = np.array([-math.sin(yaw) * math.cos(pitch), math.cos(yaw) * math.cos(pitch), -math.sin(pitch)])
    right = np.array([math.cos(yaw), math.sin(yaw), 0.0])
    up = np.array([-math.sin(yaw) * math.sin(pitch), math.cos(yaw) * math.sin(pitch), math.cos(pitch)])
    return Camera(target - distance * forward, forward, right, up, height / 2 / HALF_VIEW, width / 2, height * 0.54)


def follow(path: np.ndarray, reach: int = 24) -> np.ndarray:
    """A path (T, k), each point averaged with up to ``reach`` on both sides: along with a torso, without its shaking."""
    sums = np.concatenate([np.zeros_like(path[:1]), np.cumsum(path, axis=0)])
    i = np.arange(len(path))
    around = np.minimum(reach, np.minimum(i, i[::-1]))  # as many before as after, so that the ends are not pulled in
    return (sums[i + around + 1] - sums[i - around]) / (2 * around + 1)[:, None]
