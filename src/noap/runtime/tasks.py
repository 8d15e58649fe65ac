"""Tasks that share nothing: a seed for each, one process or several, and the answers that Ctrl-C leaves."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

import numpy as np

from noap.errors import InvalidProblem
from noap.runtime.interrupts import noticing_interrupts
from noap.runtime.progress import CountLine

__all__ = ["finished", "in_order", "seeds"]

Task = TypeVar("Task")
Answer = TypeVar("Answer")


def seeds(random_state: Any, count: int) -> list[np.random.SeedSequence]:
    """Return one seed per task, so that the answer does not depend on the number of processes; None means 0."""
    try:
        if isinstance(random_state, np.random.Generator):
            random_state = int(random_state.integers(2**32))
        return np.random.SeedSequence(0 if random_state is None else random_state).spawn(count)
    except (TypeError, ValueError):
        raise InvalidProblem(
            f"random_state must be an integer of at least 0, a numpy Generator or None, got {random_state!r}."
        ) from None


def in_order(work: Callable[[Task], Answer], tasks: Sequence[Task], n_jobs: int | None) -> Iterator[Answer]:
    """Yield the answers in the order of the tasks; `work` must be a function of a module, which processes can load."""
    if n_jobs in (None, 1) or len(tasks) < 2:
        return (work(task) for task in tasks)
    # Imported only where several processes are wanted; it ships no types.
    from joblib import Parallel, delayed  # type: ignore[import-untyped]

    answers: Iterator[Answer] = Parallel(n_jobs=n_jobs, return_as="generator")(delayed(work)(task) for task in tasks)
    return answers


def finished(
    work: Callable[[Task], Answer], tasks: Sequence[Task], *, n_jobs: int | None, what: str, progress: bool
) -> tuple[list[Answer], bool]:
    """Return the answers in order, and whether Ctrl-C ended the work before the last task.

    Parameters
    ----------
    work, tasks, n_jobs : as for `in_order`
    what : str
        Name of one task in the line of progress.
    progress : bool

    Raises
    ------
    KeyboardInterrupt
        If there is no answer yet.
    """
    answers: list[Answer] = []
    with noticing_interrupts() as interrupts, CountLine(what, len(tasks), progress) as line:
        try:
            for answer in in_order(work, tasks, n_jobs):
                answers.append(answer)
                line.step()
                if interrupts.seen:  # a task may have answered Ctrl-C by itself
                    break
        except KeyboardInterrupt:
            if not answers:
                raise
    return answers, len(answers) < len(tasks)
