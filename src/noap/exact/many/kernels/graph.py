"""The graph of features that may fit together: the order in which it is taken apart, and neighbourhoods.

"Many features" of docs/exact.md.
"""

import numpy as np

from noap.runtime.kernels import kernel


@kernel
def elimination(starts, neighbours):
    """Return the vertices in the order in which each has the fewest neighbours among the rest, and how many it has.

    "Many features" of docs/exact.md.
    """
    n = starts.shape[0] - 1
    degree = np.empty(n, dtype=np.int64)
    most = 0
    for v in range(n):
        degree[v] = starts[v + 1] - starts[v]
        most = max(most, degree[v])
    # Vertices sorted by degree; each degree's first place; and where every vertex stands.
    first = np.zeros(most + 2, dtype=np.int64)
    for v in range(n):
        first[degree[v] + 1] += 1
    for g in range(1, most + 2):
        first[g] += first[g - 1]
    order, place = np.empty(n, dtype=np.int64), np.empty(n, dtype=np.int64)
    filled = first.copy()
    for v in range(n):
        place[v] = filled[degree[v]]
        order[place[v]] = v
        filled[degree[v]] += 1
    left = np.empty(n, dtype=np.int64)
    for at in range(n):
        v = order[at]
        left[at] = degree[v]
        first[degree[v]] = at + 1
        for e in range(starts[v], starts[v + 1]):
            w = neighbours[e]
            if place[w] <= at or degree[w] <= degree[v]:
                continue
            # w changes places with the first of its degree, and has one neighbour less.
            g = degree[w]
            other = order[first[g]]
            order[first[g]], order[place[w]] = w, other
            place[other], place[w] = place[w], first[g]
            first[g] += 1
            degree[w] -= 1
    return order, left


@kernel
def neighbourhood(starts, neighbours, later, v, wanted, mark):
    """Return the later neighbours of v that have, among these, at least `wanted` neighbours themselves.

    Those that have fewer are left out, again and again. `mark` is all -1 and stays so.

    "Many features" of docs/exact.md.
    """
    count = 0
    for e in range(starts[v], starts[v + 1]):
        count += 1 if later[neighbours[e]] > later[v] else 0
    found = np.empty(count, dtype=np.int64)
    count = 0
    for e in range(starts[v], starts[v + 1]):
        w = neighbours[e]
        if later[w] > later[v]:
            mark[w] = count
            found[count] = w
            count += 1
    degree = np.zeros(count, dtype=np.int64)
    for a in range(count):
        for e in range(starts[found[a]], starts[found[a] + 1]):
            degree[a] += 1 if mark[neighbours[e]] >= 0 else 0
    waiting = np.empty(count, dtype=np.int64)
    n_waiting = 0
    for a in range(count):
        if degree[a] < wanted:
            waiting[n_waiting] = a
            n_waiting += 1
    while n_waiting > 0:
        n_waiting -= 1
        a = waiting[n_waiting]
        mark[found[a]] = -1
        for e in range(starts[found[a]], starts[found[a] + 1]):
            b = mark[neighbours[e]]
            if b >= 0:
                degree[b] -= 1
                if degree[b] == wanted - 1:
                    waiting[n_waiting] = b
                    n_waiting += 1
    kept = 0
    for a in range(count):
        if mark[found[a]] >= 0:
            mark[found[a]] = -1
            found[kept] = found[a]
            kept += 1
    return found[:kept]
