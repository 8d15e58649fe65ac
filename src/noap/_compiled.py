"""Whether Numba has compiled a kernel already, and a line for the user who has to wait for it."""

import sys
from pathlib import Path
from typing import Any

__all__ = ["is_compiled", "tell"]


def tell(sentence: str) -> None:
    """Write one line to stderr if a person is likely to read it."""
    if sys.stderr.isatty():
        sys.stderr.write(f"noap: {sentence}\n")


def is_compiled(kernel: Any) -> bool:
    """Return whether a kernel is in memory or in Numba's cache on disk."""
    name = f"{kernel.__module__.rsplit('.', 1)[-1]}.{kernel.__name__}-*.nbi"
    return bool(kernel.signatures) or any(Path(str(kernel.stats.cache_path)).glob(name))
