"""Pictures that an environment draws of itself, small enough to be kept and sent."""

from __future__ import annotations

import io
import math
from typing import Any

import gymnasium
import numpy as np
from PIL import Image

from gaits.episodes import Pictures

SIDE, QUALITY = 400, 80
"""Longest side in pixels, and of JPEG: about 10 KB a picture."""
PER_SECOND, MOST = 30, 600
"""Pictures that are kept."""
DEFAULT_RATE = 30.0
"""Steps per second of an environment that does not say its ``render_fps``."""


class Camera:
    """Looks at an environment of ``render_mode="rgb_array"`` during an episode of up to ``max_steps``."""

    def __init__(self, env: gymnasium.Env[Any, Any], max_steps: int) -> None:
        rate = env.metadata.get("render_fps")
        self.env, self.rate = env, float(rate) if isinstance(rate, (int, float)) and 0 < rate < math.inf else DEFAULT_RATE
        self.every = max(round(self.rate / PER_SECOND), math.ceil(max_steps / MOST), 1)
        self.images: list[bytes] = []
        self.size: tuple[int, int] | None = None

    def look(self, step: int) -> None:
        """Take a picture after so many steps, if one is due."""
        if step % self.every:
            return
        picture = Image.fromarray(_check(self.env.render())).convert("RGB")
        if self.size is None:
            share = min(1.0, SIDE / max(picture.size))
            self.size = max(round(share * picture.width), 1), max(round(share * picture.height), 1)
        if picture.size != self.size:
            picture = picture.resize(self.size)
        file = io.BytesIO()
        picture.save(file, "JPEG", quality=QUALITY)
        self.images.append(file.getvalue())

    def develop(self) -> Pictures:
        return Pictures(tuple(self.images), self.every, 1 / self.rate)


def _check(picture: Any) -> np.ndarray:
    if not isinstance(picture, np.ndarray) or picture.ndim != 3 or picture.shape[2] != 3 or picture.dtype != np.uint8:
        what = f"{picture.dtype} of shape {picture.shape}" if isinstance(picture, np.ndarray) else type(picture).__name__
        raise ValueError(
            f'To be watched, render() of an environment with render_mode="rgb_array" must give an array (height, width, 3) '
            f"of uint8; it gave {what}."
        )
    return picture
