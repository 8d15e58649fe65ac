"""Which data a certificate speaks of."""

import hashlib
import struct
import threading
import weakref
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from noap.linalg.device.columns import DeviceColumns
from noap.linalg.device.library import Library
from noap.linalg.products import row_blocks
from noap.linalg.types import Data, FloatArray
from noap.problem import Problem

__all__ = ["begin_fingerprint", "digest_of", "fingerprint", "source_of"]


def source_of(problem: Problem) -> str:
    """Return "samples" or "covariance"."""
    return "samples" if problem.X is not None else "covariance"


def digest_of(numbers: FloatArray) -> str:
    """Return the SHA-256 of budgets or costs: how many there are, and each as a little-endian double.

    Examples
    --------
    >>> digest_of(np.array([0.5, 1.0])) == digest_of(np.array([1.0, 0.5]))
    False
    """
    digest = hashlib.sha256(struct.pack("<Q", len(numbers)))
    digest.update(np.ascontiguousarray(numbers + 0.0, dtype="<f8").data)
    return digest.hexdigest()


def fingerprint(problem: Problem) -> str:
    """Return the SHA-256 of the data: kind, shape, and entries as little-endian doubles, row by row.

    -0.0 counts as 0.0. A sparse matrix has the fingerprint of the dense one.

    Examples
    --------
    >>> import noap
    >>> fingerprint(noap.Problem([[1.0, 2.0]], k=1, adversary=noap.NoAdversary()))[:8]
    '71aa74ff'
    """
    if isinstance(problem.X, DeviceColumns):
        begin_fingerprint(problem)
        return _BEGUN[problem].waited_for()
    return _hashed(problem)


def begin_fingerprint(problem: Problem) -> None:
    """Let a thread of its own hash data on a device, which takes longer than all that is done there; once.

    Data that were changed since are found out by `Problem.check_unchanged`, and not here.
    """
    if isinstance(problem.X, DeviceColumns) and problem not in _BEGUN:
        _BEGUN[problem] = begun = _Hashing(problem.X.library)
        threading.Thread(target=begun.run, args=(problem,), name="noap-hash", daemon=True).start()


@dataclass(eq=False)
class _Hashing:
    """A hash that is being made."""

    library: Library
    done: threading.Event = field(default_factory=threading.Event)
    digest: str = ""
    error: Exception | None = None

    def run(self, problem: Problem) -> None:
        """Make it."""
        try:
            with self.library.aside():
                self.digest = _hashed(problem)
        except Exception as error:  # raised again where the hash is asked for
            self.error = error
        finally:
            self.done.set()

    def waited_for(self) -> str:
        """Return it."""
        self.done.wait()
        if self.error is not None:
            raise self.error
        return self.digest


_BEGUN: "weakref.WeakKeyDictionary[Problem, _Hashing]" = weakref.WeakKeyDictionary()


def _hashed(problem: Problem) -> str:
    digest = hashlib.sha256()
    data = problem.X if problem.X is not None else problem.covariance
    digest.update(source_of(problem).encode())
    digest.update(struct.pack("<QQ", problem.n_samples, problem.n_features))
    for block in _without_negative_zeros(data):
        digest.update(np.ascontiguousarray(block, dtype="<f8").data)
    return digest.hexdigest()


def _without_negative_zeros(data: Data) -> Iterator[FloatArray]:
    for block in row_blocks(data):
        # Those of a device come without.
        yield block if isinstance(data, DeviceColumns) else block + 0.0
