"""A pass over pairs of blocks on the workers of a Dask cluster; what does not come back from there is done here."""

import contextlib
import importlib
import threading
import time
from collections.abc import Callable, Generator
from typing import TYPE_CHECKING, Any

from noap._version import __version__
from noap.errors import InvalidProblem, NoapError
from noap.runtime.threads import one_thread

if TYPE_CHECKING:
    from noap.runtime.workers import Pass

__all__ = ["answers_of_cluster", "connected", "dask_for", "require_same_version"]

# Seconds between two looks at the clock of the user, and between two at whether any worker is left.
_LOOK, _LOOK_AT_WORKERS = 0.2, 2.0
# Seconds in which a worker must be there to take a block.
_PATIENCE = 10.0
# Pairs that are handed out beside those that a thread of the cluster is at.
_AHEAD = 2


def answers_of_cluster(client: Any, task: "Pass", check: Callable[[], None]) -> Generator[Any, None, None]:
    """Yield the answers in the order of the pairs, as `Workers.answers` does.

    Blocks travel once to the cluster and between its workers. If a worker dies, its blocks are gone: a pair that is
    lost with them is done here, and all others are handed out again with new blocks.
    """
    require_same_version(client)
    handed = _Handed(client, task)
    try:
        for number in range(len(task.pairs)):
            handed.out(number)
            yield handed.answer(number, check)
    finally:
        handed.cancel()


class _Handed:
    """What the cluster has: blocks and work on pairs of them."""

    def __init__(self, client: Any, task: "Pass") -> None:
        self.client, self.task = client, task
        self.threads = max(sum(client.nthreads().values()), 1)
        self.last: dict[int, int] = {}  # the last pair that needs a block
        for number, (i, j) in enumerate(task.pairs):
            self.last[i] = self.last[j] = number
        self.blocks: dict[int, Any] = {}
        self.running: dict[int, Any] = {}
        self.news = threading.Event()
        self.lost = False  # whether something did not come back

    def out(self, first: int) -> None:
        """Let the cluster have as many pairs, from this one on, as keep it busy; none if nobody is there."""
        if self.lost and not self._anybody():
            return
        self.lost = False
        for number in range(first, min(first + _AHEAD + 2 * self.threads, len(self.task.pairs))):
            if number not in self.running:
                i, j = self.task.pairs[number]
                try:
                    left, right, given = self._block(i), self._block(j), self.task.given(i, j)
                except (OSError, TimeoutError):
                    self.lost = True
                    return
                future = self.client.submit(_done, self.task.work, left, right, given, pure=False)
                future.add_done_callback(lambda _: self.news.set())
                self.running[number] = future

    def answer(self, number: int, check: Callable[[], None]) -> Any:
        """Return the answer of a pair, from the cluster or, if it is lost, made here."""
        future = self.running.get(number)
        if future is None:
            return self._here(number)
        looked = time.monotonic()
        while not future.done():
            check()
            self.news.wait(_LOOK)
            self.news.clear()
            if time.monotonic() - looked > _LOOK_AT_WORKERS:
                looked = time.monotonic()
                if not self._anybody():
                    break
        if future.status == "finished":
            try:
                answer = future.result()
            except Exception:  # whoever has it died with it
                answer = self._here(number)
        else:
            answer = self._here(number)
        self.running.pop(number, None)
        for block in [block for block in self.blocks if self.last[block] <= number]:
            del self.blocks[block]
        return answer

    def cancel(self) -> None:
        """Take back what is handed out."""
        # Nothing is left to take back from a scheduler that is gone.
        with contextlib.suppress(OSError, RuntimeError, TimeoutError):
            self.client.cancel(list(self.running.values()))
        self.running.clear()
        self.blocks.clear()

    def _here(self, number: int) -> Any:
        self.cancel()
        self.lost = True
        with one_thread(rows=1):
            return self.task.done_here(*self.task.pairs[number])  # an error of the work itself is raised here too

    def _block(self, number: int) -> Any:
        if number not in self.blocks:
            self.blocks[number] = self.client.scatter(self.task.block(number), hash=False, timeout=_PATIENCE)
        return self.blocks[number]

    def _anybody(self) -> bool:
        try:
            return bool(self.client.nthreads())
        except (OSError, RuntimeError, TimeoutError):
            return False


def dask_for(address: str) -> Any:
    """Return Dask's module, or raise, naming the option --cluster, if there is none or that is no address."""
    try:
        distributed: Any = importlib.import_module("distributed")
    except ImportError:
        raise NoapError("--cluster needs Dask; install it with: pip install 'noap[dask]'.") from None
    if "://" not in address:
        raise InvalidProblem(
            f"--cluster must be the address of a Dask scheduler, such as tcp://host:8786, got {address}."
        )
    return distributed


def connected(address: str, *, timeout: float = 10.0) -> Any:
    """Return a client of the Dask scheduler at an address such as tcp://host:8786, a context manager."""
    try:
        client = dask_for(address).Client(address, timeout=timeout, set_as_default=False)
    except (OSError, TimeoutError):
        raise NoapError(
            f"--cluster {address} cannot be reached; start it with `dask scheduler` and `dask worker {address}`."
        ) from None
    try:
        require_same_version(client, address)
    except NoapError:
        client.close()
        raise
    return client


def _done(work: Callable[..., Any], left: Any, right: Any, given: Any) -> Any:
    with one_thread(rows=1):
        return work(left, right, given)


def require_same_version(client: Any, whose: str = "client") -> None:
    """Raise NoapError unless all workers have this version of noap."""
    versions = set(client.run(_version).values())
    if versions - {__version__}:
        raise NoapError(
            f"The workers of {whose} have noap {', '.join(sorted(versions))}, this is {__version__}; "
            "install the same version everywhere."
        )


def _version() -> str:
    from noap._version import __version__

    return __version__
