"""Several threads at one piece of work in compiled code, with the same result for any number of them.

Work is a row of units, numbered in the order in which one thread alone would do them. Threads draw the next number from a
counter; a unit that needs others waits until they are done. Nobody is waited for who has not begun: a thread that comes
late, because episodes are being played on its core, finds the others further on.
"""

from __future__ import annotations

import functools
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numba import types
from numba.core.typing import signature
from numba.extending import intrinsic as _intrinsic

from gaits.compiling import compiled
from gaits.evaluation.local import available_cores
from gaits.gradients.devices import cores

intrinsic: Any = _intrinsic  # which Numba types as what it decorates


def together(work: Callable[[np.ndarray], Any], hands: int) -> None:
    """Do work(counters) with so many threads, this one included. They count units taken and units done."""
    counters = np.zeros(2, np.int64)
    others = [_threads().submit(work, counters) for _ in range(hands - 1)]
    work(counters)
    for other in others:
        other.result()


def most(units: int) -> int:
    """How many hands so many units are work for."""
    return 1 if sys.platform == "win32" else max(min(units, cores()), 1)


class Pace:
    """One hand or two, whichever is faster now.

    Two that wait for each other are slow where others want the cores: one of them is always away. So now and then a few
    steps are done the other way, more rarely while that is no better.
    """

    STEPS, TRIAL, RAREST = 20, 4, 16

    def __init__(self) -> None:
        self.hands, self.cost = 2, {1: 0.0, 2: 0.0}  # seconds per step, at first unknown
        self.left = self.interval = 1

    def plan(self, steps: int) -> Iterator[tuple[slice, int]]:
        """Steps in parts, with the hands for each; takes the time between them."""
        done = 0
        while done < steps:
            trial = self.left == 0 and most(2) == 2
            hands = min(3 - self.hands if trial else self.hands, most(2))
            part = slice(done, min(done + (self.TRIAL if trial else self.STEPS), steps))
            began = time.perf_counter()
            yield part, hands
            self.cost[hands] = (time.perf_counter() - began) / (part.stop - part.start)
            self._decide(trial)
            done = part.stop

    def _decide(self, trial: bool) -> None:
        self.left = max(self.left - 1, 0)
        if trial:
            better = self.cost[3 - self.hands] < self.cost[self.hands]
            self.interval = 2 if better else min(2 * self.interval, self.RAREST)
            self.left = self.interval
            self.hands = 3 - self.hands if better else self.hands


@functools.cache
def _threads() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(available_cores(), "learning")


@intrinsic
def _atomic_add(typingctx, array, index, amount):
    """array[index] += amount, whoever else does so at the same time. Returns what was there."""

    def build(context, builder, sig, args):
        from numba.core import cgutils
        from numba.np.arrayobj import make_array

        view = make_array(sig.args[0])(context, builder, args[0])
        place = cgutils.get_item_pointer(context, builder, sig.args[0], view, [args[1]], wraparound=False)
        return builder.atomic_rmw("add", place, args[2], "seq_cst")

    return signature(types.int64, array, types.intp, types.int64), build


@compiled
def draw(counters):
    """The number of the next unit."""
    return _atomic_add(counters, 0, 1)


@compiled
def report(counters):
    """One more unit is done."""
    _atomic_add(counters, 1, 1)


@compiled
def await_units(counters, n):
    """Wait until so many units are done. All of them were drawn by threads that are at work."""
    while _atomic_add(counters, 1, 0) < n:
        _let_others_run()


if sys.platform == "win32":  # one hand only: nothing is ever waited for

    @compiled
    def _let_others_run():
        pass

else:
    _sched_yield = types.ExternalFunction("sched_yield", types.int32())

    @compiled
    def _let_others_run():
        _sched_yield()
