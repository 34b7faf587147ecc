"""Jobs that know nothing of each other, on a Dask cluster: this machine's cores, or a scheduler's.

A worker that dies is replaced and its jobs begin again elsewhere; a job that fails is tried once
more.  Nothing is kept here: who asks stores what comes, as it comes.
"""

from __future__ import annotations

import asyncio
import logging
import os
import signal
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import CancelledError, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from importlib.util import find_spec
from typing import Any, NamedTuple
from uuid import uuid4

from ..errors import InputError, SimulationFailure, one_line
from ..recording.provenance import versions

__all__ = ["Job", "Outcome", "cluster", "outcomes", "packages", "require_alike", "require_versions"]

WATCH = 500  # ms between two looks at the processes of this machine
PATIENCE = 10.0  # seconds for a scheduler to answer, and then for its first worker
TRIES = 2
DIED = "WorkerDied"  # of a failure: no exception tells what ends a whole process
SETTINGS = {
    # a process per core is enough; set in the child alone: once it changes, numba here refuses to
    # compile
    "distributed.nanny.environ.NUMBA_NUM_THREADS": 1,
    "distributed.worker.profile.enabled": False,  # looks at what runs a hundred times a second
    "distributed.scheduler.http.routes": [],  # no pages about what runs
}
# deaths of workers are told in the results
LOGS, SILENT = ("distributed", "distributed.client"), logging.CRITICAL + 1
QUIET: dict[str, Any] = {
    "silence_logs": SILENT,
    # any port: the default one may be taken
    "scheduler_kwargs": {"dashboard": False, "dashboard_address": "127.0.0.1:0"},
    "preload": [__name__],
}

Job = tuple[Callable[..., Any], tuple[Any, ...]]  # a function of a module, and its arguments


class Outcome(NamedTuple):
    """value: what the job returned; or failure: the name of what it raised, and its text."""

    value: Any
    failure: str
    text: str
    tries: int


def require_dask() -> None:
    if find_spec("distributed") is None:
        raise InputError('many runs at once need Dask: pip install "stiffly[sweep]"')


@contextmanager
def cluster(on: str | None, processes: int | None) -> Iterator[Any]:
    """A Dask client.  on: a scheduler's address; else so many processes of this machine, of one
    thread each, behind keys of their own: other users of the machine reach its ports, too."""
    require_dask()
    import dask.config
    import distributed

    with ExitStack() as open_now:
        for name in LOGS:
            log = logging.getLogger(name)
            open_now.callback(log.setLevel, log.level)
            log.setLevel(SILENT)
        if on is not None:
            _require_scheduler(on)
            client = open_now.enter_context(distributed.Client(on, timeout=PATIENCE))
            _require_workers(client, on)
        else:
            open_now.enter_context(dask.config.set(SETTINGS))
            open_now.enter_context(_environment_kept())
            options = {"n_workers": processes, "threads_per_worker": 1, "security": True}
            local = _started(distributed.LocalCluster, {**options, **QUIET})
            open_now.enter_context(local)
            open_now.enter_context(_kept_up(local))
            client = open_now.enter_context(distributed.Client(local))
        yield client


@contextmanager
def _environment_kept() -> Iterator[None]:
    """Dask tells its processes through this one's environment (BLAS threads, seeds of hashes), and
    leaves it so: what the program starts later would inherit that."""
    before = dict(os.environ)
    try:
        yield
    finally:
        for name in set(os.environ) - set(before):
            del os.environ[name]
        os.environ.update(before)


@contextmanager
def _kept_up(local: Any) -> Iterator[None]:
    """Dask starts a process that dies anew, but gives up one that takes long for it (15 s), and one
    that dies meanwhile: here others take their places."""
    from distributed.core import Status
    from tornado.ioloop import PeriodicCallback

    count = len(local.worker_spec)

    def look() -> None:
        for name, nanny in list(local.workers.items()):
            if nanny.status in (Status.closed, Status.failed):
                del local.workers[name]
        if len(local.workers) < count:
            local.scale(count)

    watch = PeriodicCallback(look, WATCH)
    local.loop.add_callback(watch.start)
    try:
        yield
    finally:
        local.loop.add_callback(watch.stop)


