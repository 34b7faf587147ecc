"""A Dask scheduler with workers, all in this process."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from stiffly.sweeps import cluster


@contextmanager
def scheduler(workers: int = 2, threads: int = 1) -> Iterator[str]:
    """Its address."""
    from distributed import LocalCluster

    options: dict[str, Any] = {**cluster.QUIET, "processes": False, "protocol": "tcp"}
    del options["preload"]
    with LocalCluster(n_workers=workers, threads_per_worker=threads, **options) as local:
        yield local.scheduler_address
