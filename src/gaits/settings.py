"""Checks for settings records."""

from __future__ import annotations

import dataclasses
import difflib
import math
from typing import Any, TypeVar

T = TypeVar("T")


def positive(settings: Any, *names: str) -> None:
    """Raise unless these fields of a settings record are finite and above zero."""
    for name in names:
        value = getattr(settings, name)
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not (math.isfinite(value) and value > 0):
            raise ValueError(f"{name} must be a number above 0; got {value!r}.")


def make_settings(kind: type[T], algorithm: str, values: dict[str, Any]) -> T:
    """A settings record from keyword values, with an error that helps for names and types it does not have."""
    fields = {field.name: field for field in dataclasses.fields(kind)}  # type: ignore[arg-type]
    for name, value in values.items():
        if name not in fields:
            close = difflib.get_close_matches(name, fields, n=1)
            hint = f" Did you mean {close[0]!r}?" if close else ""
            raise ValueError(f"{algorithm} has no setting {name!r}.{hint} It has: {', '.join(fields)}.")
        if fields[name].type == "int" and (isinstance(value, bool) or not isinstance(value, int)):
            raise ValueError(f"{name} must be a whole number; got {value!r}.")
    return kind(**values)
