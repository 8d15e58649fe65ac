"""Seconds of a job, and of several side by side: one process, one thread each, in turns, in alternating order."""

import contextlib
import math
import os
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np

__all__ = ["Elsewhere", "Timing", "ratio", "side_by_side", "single_thread", "timed"]

T = TypeVar("T")

# Read by libraries when they are loaded, so they reach the processes that a run starts.
_VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS", "POLARS_MAX_THREADS")


def timed(job: Callable[[], T]) -> tuple[float, T]:
    """Return the wall seconds of one run of `job`, and what it returned.

    Examples
    --------
    >>> spent, answer = timed(lambda: 6 * 7)
    >>> answer, spent >= 0
    (42, True)
    """
    started = time.perf_counter()
    answer = job()
    return time.perf_counter() - started, answer


@dataclass(frozen=True)
class Elsewhere:
    """What a job returns that was done in another process, which told its own CPU seconds."""

    answer: Any
    cpu: float


@dataclass
class Timing:
    """Seconds of one job, one entry per round, and what it returned last.

    On a machine that others use too, CPU seconds of one thread say what wall seconds would on an idle one.
    """

    wall: list[float] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)
    answer: Any = None

    @property
    def row(self) -> dict[str, float]:
        """Median and spread, as columns of a table."""
        return {
            "cpu_s": float(np.median(self.cpu)),
            "cpu_low": min(self.cpu),
            "cpu_high": max(self.cpu),
            "wall_s": float(np.median(self.wall)),
            "rounds": len(self.cpu),
        }


def side_by_side(jobs: Mapping[str, Callable[[], Any]], repeats: int, patience: float = math.inf) -> dict[str, Timing]:
    """Run every job in each of `repeats` rounds, after one round that is not counted.

    Parameters
    ----------
    jobs : mapping from name to callable
    repeats : int
    patience : float, optional
        A job that has taken so many seconds, warming up included, is not run again; its times so far count.
    """
    found = {name: Timing() for name in jobs}
    spent = dict.fromkeys(jobs, 0.0)
    for turn in range(repeats + 1):
        for name in list(jobs)[:: -1 if turn % 2 else 1]:
            if turn > 0 and spent[name] >= patience:
                continue
            wall, cpu = time.perf_counter(), time.process_time()
            answer = jobs[name]()
            cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
            if isinstance(answer, Elsewhere):
                answer, cpu = answer.answer, answer.cpu
            spent[name] += wall
            timing = found[name]
            # The warm-up counts only where there is no time for more.
            if turn == 1:
                timing.wall.clear()
                timing.cpu.clear()
            timing.wall.append(wall)
            timing.cpu.append(cpu)
            timing.answer = answer
    return found


def ratio(one: Timing, other: Timing) -> float:
    """Return the median over rounds of CPU time of `one` in units of `other`."""
    if len(one.cpu) == len(other.cpu):
        return float(np.median([a / max(b, 1e-9) for a, b in zip(one.cpu, other.cpu, strict=True)]))
    return float(np.median(one.cpu) / max(float(np.median(other.cpu)), 1e-9))


@contextlib.contextmanager
def single_thread() -> Iterator[list[dict[str, Any]]]:
    """Hold every numerical library, and those of child processes, to one thread; yield what was found to hold."""
    from threadpoolctl import threadpool_info, threadpool_limits

    before = {name: os.environ.get(name) for name in _VARIABLES}
    os.environ.update(dict.fromkeys(_VARIABLES, "1"))
    try:
        with threadpool_limits(limits=1):
            yield [
                {"library": info["prefix"], "api": info["user_api"], "threads": info["num_threads"]}
                for info in threadpool_info()
            ]
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
