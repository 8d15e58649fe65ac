"""A sparse symmetric matrix in blocks that do not touch: its largest eigenvalue is the largest of theirs.

The blocks are the connected parts of the graph of its entries. Most are closed by their row sums; for the others
Lanczos steps give a guess, and a factorisation of the block proves it.
"""

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components
from scipy.sparse.linalg import ArpackNoConvergence, eigsh

from noap.exact.relaxation.eigenvalue import confirmed
from noap.linalg.types import FloatArray, IntArray

__all__ = ["Blocks"]

# From so many features on a block's eigenvector is found by Lanczos steps, to this accuracy; below, by a decomposition.
_LANCZOS, _ACCURACY = 200, 1e-9
# What steps cost, in units of the entries of the whole matrix: Lanczos steps per entry of a block, and a factorisation
# per feature cubed.
_STEPPING, _FACTORISING = 60.0, 0.01


class Blocks:
    r"""The largest eigenvalue of a sparse matrix B: at first a guess, and a proof where it is asked for.

    Attributes
    ----------
    guess : float
        The largest eigenvalue, or 0 if that is larger; not proved.
    spread : float
        :math:`\sum \mathrm{sign}(B_{ij}) w_i w_j x_i x_j`, x the eigenvector, or 1 if that is larger.
    cost : float
        What it took so far, in entries of matrices.

    Examples
    --------
    >>> blocks = Blocks(csr_array([[3.0, 1.0, 0.0], [1.0, 3.0, 0.0], [0.0, 0.0, 2.0]]), np.ones(3))
    >>> round(blocks.guess, 9), 4.0 <= blocks.proved() <= 4.0 + 1e-6
    (4.0, True)
    """

    def __init__(self, B: csr_array, weights: FloatArray) -> None:
        self._B, self._weights, self.cost = B, weights, 0.0
        size = B.shape[0]
        parts, part = connected_components(B, directed=False)
        order = np.argsort(part, kind="stable")
        cuts = np.searchsorted(part[order], np.arange(parts + 1))
        sizes = np.diff(cuts)
        alone = order[cuts[:-1][sizes == 1]]
        # Blocks of one feature are their own eigenvalue; of the others, those whose row sums leave them a chance.
        self._alone = self.guess = float(B.diagonal()[alone].max(initial=0.0))
        self.spread = 1.0
        reach = np.zeros(parts)
        np.maximum.at(reach, part, np.abs(B).sum(axis=1) * (1 + 2.3e-16 * (size + 2)))
        self._blocks: list[tuple[float, float, IntArray]] = []
        for number in np.argsort(-reach):
            if sizes[number] == 1 or reach[number] <= self.guess:
                continue
            features = order[cuts[number] : cuts[number + 1]]
            value, spread = self._looked_at(features)
            self._blocks.append((float(reach[number]), value, features))
            if value > self.guess:
                self.guess, self.spread = value, max(spread, 1.0)

    def _looked_at(self, features: IntArray) -> tuple[float, float]:
        """Return the largest eigenvalue of a block, about, and its spread."""
        block = self._B[features][:, features]
        self.cost += _STEPPING * block.nnz
        value, x = _leading(block)
        signs = csr_array((np.sign(block.data), block.indices, block.indptr), shape=block.shape)
        x = x * self._weights[features]
        return value, float(x @ (signs @ x))

    def proved(self) -> float | None:
        """Return at least the largest eigenvalue, and at least 0, proved; None where no factorisation succeeds."""
        largest = float(np.abs(self._B.data).max(initial=0.0))
        c = self._alone
        for reach, value, features in sorted(self._blocks, key=lambda block: -block[1]):
            if reach <= c:
                continue
            block = self._B[features][:, features].toarray()
            step = 1e-14 * len(block) * largest + 10.0 * _ACCURACY * max(value, 0.0)
            # The blocks after the first need not be told apart: one factorisation says that they stay below.
            found, tries = confirmed(block, max(c, value + step), step)
            self.cost += tries * _FACTORISING * float(len(block)) ** 3
            if found is None:
                return None
            c = found
        return c


def _leading(block: csr_array) -> tuple[float, FloatArray]:
    """Return the largest eigenvalue, from below and only as a guess, and its vector."""
    m = block.shape[0]
    if m >= _LANCZOS:
        try:
            values, vectors = eigsh(block, k=1, which="LA", v0=np.random.default_rng(0).random(m), tol=_ACCURACY)
            return float(values[0]), vectors[:, 0]
        except ArpackNoConvergence:
            pass
    values, vectors = np.linalg.eigh(block.toarray())
    return float(values[-1]), vectors[:, -1]
