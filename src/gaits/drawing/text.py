"""Text on pictures."""

from __future__ import annotations

import functools
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from gaits.drawing.colors import Color


@functools.cache
def font(size: int, bold: bool = False) -> ImageFont.FreeTypeFont:
    """The font that matplotlib brings. The basic layout is the same everywhere, and the faster one."""
    import matplotlib

    path = Path(matplotlib.get_data_path(), "fonts", "ttf", "DejaVuSans-Bold.ttf" if bold else "DejaVuSans.ttf")
    return ImageFont.truetype(path, size, layout_engine=ImageFont.Layout.BASIC)


@functools.lru_cache(maxsize=256)
def _mask(text: str, size: int, bold: bool) -> np.ndarray:
    """How much of each pixel (height, width, 1) a text covers, 0 to 1; its lines are all equally high."""
    kind = font(size, bold)
    mask = Image.new("L", (round(kind.getlength(text)) + 1, sum(kind.getmetrics())))
    ImageDraw.Draw(mask).text((0, 0), text, fill=255, font=kind)
    return np.asarray(mask, np.float32)[:, :, None] / 255


def write(
    picture: np.ndarray,
    text: str,
    column: float,
    row: float,
    color: Color,
    size: int,
    *,
    bold: bool = False,
    align: float = 0.0,
    share: float = 1.0,
) -> None:
    """Write on a picture (height, width, 3) uint8, as far as it reaches.

    Args:
        column, row: Where the text's box starts. ``align`` moves it to the left by this share of its width.
        share: How opaque it is.
    """
    blend(picture, share * _mask(text, size, bold), column, row, color, align)


def blend(picture: np.ndarray, mask: np.ndarray, column: float, row: float, color: Color, align: float = 0.0) -> None:
    """Put a colour on a picture where a mask (height, width, 1) says, as far as the picture reaches."""
    height, width, _ = mask.shape
    top, left = round(row), round(column - align * width)
    skip = max(-top, 0), max(-left, 0)
    here = picture[top + skip[0] : max(top + height, 0), left + skip[1] : max(left + width, 0)]
    mask = mask[skip[0] :, skip[1] :][: here.shape[0], : here.shape[1]]
    here[...] = here + (np.asarray(color, np.float32) - here) * mask + 0.5
