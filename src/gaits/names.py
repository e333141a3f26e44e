"""Looking a name up in a table, with an error that helps when it is not there."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from typing import TypeVar

T = TypeVar("T")


def lookup(kind: str, name: str, table: Mapping[str, T]) -> T:
    """``table[name]``, or a ValueError that suggests the nearest name."""
    if name in table:
        return table[name]
    close = difflib.get_close_matches(str(name).lower().replace("-", "_"), table, n=1, cutoff=0.4)
    hint = f" Did you mean {close[0]!r}?" if close else ""
    raise ValueError(f"No {kind} is called {name!r}.{hint} Known: {', '.join(table)}.")
