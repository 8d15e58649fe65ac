"""What one pass over the samples leaves: how many, their means, their scatter. Enough for feature-wise problems."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from noap.adversaries.base import Adversary
from noap.data.files.reading import Reading
from noap.data.moments import Moments
from noap.data.streams.collections import is_dask, moments_of_dask
from noap.data.streams.files import batches, paths_of
from noap.data.validation import as_samples
from noap.errors import InvalidProblem
from noap.problem import Problem

__all__ = ["BATCH_BYTES", "Summary", "summarise"]

# Large enough for the matrix product to run at full speed, small beside what a reader decodes ahead.
BATCH_BYTES = 8 * 2**20


@dataclass(frozen=True, eq=False)
class Summary:
    """The samples as far as a feature-wise adversary cares: a d x d matrix.

    Attributes
    ----------
    moments : Moments
        Number of samples, means, and scatter about the means.
    names : tuple of str, or None
    """

    moments: Moments
    names: tuple[str, ...] | None

    @property
    def n_samples(self) -> int:
        """How many samples there were."""
        return self.moments.n

    @property
    def n_features(self) -> int:
        """How many columns they had."""
        return len(self.moments.mean)

    def problem(
        self,
        k: int,
        adversary: Adversary,
        *,
        costs: ArrayLike | None = None,
        center: bool = True,
        scale: bool = True,
    ) -> Problem:
        """Return the problem of the standardised samples, by their covariance.

        Parameters
        ----------
        k : int
        adversary : FeatureWise, SpectralNorm or NoAdversary
            One that moves samples, or entries, one by one needs the samples.
        costs : array-like of shape (d,), optional
            As for :class:`noap.Problem`.
        center, scale : bool
            Subtract the means; divide by the standard deviations.
        """
        S, _, _ = self.moments.standardised(center=center, scale=scale, names=self.names)
        return Problem.from_covariance(
            S, n_samples=self.n_samples, k=k, adversary=adversary, costs=costs, feature_names=self.names
        )


def summarise(source: Any, *, batch_bytes: int = BATCH_BYTES, reading: Reading | None = None) -> Summary:
    r"""Sum up samples in one pass: n, the means, and :math:`\sum_i (x_i - \bar x)(x_i - \bar x)^\top`.

    Each batch is centred at its own means and merged into the total (Chan, Golub and LeVeque), so a small variance
    beside a large mean keeps its digits. Memory: the d x d matrix, a batch, and what the reader decodes ahead.

    Parameters
    ----------
    source : str or Path, Dask array or DataFrame, or iterable of arrays of shape (m, d)
        A Parquet or CSV file, a folder of them, or a pattern such as ``"data/*.parquet"``. A Dask collection is summed
        block by block where its blocks lie.
    batch_bytes : int
        Size of a batch of a file.
    reading : Reading, optional
        What the command line was told about text files and columns.

    Returns
    -------
    Summary

    Examples
    --------
    >>> parts = [np.array([[1.0, 0.0]]), np.array([[3.0, 4.0]])]
    >>> summary = summarise(parts)
    >>> summary.n_samples, summary.moments.scatter.tolist()
    (2, [[2.0, 4.0], [4.0, 8.0]])
    """
    if isinstance(batch_bytes, bool) or not isinstance(batch_bytes, int) or batch_bytes < 1:
        raise InvalidProblem(f"batch_bytes must be a positive integer, got {batch_bytes!r}.")
    if is_dask(source):
        moments, names = moments_of_dask(source)
        return Summary(moments, names)
    parts: Iterable[Any]
    if isinstance(source, (str, Path)):
        parts = batches(paths_of(str(source)), batch_bytes, reading)
    elif hasattr(source, "shape"):
        parts = [source]
    else:
        parts = source
    total: Moments | None = None
    columns: tuple[str, ...] | None = None
    for part in parts:
        if len(part) == 0:
            continue
        X, columns = as_samples(part)
        one = Moments.of(X if isinstance(X, np.ndarray) else X.toarray())
        if total is not None and len(one.mean) != len(total.mean):
            raise InvalidProblem(f"source must have {len(total.mean)} columns throughout, a part has {len(one.mean)}.")
        total = one if total is None else total.merged(one)
    if total is None:
        raise InvalidProblem("source is empty; pass at least one sample and one feature.")
    return Summary(total, columns)
