"""The Gaussian that a set of components stands for: everything on their span, one variance off it."""

import math
from dataclasses import dataclass

import numpy as np

from noap.data.deflation import span_of
from noap.errors import InvalidProblem
from noap.linalg.types import FloatArray

__all__ = ["SpanModel"]

# Variances below this share of the largest are rounding, and a density with them is none.
_NOTHING = 1e-13


@dataclass(frozen=True)
class SpanModel:
    r"""The normal distribution with covariance :math:`Q C Q^\top + \sigma^2 (I - QQ^\top)`.

    Q is an orthonormal basis of the span of the components, :math:`C = Q^\top S Q` the covariance of the data on it and
    :math:`\sigma^2` the mean variance off it: of all covariances that are isotropic off the span the one of maximum
    likelihood. For the leading principal components it is that of probabilistic PCA (Tipping and Bishop 1999).

    Attributes
    ----------
    Q : array of shape (d, r)
    inner : array of shape (r, r)
    noise_variance : float
        0 where the span is everything.
    """

    Q: FloatArray
    inner: FloatArray
    noise_variance: float

    @classmethod
    def of(cls, components: FloatArray, covariances: FloatArray, total: float) -> "SpanModel":
        """Return the model of components (rows), the covariances of their scores, and the total variance."""
        Q = span_of(components)
        # The columns of Q are combinations of the components, and so are their scores.
        to_Q = np.linalg.lstsq(components.T, Q, rcond=None)[0]
        inner = to_Q.T @ covariances @ to_Q
        d, r = Q.shape
        left = max(total - float(np.trace(inner)), 0.0)
        return cls(Q, (inner + inner.T) / 2, left / (d - r) if d > r else 0.0)

    def covariance(self) -> FloatArray:
        """Return the covariance of the model, d x d."""
        d, r = self.Q.shape
        own = self.Q @ (self.inner - self.noise_variance * np.eye(r)) @ self.Q.T
        covariance: FloatArray = own + self.noise_variance * np.eye(d)
        return covariance

    def log_density(self, scores: FloatArray, squares: FloatArray) -> FloatArray:
        """Return the log-density of every sample z.

        Parameters
        ----------
        scores : array of shape (n, r)
            Z Q.
        squares : array of shape (n,)
            The squared lengths of the samples.
        """
        d, r = self.Q.shape
        spread, axes = np.linalg.eigh(self.inner)
        least = min(float(spread[0]), self.noise_variance if d > r else math.inf)
        if not least > _NOTHING * max(float(spread[-1]), self.noise_variance):
            raise InvalidProblem(
                "The data of fit do not vary in every direction, so there is no density to score samples by; use more "
                "samples, or drop constant and duplicated features."
            )
        whitened = (scores @ axes) ** 2 / spread
        distance = whitened.sum(axis=1)
        volume = float(np.log(spread).sum())
        if d > r:
            distance = distance + np.maximum(squares - (scores**2).sum(axis=1), 0.0) / self.noise_variance
            volume += (d - r) * math.log(self.noise_variance)
        density: FloatArray = -0.5 * (d * math.log(2 * math.pi) + volume + distance)
        return density
