"""Numba's kernels are compiled once per machine: a line for the user who has to wait, and no clock that runs."""

import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

__all__ = ["compile_once", "is_compiled", "tell"]


def compile_once(kernel: Any, whose: str, trial: Callable[[], object]) -> float:
    """Run a trial that makes Numba compile, unless it has done so; say so, and return the seconds it took."""
    if is_compiled(kernel):
        return 0.0
    tell(f"compiling the kernels of {whose}, once; later runs start at once.")
    started = time.perf_counter()
    trial()
    return time.perf_counter() - started


def tell(sentence: str) -> None:
    """Write one line to stderr if a person is likely to read it."""
    if sys.stderr.isatty():
        sys.stderr.write(f"noap: {sentence}\n")


def is_compiled(kernel: Any) -> bool:
    """Return whether a kernel is in memory or in Numba's cache on disk."""
    name = f"{kernel.__module__.rsplit('.', 1)[-1]}.{kernel.__name__}-*.nbi"
    return bool(kernel.signatures) or any(Path(str(kernel.stats.cache_path)).glob(name))
