"""The checker's own pass over all inner products, in blocks: pairs of features that may lie in one support."""

import contextlib
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from noap.checker.many.data import ManyData
from noap.checker.many.demands import Demands, OwnTerms
from noap.checker.many.device import group_of, pairs_on_device
from noap.linalg.device.columns import DeviceColumns
from noap.linalg.outward import UNIT
from noap.linalg.types import BoolArray, FloatArray, IntArray
from noap.runtime.workers import HERE, Pass, Workers, block_pairs

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
    own : OwnTerms, or None where all have the same budget and no costs
    """

    features: IntArray
    squares: FloatArray
    rows: "np.ndarray[tuple[int], np.dtype[np.int32]]"
    columns: "np.ndarray[tuple[int], np.dtype[np.int32]]"
    products: FloatArray
    own: OwnTerms | None = None

    def meeting(self, demands: Demands) -> BoolArray:
        """Return which of the pairs may lie in one support."""
        meet: BoolArray = np.empty(len(self.rows), dtype=np.bool_)
        for start in range(0, len(self.rows), _PART):
            part = slice(start, start + _PART)
            rows, columns = self.rows[part], self.columns[part]
            own = (None, None) if self.own is None else (self.own.of(rows), self.own.of(columns))
            meet[part] = self.products[part] >= demands.least_products(self.squares[rows], self.squares[columns], *own)
        if self.own is not None:
            enough = demands.worth_enough(self.own)
            meet &= enough[self.rows] & enough[self.columns]
        return meet


def fitting_pairs(data: ManyData, levels: Sequence[Demands], workers: Workers = HERE) -> FittingPairs:
    """Return every pair that meets the demands of one of the levels. Raises TooMany, or OutOfAllowance."""
    long_enough = np.zeros(len(data.squares), dtype=np.bool_)
    for demands in levels:
        data.allowance.spent(_PRICE * len(data.squares))
        enough = demands.long_enough(data.squares)
        long_enough |= enough if data.own is None else enough & demands.worth_enough(data.own)
    features = np.flatnonzero(long_enough)
    # The features of a block are to have much in common: one that is worth no less than any of them stands for all.
    features = features[np.argsort(-(data.squares if data.own is None else data.worths)[features], kind="stable")]
    own = None if data.own is None else data.own.of(features)
    squares, error, width = data.squares[features], data.product_error, data.width
    if data.on_device is not None:
        return _on_device(data, data.on_device, levels, features)
    threads = min(workers.threads, 1 + len(features) // width)
    data.allowance.need((2.0 * data.X.shape[0] + 4.0 * width) * min(len(features), width) * threads)

    def block(i: int) -> slice:
        return slice(i * width, (i + 1) * width)

    def given(i: int, j: int) -> _Given:
        terms = (None, None) if own is None else (own.of(block(i)), own.of(block(j)).loosest())
        return _Given(levels, squares[block(i)], squares[block(j)], terms, error, i == j)

    pairs = block_pairs(-(-len(features) // width))
    task = Pass(_meeting, lambda i: data.columns(features[block(i)]), given, pairs)
    found: list[tuple[IntArray, IntArray, FloatArray]] = []
    count = 0
    with contextlib.closing(workers.answers(task)) as answers:
        for (i, j), (rows, columns, sizes) in zip(pairs, answers, strict=True):
            # A small file may have very many levels.
            data.allowance.spent(_PRICE * len(levels) * len(features[block(i)]))
            data.take_products(len(features[block(i)]), len(features[block(j)]))
            found.append(((i * width + rows).astype(np.int32), (j * width + columns).astype(np.int32), sizes))
            count += len(rows)
            if count > _MOST:
                raise TooMany
            data.allowance.need(4.0 * count)
    data.allowance.keep(2.0 * count)
    parts = [np.concatenate([one[a] for one in found]) if found else np.empty(0) for a in range(3)]
    return FittingPairs(features, squares, parts[0].astype(np.int32), parts[1].astype(np.int32), parts[2], own)


def _on_device(data: ManyData, X: DeviceColumns, levels: Sequence[Demands], features: IntArray) -> FittingPairs:
    """Return the same, sieved where the samples lie."""
    squares, n, m = data.squares[features], X.shape[0], len(features)
    if m < 2:
        nothing = np.empty(0, dtype=np.int32)
        return FittingPairs(features, squares, nothing, nothing, np.empty(0))
    # Of two groups the first, the longest, stand for all: a longer column fits with no fewer.
    longest = squares[:: group_of(m)]
    first, second = (one.ravel() for one in np.meshgrid(longest, longest, indexing="ij"))
    least = np.full(len(first), np.inf)
    for demands in levels:  # one by one: a small file may have very many
        data.allowance.spent(_PRICE * len(first))
        np.minimum(least, demands.least_products(first, second), out=least)
    least = np.where(np.isfinite(least), least * n * (1.0 - 4.0 * UNIT * np.sign(least)), least)

    def spent(left: int, right: int, count: int) -> None:
        data.take_products(left, right)
        if count > _MOST:
            raise TooMany
        data.allowance.need(4.0 * count)

    norms = np.sqrt(squares * n) * (1.0 + 8.0 * UNIT) + 1e-280
    share = math.ldexp(1.0, -data.exponent)
    rows, columns, products = pairs_on_device(X, share, features, norms, least.reshape(len(longest), -1), spent)
    data.allowance.keep(2.0 * len(rows))
    sizes = np.abs(products) / n
    sizes += data.product_error * np.sqrt(squares[rows] * squares[columns]) * (1.0 + 16.0 * UNIT) + 1e-280
    # Features without a pair are in no support of two: what is left of a million is a thousandth.
    touched, at = np.unique(np.concatenate([rows, columns]), return_inverse=True)
    sizes *= 1.0 + 4.0 * UNIT
    first_ends, second_ends = at[: len(rows)].astype(np.int32), at[len(rows) :].astype(np.int32)
    return FittingPairs(features[touched], squares[touched], first_ends, second_ends, sizes)


class _Given(NamedTuple):
    """What is known of two blocks of features; `own` are the terms of the first, and the loosest of the second."""

    levels: Sequence[Demands]
    squares: FloatArray
    squares_too: FloatArray
    own: "tuple[OwnTerms | None, OwnTerms | None]"
    error: float
    on_diagonal: bool


def _meeting(left: FloatArray, right: FloatArray, given: _Given) -> tuple[IntArray, IntArray, FloatArray]:
    """Return the pairs of two blocks that meet one of the demands, and at least the size of their products."""
    levels, squares, squares_too, own, error, on_diagonal = given
    sizes = left.T @ right
    sizes /= len(left)
    np.abs(sizes, out=sizes)
    # With all others of the block as long as the longest: a longer column fits with no fewer.
    others = np.full(len(squares), squares_too.max())
    slack = error * np.sqrt(squares * others) * (1.0 + 16.0 * UNIT) + 1e-280
    least = np.full(len(squares), np.inf)
    for demands in levels:  # one by one: a small file may have very many
        np.minimum(least, demands.least_products(squares, others, *own), out=least)
    least -= slack + 4.0 * UNIT * np.where(np.isfinite(least), np.abs(least) + slack, 0.0)
    # Far faster than `nonzero` in two dimensions.
    rows, columns = np.divmod(np.flatnonzero(sizes >= least[:, None]), sizes.shape[1])
    if on_diagonal:
        upper = rows < columns
        rows, columns = rows[upper], columns[upper]
    apart = sizes[rows, columns] + error * np.sqrt(squares[rows] * squares_too[columns]) * (1.0 + 16.0 * UNIT) + 1e-280
    apart *= 1.0 + 4.0 * UNIT
    return rows, columns, apart
