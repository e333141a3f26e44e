"""Several threads at one piece of work in compiled code, with the same result for any number of them.

Work is a row of units, numbered in the order in which one thread alone would do them. Threads draw the next number from a
counter; a unit that needs others waits until they are done. Nobody is waited for who has not begun: a thread that comes
late, because episodes are being played on its core, finds the others further on.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
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


def together(work: Callable[[np.ndarray], Any], most: int) -> None:
    """Do work(counters) with up to ``most`` threads, this one included. They count units taken, units done."""
    hands = 1 if sys.platform == "win32" else max(min(most, cores()), 1)
    counters = np.zeros(2, np.int64)
    with _one_thread_each():
        others = [_threads().submit(work, counters) for _ in range(hands - 1)]
        work(counters)
        for other in others:
            other.result()


@functools.cache
def _threads() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(available_cores(), "learning")


def _one_thread_each() -> Any:
    """Hands share work better than BLAS's threads do: products of these sizes are too short to be shared."""
    return _blas().limit(limits=1, user_api="blas")


@functools.cache
def _blas() -> Any:
    import scipy.linalg.cython_blas  # noqa: F401 - whose BLAS compiled code calls
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


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
