"""Features as a graph, an edge for every two that may fit together: a support that is worth more is a clique of it."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from noap.exact.many.compatible import Compatible
from noap.exact.many.kernels.graph import elimination, neighbourhood
from noap.exact.many.pairs import Pairs
from noap.linalg.types import IntArray

__all__ = ["Clique", "cliques"]

# A component of so many features, for each of a support, is looked at as a whole; a larger one, up to so many in all,
# as a whole first. Measured on modules of 30 to 200 features: nine in ten close at once, where each of their features
# would be a place of its own.
_WHOLE, _MOST_WHOLE = 4, 512


@dataclass(frozen=True)
class Clique:
    """Where a support may lie: within `features`, the first of which belongs to it unless `whole`.

    With `whole`, these are all features that are connected with the first. Where they are many there are `parts`: the
    same as places of its features, one by one, for those to whom the whole is too hard.
    """

    features: IntArray
    whole: bool
    parts: "Callable[[], Iterator[Clique]] | None" = None


def cliques(pairs: Pairs, test: Compatible) -> tuple[int, Iterator[Clique]]:
    """Return how many features are left after those with too few neighbours, and where supports may lie.

    Every clique of `test.size` features lies in one of the places, which come in the order in which the checker takes
    the graph apart: features with fewer than size - 1 neighbours left drop out; then the first feature of the next
    place does, with its neighbours for the last time, or its whole component.
    """
    fit = pairs.fitting(test)
    rows, columns = pairs.rows[fit], pairs.columns[fit]
    touched, at = np.unique(np.concatenate([rows, columns]), return_inverse=True)
    starts, neighbours = _adjacency(len(touched), at[: len(rows)], at[len(rows) :])
    order, left = elimination(starts, neighbours)
    # The core: what is left when the first feature with enough neighbours is taken out.
    enough = np.flatnonzero(left >= test.size - 1)
    core = order[enough[0] :] if len(enough) else order[:0]
    return len(core), _places(pairs.features[touched], starts, neighbours, core, test.size)


def _adjacency(n: int, rows: IntArray, columns: IntArray) -> tuple[IntArray, IntArray]:
    ends, others = np.concatenate([rows, columns]), np.concatenate([columns, rows])
    by_end = np.argsort(ends, kind="stable")
    starts: IntArray = np.zeros(n + 1, dtype=np.int64)
    np.cumsum(np.bincount(ends, minlength=n), out=starts[1:])
    return starts, others[by_end].astype(np.int64)


def _places(features: IntArray, starts: IntArray, neighbours: IntArray, core: IntArray, size: int) -> Iterator[Clique]:
    if len(core) == 0:
        return
    from scipy.sparse import csr_array  # takes the time of `import noap` to load
    from scipy.sparse.csgraph import connected_components

    later: IntArray = np.full(len(features), -1, dtype=np.int64)
    later[core] = np.arange(len(core))
    whole = csr_array((np.ones(len(neighbours), dtype=np.int8), neighbours, starts), shape=(len(features),) * 2)
    labels = connected_components(whole[core][:, core], directed=False)[1]
    sizes = np.bincount(labels)
    mark: IntArray = np.full(len(features), -1, dtype=np.int64)
    # Component after component, the smallest first; the order within each is that of the elimination.
    for label in np.argsort(sizes, kind="stable"):
        members = core[labels == label]
        if len(members) <= _WHOLE * max(size, 2):
            yield Clique(features[members], whole=True)
            continue

        def parts(members: IntArray = members) -> Iterator[Clique]:
            for v in members:
                around = neighbourhood(starts, neighbours, later, int(v), size - 2, mark)
                yield Clique(features[np.append(v, around)], whole=False)

        if len(members) <= _MOST_WHOLE:
            yield Clique(features[members], True, parts)
        else:
            yield from parts()
