"""The graph of features that fit together, and the order in which it is taken apart into small claims."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from noap.kernel.conflicts import Demands, pairs
from noap.kernel.data import Features
from noap.linalg.types import BoolArray, FloatArray, IntArray

__all__ = ["Edges", "Outline", "Pairs", "expected_pairs", "outlined", "peeled"]

# So many times the error of products in single precision: on any machine the kernel finds no pair that is not here.
_ALLOWANCE = 3.0


@dataclass(frozen=True, eq=False)
class Edges:
    """Pairs of features that fit together."""

    i: IntArray
    j: IntArray
    sizes: FloatArray


class Pairs:
    """The pairs of one problem: formed in one pass for all demands that are expected, and taken from these later.

    Parameters
    ----------
    most : int
        More pairs are too many.
    """

    def __init__(self, data: Features, most: int) -> None:
        self.data, self.most = data, most
        self._kept: list[tuple[Demands, Edges]] = []

    def of(self, demands: Demands, expected: Callable[[], list[Demands]], check: Callable[[], None]) -> Edges | None:
        """Return the pairs that meet some demands; None if they are too many. One pass serves those expected too."""
        if not any(_looser(one, demands) for one, _ in self._kept):
            self._kept = []
            loosest = [demands]
            if expected_pairs(self.data, demands)[1] > self.most:
                return None
            for one in expected():
                if not any(_looser(other, one) for other in loosest):
                    loosest = [other for other in loosest if not _looser(one, other)] + [one]
            found = self._formed(loosest, check)
            if found is None and len(loosest) > 1:
                loosest = [demands]
                found = self._formed(loosest, check)
            if found is None:
                return None
            self._kept = list(zip(loosest, found, strict=True))
        edges = next(edges for one, edges in self._kept if _looser(one, demands))
        fit = demands.fit(edges.sizes, _ALLOWANCE * self.data.error, edges.i, edges.j)
        fit &= demands.fits[edges.i] & demands.fits[edges.j]
        return Edges(edges.i[fit], edges.j[fit], edges.sizes[fit])

    def _formed(self, demands: list[Demands], check: Callable[[], None]) -> list[Edges] | None:
        parts: list[list[Edges]] = [[] for _ in demands]
        count = 0
        # A little more than is taken out of them: rounding here loses no pair either.
        for number, i, j, sizes in pairs(self.data, demands, 1.5 * _ALLOWANCE, check):
            parts[number].append(Edges(i, j, sizes))
            count += len(i)
            if count > self.most:
                return None
        return [_joined(part) for part in parts]


def _joined(parts: list[Edges]) -> Edges:
    if not parts:
        none: IntArray = np.empty(0, np.intp)
        return Edges(none, none, np.empty(0))
    return Edges(*(np.concatenate([getattr(part, name) for part in parts]) for name in ("i", "j", "sizes")))


def _looser(one: Demands, other: Demands) -> bool:
    """Return whether what meets the other demands meets these."""
    return one.size <= other.size and one.two <= other.two and bool((one.floors <= other.floors).all())


def expected_pairs(data: Features, demands: Demands, rows: int = 64, most: int = 8192) -> tuple[int, float]:
    """Return how many features fit, and about how many pairs of them: counted in a sample of rows and columns."""
    fits = np.flatnonzero(demands.fits)
    if len(fits) < 2:
        return len(fits), 0.0
    rng = np.random.default_rng(0)
    some = np.sort(rng.choice(fits, min(rows, len(fits)), replace=False))
    others = np.sort(rng.choice(fits, min(most, len(fits)), replace=False))
    count = 0
    for J in np.split(others, range(data.width, len(others), data.width)):
        sizes = np.abs(data.products(some, J)).astype(np.float64)
        fit = demands.fit(sizes, data.error, some[:, None], J[None, :]) & (some[:, None] != J)
        count += int(np.count_nonzero(fit))
    return len(fits), count / (len(some) * len(others)) * len(fits) ** 2 / 2


def peeled(graph: BoolArray, size: int) -> tuple[IntArray, IntArray]:
    """Return the features with at least size - 1 neighbours among themselves, and the others as a claim drops them."""
    left: BoolArray = np.ones(len(graph), dtype=np.bool_)
    dropped: list[IntArray] = []
    degrees = graph.sum(axis=1)
    while True:
        low = np.flatnonzero(left & (degrees < size - 1))
        if not len(low):
            break
        left[low] = False
        degrees -= graph[:, low].sum(axis=1)
        dropped.insert(0, low)
    return np.flatnonzero(left), np.concatenate(dropped) if dropped else np.empty(0, np.intp)


@dataclass(frozen=True, eq=False)
class Outline:
    """How a graph is taken apart.

    Attributes
    ----------
    order : array of int
        Features, first those with too few neighbours, then the core by its degeneracy.
    core : array of int
        Features that have enough neighbours among themselves.
    claims : list of (rooted, features)
    work : float
        Of all claims, in squares of features, as multiples of one claim about the core.
    """

    order: IntArray
    core: IntArray
    claims: list[tuple[bool, IntArray]]
    work: float


def outlined(edges: Edges, size: int, small: int) -> Outline:
    """Take a graph apart: what has too few neighbours, then small components, then the feature with fewest left.

    Parameters
    ----------
    size : int
        Of a choice, at least.
    small : int
        A component of at most so many features is one claim.
    """
    none: IntArray = np.empty(0, np.intp)
    features, at = np.unique(np.concatenate([edges.i, edges.j]), return_inverse=True)
    m, count = len(features), len(edges.i)
    if m == 0:
        return Outline(none, none, [], 0.0)
    starts, near = _neighbours(m, at[:count], at[count:])
    place, in_core = _degeneracy(m, starts, near, size - 1)
    order = np.argsort(place, kind="stable")
    core = np.flatnonzero(in_core)
    ends = np.repeat(np.arange(m), np.diff(starts))
    later = (place[near] > place[ends]) & in_core[near] & in_core[ends]
    counts = np.bincount(ends[later], minlength=m)
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components

    inside = in_core[near] & in_core[ends]
    G = csr_array((np.ones(int(inside.sum()), np.int8), (ends[inside], near[inside])), shape=(m, m))
    labels = connected_components(G, directed=False)[1]
    sizes = np.bincount(labels[core], minlength=int(labels.max()) + 1)
    claims: list[tuple[bool, IntArray]] = []
    done: set[int] = set()
    for v in order[in_core[order]].tolist():
        label = int(labels[v])
        if sizes[label] <= small:
            if label not in done:
                done.add(label)
                claims.append((False, features[core[labels[core] == label]]))
        elif counts[v] >= size - 1:
            own = near[starts[v] : starts[v + 1]]
            own = own[(place[own] > place[v]) & in_core[own]]
            claims.append((True, features[np.concatenate([[v], own])]))
    work = sum((len(one[1]) / max(len(core), 1)) ** 2 for one in claims)
    return Outline(features[order], features[core], claims, work)


def _neighbours(m: int, i: IntArray, j: IntArray) -> tuple[IntArray, IntArray]:
    """Return where each feature's neighbours begin, and all neighbours one after the other."""
    ends, others = np.concatenate([i, j]), np.concatenate([j, i])
    starts: IntArray = np.zeros(m + 1, np.intp)
    np.cumsum(np.bincount(ends, minlength=m), out=starts[1:])
    return starts, others[np.argsort(ends, kind="stable")]


