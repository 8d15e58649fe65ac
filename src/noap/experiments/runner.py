"""Run what is missing of some experiments and store every trial the moment it is finished."""

import contextlib
import functools
import multiprocessing
import os
import signal
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from noap.errors import InvalidProblem
from noap.experiments.spec import Spec, Trial
from noap.experiments.store import Store
from noap.experiments.trial import FinishedTrial, perform
from noap.runtime.cluster import connected
from noap.runtime.progress import CountLine

__all__ = ["Run", "Work", "run", "time_left"]

Work = Callable[[Trial], FinishedTrial | None]
Finished = Iterator[tuple[Trial, FinishedTrial | None]]


@dataclass(frozen=True)
class Run:
    """The end of a run.

    Attributes
    ----------
    wanted : int
        Trials of the experiments.
    found : int
        Trials that were in the store before.
    done : int
        Trials finished now.
    interrupted : bool
        Whether Ctrl-C ended it.
    """

    wanted: int
    found: int
    done: int
    interrupted: bool

    @property
    def complete(self) -> bool:
        """True if every trial is in the store."""
        return self.found + self.done == self.wanted


def run(
    specs: Sequence[Spec],
    store: Store,
    *,
    jobs: int = 1,
    cluster: str | None = None,
    progress: bool = False,
    work: Work = perform,
) -> Run:
    """Do the trials of `specs` that `store` does not have, and store each as soon as it is finished.

    Running again continues where it stopped, whatever stopped it. Ctrl-C lets the trials in flight finish, stores them
    and returns; a second one returns at once.

    Parameters
    ----------
    specs : sequence of Spec
    store : Store
    jobs : int
        Processes of this machine, -1 for all cores.
    cluster : str, optional
        Address of a Dask scheduler that does the work instead, such as tcp://host:8786. This process stores: a worker
        that dies costs its trials in flight, which the scheduler hands to another.
    progress : bool
        Show how many trials are done, and the time left.
    work : callable
        Turns a Trial into a FinishedTrial; None means that Ctrl-C stopped it halfway.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from noap.experiments import Method, SpikedModel
    >>> spec = Spec("tiny", "feature", SpikedModel(8, 2, 3.0), (30,), (0.0, 1.0), (0,), (Method("PPM", "ppm"),))
    >>> with tempfile.TemporaryDirectory() as folder, Store(Path(folder) / "trials.jsonl") as store:
    ...     run([spec], store).done, run([spec], store).done
    (2, 0)
    """
    if isinstance(jobs, bool) or not isinstance(jobs, int) or jobs == 0 or jobs < -1:
        raise InvalidProblem(f"jobs must be a positive integer or -1 for all cores, got {jobs!r}.")
    wanted = {trial.key: trial for spec in specs for trial in spec.trials()}
    stored = store.keys() & wanted.keys()
    missing = [trial for key, trial in wanted.items() if key not in stored]
    clock = _Clock(missing, jobs)
    done, halted = 0, threading.Event()
    with _interrupts() as asked, CountLine("trial", len(missing), progress) as line:
        try:
            for trial, finished in _finished(missing, work, lambda: halted.is_set() or asked(), jobs, cluster):
                if finished is None:  # Ctrl-C reached a solver first
                    halted.set()
                    continue
                store.add(trial, finished)
                done += 1
                line.step(note=clock.after(trial, float(finished.columns["seconds"])))
        except KeyboardInterrupt:
            halted.set()
        stopped = halted.is_set() or asked()
    return Run(len(wanted), len(stored), done, stopped and len(stored) + done < len(wanted))


def _finished(
    trials: list[Trial], work: Work, stopping: Callable[[], bool], jobs: int, cluster: str | None
) -> Finished:
    """Yield the trials as they finish; once `stopping`, begin no other and yield those in flight."""
    begun = (trial for trial in trials if not stopping())
    if cluster is None and jobs == 1:
        yield from ((trial, work(trial)) for trial in begun)
        return
    from joblib import Parallel, delayed, parallel_config  # type: ignore[import-untyped]  # ships no types

    with contextlib.ExitStack() as stack:
        if cluster is not None:
            client = stack.enter_context(connected(cluster))
            stack.enter_context(parallel_config("dask", client=client))
            jobs = -1
        tasks = (delayed(_paired)(work, trial) for trial in begun)
        yield from Parallel(n_jobs=jobs, return_as="generator_unordered", batch_size=1)(tasks)


def _paired(work: Work, trial: Trial) -> tuple[Trial, FinishedTrial | None]:
    _end_with_parent(os.getpid())
    return trial, work(trial)


@functools.cache
def _end_with_parent(process: int) -> None:
    """End this worker process when its parent is gone, so that kill -9 of a run leaves no process behind."""
    if multiprocessing.parent_process() is None:
        return  # joblib may do the work in the run's own process
    parent = os.getppid()

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(1.0)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


@contextlib.contextmanager
def _interrupts() -> Iterator[Callable[[], bool]]:
    """Let the first Ctrl-C only set a flag and the second interrupt; yield a function that reads the flag."""
    asked = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield asked.is_set
        return

    def first(number: int, frame: object) -> None:
        asked.set()
        signal.signal(signal.SIGINT, signal.default_int_handler)
        sys.stderr.write("\nnoap: finishing the trials in flight; press Ctrl-C again to drop them.\n")

    before = signal.signal(signal.SIGINT, first)
    try:
        yield asked.is_set
    finally:
        signal.signal(signal.SIGINT, before)


def time_left(left: dict[str, int], means: dict[str, float], limits: dict[str, float], workers: int) -> float:
    """Return ``sum over methods of (trials left) x (mean seconds) / workers``; a method not yet seen counts its limit.

    One rate for all would be wrong by orders of magnitude: an exact solve takes milliseconds, a program its limit.

    Examples
    --------
    >>> time_left({"exact": 10, "MIP": 4}, {"exact": 0.1}, {"MIP": 30.0}, workers=2)
    60.5
    """
    total = sum(count * means.get(label, limits.get(label, 0.0)) for label, count in left.items())
    return total / max(workers, 1)


class _Clock:
    """The time left, from the seconds that each method has taken so far."""

    def __init__(self, trials: list[Trial], jobs: int) -> None:
        self._left = Counter(trial.method.label for trial in trials)
        self._limits = {trial.method.label: trial.method.time_limit or 1.0 for trial in trials}
        self._seconds: dict[str, list[float]] = {}
        self._workers = jobs if jobs > 0 else os.cpu_count() or 1

    def after(self, trial: Trial, seconds: float) -> str:
        """Count one finished trial and return the time left in words."""
        self._left[trial.method.label] -= 1
        self._seconds.setdefault(trial.method.label, []).append(seconds)
        means = {label: sum(spent) / len(spent) for label, spent in self._seconds.items()}
        whole = round(time_left(self._left, means, self._limits, self._workers))
        return f"{whole // 3600}:{whole // 60 % 60:02d}:{whole % 60:02d} left"
