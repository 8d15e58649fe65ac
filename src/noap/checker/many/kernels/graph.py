"""A graph that is taken apart, vertex by vertex.

"Many features" of docs/exact.md.
"""

import numpy as np

from noap.runtime.kernels import kernel


@kernel
def take_out(starts, neighbours, here, degree, first, size):
    """Take a vertex out, if it is still there, and then every one that has fewer than size - 1 neighbours left.

    With first = -1 only the latter. A vertex of a clique of `size` has as many neighbours in it.

    "Many features" of docs/exact.md.
    """
    n = here.shape[0]
    waiting = np.empty(n, dtype=np.int64)
    count = 0
    if first >= 0:
        if not here[first]:
            return
        waiting[0], count = first, 1
    else:
        for v in range(n):
            if here[v] and degree[v] < size - 1:
                waiting[count] = v
                count += 1
    while count > 0:
        count -= 1
        v = waiting[count]
        here[v] = False
        for e in range(starts[v], starts[v + 1]):
            w = neighbours[e]
            if not here[w]:
                continue
            degree[w] -= 1
            # Only at the moment when it falls below: so nobody waits twice.
            if degree[w] == size - 2:
                waiting[count] = w
                count += 1


@kernel
def connected(starts, neighbours, here, root):
    """Return every vertex that is still there and connected with the root, the root first.

    "Many features" of docs/exact.md.
    """
    n = here.shape[0]
    found, seen = np.empty(n, dtype=np.int64), np.zeros(n, dtype=np.bool_)
    found[0], seen[root], count, at = root, True, 1, 0
    while at < count:
        v = found[at]
        at += 1
        for e in range(starts[v], starts[v + 1]):
            w = neighbours[e]
            if here[w] and not seen[w]:
                seen[w] = True
                found[count] = w
                count += 1
    return found[:count].copy()


@kernel
def surrounding(starts, neighbours, here, root, size, among):
    """Return the root and those of its neighbours that may be in a clique of `size` with it.

    Such a neighbour has size - 2 others of them as neighbours; those with fewer are left out, again and again. `among`
    is all False, and is left so.

    "Many features" of docs/exact.md.
    """
    count = 0
    for e in range(starts[root], starts[root + 1]):
        if here[neighbours[e]]:
            count += 1
    around = np.empty(count, dtype=np.int64)
    count = 0
    for e in range(starts[root], starts[root + 1]):
        w = neighbours[e]
        if here[w]:
            around[count], among[w] = w, True
            count += 1
    changed = True
    while changed:
        changed = False
        for a in range(count):
            v = around[a]
            if not among[v]:
                continue
            common = 0
            for e in range(starts[v], starts[v + 1]):
                if among[neighbours[e]]:
                    common += 1
            if common < size - 2:
                among[v] = False
                changed = True
    left = np.empty(count + 1, dtype=np.int64)
    left[0], kept = root, 1
    for a in range(count):
        if among[around[a]]:
            left[kept], among[around[a]] = around[a], False
            kept += 1
    return left[:kept].copy()
