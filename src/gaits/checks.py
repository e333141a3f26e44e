"""Checks at the border: of names and of settings, with errors that name the value, the reason and the remedy."""

from __future__ import annotations

import dataclasses
import difflib
import math
import numbers
import operator
import re
import types
import typing
from collections.abc import Mapping
from typing import Any, TypeVar

import numpy as np

T = TypeVar("T")
MAX_LABEL = 200
UNIONS = (types.UnionType, typing.Union)  # int | str, and the same where one of them is a Literal
_NAME = r"[^\W\d]\w*(?:\.[^\W\d]\w*)*"
SOURCE = re.compile(f"{_NAME}:{_NAME}")


def lookup(kind: str, name: str, table: Mapping[str, T]) -> T:
    """``table[name]``, or a ValueError that suggests the nearest name."""
    if name in table:
        return table[name]
    word = str(name)[:MAX_LABEL].lower().replace("-", "_")
    close = difflib.get_close_matches(word, table, n=1, cutoff=0.4)
    hint = f" Did you mean {close[0]!r}?" if close else ""
    raise ValueError(f"No {kind} is called {_shorten(name)}.{hint} Known: {', '.join(table)}.")


def check_label(what: str, value: Any) -> None:
    """Raise unless the value is a name that people can read: text of one line, not long, without control characters."""
    if not isinstance(value, str) or not value.strip() or not value.isprintable() or len(value) > MAX_LABEL:
        raise ValueError(f"{what} must be some text of at most {MAX_LABEL} printable letters; got {_shorten(value)}.")


def check_source(value: Any) -> None:
    """Raise unless the value is MODULE:NAME, as Python would import them. It is printed as part of commands to paste."""
    if not isinstance(value, str) or len(value) > MAX_LABEL or not SOURCE.fullmatch(value) or ".py:" in value:
        raise ValueError(
            f"A task of your own is MODULE:NAME, a module as Python imports it: my_robots:biped; got {_shorten(value)}."
        )


def _shorten(value: Any) -> str:
    text = ascii(value)
    return text if len(text) <= MAX_LABEL else f"{text[:MAX_LABEL]} ..."


def positive(settings: Any, *names: str) -> None:
    """Raise unless these fields of a settings record are finite and above zero, and whole where they are counts."""
    counts = {field.name for field in dataclasses.fields(settings) if field.type in (int, "int")}
    for name in names:
        value = getattr(settings, name)
        if name in counts:
            object.__setattr__(settings, name, whole_number(name, value, 1))
        else:
            above_zero(name, value)


def above_zero(name: str, value: Any) -> None:
    """Raise unless the value is finite and above zero."""
    if not (_fits(value, float) and math.isfinite(value) and value > 0):
        raise ValueError(f"{name} must be a number above 0; got {value!r}.")


def between(settings: Any, low: float, high: float, *names: str) -> None:
    """Raise unless these fields of a settings record are finite and from low to high."""
    for name in names:
        value = getattr(settings, name)
        if not (_fits(value, float) and math.isfinite(value) and low <= value <= high):
            raise ValueError(f"{name} must be {_describe_limits(low, high)}; got {value!r}.")


def _describe_limits(low: float, high: float) -> str:
    if math.isfinite(high):
        return f"a number from {low} to {high}"
    return f"a number of at least {low}" if math.isfinite(low) else "a finite number"


def whole_number(name: str, value: Any, low: int, high: int | None = 2**63 - 1) -> int:
    """The value as an int from ``low`` to ``high``; NumPy's integers are welcome, floats and bools are not."""
    try:
        number = None if isinstance(value, bool) else operator.index(value)
    except TypeError:
        number = None
    if number is None or number < low:
        raise ValueError(f"{name} must be a whole number of at least {low}; got {value!r}.")
    if high is not None and number > high:
        raise ValueError(f"{name} must be at most {high:,}; got {_shorten(number)}.")
    return number


def make_settings(kind: type[T], algorithm: str, values: dict[str, Any]) -> T:
    """A settings record from keyword values, with an error that helps for names and types it does not have."""
    hints = typing.get_type_hints(kind)
    for name, value in values.items():
        if not _fits(value, wanted := lookup(f"setting of {algorithm}", name, hints)):
            raise ValueError(f"{name} must be {_describe(wanted)}; got {value!r}.")
    return kind(**{name: _plain(value) for name, value in values.items()})


def _plain(value: Any) -> Any:
    """NumPy's numbers as Python's, which files can hold; lists as tuples."""
    if isinstance(value, (list, tuple)):
        return tuple(map(_plain, value))
    return value.item() if isinstance(value, np.generic) else value


def _fits(value: Any, kind: Any) -> bool:
    if typing.get_origin(kind) is typing.Literal:
        return value in typing.get_args(kind)
    if typing.get_origin(kind) is tuple:
        return isinstance(value, (list, tuple)) and all(_fits(item, typing.get_args(kind)[0]) for item in value)
    if typing.get_origin(kind) in UNIONS:
        return any(_fits(value, one) for one in typing.get_args(kind))
    if kind is bool or isinstance(value, bool):
        return kind is bool and isinstance(value, bool)
    return isinstance(value, {int: numbers.Integral, float: numbers.Real}.get(kind, kind))  # NumPy's too


def _describe(kind: Any) -> str:
    if typing.get_origin(kind) is typing.Literal:
        words = ", ".join(map(repr, typing.get_args(kind)))
        return f"one of {words}" if len(typing.get_args(kind)) > 1 else words
    if typing.get_origin(kind) is tuple:
        return "a list of whole numbers"
    if typing.get_origin(kind) in UNIONS:
        return " or ".join(map(_describe, typing.get_args(kind)))
    plain = {int: "a whole number", float: "a number", bool: "true or false", str: "text", types.NoneType: "left out"}
    return plain.get(kind, kind.__name__)
