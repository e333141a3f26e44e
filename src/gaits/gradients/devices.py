"""Where networks are trained: JAX's device, and which of this machine's cores it may use."""

from __future__ import annotations

import contextlib
import functools
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    import jax

Device = Literal["auto", "cpu", "gpu"]

POOL_THREADS = 2
"""Threads of XLA's pool on the CPU, on any machine. XLA splits its sums by their number, so that results change with it;
how many cores these threads get to run on changes nothing."""


@functools.cache
def start_jax() -> None:
    """Start JAX with its pool of fixed size. A program that used JAX before gaits keeps the pool it has."""
    import jax

    before = os.environ.get("NPROC")
    os.environ["NPROC"] = str(POOL_THREADS)  # the only way XLA offers
    try:
        with contextlib.suppress(RuntimeError, AssertionError):  # no CPU among JAX_PLATFORMS: then there is no pool either
            jax.devices("cpu")
    finally:
        if before is None:
            del os.environ["NPROC"]
        else:
            os.environ["NPROC"] = before


def find_device(name: Device) -> jax.Device:
    """The device to train on: JAX's own choice, or the one that was asked for."""
    import jax

    start_jax()
    try:
        everything = jax.devices()
    except (RuntimeError, AssertionError) as error:
        asked = os.environ.get("JAX_PLATFORMS", "")
        raise ValueError(
            f"JAX finds no device with JAX_PLATFORMS={asked!r} ({error}). Unset it, or set it to cpu."
        ) from None
    if name == "auto":
        return everything[0]
    try:
        return jax.devices(name)[0]
    except (RuntimeError, AssertionError):
        found = ", ".join(sorted({device.platform for device in everything}))
        raise ValueError(
            f"device {name!r} was asked for, and JAX finds only: {found}. "
            "Install JAX for your GPU (pip install 'jax[cuda12]'), or use --device auto."
        ) from None


@contextlib.contextmanager
def on_cores(n: int | None) -> Iterator[None]:
    """Keep XLA's pool and this thread to n of the cores this process may use (None: all), where the system allows it."""
    if n is None or not hasattr(os, "sched_setaffinity"):
        yield
        return
    everywhere = os.sched_getaffinity(0)
    some = sorted(everywhere)[-n:]
    threads = [0, *_pool_threads()]
    _keep_to(threads, some)
    try:
        yield
    finally:
        _keep_to(threads, everywhere)


def _keep_to(threads: list[int], cores: Iterable[int]) -> None:
    for thread in threads:
        with contextlib.suppress(OSError):  # it may have ended
            os.sched_setaffinity(thread, cores)


def _pool_threads() -> list[int]:
    found = []
    for task in Path("/proc/self/task").iterdir():
        with contextlib.suppress(OSError):
            found += [int(task.name)] if "XLAEigen" in (task / "comm").read_text() else []
    return found
