"""Numba's kernels are compiled once per machine: a line for the user who has to wait, and no clock that runs."""

import contextlib
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from noap.runtime.line import Line

__all__ = ["compile_once", "compiling", "is_compiled", "tell"]


def compile_once(kernels: tuple[Any, ...], whose: str, trial: Callable[[], object]) -> float:
    """Run a trial that makes Numba compile, unless it has done so; say so, and return the seconds it took.

    Parameters
    ----------
    kernels : the kernels that Python calls; the first of them tells whether all are compiled
    whose : what they belong to
    trial : what calls them
    """
    if is_compiled(kernels[0]):
        return 0.0
    started = time.perf_counter()
    with compiling(kernels, whose):
        trial()
    return time.perf_counter() - started


@contextlib.contextmanager
def compiling(kernels: tuple[Any, ...], whose: str) -> Iterator[None]:
    """Say what is being compiled, and how far it is, where the first of the kernels is not compiled yet."""
    if is_compiled(kernels[0]):
        yield
        return
    from noap.runtime.kernels import watched  # loads Numba, which `import noap` should not

    again = "once; later runs start at once" if kernels[0].stats.cache_path else "for this run: there is no cache"
    tell(f"compiling the kernels of {whose}, {again}.")
    line = Line()
    with watched(kernels, lambda done, total, name: line.show(f"{done} of {total} compiled, now {name}")):
        try:
            yield
        finally:
            line.close("noap: compiled.")


def tell(sentence: str) -> None:
    """Write one line to stderr if a person is likely to read it."""
    if sys.stderr.isatty():
        sys.stderr.write(f"noap: {sentence}\n")


def is_compiled(kernel: Any) -> bool:
    """Return whether a kernel is in memory or in Numba's cache on disk."""
    if kernel.overloads:  # in memory; its `signatures` would be built anew at each call
        return True
    if not kernel.stats.cache_path:  # there is nowhere to keep it
        return False
    name = f"{kernel.__module__.rsplit('.', 1)[-1]}.{kernel.__name__}-*.nbi"
    return any(Path(str(kernel.stats.cache_path)).glob(name))
