"""The explorer's colours by day: those of ``explorer.css``, and of its robots in ``colors.js``."""

from __future__ import annotations

from typing import NamedTuple

Color = tuple[float, float, float]


def rgb(text: str) -> Color:
    """Of #rrggbb."""
    return float(int(text[1:3], 16)), float(int(text[3:5], 16)), float(int(text[5:7], 16))


class Theme(NamedTuple):
    """Given to compiled code as values, so that a change here is never hidden by its cache."""

    sky_top: Color = rgb("#dfe8f0")
    sky: Color = rgb("#f2f2ee")
    ground: Color = rgb("#e9e6de")
    tile: Color = rgb("#dedad0")
    shadow: Color = (40.0, 35.0, 25.0)
    start: Color = (154.0, 91.0, 0.0)
    contact: Color = rgb("#0fa596")


THEME = Theme()
INK, MARK = rgb("#1d2027"), rgb("#7d7a72")
LIMBS = tuple(map(rgb, ("#e89b1f", "#7484f0", "#e05f88", "#9aa838", "#ab70da", "#c0835a")))
"""The trunk's, then each limb's; none is like the contact's."""
