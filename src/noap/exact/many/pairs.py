"""One pass over all inner products of the columns, in blocks: what is kept are the pairs that may fit together."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from noap.exact.many.compatible import Compatible
from noap.exact.many.kernels.pairs import pairs_above
from noap.linalg.blocked import WIDTH, ScaledColumns, single_error
from noap.linalg.types import BoolArray, FloatArray, IntArray

__all__ = ["MOST_PAIRS", "Pairs", "density", "scan"]

MOST_PAIRS = 20_000_000
"""Pairs that are kept at most: 400 MB with the copies that are made of them."""

# Squared norms, and the least product, are known to a few ulps, and one more for every sample.
_ROUNDING, _PER_SAMPLE = 1e-12, 2.3e-16
# Features whose products with all others say how many pairs will stay, and how many others are looked at.
_SAMPLE, _SAMPLED = 256, 8192


@dataclass(frozen=True)
class Pairs:
    """Pairs of features i < j in the order of `features`, and their inner products.

    Attributes
    ----------
    features : array of int, longest column first
    squares : their squared norms, rounded up
    rows, columns : arrays of int32, positions in `features`
    products : array of float32
    error : float
        The products are off by at most this, in units of the two norms.
    tests : tuple of Compatible
        Every pair that fits together by one of these is here.
    """

    features: IntArray
    squares: FloatArray
    rows: "np.ndarray[tuple[int], np.dtype[np.int32]]"
    columns: "np.ndarray[tuple[int], np.dtype[np.int32]]"
    products: FloatArray
    error: float
    tests: tuple[Compatible, ...]

    def covers(self, test: Compatible) -> bool:
        """Whether every pair that fits together by the test is here."""
        return any(one.covers(test) for one in self.tests)

    def fitting(self, test: Compatible) -> BoolArray:
        """Return which of the pairs fit together by the test."""
        keep: BoolArray = np.empty(len(self.rows), dtype=np.bool_)
        for start in range(0, len(self.rows), 1 << 20):
            part = slice(start, start + (1 << 20))
            first, second = self.squares[self.rows[part]], self.squares[self.columns[part]]
            margin = self.error * np.sqrt(first * second)
            keep[part] = np.abs(self.products[part]) + margin >= test.least_products(first, second)
        return keep


def scan(
    columns: ScaledColumns,
    tests: Sequence[Compatible],
    check: Callable[[], None],
    tell: Callable[[int, int], None],
    most: int = MOST_PAIRS,
) -> Pairs | None:
    """Return all pairs that fit together by one of the tests, None if there are too many.

    `check` is called between blocks, and what it raises passes through; `tell` hears how many pairs are scanned, and of
    how many.
    """
    rounding = _ROUNDING + _PER_SAMPLE * columns.n
    squares = columns.squares * (1.0 + rounding)
    long_enough = np.logical_or.reduce([test.long_enough(squares) for test in tests])
    features = np.flatnonzero(long_enough)
    features = features[np.argsort(-squares[features], kind="stable")]
    squares = squares[features]
    error = single_error(columns.n) + rounding
    room = min(most, 1 << 16)
    rows, cols, products = np.empty(room, np.int32), np.empty(room, np.int32), np.empty(room, np.float32)
    count, done, total = 0, 0, len(features) * (len(features) - 1) // 2
    for i, j, G in columns.products(features):
        check()
        left, longest = squares[i : i + WIDTH], squares[j]
        least = np.min([test.least_products(left, np.full(len(left), longest)) for test in tests], axis=0)
        least -= error * np.sqrt(left * longest)
        least = (least - 1e-6 * np.abs(least)).astype(np.float32)
        while True:
            found = pairs_above(G, least, i == j, rows[count:], cols[count:], products[count:], 0)
            if found >= 0:
                break
            if len(rows) >= most:
                return None
            room = min(4 * len(rows), most)
            rows, cols, products = (_grown(one, room) for one in (rows, cols, products))
        here = slice(count, count + found)
        rows[here] += i
        cols[here] += j
        count += found
        done += G.size if i != j else G.size // 2
        tell(min(done, total), total)
    kept = Pairs(features, squares, rows[:count], cols[:count], products[:count], error, tuple(tests))
    near = np.logical_or.reduce([kept.fitting(test) for test in tests])
    return Pairs(features, squares, kept.rows[near], kept.columns[near], kept.products[near], error, tuple(tests))


def density(columns: ScaledColumns, tests: Sequence[Compatible], rng: np.random.Generator) -> list[float]:
    """Return how many pairs will stay by each of the tests, from a sample of the features."""
    counts = []
    for test in tests:
        long_enough = np.flatnonzero(test.long_enough(columns.squares * (1.0 + _ROUNDING)))
        if len(long_enough) < 2:
            counts.append(0.0)
            continue
        some = rng.choice(long_enough, min(_SAMPLE, len(long_enough)), replace=False)
        others = rng.choice(long_enough, min(_SAMPLED, len(long_enough)), replace=False)
        G = np.abs(columns.rows(some, others))
        first, second = columns.squares[some][:, None], columns.squares[others][None, :]
        least = test.least_products(*np.broadcast_arrays(first, second))
        fit = (G + single_error(columns.n) * np.sqrt(first * second) >= least) & (some[:, None] != others[None, :])
        counts.append(float(fit.mean()) * len(long_enough) ** 2 / 2)
    return counts


def _grown(array: Any, room: int) -> Any:
    larger = np.empty(room, array.dtype)
    larger[: len(array)] = array
    return larger
