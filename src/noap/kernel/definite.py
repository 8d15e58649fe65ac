r"""Rule S: a symmetric matrix C is positive semidefinite on every set of p of its features."""

import numpy as np

from noap.kernel.arithmetic import gamma, need
from noap.kernel.envelope import NearMatrix
from noap.kernel.majorant import Complement
from noap.kernel.witness import BOX, IN_PLAIN_NORM, THRESHOLD, Line
from noap.linalg.types import FloatArray

__all__ = ["dominance", "matrix", "scaled_to_unit"]


def dominance(C: FloatArray | Complement, p: int, z: FloatArray | None = None) -> None:
    r"""Show it by diagonal dominance: with d = z/root(C_ii), C_ii d_i is at least the p - 1 largest |C_ij| d_j.

    The eigenvalues of :math:`D^{1/2} C_{QQ} D^{1/2}` are those of :math:`C_{QQ} D`, whose rows have their centres
    :math:`C_{ii} d_i` at least as far from 0 as their radii are long (Gershgorin). With z = 1 and p = 2 these are the
    2 x 2 minors.
    """
    own = C.diagonal()
    need((own >= 0).all(), "S: the diagonal")
    count = min(p, len(own)) - 1
    if count < 1:
        return
    need((own > 1e-280).all(), "S: the diagonal")
    d = 1.0 / np.sqrt(own)
    if z is not None:
        need(z.shape == own.shape and (z > 1e-30).all() and (z < 1e30).all(), "S: the scaling")
        d *= z
    sums = (_largest(C, d, count) if isinstance(C, np.ndarray) else _largest_in_blocks(C, d, count)).sum(axis=1)
    # count + 3 roundings: a product, count - 1 sums, this factor and its product, a product. d is any positive number.
    need((sums * (1 + gamma(count + 4)) <= own * d).all(), "S: dominance")


def _largest(C: FloatArray, d: FloatArray, count: int) -> FloatArray:
    """Return the largest |C_ij| d_j of each row beside the diagonal."""
    N = np.abs(C)
    np.fill_diagonal(N, 0.0)
    N *= d
    largest: FloatArray = np.partition(N, len(N) - count, axis=1)[:, len(N) - count :]
    return largest


def _largest_in_blocks(C: Complement, d: FloatArray, count: int) -> FloatArray:
    """Return the same; a block serves its columns as rows, too."""
    largest = np.zeros((len(d), count))
    for a, b, block in C.blocks():
        N = np.abs(block)
        for rows, columns, part in ((a, b, N), (b, a, N.T))[: 1 if a == b else 2]:
            known = np.concatenate([largest[rows], part * d[columns]], axis=1)
            largest[rows] = np.partition(known, known.shape[1] - count, axis=1)[:, known.shape[1] - count :]
    return largest


def scaled_to_unit(C: FloatArray) -> FloatArray:
    """Return N with N_ij = C_ij/root(C_ii C_jj), to 4u of its largest entry; C is definite where N is."""
    own = C.diagonal()
    need((own > 1e-280).all(), "S: the diagonal")
    s = 1.0 / np.sqrt(own)
    N: FloatArray = C * s[:, None] * s
    return N


def matrix(C: FloatArray, features: np.ndarray, p: int, line: Line) -> None:
    r"""Show it by a line above -N.

    .. math:: -v^\top N v \le c + (\mu + \sum \tau)\,\|v\|_1^2 \le 0 , \qquad \|v\|_1^2 \le p .

    s D C D s is congruent to C for any positive s: only the rounding of N counts, 4u of its largest entry.
    """
    if len(C) == 0:
        return
    # No FREE line: its signs would be those of the entries of v, which no node of a complement knows.
    plain = line.form in (THRESHOLD, BOX) and line.dues is None
    need(plain and line.counts == IN_PLAIN_NORM and line.weighted == 0, "S: the line is of another kind")
    need(not line.deflation.any(), "S: a line about a complement knows no directions")
    need(np.array_equal(line.features, features), "S: the line is about other features")
    N = scaled_to_unit(C)
    near = NearMatrix(-N, np.ones(len(N)), line)
    count = min(p, len(N))
    prices = float(np.sort(near.prices)[::-1][:count].sum()) * (1 + gamma(count + 4))
    # Three roundings of numbers of at most |c|/count, or of mu, are left: mu holds 9u and more of both.
    need(near.c + max(near.plain + prices, 0.0) * count <= 0, "S: the matrix")
