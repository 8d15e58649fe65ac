"""Run what is missing of some experiments and store every trial the moment it is finished."""

import contextlib
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from noap.errors import InvalidProblem
from noap.experiments.executors import Executor, Work, here, on_cluster, on_cores
from noap.experiments.progress import Bars
from noap.experiments.spec import Spec
from noap.experiments.store import Store
from noap.experiments.trial import perform

__all__ = ["Run", "run"]


@dataclass(frozen=True)
class Run:
    """How a run ended.

    Attributes
    ----------
    wanted : int
        Trials of the experiments.
    found : int
        Those that were in the store before.
    done : int
        Those finished now.
    interrupted : bool
        Whether Ctrl-C ended it.
    """

    wanted: int
    found: int
    done: int
    interrupted: bool

    @property
    def complete(self) -> bool:
        """Whether every trial is in the store."""
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
    """Do the trials of `specs` that `store` does not have, and store each in a transaction of its own.

    Running again goes on where it stopped, whatever stopped it. Ctrl-C lets the trials in flight finish, stores them
    and returns; a second one returns at once.

    Parameters
    ----------
    specs : sequence of Spec
    store : Store
    jobs : int
        Processes of this machine, -1 for all cores.
    cluster : str, optional
        Address of a Dask scheduler that does the work instead.
    progress : bool
        Show progress and the time left on a terminal.
    work : callable
        What turns a Trial into a FinishedTrial.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from noap.experiments import Method, SpikedModel
    >>> spec = Spec("tiny", "feature", SpikedModel(8, 2, 3.0), (30,), (0.0, 1.0), (0,), (Method("PPM", "ppm"),))
    >>> with tempfile.TemporaryDirectory() as folder, Store(Path(folder) / "trials.sqlite") as store:
    ...     run([spec], store).done, run([spec], store).done
    (2, 0)
    """
    execute = _executor(jobs, cluster)
    wanted = {trial.key: trial for spec in specs for trial in spec.trials()}
    for spec in specs:
        store.add_spec(spec)
    stored = store.keys() & wanted.keys()
    missing = [trial for key, trial in wanted.items() if key not in stored]
    done, halted = 0, threading.Event()
    with _interrupts() as stopping, Bars(missing, jobs, wanted=progress) as bars:
        try:
            for trial, finished in execute(missing, work, lambda: halted.is_set() or stopping()):
                if finished is None:  # Ctrl-C reached a solver first
                    halted.set()
                    continue
                store.add(trial, finished)
                done += 1
                bars.advance(trial, float(finished.columns["seconds"]))
        except KeyboardInterrupt:
            halted.set()
        stopped = halted.is_set() or stopping()
    return Run(len(wanted), len(stored), done, stopped and len(stored) + done < len(wanted))


def _executor(jobs: int, cluster: str | None) -> Executor:
    if isinstance(jobs, bool) or not isinstance(jobs, int) or jobs == 0 or jobs < -1:
        raise InvalidProblem(f"jobs must be a positive integer or -1 for all cores, got {jobs!r}.")
    if cluster is not None:
        return on_cluster(cluster)
    return here if jobs == 1 else on_cores(jobs)


@contextlib.contextmanager
def _interrupts() -> Iterator[Callable[[], bool]]:
    """Within, the first Ctrl-C only sets a flag and the second interrupts; yields a question for the flag."""
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
