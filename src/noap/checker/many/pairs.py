"""The checker's own pass over all inner products, in blocks: pairs of features that may lie in one support."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from noap.checker.many.data import ManyData
from noap.checker.many.demands import Demands
from noap.linalg.outward import UNIT
from noap.linalg.types import BoolArray, FloatArray, IntArray

__all__ = ["FittingPairs", "TooMany", "fitting_pairs"]

# Pairs that are kept at most; and how many are looked at together.
_MOST, _PART = 50_000_000, 1 << 20
# Elementary operations that the demands of a level on one feature take.
_PRICE = 200.0


class TooMany(Exception):
    """More pairs fit together than can be held."""


@dataclass(frozen=True, eq=False)
class FittingPairs:
    """Pairs of features, and at least the size of their inner products.

    Attributes
    ----------
    features : array of int
    squares : array, at least the squared norms
    rows, columns : arrays of int32, positions in `features`
    products : array of float64
    """

    features: IntArray
    squares: FloatArray
    rows: "np.ndarray[tuple[int], np.dtype[np.int32]]"
    columns: "np.ndarray[tuple[int], np.dtype[np.int32]]"
    products: FloatArray

    def meeting(self, demands: Demands) -> BoolArray:
        """Return which of the pairs may lie in one support."""
        meet: BoolArray = np.empty(len(self.rows), dtype=np.bool_)
        for start in range(0, len(self.rows), _PART):
            part = slice(start, start + _PART)
            least = demands.least_products(self.squares[self.rows[part]], self.squares[self.columns[part]])
            meet[part] = self.products[part] >= least
        return meet


def fitting_pairs(data: ManyData, levels: Sequence[Demands]) -> FittingPairs:
    """Return every pair that meets the demands of one of the levels. Raises TooMany, or OutOfAllowance."""
    long_enough = np.zeros(len(data.squares), dtype=np.bool_)
    for demands in levels:
        data.allowance.spent(_PRICE * len(data.squares))
        long_enough |= demands.long_enough(data.squares)
    features = np.flatnonzero(long_enough)
    features = features[np.argsort(-data.squares[features], kind="stable")]
    squares, error = data.squares[features], data.product_error
    found: list[tuple[IntArray, IntArray, FloatArray]] = []
    count = 0
    for i, j, G in data.products(features):
        left = squares[i : i + G.shape[0]]
        sizes = np.abs(G, out=G)
        # With all others of the block as long as its first: a longer column fits with no fewer.
        others = np.full(len(left), squares[j])
        slack = error * np.sqrt(left * others) * (1.0 + 16.0 * UNIT) + 1e-280
        least = np.full(len(left), np.inf)
        for demands in levels:  # one by one: a small file may have very many
            data.allowance.spent(_PRICE * len(left))
            np.minimum(least, demands.least_products(left, others), out=least)
        least -= slack + 4.0 * UNIT * np.where(np.isfinite(least), np.abs(least) + slack, 0.0)
        rows, columns = np.nonzero(sizes >= least[:, None])
        if i == j:
            upper = rows < columns
            rows, columns = rows[upper], columns[upper]
        apart = sizes[rows, columns] + error * np.sqrt(left[rows] * squares[j + columns]) * (1.0 + 16.0 * UNIT) + 1e-280
        apart *= 1.0 + 4.0 * UNIT
        found.append(((i + rows).astype(np.int32), (j + columns).astype(np.int32), apart))
        count += len(rows)
        if count > _MOST:
            raise TooMany
        data.allowance.need(4.0 * count)
    data.allowance.keep(2.0 * count)
    parts = [np.concatenate([one[a] for one in found]) if found else np.empty(0) for a in range(3)]
    return FittingPairs(features, squares, parts[0].astype(np.int32), parts[1].astype(np.int32), parts[2])
