"""The adapter to ribs knows every field of what it saves: a version of ribs with others is noticed here."""

from __future__ import annotations

import functools

import numpy as np
import pytest
from conformance.algorithm import small_task

from gaits.algorithms import ALGORITHMS
from gaits.algorithms.ribs_state import FIELDS

CACHED = {"field_desc", "dtypes", "dtypes_with_index", "field_list", "field_list_with_index"}
"""Of ribs' ArrayStore: computed from the rest when they are first asked for."""


def of_ribs(thing, found):
    """All objects of ribs inside one, itself included."""
    if (
        (type(thing) in FIELDS or type(thing).__module__.startswith("ribs."))
        and hasattr(thing, "__dict__")
        and id(thing) not in found
    ):
        found[id(thing)] = thing
        for value in vars(thing).values():
            of_ribs(value, found)
    return found.values()


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("map_elites", ("archive",)),
        ("cma_mega_es", ("archive", "emitter")),
        ("me_es", ("archive", "adam")),
        ("cma_maega_es", ("archive", "annealed", "emitter")),
        ("sep_cma_mae", ("archive", "annealed", "emitters")),
    ],
)
@pytest.mark.parametrize("archive", [{}, {"archive": "cvt", "cells": 64}])
def test_every_field_is_listed(name, parts, archive):
    entry = ALGORITHMS[name]
    algorithm = entry.make(small_task(**archive), entry.settings(), np.random.SeedSequence(1))
    seen = set()
    for part in parts:
        found = getattr(algorithm, part)
        for thing in of_ribs(found[0] if isinstance(found, list) else found, {}):
            if type(thing).__name__ == "ArchiveStats":
                continue  # computed from the archive's sum and best elite
            fields = FIELDS[type(thing)]
            listed = [*fields.kept, *fields.made, *fields.passing]
            assert len(listed) == len(set(listed))
            assert vars(thing).keys() - CACHED == set(listed), type(thing)
            seen.add(type(thing))
    assert seen


def test_nothing_listed_is_unused():
    made = functools.reduce(set.union, ({*fields.kept} & {*fields.made, *fields.passing} for fields in FIELDS.values()))
    assert made == set()