def _degeneracy(m: int, starts: IntArray, near: IntArray, few: int) -> tuple[IntArray, BoolArray]:
    """Return the place of each feature in an order of fewest neighbours left, and which are in the core.

    In rounds: all with about the fewest neighbours leave at once. The core begins with the first that has `few`.
    """
    degrees = np.diff(starts).copy()
    place: IntArray = np.full(m, -1)
    in_core: BoolArray = np.ones(m, dtype=np.bool_)
    left: BoolArray = np.ones(m, dtype=np.bool_)
    count, peeling = 0, True
    for taken in _rounds(degrees, left, few):
        low = int(degrees[taken].min())
        peeling = peeling and low < few
        if peeling:
            in_core[taken] = False
        place[taken] = count + np.arange(len(taken))
        count += len(taken)
        left[taken] = False
        lengths = starts[taken + 1] - starts[taken]
        offsets = np.repeat(starts[taken], lengths) + np.arange(lengths.sum())
        offsets -= np.repeat(np.cumsum(lengths) - lengths, lengths)
        degrees -= np.bincount(near[offsets], minlength=m)
    return place, in_core


def _rounds(degrees: IntArray, left: BoolArray, few: int) -> Iterator[IntArray]:
    """Yield who leaves: all with too few neighbours, or those with about the fewest."""
    while left.any():
        some = np.flatnonzero(left)
        own = degrees[some]
        low = int(own.min())
        taken = some[own <= (few - 1 if low < few else low * 1.05)]
        yield taken[np.argsort(degrees[taken], kind="stable")]
