"""Where networks are trained: here, in compiled code on some cores, or on a GPU through JAX."""

from __future__ import annotations

import contextlib
import importlib.util
import os
from collections.abc import Iterator
from contextvars import ContextVar
from typing import Literal

from gaits.evaluation.local import available_cores

Device = Literal["auto", "cpu", "gpu"]
REMEDY = "Install JAX for it (pip install 'gaits[gpu]' and JAX's plugin, such as jax[cuda12]), or use --device auto."


def wants_gpu(name: Device) -> bool:
    """Whether to train on a GPU: where one was asked for, or with ``auto`` where JAX is installed and has one."""
    if name == "cpu":
        return False
    if importlib.util.find_spec("jax") is None:
        if name == "gpu":
            raise ValueError(f"device 'gpu' was asked for, and JAX is not installed. {REMEDY}")
        return False
    found = find_platforms()
    if name == "gpu" and "gpu" not in found:
        raise ValueError(f"device 'gpu' was asked for, and JAX finds only: {', '.join(sorted(found)) or 'none'}. {REMEDY}")
    return "gpu" in found


def find_platforms() -> set[str]:
    """What JAX can compute on."""
    import jax

    try:
        return {device.platform for device in jax.devices()}
    except (RuntimeError, AssertionError) as error:
        asked = os.environ.get("JAX_PLATFORMS", "")
        raise ValueError(
            f"JAX finds no device with JAX_PLATFORMS={asked!r} ({error}). Unset it, set it to cpu, or use --device cpu."
        ) from None


_cores: ContextVar[int | None] = ContextVar("cores for learning", default=None)


@contextlib.contextmanager
def on_cores(n: int | None) -> Iterator[None]:
    """Learn with at most n threads, None: one per core of this process. It changes nothing but the speed."""
    token = _cores.set(n)
    try:
        yield
    finally:
        _cores.reset(token)


def cores() -> int:
    return _cores.get() or available_cores()
