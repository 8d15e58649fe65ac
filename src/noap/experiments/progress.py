"""Bars on a terminal, one per method and one for all, with the time left; elsewhere a line that counts."""

import sys
from collections import Counter
from types import TracebackType
from typing import Any

from noap.experiments.spec import Trial
from noap.runtime.counting import CountLine

__all__ = ["Bars", "time_left"]


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


class Bars:
    """A context manager whose `advance` keeps the bars up to date, or the line; it does nothing unless wanted."""

    def __init__(self, trials: list[Trial], workers: int, *, wanted: bool) -> None:
        self._left = Counter(trial.method.label for trial in trials)
        self._seconds: dict[str, list[float]] = {}
        self._limits = {trial.method.label: trial.method.time_limit or 1.0 for trial in trials}
        self._workers = workers if workers > 0 else 1
        self._bars: Any = None
        on_terminal = sys.stderr.isatty()
        self._count = CountLine("trial", len(trials), wanted and not on_terminal)
        if wanted and trials and on_terminal:
            from rich.console import Console
            from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

            self._bars = Progress(
                TextColumn("{task.description}"),
                BarColumn(),
                MofNCompleteColumn(),
                TimeElapsedColumn(),
                TextColumn("{task.fields[left]}"),
                console=Console(stderr=True),
                transient=True,
            )
            self._tasks = {
                label: self._bars.add_task(label, total=count, left="") for label, count in self._left.items()
            }
            self._all = self._bars.add_task("all", total=len(trials), left="")

    def __enter__(self) -> "Bars":
        if self._bars is not None:
            self._bars.start()
        self._count.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bars is not None:
            self._bars.stop()
        self._count.__exit__(kind, error, trace)

    def advance(self, trial: Trial, seconds: float) -> None:
        """Count one finished trial."""
        label = trial.method.label
        self._left[label] -= 1
        self._seconds.setdefault(label, []).append(seconds)
        means = {name: sum(spent) / len(spent) for name, spent in self._seconds.items()}
        total = time_left(self._left, means, self._limits, self._workers)
        self._count.step(note=_clock(total))
        if self._bars is None:
            return
        own = time_left({label: self._left[label]}, means, self._limits, self._workers)
        self._bars.update(self._tasks[label], advance=1, left=_clock(own))
        self._bars.update(self._all, advance=1, left=_clock(total))


def _clock(seconds: float) -> str:
    whole = round(seconds)
    return f"{whole // 3600}:{whole // 60 % 60:02d}:{whole % 60:02d} left"
