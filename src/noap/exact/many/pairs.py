"""One pass over all inner products of the columns, in blocks: what is kept are the pairs that may fit together."""

import contextlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from noap.exact.many.compatible import Compatible, OwnTerms
from noap.exact.many.kernels.pairs import pairs_above
from noap.linalg.blocked import ScaledColumns, single_error, single_product
from noap.linalg.device.sieve import group_size, large_products
from noap.linalg.types import BoolArray, FloatArray, IntArray
from noap.runtime.workers import HERE, Pass, Tell, Workers, block_pairs, pairs_of_blocks

__all__ = ["MOST_PAIRS", "Pairs", "density", "scan"]

MOST_PAIRS = 20_000_000
"""Pairs that are kept at most: 400 MB with the copies that are made of them."""

# Squared norms, and the least product, are known to a few ulps, and one more for every sample.
_ROUNDING, _PER_SAMPLE = 1e-12, 2.3e-16
# Features whose products with all others say how many pairs will stay, and how many others are looked at.
_SAMPLE, _SAMPLED = 256, 8192
# Pairs of two blocks for which there is room at first.
_FIRST_ROOM = 1 << 14


@dataclass(frozen=True)
class Pairs:
    """Pairs of features i < j in the order of `features`, and their inner products.

    Attributes
    ----------
    features : array of int, longest column first; with terms of their own, the one that can carry most
    squares : their squared norms, rounded up
    rows, columns : arrays of int32, positions in `features`
    products : array of float32
    error : float
        The products are off by at most this, in units of the two norms.
    tests : tuple of Compatible
        Every pair that fits together by one of these is here.
    own : OwnTerms, optional
        Those of the features, where they have budgets or costs of their own.
    """

    features: IntArray
    squares: FloatArray
    rows: "npt.NDArray[np.int32]"
    columns: "npt.NDArray[np.int32]"
    products: FloatArray
    error: float
    tests: tuple[Compatible, ...]
    own: OwnTerms | None = None

    def covers(self, test: Compatible) -> bool:
        """Whether every pair that fits together by the test is here."""
        return any(one.covers(test) for one in self.tests)

    def of(self, places: IntArray) -> "Pairs":
        """Return some of the pairs."""
        return replace(self, rows=self.rows[places], columns=self.columns[places], products=self.products[places])

    def fitting(self, test: Compatible) -> BoolArray:
        """Return which of the pairs fit together by the test."""
        keep: BoolArray = np.empty(len(self.rows), dtype=np.bool_)
        for start in range(0, len(self.rows), 1 << 20):
            part = slice(start, start + (1 << 20))
            ends = (self.rows[part], self.columns[part])
            first, second = (self.squares[one] for one in ends)
            margin = self.error * np.sqrt(first * second)
            least = test.least_products(first, second, *(_of(self.own, one) for one in ends))
            keep[part] = np.abs(self.products[part]) + margin >= least
        if self.own is not None:
            enough = test.worth_enough(self.own)
            keep &= enough[self.rows] & enough[self.columns]
        return keep


