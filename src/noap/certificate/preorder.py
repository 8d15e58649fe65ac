"""Whether records in preorder make up one tree: each node is followed by the subtrees of its children."""

import numpy as np
import numpy.typing as npt

__all__ = ["missing_or_spare"]


def missing_or_spare(children: npt.NDArray[np.int64]) -> str | None:
    """Return what is wrong with a tree, given how many children each node has; None if it is whole.

    Examples
    --------
    >>> missing_or_spare(np.array([2, 0, 0]))
    >>> missing_or_spare(np.array([2, 0]))
    '1 nodes of the tree are missing'
    >>> missing_or_spare(np.array([0, 0]))
    'node 1 belongs to no parent'
    """
    # How many nodes are still expected after each one.
    expected = 1 + np.cumsum(children - 1)
    complete = np.flatnonzero(expected == 0)
    if len(complete) == 0:
        return f"{int(expected[-1])} nodes of the tree are missing"
    if complete[0] < len(children) - 1:
        return f"node {complete[0] + 1} belongs to no parent"
    return None
