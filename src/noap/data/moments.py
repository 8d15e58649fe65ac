"""Sums over samples, merged batch by batch: all that a feature-wise problem needs of a stream."""

import warnings
from dataclasses import dataclass

import numpy as np

from noap.errors import InvalidProblem, NoapWarning
from noap.linalg.products import row_blocks
from noap.linalg.types import Data, FloatArray
from noap.runtime.names import listed

__all__ = ["Moments"]

# Up to this ratio of squared mean to variance, sums about 0 leave a variance ten digits at least.
_SMALL_MEAN = 1e4


@dataclass(frozen=True)
class Moments:
    r"""How many samples, their mean, and their scatter :math:`\sum_i (x_i - \bar x)(x_i - \bar x)^\top`.

    The scatter is kept about the mean: sums of squares about 0 would lose every digit of a small variance beside a
    large mean.

    Attributes
    ----------
    n : int
    mean : array of shape (d,)
    scatter : array of shape (d, d)
    """

    n: int
    mean: FloatArray
    scatter: FloatArray

    @classmethod
    def of(cls, X: Data) -> "Moments":
        """Return the moments of the samples X, shape (n, d); a sparse X stays sparse.

        >>> Moments.of(np.array([[1.0, 0.0], [3.0, 4.0]])).scatter
        array([[2., 4.],
               [4., 8.]])
        """
        mean = np.asarray(X.mean(axis=0, dtype=np.float64)).ravel()
        if not isinstance(X, np.ndarray):
            doubles = X.astype(np.float64)
            about_zero = (doubles.T @ doubles).toarray()
            about_mean = about_zero - X.shape[0] * np.outer(mean, mean)
            if (np.diag(about_zero) <= _SMALL_MEAN * np.diag(about_mean)).all():
                return cls(int(X.shape[0]), mean, about_mean)
        scatter = np.zeros((X.shape[1], X.shape[1]))
        for block in row_blocks(X):
            centred = block - mean
            scatter += centred.T @ centred
        return cls(int(X.shape[0]), mean, scatter)

    @classmethod
    def weighted(cls, X: Data, weights: FloatArray) -> "Moments":
        """Return the moments of samples that count this often, relative to the mean of the weights.

        >>> Moments.weighted(np.array([[1.0], [3.0], [9.0]]), np.array([2.0, 2.0, 0.0])).scatter
        array([[3.]])
        """
        relative = weights / weights.max()
        share = relative / relative.sum()
        mean = np.asarray(share @ X, dtype=np.float64)
        scatter = np.zeros((X.shape[1], X.shape[1]))
        first = 0
        for block in row_blocks(X):
            centred = (block - mean) * np.sqrt(share[first : first + len(block), None])
            scatter += centred.T @ centred
            first += len(block)
        return cls(int(X.shape[0]), mean, int(X.shape[0]) * scatter)

    def merged(self, other: "Moments") -> "Moments":
        """Return the moments of both sets of samples together (Chan, Golub and LeVeque)."""
        n = self.n + other.n
        step = other.mean - self.mean
        scatter = self.scatter + other.scatter + (self.n * other.n / n) * np.outer(step, step)
        return Moments(n, self.mean + (other.n / n) * step, scatter)

    def standardised(
        self, *, center: bool, scale: bool, names: tuple[str, ...] | None = None
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return S = Z'Z/n of the standardised samples Z, their means and scales: `standardize`, from sums."""
        if center and self.n == 1:
            raise InvalidProblem(
                "X has one sample, which centring turns into zero; add samples or switch centring off."
            )
        S = self.scatter / self.n
        mean = self.mean if center else np.zeros_like(self.mean)
        if not center:
            S = S + np.outer(self.mean, self.mean)
        scales = np.ones(len(mean))
        if scale:
            spread = np.sqrt(np.maximum(np.diag(S), 0.0))
            # Rounding in the mean leaves a constant column a spread of a few ulps instead of 0.
            constant = spread <= 1e-12 * np.maximum(np.abs(mean), spread.max(initial=0.0))
            scales[~constant] = spread[~constant]
            S = S / np.outer(scales, scales)
            S[constant, :] = 0.0
            S[:, constant] = 0.0
            if constant.any():
                labels = [names[j] if names is not None else str(j) for j in np.flatnonzero(constant)]
                warnings.warn(f"Constant columns keep scale 1: {listed(labels, 5)}.", NoapWarning, stacklevel=3)
        return (S + S.T) / 2, mean, scales