def scan(
    columns: ScaledColumns,
    tests: Sequence[Compatible],
    check: Callable[[], None],
    tell: Tell,
    most: int = MOST_PAIRS,
    workers: Workers = HERE,
    own: OwnTerms | None = None,
) -> Pairs | None:
    """Return all pairs that fit together by one of the tests, None if there are too many.

    `check` is called between blocks, which the workers share, and what it raises passes through; `tell` hears how many
    pairs are scanned, and of how many.
    """
    rounding = _ROUNDING + _PER_SAMPLE * columns.n
    squares = columns.squares * (1.0 + rounding)
    loosest = _loosest(tests)
    long_enough = np.logical_or.reduce([_may_be_in(test, squares, own) for test in loosest])
    features = np.flatnonzero(long_enough)
    # Those of a block are to have much in common: one that is no worse than any of them stands for all.
    features = features[np.argsort(-(squares if own is None else own.worths)[features], kind="stable")]
    squares, own = squares[features], _of(own, features)
    if columns.on_device is not None and own is None:
        return _scan_on_device(columns, features, squares, tests, check, tell, most)
    error, width = single_error(columns.n) + rounding, columns.width
    pairs = block_pairs(-(-len(features) // width))

    def least(i: int, j: int) -> "tuple[FloatArray, bool, int]":
        here, there = slice(i * width, (i + 1) * width), slice(j * width, (j + 1) * width)
        left, longest = squares[here], squares[there].max()
        terms = (None, None) if own is None else (own.of(here), own.of(there).loosest())
        least = np.min([test.least_products(left, np.full(len(left), longest), *terms) for test in loosest], axis=0)
        least -= error * np.sqrt(left * longest)
        return (least - 1e-6 * np.abs(least)).astype(np.float32), i == j, most

    task = Pass(_above, lambda i: columns.single(features[i * width : (i + 1) * width]), least, pairs)
    found: list[_Found] = []
    count, done, total = 0, 0, len(features) * (len(features) - 1) // 2
    with contextlib.closing(workers.answers(task, check)) as answers:
        for (i, j), one in zip(pairs, answers, strict=True):
            check()
            count = most + 1 if one is None else count + len(one.rows)
            if count > most:
                return None
            one.rows[:] += i * width
            one.columns[:] += j * width
            found.append(one)
            done += pairs_of_blocks(len(features), width, i, j)
            tell(done, total)
    rows, cols, products = (np.concatenate(parts) for parts in zip(_NOTHING, *found, strict=True))
    return _fitting_ones(Pairs(features, squares, rows, cols, products, error, tuple(tests), own))


def _scan_on_device(
    columns: ScaledColumns,
    features: IntArray,
    squares: FloatArray,
    tests: Sequence[Compatible],
    check: Callable[[], None],
    tell: Tell,
    most: int,
) -> Pairs | None:
    """Return the same, sieved where the columns lie; products are summed in double precision and kept in single."""
    device, n = columns.on_device, columns.n
    assert device is not None
    # Of two groups of features the first, which are the longest, stand for all: longer columns fit with no fewer.
    longest = squares[:: group_size(len(features))]
    first, second = (one.ravel() for one in np.meshgrid(longest, longest, indexing="ij"))
    wanted = [test.least_products(first, second) for test in _loosest(tests)]
    least = np.min(wanted, axis=0).reshape(len(longest), -1)
    total = len(features) * (len(features) - 1) // 2

    def step(done: int) -> None:
        check()
        tell(done, total)

    norms = np.sqrt(squares * n) / columns.share * (1 + 1e-14)
    found = large_products(device, features, norms, least / columns.share**2 * n, most, step)
    if found is None:
        return None
    products = (found.products * (columns.share**2 / n)).astype(np.float32)
    error = 1.001 * 2.0**-24 + _ROUNDING + _PER_SAMPLE * n
    pairs = Pairs(
        features, squares, found.rows.astype(np.int32), found.columns.astype(np.int32), products, error, tuple(tests)
    )
    return _fitting_ones(pairs)


def _fitting_ones(pairs: Pairs) -> Pairs:
    """Return the pairs that fit together by one of the tests, with their own norms."""
    near: BoolArray = np.zeros(len(pairs.rows), dtype=np.bool_)
    for test in _loosest(pairs.tests):
        open_ones = np.flatnonzero(~near)
        near[open_ones] = pairs.of(open_ones).fitting(test)
    return pairs.of(np.flatnonzero(near))


def _loosest(tests: Sequence[Compatible]) -> list[Compatible]:
    """Return those of the tests that no other one covers."""
    kept: list[Compatible] = []
    for test in tests:
        if not any(one.covers(test) for one in kept):
            kept = [*(one for one in kept if not test.covers(one)), test]
    return kept


class _Found(NamedTuple):
    """Pairs of features of two blocks, counted in their blocks, and their inner products."""

    rows: "npt.NDArray[np.int32]"
    columns: "npt.NDArray[np.int32]"
    products: FloatArray


def _room(pairs: int) -> _Found:
    return _Found(np.empty(pairs, np.int32), np.empty(pairs, np.int32), np.empty(pairs, np.float32))


_NOTHING = _room(0)


def _above(left: FloatArray, right: FloatArray, given: "tuple[FloatArray, bool, int]") -> _Found | None:
    """Return the pairs of two blocks whose product is large enough, None if there are too many."""
    least, on_diagonal, most = given
    G, room = single_product(left, right), min(most, _FIRST_ROOM)
    while True:
        found = _room(room)
        count = pairs_above(G, least, on_diagonal, *found, 0)
        if count >= 0:
            return _Found(found.rows[:count].copy(), found.columns[:count].copy(), found.products[:count].copy())
        if room >= most:
            return None
        room = min(8 * room, most)


def _of(own: OwnTerms | None, places: "npt.NDArray[np.integer[Any]]") -> OwnTerms | None:
    return None if own is None else own.of(places)


def _may_be_in(test: Compatible, squares: FloatArray, own: OwnTerms | None) -> BoolArray:
    """Return which features may be in the support, by length and by what they can carry."""
    enough = test.long_enough(squares)
    return enough if own is None else enough & test.worth_enough(own)


def density(
    columns: ScaledColumns,
    tests: Sequence[Compatible],
    rng: np.random.Generator,
    own: OwnTerms | None = None,
) -> list[float]:
    """Return how many pairs will stay by each of the tests, from a sample of the features."""
    counts = []
    for test in tests:
        long_enough = np.flatnonzero(_may_be_in(test, columns.squares * (1.0 + _ROUNDING), own))
        if len(long_enough) < 2:
            counts.append(0.0)
            continue
        some = rng.choice(long_enough, min(_SAMPLE, len(long_enough)), replace=False)
        others = rng.choice(long_enough, min(_SAMPLED, len(long_enough)), replace=False)
        G, error = np.abs(columns.rows(some, others)), single_error(columns.n)
        first, second = columns.squares[some], columns.squares[others]
        # A longer column fits with no fewer: what does not fit with the longest need not be looked at.
        longest = np.full(len(some), second.max())
        terms = (None, None) if own is None else (own.of(some), own.of(others).loosest())
        least = test.least_products(first, longest, *terms) - error * np.sqrt(first * longest)
        at, to = np.divmod(np.flatnonzero((least - 1e-6 * np.minimum(np.abs(least), 1.0))[:, None] <= G), len(others))
        first, second = first[at], second[to]
        wanted = test.least_products(first, second, _of(own, some[at]), _of(own, others[to]))
        fit = G[at, to] + error * np.sqrt(first * second) >= wanted
        share = np.count_nonzero(fit & (some[at] != others[to])) / G.size
        counts.append(share * len(long_enough) ** 2 / 2)
    return counts
