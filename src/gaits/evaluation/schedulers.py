"""Dask schedulers: one that runs already, or one with workers of its own that is opened for as long as it is needed."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import importlib
import logging
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from gaits.checks import whole_number
from gaits.console import say_if_slow
from gaits.evaluation.local import available_cores
from gaits.reading import read_json

PATIENCE = 60.0
"""Seconds to look for a scheduler that is gone."""
IGNORE_CTRL_C = "import signal; signal.signal(signal.SIGINT, signal.SIG_IGN)"
"""For workers on this terminal: it is for the run, which finishes its iteration with them."""
SETTINGS = {
    # Dask's looking at itself takes 6 % of two cores.
    "distributed.worker.profile.enabled": False,
    "distributed.admin.tick.interval": "500ms",
    "distributed.worker.memory.monitor-interval": "500ms",
    "distributed.admin.large-graph-warning-threshold": "1GB",
    # Dask has workers give back at once what they free; to get it again, page by page, takes some 5 % of playing.
    "distributed.nanny.pre-spawn-environ.MALLOC_TRIM_THRESHOLD_": 2**26,
    "distributed.nanny.pre-spawn-environ.MALLOC_MMAP_THRESHOLD_": 2**25,
}
"""Of Dask, for a local cluster, whose cores are for episodes."""
LOOPBACK = "127.0.0.1"
Tls = tuple[str, str, str]


class ClusterLost(ValueError):
    """The cluster cannot be reached, or has no workers any more."""


@functools.cache
def event_loop() -> Any:
    """The one loop of this process for all that Dask does in it, in a thread of its own.

    Dask would make one for every client and cluster, and give each ten seconds to start, which a busy machine can miss.
    """
    from tornado.ioloop import IOLoop

    async def current() -> Any:
        return IOLoop.current()

    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, name="Dask's loop", daemon=True).start()
    return asyncio.run_coroutine_threadsafe(current(), loop).result()


def connect(address: str, timeout: float | None = None, tls: Tls | None = None) -> Any:
    from distributed import Client

    logging.getLogger("distributed.client").setLevel(logging.CRITICAL)  # what it says of lost schedulers, we say better
    options = {"timeout": timeout or PATIENCE, "set_as_default": False, "security": make_security(tls), "loop": event_loop()}
    client = Client.__new__(Client)  # in two steps: one that could not be made is closed here, not by the garbage collector
    try:
        with say_if_slow(f"looking for the scheduler at {address} ..."):
            client.__init__(address, **options)  # type: ignore[misc]
        return client
    except (OSError, ValueError, TypeError, RuntimeError) as error:  # the last two: tls:// without certificates
        client.close()
        raise ClusterLost(
            f"No Dask scheduler answers at {address} ({type(error).__name__}). Start one with: dask scheduler"
        ) from None


def make_security(tls: Tls | None) -> Any:
    """Dask's view of certificates: both ends show one, and nothing is sent in the clear."""
    if tls is None:
        return None
    ca, cert, key = tls
    for path in tls:
        if not Path(path).is_file():
            raise ValueError(f"There is no certificate or key {path}.")
    kind = require("distributed", "Security")
    return kind(
        tls_ca_file=ca,
        tls_client_cert=cert,
        tls_client_key=key,
        tls_scheduler_cert=cert,
        tls_scheduler_key=key,
        tls_worker_cert=cert,
        tls_worker_key=key,
        require_encryption=True,
    )


@contextlib.contextmanager
def open_cluster(scheduler: str, workers: int | None = None, tls: Tls | None = None) -> Iterator[str]:
    """The address of a cluster: one that runs already, or one that is opened for as long as it is needed.

    Args:
        scheduler: An address such as tcp://HOST:8786, the path of a scheduler's file, ``local`` for ``workers`` processes
            on this machine, or ``slurm`` for ``workers`` jobs as Dask's configuration describes them.
        workers: How many to start; those of a cluster that runs already are not ours to choose.
        tls: Files of the authority, the certificate and its key, for encrypted connections.
    """
    if workers is not None:
        whole_number("workers", workers, 1)
    if scheduler == "local":
        kind = require("distributed", "LocalCluster")
        count = workers or available_cores()
        # Whoever reaches a scheduler can run code with it: nothing of this one, pages included, is seen from other machines.
        options = {
            "host": LOOPBACK,
            "dashboard_address": f"{LOOPBACK}:0",
            "worker_dashboard_address": f"{LOOPBACK}:0",
            "silence_logs": logging.CRITICAL,
            "loop": event_loop(),
            "preload": [IGNORE_CTRL_C],
        }
        from dask import config

        with config.set(SETTINGS), kind(n_workers=count, threads_per_worker=1, **options) as cluster:
            cluster.adapt(minimum=count, maximum=count)  # which replaces those that die
            yield cluster.scheduler_address
    elif scheduler == "slurm":
        security = {} if tls is None else {"security": make_security(tls)}
        with require("dask_jobqueue", "SLURMCluster")(loop=event_loop(), **security) as cluster:
            cluster.adapt(minimum_jobs=workers or 1, maximum_jobs=workers or 1)  # also when their time is up
            yield cluster.scheduler_address
    else:
        require("distributed", "Client")
        if workers is not None:
            raise ValueError(f"--workers is for --scheduler local and slurm; the cluster at {scheduler} has its own.")
        yield find_address(scheduler)


def find_address(scheduler: str) -> str:
    path = Path(scheduler)
    if path.is_file():
        try:
            return str(read_json(path.resolve())["address"])
        except (ValueError, KeyError, TypeError):
            raise ValueError(f"{path} is not a scheduler's file, as dask scheduler --scheduler-file writes.") from None
    if ":" not in scheduler:
        raise ValueError(
            f"--scheduler must be an address such as tcp://HOST:8786, a scheduler's file, local or slurm; got {scheduler!r}."
        )
    return scheduler


def require(module: str, name: str) -> Any:
    try:
        return getattr(importlib.import_module(module), name)
    except ImportError as error:
        raise ValueError(f"A cluster needs Dask ({error}). Install it with: pip install 'gaits[cluster]'") from None