def dask_setup(worker: Any) -> None:
    """Called in processes of this machine's own: Ctrl-C reaches all, and the client ends them."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _started(LocalCluster: Any, options: Mapping[str, Any]) -> Any:
    try:
        return LocalCluster(**options)
    except RuntimeError as failure:
        raise InputError(
            f"no processes could be started ({failure}): a program that starts them has to do so "
            'under `if __name__ == "__main__":`'
        ) from None


def cores() -> int:
    require_dask()
    from dask.system import CPU_COUNT

    return CPU_COUNT


def _require_scheduler(address: str) -> None:
    """One that answers: a client would wait for ever for a port that accepts and says nothing."""
    from distributed.core import rpc
    from distributed.security import Security

    async def asked() -> Any:
        async with rpc(
            address, connection_args=Security().get_connection_args("client")
        ) as scheduler:
            return await scheduler.identity()

    async def in_time() -> Any:
        return await asyncio.wait_for(asked(), PATIENCE)

    try:
        with ThreadPoolExecutor(1) as aside:  # a notebook has a loop of its own under way
            kind = aside.submit(lambda: asyncio.run(in_time())).result()["type"]
    except Exception as failure:  # whatever else listens there
        why = f"no answer in {PATIENCE:g} s" if isinstance(failure, TimeoutError) else str(failure)
        raise InputError(
            f"no Dask scheduler at {address} ({why}): start one with `dask scheduler`, give the "
            "address that it prints, or none to compute here"
        ) from None
    if kind != "Scheduler":
        raise InputError(f"at {address} is a {kind}, no scheduler: give the scheduler's address")


def _require_workers(client: Any, address: str) -> None:
    try:
        client.wait_for_workers(1, timeout=PATIENCE)
    except TimeoutError:
        raise InputError(
            f"the scheduler at {address} has no workers: start some with `dask worker {address} "
            "--nthreads 1`"
        ) from None


def packages(*more: str) -> dict[str, str]:
    """Versions that decide about results; processors may differ from one worker to the next."""
    return {k: v for k, v in versions(*more).items() if k not in ("machine", "processor")}


def require_versions(wanted: Mapping[str, str]) -> None:
    """Those of the command are those that are here."""
    here = packages(*wanted)
    for package, version in wanted.items():
        if here.get(package) != version:
            raise InputError(
                f"the worker has {package} {here.get(package, 'not at all')}, the command has "
                f"{version}: install the same versions everywhere"
            )


def require_alike(client: Any, package: str, check: Callable[..., None], *given: Any) -> None:
    """check(*given), a function of that package, on every worker that is there."""
    try:
        client.run(check, *given)
    except InputError:
        raise
    except Exception as failure:
        why = one_line(f"{type(failure).__name__}: {failure}")
        raise InputError(f"a worker cannot run {package} ({why}): install it there") from None


def outcomes(client: Any, jobs: Mapping[str, Job]) -> Iterator[tuple[str, Outcome]]:
    """Names of jobs and what became of them, as they end; those named first begin first."""
    from distributed import as_completed

    begun: dict[str, tuple[str, int]] = {}

    def begin(name: str, tries: int) -> Any:
        function, arguments = jobs[name]
        # a key of its own: an earlier client's job of that name may still be under way
        future = client.submit(caught, function, arguments, key=f"{name}-{uuid4()}")
        begun[future.key] = (name, tries)
        return future

    left, coming = deque((name, 1) for name in jobs), as_completed()

    def fill() -> None:
        """One job a thread: who waits in a worker that dies would be taken for the cause of it."""
        room = max(1, sum(client.nthreads().values()))
        while left and len(begun) < room:
            coming.add(begin(*left.popleft()))

    try:
        fill()
        for future in coming:
            name, tries = begun.pop(future.key)
            outcome = _outcome(future, tries)
            again = outcome.failure and tries < TRIES
            if again:
                left.append((name, tries + 1))
            fill()
            if not again:
                yield name, outcome
    except (CancelledError, asyncio.CancelledError, OSError):  # CommClosedError, TimeoutError
        raise SimulationFailure(
            "the scheduler is gone; what has ended is kept: start it, then the same command again"
        ) from None


def caught(function: Callable[..., Any], arguments: tuple[Any, ...]) -> tuple[Any, str, str]:
    """In the worker: failures as words, since exceptions may hold the frames of their run."""
    try:
        return function(*arguments), "", ""
    except Exception as failure:
        return None, type(failure).__name__, one_line(failure)


def _outcome(future: Any, tries: int) -> Outcome:
    from distributed import KilledWorker

    try:
        value, failure, text = future.result()
        return Outcome(value, failure, text, tries)
    except KilledWorker:
        text = "every process that ran it died: out of memory, or killed from outside"
        return Outcome(None, DIED, text, tries)
    except (CancelledError, OSError):
        raise
    except Exception as failure:  # before the job began: no such module there
        return Outcome(None, type(failure).__name__, one_line(failure), tries)
