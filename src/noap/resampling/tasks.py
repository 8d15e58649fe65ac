"""Many small problems, in one process or in several, and what Ctrl-C leaves of them."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

import numpy as np

from noap.errors import InvalidProblem
from noap.runtime.counting import CountLine
from noap.runtime.interrupts import noticing_interrupts

__all__ = ["finished", "seeds"]

Task = TypeVar("Task")
Answer = TypeVar("Answer")


def seeds(random_state: Any, count: int) -> list[np.random.SeedSequence]:
    """Return a seed for every task, so that the answer does not depend on who does it; None means 0."""
    try:
        if isinstance(random_state, np.random.Generator):
            random_state = int(random_state.integers(2**32))
        return np.random.SeedSequence(0 if random_state is None else random_state).spawn(count)
    except (TypeError, ValueError):
        raise InvalidProblem(
            f"random_state must be an integer of at least 0, a numpy Generator or None, got {random_state!r}."
        ) from None


def finished(
    work: Callable[[Task], Answer], tasks: Sequence[Task], *, n_jobs: int | None, what: str, progress: bool
) -> tuple[list[Answer], bool]:
    """Do the tasks in order, and return the answers and whether Ctrl-C ended it before the last one.

    Parameters
    ----------
    work : callable
        Of a module, so that it can travel to another process.
    tasks : sequence
    n_jobs : int or None
    what : str
        What progress counts.
    progress : bool

    Raises
    ------
    KeyboardInterrupt
        If there is no answer yet.
    """
    answers: list[Answer] = []
    with noticing_interrupts() as interrupts, CountLine(what, len(tasks), progress) as line:
        try:
            for answer in _answers(work, tasks, n_jobs):
                answers.append(answer)
                line.step()
                # A task may have answered Ctrl-C itself.
                if interrupts.seen:
                    break
        except KeyboardInterrupt:
            if not answers:
                raise
    return answers, len(answers) < len(tasks)


def _answers(work: Callable[[Task], Answer], tasks: Sequence[Task], n_jobs: int | None) -> Iterator[Answer]:
    if n_jobs in (None, 1) or len(tasks) < 2:
        return (work(task) for task in tasks)
    # Imported where processes are wanted; it ships no types.
    from joblib import Parallel, delayed  # type: ignore[import-untyped]

    answers: Iterator[Answer] = Parallel(n_jobs=n_jobs, return_as="generator")(delayed(work)(task) for task in tasks)
    return answers
