"""States: everything a search knows, as a tree of named plain fields that go into a file and come back checked.

A state is made of dicts and lists whose leaves are None, bools, whole numbers from 0, floats, texts and arrays of numbers.
What a file claims is compared, leaf by leaf, with the state of an object that our code built from the configuration: the
same names, kinds, dtypes and shapes. Two wrappers say where it may differ from that; what is taken back is unwrapped.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from gaits.reading import DTYPES

FLOATS = ("<f4", "<f8")
LARGEST = 2**62
"""No whole number in a state reaches it, but for a ``Word``; what counts on may go on counting in 64 bits."""
Claim = Any
"""What a file says of a leaf: its value, or ``(dtype, shape)`` of an array that follows."""


class Misfit(ValueError):
    """A state that does not fit the object it is meant for."""


@dataclass(frozen=True)
class Rows:
    """An array that has any number of rows, at most ``limit``; None where only the file's size bounds it.

    It may be large, so it is not copied: it is the object's own, which changes it when it is told results, and not before.
    """

    array: np.ndarray
    limit: int | None = None
    order: np.ndarray | None = None
    """Which of its rows, in this order; None for all."""


@dataclass(frozen=True)
class Real:
    """Floats whose precision is decided by what is computed, such as those of ribs: Python's, single or double."""

    value: Any


class Word(int):
    """A whole number of up to 128 bits, such as PCG64's."""


def flatten(state: Any, name: str = "") -> dict[str, Any]:
    """The leaves of a state by their path."""
    if isinstance(state, (dict, list)):
        items = state.items() if isinstance(state, dict) else enumerate(state)
        parts = [flatten(value, f"{name}/{key}" if name else str(key)) for key, value in items]
        return {path: leaf for part in parts for path, leaf in part.items()}
    return {name: state}


def rebuild(like: Any, leaves: dict[str, Any], name: str = "") -> Any:
    """A state of this form with these leaves."""
    if isinstance(like, dict):
        return {key: rebuild(value, leaves, f"{name}/{key}" if name else str(key)) for key, value in like.items()}
    if isinstance(like, list):
        return [rebuild(value, leaves, f"{name}/{i}" if name else str(i)) for i, value in enumerate(like)]
    return leaves[name]


def settled(state: Any) -> Any:
    """The state with copies of all its arrays but Rows: the object may go on, until it is told results."""
    if isinstance(state, dict):
        return {key: settled(value) for key, value in state.items()}
    if isinstance(state, list):
        return [settled(value) for value in state]
    if isinstance(state, Real):
        return Real(settled(state.value))
    return state.copy() if isinstance(state, np.ndarray) else state


def give(leaf: Any) -> Any:
    """A leaf as a file takes it: a plain value, or an array."""
    if isinstance(leaf, Rows):
        return leaf.array if leaf.order is None else leaf.array[leaf.order]
    if isinstance(leaf, Real):
        leaf = leaf.value
    if isinstance(leaf, np.generic) or (isinstance(leaf, float) and not math.isfinite(leaf)):
        return np.asarray(leaf)  # JSON has no NaN and no infinity, and would forget the precision
    return int(leaf) if isinstance(leaf, Word) else leaf


def take(like: Any, value: Any) -> Any:
    """A leaf that fitted, as it was before ``give``."""
    if isinstance(value, np.ndarray) and value.ndim == 0:
        if isinstance(like, float):
            return float(value)
        if isinstance(like, Real):
            return value[()]
    return value


def check(name: str, like: Any, claim: Claim) -> None:
    """Raise unless what a file claims of a leaf can be said of one like this."""
    if not _fits(like, claim):
        raise Misfit(f"its {name} is {_told(claim)}, and should be {_told(_claim_of(like))}")


def _fits(like: Any, claim: Claim) -> bool:
    dtype, shape = claim if isinstance(claim, tuple) else (None, ())
    if isinstance(like, Rows):
        rows, fixed = shape[:1], shape[1:] == like.array.shape[1:] and len(shape) == like.array.ndim
        return fixed and dtype == like.array.dtype.str and (like.limit is None or rows <= (like.limit,))
    if isinstance(like, Real):
        plain = np.ndim(like.value) == 0 and type(claim) in (int, float)
        return plain or (shape == np.shape(like.value) and dtype in FLOATS)
    if isinstance(like, np.ndarray):
        return shape == like.shape and dtype == like.dtype.str
    if isinstance(like, float):
        return type(claim) in (int, float) or (shape == () and dtype == "<f8")
    if isinstance(like, str):
        return claim == like  # texts are names of things that the configuration decides
    if isinstance(like, bool) or like is None:
        return type(claim) is type(like)
    return type(claim) is int and 0 <= claim < (2**128 if isinstance(like, Word) else LARGEST)


def _claim_of(like: Any) -> Claim:
    value = give(like)
    return (
        (value.dtype.str, (f"up to {like.limit}", *value.shape[1:]) if isinstance(like, Rows) else value.shape)
        if (isinstance(value, np.ndarray))
        else value
    )


def _told(claim: Claim) -> str:
    if isinstance(claim, tuple):
        return f"an array {claim[0]} of {' x '.join(map(str, claim[1])) or 'one number'}"
    return f"{type(claim).__name__} {str(claim)[:40]}"


def copy(state: Any, like: Any) -> Any:
    """The state as it comes back from a file, checked against one like it."""
    leaves, likes = flatten(state), flatten(like)
    if leaves.keys() != likes.keys():
        raise Misfit(f"its fields are others than {', '.join(likes)}")
    taken = {}
    for name, leaf in leaves.items():
        value = give(leaf)
        check(name, likes[name], (value.dtype.str, value.shape) if isinstance(value, np.ndarray) else value)
        taken[name] = take(likes[name], value.copy() if isinstance(value, np.ndarray) else value)
    return rebuild(like, taken)


def is_plain(leaf: Any) -> bool:
    """Whether a file can hold it."""
    value = give(leaf)
    if isinstance(value, np.ndarray):
        return value.dtype.str in DTYPES
    return value is None or type(value) in (bool, int, float, str)


# --- random generators ----------------------------------------------------------------------------------------------------


def generator_state(rng: np.random.Generator) -> dict[str, Any]:
    """A PCG64 generator's state in five plain fields."""
    state = rng.bit_generator.state
    return {
        "kind": state["bit_generator"],
        **{name: Word(value) for name, value in state["state"].items()},
        "has_uint32": state["has_uint32"],
        "uinteger": state["uinteger"],
    }


def restore_generator(rng: np.random.Generator, state: dict[str, Any]) -> None:
    """Make the generator go on where the state was taken."""
    words = {"state": state["state"], "inc": state["inc"]}
    if state["has_uint32"] > 1 or state["uinteger"] >= 2**32 or state["inc"] % 2 == 0:
        raise Misfit("it has a random generator in a state that none can be in")
    rng.bit_generator.state = {
        "bit_generator": state["kind"],
        "state": words,
        "has_uint32": state["has_uint32"],
        "uinteger": state["uinteger"],
    }
