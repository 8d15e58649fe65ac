"""Whether records in preorder make up one tree: each node is followed by the subtrees of its children."""

from collections.abc import Iterable

import numpy as np

from noap.linalg.types import IntArray

__all__ = ["missing_or_spare"]


def missing_or_spare(children: Iterable[IntArray]) -> str | None:
    """Return what is wrong with a tree, given how many children each node has, in parts; None if it is whole.

    Examples
    --------
    >>> missing_or_spare([np.array([2, 0]), np.array([0])])
    >>> missing_or_spare([np.array([2, 0])])
    '1 nodes of the tree are missing'
    >>> missing_or_spare([np.array([0, 0])])
    'node 1 belongs to no parent'
    """
    # How many nodes are still expected after each one, and where that came to none.
    expected, before, complete = 1, 0, -1
    for part in children:
        if complete < 0:
            after = expected + np.cumsum(part - 1)
            ends = np.flatnonzero(after == 0)
            complete = before + int(ends[0]) if len(ends) else -1
            expected = int(after[-1])
        before += len(part)
    if complete < 0:
        return f"{expected} nodes of the tree are missing"
    if complete < before - 1:
        return f"node {complete + 1} belongs to no parent"
    return None
