"""Pictures of one robot: the ground with its marks, the robot, and what is written beside it."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence

import numpy as np

from gaits.drawing.camera import Camera, aim
from gaits.drawing.capsules import paint_capsules
from gaits.drawing.colors import INK, LIMBS, MARK, THEME
from gaits.drawing.figure import TRUNK, Figure
from gaits.drawing.ground import paint_ground
from gaits.drawing.text import blend, write

MARKS_REACH, MARKS_SIDE = 8, 0.75
"""Metres to both sides of the robot where the ground is marked, and how far in front of it."""
LEGIBLE = 7
"""Smallest font size, in pixels. A picture that would need a smaller one has no text."""


class Painter:
    """Draws a robot, always in the same size: far enough that it fills half the picture in the pose it starts from.

    Args:
        figure: What the robot looks like.
        start: (S, 2, 3) ends of its capsules at the start.
        width: Of the pictures, in pixels.
        height: The same.
    """

    def __init__(self, figure: Figure, start: np.ndarray, width: int = 480, height: int = 360) -> None:
        self.figure = figure
        self.width, self.height = width, height
        around = figure.radii[:, None, None]
        low, high = (start - around).min(axis=(0, 1)), (start + around).max(axis=(0, 1))
        self.extent, self.middle = max(high[2], high[0] - low[0]), 0.5 * high[2]  # metres
        limbs = [LIMBS[limb % len(LIMBS)] for limb in figure.limbs]
        self._colors = np.array([limbs, [THEME.contact] * len(limbs)])  # (2, S, 3): in the air, on the ground
        self._behind = _layer(figure)
        self._size = round(13 * math.sqrt(height / 360))  # of the font

    def draw(
        self,
        ends: np.ndarray,
        touching: Sequence[bool] | np.ndarray,
        target: Sequence[float] | np.ndarray | None = None,
        seconds: float | None = None,
        total: float | None = None,
    ) -> np.ndarray:
        """A picture (height, width, 3) uint8.

        Args:
            ends: (S, 2, 3) where both ends of the capsules are in the world.
            touching: (C,) which feet stand.
            target: x and y that the camera looks at; default: the first capsule's.
            seconds: Time so far, to be written on the picture.
            total: Return so far, the same.
        """
        figure = self.figure
        ends = np.ascontiguousarray(ends, np.float64)
        flags = np.append(np.asarray(touching) > 0, False)  # the last one is of capsules that are no feet
        lit = flags[figure.feet]
        if not np.isfinite(ends).all():
            raise ValueError("A robot can only be drawn where it is: some of its ends are not finite numbers.")
        x, y = ends[0].mean(axis=0)[:2] if target is None else target
        camera = aim(np.array([x, y, self.middle]), self.extent, figure.flat, self.width, self.height)
        picture = np.empty((self.height, self.width, 3), np.uint8)
        paint_ground(picture, camera, THEME, float(y), ends, figure.radii, lit)
        if self._size >= LEGIBLE:
            self._mark(picture, camera, x, y)
        colors = self._colors[lit.astype(int), np.arange(lit.size)]
        place = camera.focal, camera.column, camera.row
        paint_capsules(picture, *place, camera.see(ends), figure.radii, colors, self._behind)
        if self._size >= LEGIBLE:
            self._tell(picture, flags, seconds, total)
        return picture

    def _mark(self, picture: np.ndarray, camera: Camera, x: float, y: float) -> None:
        """Metres along a line in front of the robot, as often as there is room for."""
        metres = np.arange(math.ceil(x) - MARKS_REACH, math.floor(x) + MARKS_REACH + 1)
        points = np.zeros((metres.size, 3))
        points[:, 0], points[:, 1] = metres, y - MARKS_SIDE
        columns, rows, depths = camera.project(points)
        room = np.diff(columns)[MARKS_REACH] / self._size
        every = 1 if room > 5.5 else 2 if room > 2.7 else 5
        size = max(round(0.8 * self._size), LEGIBLE)
        tick = np.ones((size // 2, max(size // 7, 1), 1), np.float32)
        for metre, column, row, depth in zip(metres.tolist(), columns, rows, depths, strict=True):
            if metre % every == 0 and depth > 0 and abs(2 * column / self.width - 1) < 1.2:
                share = 1 - abs(metre - x) / (MARKS_REACH + 1)
                blend(picture, share * tick, column, row - len(tick), MARK, align=0.5)
                write(picture, f"{metre} m", column, row + 1, MARK, size, bold=True, align=0.5, share=share)

    def _tell(self, picture: np.ndarray, flags: np.ndarray, seconds: float | None, total: float | None) -> None:
        """The clock and the return on the left, the feet on the right, lit while they stand."""
        size, margin, line = self._size, round(0.9 * self._size), round(1.5 * self._size)
        if seconds is not None:
            write(picture, f"{seconds:.1f} s", margin, margin, INK, size, bold=True)
        if total is not None:
            write(picture, f"return {total:,.1f}", margin, margin + line, INK, size)
        dot, right, row = _disc(round(0.36 * size)), self.width - margin, margin
        for label, flag in zip(self.figure.labels, flags[:-1], strict=True):
            if label:
                lamp, share, ink = (THEME.contact, 1.0, INK) if flag else (MARK, 0.35, MARK)
                blend(picture, share * dot, right, row + 0.66 * size - len(dot) / 2, lamp, align=1.0)
                write(picture, label, right - 1.2 * size, row, ink, size, align=1.0)
                row += line


def _layer(figure: Figure) -> np.ndarray:
    """Metres that a flat robot's capsules are put behind each other (S,), as a paper puppet is made.

    What is further out is in front of what carries it, and all limbs but the first are behind the trunk.
    """
    order = np.lexsort((-np.arange(figure.limbs.size), figure.limbs > TRUNK + 1))
    behind = np.empty(figure.limbs.size)
    behind[order] = 2 * figure.radii.max() * np.arange(figure.limbs.size)
    return behind if figure.flat else 0 * behind


@functools.cache
def _disc(radius: int) -> np.ndarray:
    """A mask (height, width, 1) of a disc with a smooth edge."""
    reach = np.arange(-radius, radius + 1)
    return np.clip(radius + 0.5 - np.hypot(reach[:, None], reach), 0, 1)[:, :, None].astype(np.float32)
