"""What a robot looks like, whatever its pose."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

TRUNK = 0
"""Limb number of what is not part of a limb."""


@dataclass(frozen=True)
class Figure:
    """A robot of S capsules and C contact flags. A sphere is a capsule whose ends are one.

    ``flat`` robots move in a plane: they are seen from the side, and one leg is drawn behind the other though both are
    in that plane.
    """

    radii: np.ndarray  # (S,) metres
    limbs: np.ndarray  # (S,) whole numbers; see find_limbs
    feet: np.ndarray  # (S,) the flag that lights a capsule; -1 for none
    labels: tuple[str, ...]  # (C,) what the picture calls each flag; "" leaves it out
    flat: bool = False


def find_limbs(parents: Sequence[int], links: Sequence[int]) -> np.ndarray:
    """The limb that each capsule belongs to: the trunk (0), or 1, 2, ... in order of appearance.

    A limb is what hangs together and ends in one tip; what carries several, or the first capsule, is the trunk.

    Args:
        parents: (L,) number of each link's parent, which comes before it; -1 for the base.
        links: (S,) the link of each capsule, -1 for the base. The first one is the torso's.
    """
    tips: dict[int, set[int]] = {link: set() for link in range(-1, len(parents))}
    for tip in set(range(-1, len(parents))) - set(parents):
        for link in _up(parents, tip):
            tips[link].add(tip)
    trunk = {*_up(parents, links[0]), *(link for link, found in tips.items() if len(found) > 1)}
    numbers: dict[int, int] = {}
    return np.array([TRUNK if k in trunk else numbers.setdefault(min(tips[k]), 1 + len(numbers)) for k in links])


def _up(parents: Sequence[int], link: int) -> list[int]:
    """A link, its parent, and so on to the base."""
    return [link] if link < 0 else [link, *_up(parents, parents[link])]
