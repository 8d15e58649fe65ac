r"""One support: no direction on it is worth more than T, shown cell by cell.

A cell is a cone :math:`v = Gw,\ w \ge 0` inside one orthant, on which :math:`\sum_j \rho_j |v_j| = r^\top v`, and an
interval :math:`l \le y \le h` for :math:`y = r^\top v` at :math:`v^\top B v = 1`. There v is worth at most T if and
only if :math:`v^\top A v \le (y + \sqrt T)^2`, which as a function of :math:`y^2` is concave. So for every a, with b
the smaller one of :math:`(l + \sqrt T)^2 - a l^2` and :math:`(h + \sqrt T)^2 - a h^2`, it is enough that

.. math:: K = G^\top (a\,r r^\top + b\,B - A)\,G

is copositive: that K, or K with its positive entries off the diagonal taken out, is positive semidefinite
(docs/generalised.md). A cell that is not closed so is cut: its interval where that is wide beside the cone, otherwise
the cone.
"""

import math
from array import array
from collections.abc import Callable
from dataclasses import dataclass
from itertools import product

import numpy as np

from noap.data.pencil import Pencil
from noap.exact.generalised.definite import definite
from noap.linalg.outward import UNIT
from noap.linalg.types import FloatArray
from noap.proofs.metric_supports import CLOSED, CONE, INTERVAL

__all__ = ["CellRecord", "closes"]

# Slopes a that are tried in a cell before it is cut.
_SLOPES = 5
# Cells between two looks at the clock.
_BETWEEN = 64


# An interval is empty if its ends are the wrong way round by more than rounding.
_EMPTY = 1.0 + 1e-12


@dataclass
class _Cell:
    """A cone, of which the columns are off by at most `off` from exact combinations of those of its orthant."""

    r: FloatArray
    G: FloatArray
    low: float
    high: float
    off: FloatArray


class CellRecord:
    """The trees of cells of supports, in preorder, one support after the other.

    `met` is a direction worth more than the threshold, where one kept the last support open.
    """

    def __init__(self) -> None:
        self.kinds, self.edges, self.numbers = bytearray(), bytearray(), array("d")
        self.met: FloatArray | None = None

    def add(self, kind: int, number: float, edge: tuple[int, ...] = ()) -> None:
        """Note a cell."""
        self.kinds.append(kind)
        self.numbers.append(number)
        self.edges.extend(edge)

    def back_to(self, sizes: tuple[int, int]) -> None:
        """Forget what was noted since it had these sizes."""
        del self.kinds[sizes[0] :], self.numbers[sizes[0] :], self.edges[sizes[1] :]

    @property
    def sizes(self) -> tuple[int, int]:
        """How much is noted."""
        return len(self.kinds), len(self.edges)


def closes(
    pencil: Pencil,
    T: float,
    cells: int,
    late: Callable[[], bool] = lambda: False,
    record: CellRecord | None = None,
) -> bool:
    """Return whether no direction on the features of this pencil is worth more than T, within so many cells.

    `late` is asked now and then whether there is time for more; cells are noted in the record, and a direction worth
    more, with which the search ends.
    """
    record = CellRecord() if record is None else record
    before, record.met = record.sizes, None
    A, B = pencil.A, pencil.B
    # No column is longer than the largest of them: a larger budget does no more than one of twice that length.
    rho = np.minimum(pencil.rho, 2.0 * math.sqrt(float(np.abs(A.diagonal()).max())))
    m, root, eta = len(A), math.sqrt(T), len(A) * pencil.error
    # Signs of v and -v are one.
    signs = np.array([(1.0, *rest) for rest in product((1.0, -1.0), repeat=m - 1)])
    # The cone of an orthant has the coordinate vectors, of length 1 in the metric.
    stack = [
        _Cell(rho * s, np.diag(s / np.sqrt(B.diagonal())), 0.0, most, np.zeros(m))
        for s, most in zip(signs, _largest(rho * signs, B), strict=True)
    ][::-1]
    if not all(math.isfinite(cell.high) for cell in stack):
        return False
    for number in range(cells):
        if not stack:
            return True
        if number % _BETWEEN == _BETWEEN - 1 and late():
            break
        cell = _ranged(stack.pop(), B)
        slope, failing = (1.0, None) if cell is None else _examined(cell, A, B, root, eta)
        if cell is None or failing is None:
            record.add(CLOSED, slope)
        elif pencil.worth(cell.G @ failing) > T:
            record.met = cell.G @ failing
            stack.append(cell)
            break
        else:
            # The first of the two is looked at next.
            stack += _cut(cell, B, failing, record)[::-1]
    if stack:
        record.back_to(before)
    return not stack


def _largest(r: FloatArray, B: FloatArray) -> FloatArray:
    """Return for each row r at least the largest r'v at v'Bv = 1: q with q^2 B - rr' positive definite."""
    guess = np.sqrt(np.maximum(np.einsum("mi,ij,mj->m", r, np.linalg.inv(B), r), 0.0)) * (1.0 + 1e-6) + 1e-150
    proved = np.zeros(len(r), dtype=bool)
    for _ in range(60):
        forms = guess[:, None, None] ** 2 * B - r[:, :, None] * r[:, None, :]
        proved |= definite(forms, 4.0 * UNIT * (guess**2 * float(np.abs(B).max()) + (r**2).max(axis=1)) * len(B))
        if proved.all():
            break
        guess = np.where(proved, guess, 2.0 * guess)
    return np.where(proved, guess, math.inf)


