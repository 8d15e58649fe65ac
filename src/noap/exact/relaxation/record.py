"""The tree of the relaxation as a proof: nodes in preorder, and the inequalities that its leaves use."""

import numpy as np

from noap.exact.relaxation.inequality import Inequality
from noap.exact.relaxation.node import Node
from noap.linalg.types import IntArray
from noap.proofs.costed_relaxation import CostedRelaxationProof
from noap.proofs.relaxation import GIVEN, LEAF, SOFT, RelaxationProof

__all__ = ["proof_of_tree"]


def proof_of_tree(root: Node, features: IntArray, unit: float, top: float) -> RelaxationProof:
    """Return the proof.

    Parameters
    ----------
    features : which features of the problem the matrix is about
    unit : what values are in the units of the problem
    top : the largest entry of the matrix
    """
    branches, counts, used = [], [], []
    numbers: dict[int, int] = {}
    inequalities: list[Inequality] = []
    stack = [root]
    while stack:
        node = stack.pop()
        if node.children is not None:
            branches.append(node.feature + 1)
            counts.append(0)
            stack.extend(reversed(node.children))
            continue
        branches.append(LEAF)
        counts.append(len(node.inequalities))
        for one in node.inequalities:
            if id(one) not in numbers:
                numbers[id(one)] = len(inequalities)
                inequalities.append(one)
            used.append(numbers[id(one)])
    given = [one for one in inequalities if one.entries is not None]
    sizes = [len(one.features) if one.entries is not None else 0 for one in inequalities]
    joined = [one.entries for one in given if one.entries is not None]
    parts = (
        np.asarray(features, dtype=np.uint32),
        np.array([SOFT if one.entries is None else GIVEN for one in inequalities], dtype=np.uint8),
        np.array([max(one.mu, 0.0) for one in inequalities]) * unit,
        np.array([top * unit]),
        np.append(0, np.cumsum(sizes)).astype(np.uint32),
        _joined([one.features for one in given], np.uint32),
        _joined([one.loads * unit for one in given], np.float64),
        _joined([one.lifts * unit for one in given], np.float64),
        _joined(joined, np.float32),
        np.array(branches, dtype=np.uint32),
        np.array(counts, dtype=np.uint32),
        np.array(used, dtype=np.uint32),
    )
    if root.costs is None:
        return RelaxationProof(*parts)
    pulls = [_pulls_of(one) for one in given]
    rows = [np.nonzero(one) for one in pulls]
    each = [np.bincount(row, minlength=len(one)) for one, (row, _) in zip(pulls, rows, strict=True)]
    return CostedRelaxationProof(
        *parts,
        _joined([one.dues[one.features] * unit for one in given], np.float64),
        _joined(each, np.uint32),
        _joined([columns for _, columns in rows], np.uint32),
        _joined([one[where] for one, where in zip(pulls, rows, strict=True)], np.float32),
    )


def _pulls_of(one: Inequality) -> np.ndarray:
    """Return its pulls; those of an inequality without any are 0."""
    size = len(one.features)
    return np.zeros((size, size), dtype=np.float32) if one.pulls is None else one.pulls


def _joined(parts: list[np.ndarray], kind: type) -> np.ndarray:
    return np.concatenate(parts).astype(kind) if parts else np.empty(0, dtype=kind)
