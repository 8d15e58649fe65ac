"""Which data a certificate speaks of."""

import hashlib
import struct

import numpy as np

from noap.linalg.products import row_blocks
from noap.linalg.types import FloatArray
from noap.problem import Problem

__all__ = ["digest_of", "fingerprint", "source_of"]


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
    digest = hashlib.sha256()
    data = problem.X if problem.X is not None else problem.covariance
    digest.update(source_of(problem).encode())
    digest.update(struct.pack("<QQ", problem.n_samples, problem.n_features))
    for block in row_blocks(data):
        digest.update(np.ascontiguousarray(block + 0.0, dtype="<f8").data)
    return digest.hexdigest()
