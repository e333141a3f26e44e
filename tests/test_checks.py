from __future__ import annotations

import dataclasses
import json
import math
from types import SimpleNamespace
from typing import get_type_hints

import numpy as np
import pytest

from gaits.algorithms import ALGORITHMS
from gaits.checks import between, make_settings


@pytest.mark.parametrize("name", ALGORITHMS)
class TestSettings:
    """Through the record itself, as a program makes it, and through ``make_settings``, as runs and studies do."""

    def settings(self, name, change):
        """Every number of the algorithm's settings, changed."""
        record = ALGORITHMS[name].settings
        types = {key: kind for key, kind in get_type_hints(record).items() if kind in (int, float)}
        return record, {key: change(kind(getattr(record(), key))) for key, kind in types.items()}

    def test_numpys_numbers_are_as_good_as_pythons(self, name):
        record, given = self.settings(name, lambda value: np.asarray(value)[()])
        assert all(isinstance(value, np.generic) for value in given.values())
        assert record(**given) == record()
        made = make_settings(record, name, given)
        assert made == record()
        json.dumps(dataclasses.asdict(made))  # as config.json has them

    def test_a_count_is_whole(self, name):
        record, given = self.settings(name, lambda value: value + 0.5 if isinstance(value, int) else None)
        for key, value in given.items():
            if value is not None:
                low = int(getattr(record(), key) > 0)  # what is off by default may be zero
                with pytest.raises(ValueError, match=f"{key} must be a whole number of at least {low}; got {value}"):
                    record(**{key: value})
                with pytest.raises(ValueError, match=f"{key} must be a whole number; got {value}"):
                    make_settings(record, name, {key: value})


def test_what_is_a_number_or_a_word():
    settings = ALGORITHMS["dcrl_me"].settings
    for value in ("lowest", 0, 1.5, np.float32(2)):
        assert make_settings(settings, "dcrl_me", {"reward_offset": value}).reward_offset == value
    assert make_settings(settings, "dcrl_me", {"reward_offset": None}) == settings()  # as files of 0.2.0 have it
    for value in ("none", True, [1.0]):
        with pytest.raises(ValueError, match=r"^reward_offset must be a number or 'lowest' or left out; got "):
            make_settings(settings, "dcrl_me", {"reward_offset": value})


@pytest.mark.parametrize(
    ("low", "high", "limits"),
    [
        (-math.inf, math.inf, "a finite number"),
        (0, math.inf, "a number of at least 0"),
        (0, 1, "a number from 0 to 1"),
    ],
)
@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, "1"])
def test_limits_are_told_as_far_as_there_are_any(low, high, limits, value):
    with pytest.raises(ValueError, match=f"^share must be {limits}; got {value!r}.$"):
        between(SimpleNamespace(share=value), low, high, "share")
