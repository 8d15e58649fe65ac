"""Who does the parts of a pass over blocks of columns: threads of this process, or the workers of a Dask cluster.

Answers come in the order of the parts, and each part is done by one thread, whoever does it: the number of workers, and
which of them is quicker, changes no bit.
"""

import functools
from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from noap.data.arguments import as_jobs
from noap.errors import InvalidProblem
from noap.linalg.types import FloatArray
from noap.runtime.threads import blas_threads, one_thread

__all__ = ["HERE", "Pass", "Tell", "Workers", "block_pairs", "nobody", "pairs_of_blocks"]

# Threads that nobody has asked for. Each holds a block and a product of two, 25 MB where samples are a thousand.
_UNASKED = 16

# Hears how many pairs are scanned, and of how many.
Tell: TypeAlias = Callable[[int, int], None]
Work: TypeAlias = Callable[[FloatArray, FloatArray, Any], Any]


class Pass(NamedTuple):
    """What is to be done with pairs of blocks.

    Attributes
    ----------
    work : callable
        Done with the left block, the right one, and what else is given; of a module, so that it can travel.
    block : callable
        Given a number, returns the block.
    given : callable
        Given the numbers of two blocks, returns what else the work on them needs; called when it is handed out.
    pairs : sequence of (int, int)
        Those with the same left block next to each other.
    """

    work: Work
    block: Callable[[int], FloatArray]
    given: Callable[[int, int], Any]
    pairs: Sequence[tuple[int, int]]

    def done_here(self, left: int, right: int) -> Any:
        """Return the answer for two blocks."""
        own = self.block(left)
        return self.work(own, own if left == right else self.block(right), self.given(left, right))


def block_pairs(count: int) -> list[tuple[int, int]]:
    """Return all pairs of so many blocks, each with itself too.

    Examples
    --------
    >>> block_pairs(2)
    [(0, 0), (0, 1), (1, 1)]
    """
    return [(i, j) for i in range(count) for j in range(i, count)]


def pairs_of_blocks(count: int, width: int, i: int, j: int) -> int:
    """Return how many pairs of columns two blocks have, of so many columns in blocks of this width.

    Examples
    --------
    >>> [pairs_of_blocks(5, 3, i, j) for i, j in block_pairs(2)]
    [3, 6, 1]
    """
    own, other = (min(width, count - a * width) for a in (i, j))
    return own * other if i != j else own * (own - 1) // 2


def nobody(done: int, total: int) -> None:
    """Tell nobody."""


@dataclass(frozen=True)
class Workers:
    """Threads of this process, or a cluster.

    Attributes
    ----------
    n_jobs : int or None
        How many threads, as joblib counts them (-1: one for every core). None: as many as the linear algebra library
        may use, 16 at most.
    client : distributed.Client or None
        The cluster, which takes the place of the threads.

    Examples
    --------
    >>> def work(left, right, given):
    ...     return given + float(left @ right)
    >>> blocks = [np.array([1.0]), np.array([10.0])]
    >>> list(Workers(2).answers(Pass(work, blocks.__getitem__, lambda i, j: i + j, block_pairs(2))))
    [1.0, 11.0, 102.0]
    """

    n_jobs: int | None = None
    client: Any = None

    @classmethod
    def checked(cls, n_jobs: Any, client: Any) -> "Workers":
        """Validate what the user passed."""
        jobs = as_jobs(n_jobs)
        if client is not None and not all(hasattr(client, name) for name in ("submit", "scatter", "nthreads")):
            raise InvalidProblem(f"client must be a distributed.Client or None, got {client!r}.")
        return cls(jobs, client)

    def answers(self, task: Pass, check: Callable[[], None] = lambda: None) -> Generator[Any, None, None]:
        """Yield what the work makes of each pair of blocks, in their order.

        `check` is called while a cluster is waited for; what it raises passes through.
        """
        if self.client is not None and len(task.pairs) > 1:
            from noap.runtime.cluster import answers_of_cluster

            return answers_of_cluster(self.client, task, check)
        return self._on_threads(task)

    @property
    def threads(self) -> int:
        """How many threads there are."""
        if self.n_jobs is None:
            return min(blas_threads(), _UNASKED)
        from joblib import effective_n_jobs  # type: ignore[import-untyped]

        return max(int(effective_n_jobs(self.n_jobs)), 1)

    def _on_threads(self, task: Pass) -> Generator[Any, None, None]:
        threads = min(self.threads, len(task.pairs))
        with one_thread(rows=1):
            if threads <= 1:
                yield from (one() for one in _calls(task))
                return
            from concurrent.futures import ThreadPoolExecutor  # `import noap` stays quick

            waiting: deque[Any] = deque()
            with ThreadPoolExecutor(threads, thread_name_prefix="noap") as pool:
                try:
                    for one in _calls(task):
                        waiting.append(pool.submit(one))
                        # So many that nobody waits for work, and no more: each holds a block.
                        if len(waiting) >= 2 * threads:
                            yield waiting.popleft().result()
                    while waiting:
                        yield waiting.popleft().result()
                finally:
                    for future in waiting:
                        future.cancel()


def _calls(task: Pass) -> Iterator[Callable[[], Any]]:
    """Yield what does each pair; the left block is made once for all that follow each other with it."""
    number = -1
    left: FloatArray = np.empty((0, 0))
    for i, j in task.pairs:
        if i != number:
            number, left = i, task.block(i)
        yield functools.partial(_call, task, left, j if i != j else None, task.given(i, j))


def _call(task: Pass, left: FloatArray, j: int | None, given: Any) -> Any:
    return task.work(left, left if j is None else task.block(j), given)


HERE = Workers()
