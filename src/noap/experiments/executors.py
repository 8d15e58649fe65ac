"""Three ways to get trials done: here, in processes of this machine, on a Dask cluster. One interface: an iterator."""

import functools
import multiprocessing
import os
import threading
import time
from collections.abc import Callable, Iterator

from noap.experiments.spec import Trial
from noap.experiments.trial import FinishedTrial
from noap.runtime.cluster import connected, dask_for

__all__ = ["Executor", "Work", "here", "on_cluster", "on_cores"]

Work = Callable[[Trial], FinishedTrial | None]
Stopping = Callable[[], bool]
# Takes the trials, how to do one, and a question asked before each: stop here? Yields them as they finish.
Executor = Callable[[list[Trial], Work, Stopping], Iterator[tuple[Trial, FinishedTrial | None]]]


def here(trials: list[Trial], work: Work, stopping: Stopping) -> Iterator[tuple[Trial, FinishedTrial | None]]:
    """Do one after the other in this process."""
    for trial in trials:
        if stopping():
            return
        yield trial, work(trial)


def on_cores(jobs: int) -> Executor:
    """Return an executor on `jobs` processes of this machine (-1 for all cores), through joblib."""

    def execute(trials: list[Trial], work: Work, stopping: Stopping) -> Iterator[tuple[Trial, FinishedTrial | None]]:
        # Imported where processes are wanted; it ships no types.
        from joblib import Parallel, delayed  # type: ignore[import-untyped]

        # When the run is to stop nothing more is handed out, and what is in flight comes back.
        tasks = (delayed(_paired)(work, trial) for trial in trials if not stopping())
        yield from Parallel(n_jobs=jobs, return_as="generator_unordered", batch_size=1)(tasks)

    return execute


def _paired(work: Work, trial: Trial) -> tuple[Trial, FinishedTrial | None]:
    _follow(os.getpid())
    return trial, work(trial)


@functools.cache
def _follow(process: int) -> None:
    """Let this worker end when its parent is gone, once per process: kill -9 of a run leaves nobody behind."""
    if multiprocessing.parent_process() is None:
        return  # joblib may well do the work in the run's own process
    parent = os.getppid()

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(1.0)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def on_cluster(address: str, *, timeout: float = 10.0) -> Executor:
    """Return an executor on the Dask scheduler at `address`, such as tcp://host:8786.

    The cluster computes, this process stores: a worker that dies costs its trials in flight, which the scheduler hands
    to another.
    """
    distributed = dask_for(address)

    def execute(trials: list[Trial], work: Work, stopping: Stopping) -> Iterator[tuple[Trial, FinishedTrial | None]]:
        with connected(address, timeout=timeout) as client:
            futures = {client.submit(work, trial, pure=False): trial for trial in trials}
            waiting = distributed.as_completed(list(futures), loop=client.loop)
            try:
                for future in waiting:
                    trial = futures.pop(future)
                    yield trial, future.result()
                    if stopping():
                        return
            finally:
                client.cancel(list(futures), reason="the run was stopped")

    return execute
