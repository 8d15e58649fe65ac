"""Values and pulls of vectors, from the samples themselves."""

import math
from collections.abc import Callable, Iterator

import numpy as np

from noap.adversaries.base import Adversary
from noap.heuristics.batch import Batch, stepped
from noap.linalg import products
from noap.linalg.types import Data, FloatArray, IntArray
from noap.runtime.controls import never

__all__ = ["SampleOracle"]


# Rounds to a fixed point; the loop inside stops there.
_FINAL_ROUNDS = 2000
# Between these, sums of squares over any realistic number of samples keep all digits of single precision.
_SMALL, _LARGE = 1e-14, 1e14


class SampleOracle:
    """Works on X/sqrt(n) without forming it: the factor moves into the vectors.

    `check` is called between portions of bounded size and may raise to stop the work.
    """

    # Bounds the m x n scores that are held together, and the rows of X that are copied together.
    _SCORE_BYTES = 16 * 2**20
    # Bounds the n x k pieces of X that are gathered together while refining.
    _GATHER_BYTES = 64 * 2**20

    def __init__(
        self,
        X: Data,
        n_samples: int,
        adversary: Adversary,
        check: Callable[[], None] = never,
        costs: FloatArray | None = None,
    ) -> None:
        self.X = _in_range(X)
        self.n_samples = n_samples
        self.factor = 1.0 / math.sqrt(n_samples)
        self.adversary = adversary
        self.check = check
        self.costs = costs
        self.column_norms: FloatArray = products.column_norms(X) * self.factor

    def thinned(self, rows: IntArray) -> "SampleOracle":
        """Return the same for some of the samples; distances count in the same units."""
        return SampleOracle(
            self.X[rows], self.n_samples, self.adversary.restricted_to_samples(rows), self.check, self.costs
        )

    def _portions(self, count: int, numbers: int) -> Iterator[slice]:
        """Yield slices of `count` things that take so many numbers each."""
        step = max(1, self._SCORE_BYTES // (8 * max(numbers, 1)))
        for first in range(0, max(count, 1), step):
            self.check()
            yield slice(first, first + step)

    def _scores(self, rows: FloatArray) -> FloatArray:
        reached: FloatArray = _product(self.X, (self.factor * rows.T).astype(self.X.dtype)).T
        return reached

    def _pull(self, scores: FloatArray, batch: Batch) -> FloatArray:
        responses = self.adversary.restricted_to(batch.indices).respond_to(scores, batch.weights)
        pulled: FloatArray = _product(self.X.T, (self.factor * responses).T.astype(self.X.dtype)).T
        return self.adversary.lessened(pulled, responses)

    def loadings(self, batch: Batch) -> FloatArray:
        """Return X'u with u the response to Xv."""
        n, d = self.X.shape
        portions = (batch[part] for part in self._portions(len(batch), n))
        return _stacked([self._pull(self._scores(part.dense(d)), part) for part in portions])

    def coordinate_loadings(self, features: IntArray) -> FloatArray:
        """Return X'u with u the response to the columns a_j."""
        alone = Batch(features[:, None], np.ones((len(features), 1)))
        return _stacked(
            [
                self._pull(self.factor * self._columns(self.X, features[part]).T, alone[part])
                for part in self._portions(len(features), self.X.shape[0])
            ]
        )

    def sample_loadings(self, samples: IntArray) -> FloatArray:
        """Return X'e_i, the samples themselves, one row each."""
        rows = self.X[samples]
        return self.factor * (rows if isinstance(rows, np.ndarray) else rows.toarray())

    def power(self, basis: FloatArray) -> FloatArray:
        """Return X'(X basis)/n."""
        basis = basis.astype(self.X.dtype)
        parts = [self.X[rows] for rows in self._portions(self.X.shape[0], basis.shape[1])]
        total: FloatArray = _product(parts[0].T, _product(parts[0], basis))
        for part in parts[1:]:
            self.check()
            total += _product(part.T, _product(part, basis))
        total *= self.factor**2
        return total

    @staticmethod
    def _columns(X: Data, features: IntArray) -> FloatArray:
        part = X[:, features]
        dense: FloatArray = part if isinstance(part, np.ndarray) else part.toarray()
        return dense

    def distances(self, batch: Batch) -> FloatArray:
        """Return the distance from the scores Xv; with costs, the root of what is left after them."""
        n, d = self.X.shape
        away = _stacked(
            [
                self.adversary.restricted_to(batch.indices[part]).distance(
                    self._scores(batch[part].dense(d)), batch.weights[part]
                )
                for part in self._portions(len(batch), n)
            ]
        )
        if self.costs is None:
            return away
        paid = np.where(batch.weights != 0, self.costs[batch.indices], 0.0).sum(axis=1)
        after_costs: FloatArray = np.sqrt(np.maximum(away**2 - paid, 0.0))
        return after_costs

    def refine(self, batch: Batch, rounds: int) -> Batch:
        """Alternate on the n x k columns of each support."""
        step = max(1, self._GATHER_BYTES // (8 * self.X.shape[0] * batch.indices.shape[1]))
        parts = [self._refine_part(batch[i : i + step], rounds) for i in range(0, len(batch), step)]
        return Batch.join(parts) if parts else batch

    def settled(self, batch: Batch) -> Batch:
        """Return the best vectors near these on their own supports."""
        return self.refine(batch, _FINAL_ROUNDS)

    def _pieces(self, indices: IntArray) -> FloatArray:
        """Return the columns of every support, an m x k x n array."""
        (m, k), n = indices.shape, self.X.shape[0]
        portions = list(self._portions(n, m * k))
        if len(portions) == 1:  # a view where the columns come one after the other
            gathered = self.factor * self._columns(self.X, indices.ravel())
            return np.ascontiguousarray(gathered.reshape(-1, m, k).transpose(1, 2, 0))
        pieces: FloatArray = np.empty((m, k, n), dtype=self.X.dtype)
        for rows in portions:
            self.check()
            gathered = self.factor * self._columns(self.X[rows], indices.ravel())
            pieces[:, :, rows] = gathered.reshape(-1, m, k).transpose(1, 2, 0)
        return pieces

    def _refine_part(self, batch: Batch, rounds: int) -> Batch:
        pieces = self._pieces(batch.indices)
        weights, adversary = batch.weights, self.adversary.restricted_to(batch.indices)
        for _ in range(rounds):
            self.check()
            scores = _product(weights[:, None, :], pieces)[:, 0, :]
            responses = adversary.respond_to(scores, weights)
            pulled = adversary.lessened(_product(pieces, responses[:, :, None])[:, :, 0], responses)
            moved = stepped(self.adversary, pulled, batch.indices, self.costs)
            unchanged = np.abs(moved - weights).max(initial=0.0) <= 1e-15
            weights = moved
            if unchanged:
                break
        return Batch(batch.indices, weights)


def _stacked(parts: list[FloatArray]) -> FloatArray:
    return parts[0] if len(parts) == 1 else np.concatenate(parts)


def _in_range(X: Data) -> Data:
    """Return X in double precision if squares of its entries, summed, leave the range of its own."""
    if X.dtype == np.float64:
        return X
    top = float(abs(X).max())
    return X if top == 0.0 or _SMALL < top < _LARGE else X.astype(np.float64)


def _product(left: Data, right: FloatArray) -> FloatArray:
    """Return a matrix product; single-precision BLAS may raise flags for numbers beside the ones it was given."""
    with np.errstate(invalid="ignore"):
        product: FloatArray = left @ right
    return product