def _ranged(cell: _Cell, B: FloatArray) -> _Cell | None:
    """Return the cell with its interval cut to what the cone allows; None if nothing is left."""
    ends, Q = cell.r @ cell.G, cell.G.T @ B @ cell.G
    # What rounding does to a product of two columns in the metric, such as their squared lengths, which are 1.
    sizes, most = float(np.abs(cell.G).sum(axis=0).max()), float(np.abs(B).max())
    off = most * sizes * (8.0 * (len(B) + 2) ** 2 * UNIT * sizes + 4.0 * len(B) * float(cell.off.max()))
    # r'v over the length of v is smallest at an end of the cone; a convex combination of the ends is at least so long.
    shortest = math.sqrt(max(float(Q.min()) - off, 0.0)) * (1.0 - 1e-14)
    low, high = max(cell.low, float(ends.min()) * (1.0 - off - 1e-14)), cell.high
    if shortest > 0:
        high = min(high, float(ends.max()) / shortest * (1.0 + 1e-14))
    return None if low > high * _EMPTY else _Cell(cell.r, cell.G, low, max(low, high), cell.off)


def _examined(cell: _Cell, A: FloatArray, B: FloatArray, root: float, eta: float) -> tuple[float, FloatArray | None]:
    """Return a slope, and None if the cell is closed by it, otherwise weights w >= 0 of a vector that fails."""
    lo, hi, G, m = cell.low, cell.high, cell.G, len(A)
    # The chord; smaller and larger slopes count where it is vectors beyond the ends of the interval that fail.
    slope = 1.0 + 2.0 * root / (lo + hi) if hi > 0 else 1.0
    least, most = -2.0 * slope - 8.0, 4.0 * slope + 8.0
    across, sizes = np.outer(cell.r, cell.r), float(np.abs(G).sum(axis=0).max())
    largest = [float(np.abs(M).max()) for M in (across, B, A)]
    first = None
    for _ in range(_SLOPES):
        b = min((lo + root) ** 2 - slope * lo * lo, (hi + root) ** 2 - slope * hi * hi)
        b -= 1e-15 * ((hi + root) ** 2 + abs(slope) * hi * hi)
        K = G.T @ (slope * across + b * B - A) @ G
        entries = abs(slope) * largest[0] + abs(b) * largest[1] + largest[2] + root * root
        room = m * sizes * (sizes * (eta + 8.0 * m * (m + 4) * UNIT * entries) + 4.0 * m * cell.off.max() * entries)
        kept = np.minimum(K, 0.0)
        kept[np.diag_indices_from(kept)] = K.diagonal()
        if definite(np.stack([K, kept, (K + kept) / 2.0]), room).any():
            return slope, None
        # Of a matrix without positive entries off the diagonal the lowest eigenvector has one sign.
        w: FloatArray = np.abs(np.linalg.eigh(kept)[1][:, 0])
        first = w if first is None else first
        y = _height(cell, B, w)
        if lo <= y <= hi:
            break
        least, most = (least, slope) if y < lo else (slope, most)
        slope = 0.5 * (least + most)
    return slope, first


def _height(cell: _Cell, B: FloatArray, w: FloatArray) -> float:
    v = cell.G @ w
    return float(cell.r @ v) / math.sqrt(float(v @ B @ v))


def _cut(cell: _Cell, B: FloatArray, w: FloatArray, record: CellRecord) -> list[_Cell]:
    """Cut the interval at the failing vector if that lies well inside, otherwise the longest edge of the cone."""
    y, low, high = _height(cell, B, w), cell.low, cell.high
    edges = _edges(cell.G, B)
    i, j = np.unravel_index(int(np.argmax(edges)), edges.shape)
    wide = (high - low) / (high + low)
    if wide > 0.25 * float(edges[i, j]) or (wide > 1e-9 and edges[i, j] < 1e-6):
        at = min(max(y, low + 0.2 * (high - low)), high - 0.2 * (high - low))
        record.add(INTERVAL, at)
        return [_Cell(cell.r, cell.G, low, at, cell.off), _Cell(cell.r, cell.G, at, high, cell.off)]
    middle = cell.G[:, i] + cell.G[:, j]
    length = math.sqrt(float(middle @ B @ middle))
    middle /= length
    record.add(CONE, 0.0, (int(i), int(j)))
    halves = []
    for end in (i, j):
        G, off = cell.G.copy(), cell.off.copy()
        G[:, end] = middle
        # The combination is rounded, and so were its ends.
        off[end] = (cell.off[i] + cell.off[j]) / length + 4.0 * UNIT * float(np.abs(middle).max())
        halves.append(_Cell(cell.r, G, low, high, off))
    return halves


def _edges(G: FloatArray, B: FloatArray) -> FloatArray:
    """Return the squared distances between the ends of the cone, in the metric."""
    Q = G.T @ B @ G
    own = Q.diagonal()
    squares: FloatArray = own[:, None] + own - 2.0 * Q
    return squares
