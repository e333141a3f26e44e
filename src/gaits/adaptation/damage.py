"""A robot that is not what it was trained as: weak or limp joints, slippery feet.

Only the physics changes. The policy still gives its commands, and the reward still counts their cost, as if nothing had
happened: the kernel's reward is made of commands and speeds, never of torques.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from gaits.checks import lookup
from gaits.tasks.task import Task


@dataclass(frozen=True)
class Damage:
    """What is wrong with a robot. False where every factor is 1.

    Attributes:
        joints: (name, motor strength) of weakened joints; 0 is a limp joint, 1 a sound one.
        friction: (name, factor) of feet with another lateral friction than their own; 0 is ice, above 1 is sticky.
            Both may be given as a table, such as {"foot_joint": 0.5}.

    Examples:
        >>> limp = gaits.Damage(joints={"foot_joint": 0.0}, friction={"foot": 0.2})
        >>> hurt = limp.apply(gaits.make_task("qd_hopper"))  # a task like any other
    """

    joints: tuple[tuple[str, float], ...] = ()
    friction: tuple[tuple[str, float], ...] = ()

    def __post_init__(self) -> None:
        for name in ("joints", "friction"):  # a table of factors will do
            object.__setattr__(self, name, _pairs(name, getattr(self, name)))
        _check("strength of joint", self.joints, 1.0)
        _check("friction of foot", self.friction, math.inf)

    def apply(self, task: Task) -> Task:
        """The same task with a damaged robot. Damage to a robot that is damaged already adds to it."""
        if not self.joints and not self.friction:
            return task
        parts = task.problem.find_parts(task)
        strength = _lookup_all(f"joint of {task.name}", self.joints, parts.joints)
        friction = _lookup_all(f"foot of {task.name}", self.friction, parts.feet)
        return dataclasses.replace(task, problem=task.problem.damaged(strength, friction))

    def __bool__(self) -> bool:
        return any(factor != 1.0 for _, factor in (*self.joints, *self.friction))

    def __str__(self) -> str:
        parts = [f"{name} {'limp' if factor == 0 else f'at {factor:.0%} strength'}" for name, factor in self.joints]
        parts += [f"{name} at {factor:.0%} friction" for name, factor in self.friction]
        return ", ".join(parts) or "no damage"


def parse_damage(joints: Sequence[str] = (), friction: Sequence[str] = ()) -> Damage:
    """Damage from words such as ``bfoot=0.3``."""
    return Damage(tuple(_parse("joint", word) for word in joints), tuple(_parse("foot", word) for word in friction))


def _parse(kind: str, word: str) -> tuple[str, float]:
    name, _, number = word.partition("=")
    try:
        return name.strip(), float(number)
    except ValueError:
        raise ValueError(f"A damaged {kind} is given as NAME=FACTOR, such as ankle=0.5; got {word!r}.") from None


def _pairs(what: str, given: object) -> tuple[tuple[str, float], ...]:
    pairs = given.items() if isinstance(given, Mapping) else given
    try:
        return tuple((name, float(factor)) for name, factor in pairs)  # type: ignore[attr-defined]
    except (TypeError, ValueError):
        raise ValueError(f"{what} must be names with factors, such as {{'foot_joint': 0.5}}; got {given!r}.") from None


def _check(kind: str, factors: tuple[tuple[str, float], ...], high: float) -> None:
    names = [name for name, _ in factors]
    for name, factor in factors:
        if not (math.isfinite(factor) and 0.0 <= factor <= high):
            limits = f"from 0 to {high:g}" if math.isfinite(high) else "of 0 or more"
            raise ValueError(f"The {kind} {name} must be a factor {limits} (1 is sound); got {factor:g}.")
        if names.count(name) > 1:
            raise ValueError(f"The {kind} {name} is given {names.count(name)} times; give it once.")


def _lookup_all(kind: str, factors: tuple[tuple[str, float], ...], known: tuple[str, ...]) -> dict[str, float]:
    """The factors by name, if these names are known; the error suggests the nearest and lists all."""
    table = {name: name for name in known}
    return {lookup(kind, name, table): factor for name, factor in factors}
