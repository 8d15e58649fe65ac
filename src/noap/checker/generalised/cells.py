r"""One support: re-prove that no direction on it is worth more than T, cell by cell.

A cell is a cone :math:`v = Gw,\ w \ge 0` inside one orthant, on which :math:`\sum_j \rho_j |v_j| = r^\top v`, and an
interval for :math:`y = r^\top v` at :math:`v^\top B v = 1`; docs/generalised.md ("One support") proves what closes it.
The columns of G are floats that stand for exact combinations of those of the orthant: `off` says how far they may be
from them.
"""

import itertools
import math
from dataclasses import dataclass, replace

import numpy as np

from noap.checker.allowance import Allowance
from noap.linalg.outward import UNIT, down, gamma, is_definite, up
from noap.linalg.types import FloatArray
from noap.proofs.metric_supports import CLOSED, INTERVAL, SupportsProof

__all__ = ["Cells", "OpenCell"]

# A cell that rounding leaves open is cut so often at most, one cut within the other.
_DEEPEST = 4
# Elementary operations that a cell takes beside the cubes of its size.
_PRICE = 3e4
# A budget below this counts as none: products of two of them would leave the range of doubles.
_LEAST = 1e-140


class OpenCell(Exception):
    """A cell is not closed; the message says which."""


@dataclass(frozen=True, eq=False)
class _Cell:
    r: FloatArray
    G: FloatArray
    low: float
    high: float
    off: FloatArray


@dataclass(frozen=True, eq=False)
class _Form:
    """A, to an error, and B of a support, the square root of the threshold rounded down, and the largest entries."""

    A: FloatArray
    error: float
    B: FloatArray
    root: float
    largest: float
    widest: float


class Cells:
    """Reads the trees of cells of a proof, one support after the other."""

    def __init__(self, proof: SupportsProof, allowance: Allowance) -> None:
        self.proof, self.allowance = proof, allowance
        self.place = self.edge = 0

    def close(self, A: FloatArray, error: float, B: FloatArray, rho: FloatArray, T: float) -> None:
        """Raise OpenCell unless the next trees show that no direction on these features is worth more than T."""
        m, largest = len(A), float(np.abs(A).max())
        # A smaller budget only raises the optimum; no column is longer than the largest.
        rho = np.minimum(rho, 2.0 * math.sqrt(largest))
        rho = np.where(rho >= _LEAST, rho, 0.0)
        form = _Form(A, error, B, down(math.sqrt(T)), largest, float(np.abs(B).max()))
        if len(self.proof.cells) - self.place < 2 ** (m - 1):
            raise OpenCell("cells are missing")
        # Directions v and -v are worth the same.
        for signs in itertools.product((1.0, -1.0), repeat=m - 1):
            s = np.array((1.0, *signs))
            self._walk(_Cell(rho * s, np.diag(s / np.sqrt(B.diagonal())), 0.0, _most(rho * s, B), np.zeros(m)), form)

    def _walk(self, root: _Cell, form: _Form) -> None:
        stack: list[_Cell | None] = [root]
        while stack:
            cell = stack.pop()
            if self.place >= len(self.proof.cells):
                raise OpenCell("cells are missing")
            kind, number = int(self.proof.cells[self.place]), float(self.proof.numbers[self.place])
            self.place += 1
            self.allowance.spent(_PRICE + 30.0 * len(form.A) ** 3)
            cell = None if cell is None else _ranged(cell, form)
            if kind == CLOSED:
                if cell is not None and not _closes_in_pieces(cell, number, form, _DEEPEST):
                    raise OpenCell(f"cell {self.place - 1} stays open")
            elif kind == INTERVAL:
                stack += [None, None] if cell is None else _between(cell, number)[::-1]
            else:
                i, j = self.proof.edges[self.edge : self.edge + 2].tolist()
                self.edge += 2
                if not (i != j and max(i, j) < len(form.A)):
                    raise OpenCell(f"cell {self.place - 1} is cut between ends that it does not have")
                stack += [None, None] if cell is None else _halves(cell, i, j, form)[::-1]


def _most(r: FloatArray, B: FloatArray) -> float:
    """Return at least the largest r'v at v'Bv = 1: q with q^2 B - rr' positive semidefinite; infinity if none is."""
    if not r.any():
        return 0.0
    guess = math.sqrt(max(float(r @ np.linalg.solve(B, r)), 0.0)) * (1.0 + 1e-6)
    square, widest = float(r @ r), float(np.abs(B).max())
    for _ in range(60):
        form = guess * guess * B - np.outer(r, r)
        # Three operations on each entry.
        room = 4.0 * UNIT * len(B) * (guess * guess * widest + square)
        if guess > 0.0 and is_definite(form - 1.01 * room * np.eye(len(B)), 0.0):
            return guess
        guess = 2.0 * guess if guess > 0.0 else math.sqrt(square)
    return math.inf


def _reach(cell: _Cell) -> tuple[float, float]:
    """Return the largest sum of entries of a column, and how far such a sum may be off."""
    return float(np.abs(cell.G).sum(axis=0).max()) * (1.0 + gamma(len(cell.G))), len(cell.G) * float(cell.off.max())


def _ranged(cell: _Cell, form: _Form) -> _Cell | None:
    r"""Return the cell with its interval cut to what its cone allows; None if nothing is left.

    With :math:`\omega_i = w_i \|G_i\|` the length of v is at most their sum, and its square at least that of the sum
    times the smallest cosine between two columns.
    """
    m, (sizes, off) = len(form.B), _reach(cell)
    if not off <= 0.01 * sizes:
        return cell
    Q, ends = cell.G.T @ form.B @ cell.G, cell.r @ cell.G
    error = form.widest * sizes * (1.02 * gamma(2 * m + 4) * sizes + 2.1 * off)
    short = 1.02 * float(np.abs(cell.r).max()) * (gamma(m + 4) * sizes + off)
    longest = np.sqrt(np.maximum(Q.diagonal() + error, 0.0)) * (1.0 + 4.0 * UNIT)
    shortest = np.sqrt(np.maximum(Q.diagonal() - error, 0.0)) * (1.0 - 4.0 * UNIT)
    low, high = cell.low, cell.high
    if not (longest > 0.0).all():
        return cell
    low = max(low, down(float(((ends - short) / longest).min()), 8))
    cosine = float(((Q - error) / np.outer(longest, longest)).min())
    if cosine > 0.0 and (shortest > 0.0).all():
        high = min(high, up(float(((ends + short) / shortest).max()) / math.sqrt(down(cosine, 8)), 8))
    return None if low > high else replace(cell, low=low, high=high)


def _closes_in_pieces(cell: _Cell, slope: float, form: _Form, depth: int) -> bool:
    """Return whether a slope, or that of the chord, closes the cell, or pieces of it where rounding left it open."""
    low, high = cell.low, cell.high
    chord = 1.0 + 2.0 * form.root / (low + high) if 0.0 < low + high < math.inf else 1.0
    if _closes(cell, slope, form) or _closes(cell, chord, form):
        return True
    if depth == 0 or not high < math.inf:
        return False
    Q = cell.G.T @ form.B @ cell.G
    apart = Q.diagonal()[:, None] + Q.diagonal() - 2.0 * Q
    i, j = np.unravel_index(int(np.argmax(apart)), apart.shape)
    wide = high - low > 0.25 * (high + low) * float(apart[i, j])
    if not wide and i == j:
        return False
    pieces = _between(cell, 0.5 * (low + high)) if wide else _halves(cell, int(i), int(j), form)
    ranged = [None if one is None else _ranged(one, form) for one in pieces]
    return all(one is None or _closes_in_pieces(one, slope, form, depth - 1) for one in ranged)


def _closes(cell: _Cell, slope: float, form: _Form) -> bool:
    r"""Return whether :math:`K = G^\top(a\,rr^\top + bB - A)G` is copositive: itself, or less non-negative entries."""
    m, root, low, high = len(form.A), form.root, cell.low, cell.high
    sizes, off = _reach(cell)
    if not (off <= 0.01 * sizes and high < 1e140 and abs(slope) < 1e100):
        return False
    # The concave function lies above the line if it does at both ends.
    b = min((low + root) ** 2 - slope * low * low, (high + root) ** 2 - slope * high * high)
    b -= 8.0 * UNIT * ((high + root) ** 2 + abs(slope) * high * high)
    steep = abs(slope) * float(np.abs(cell.r).max()) ** 2
    entries = steep + abs(b) * form.widest + form.largest
    if not entries * sizes * sizes < 1e250:
        return False
    K = cell.G.T @ (slope * np.outer(cell.r, cell.r) + b * form.B - form.A) @ cell.G
    K = (K + K.T) / 2.0
    # Five operations on each entry of the form, two products, what A is off by, and the columns.
    each = sizes * sizes * (1.03 * form.error + 1.02 * (gamma(2 * m + 4) + 8.0 * UNIT) * entries)
    room = 1.02 * m * (each + 2.1 * sizes * off * entries)
    kept = np.minimum(K, 0.0)
    kept.flat[:: m + 1] = K.diagonal()
    less = room * np.eye(m)
    return any(is_definite(one - less, 0.0) for one in (K, kept, (K + kept) / 2.0))


def _between(cell: _Cell, cut: float) -> list[_Cell | None]:
    """Return the cell below and above the cut."""
    lower, upper = min(cell.high, cut), max(cell.low, cut)
    return [
        None if cell.low > lower else replace(cell, high=lower),
        None if upper > cell.high else replace(cell, low=upper),
    ]


def _halves(cell: _Cell, i: int, j: int, form: _Form) -> list[_Cell | None]:
    """Return the cones with a middle of ends i and j in the place of the one, and of the other."""
    middle = cell.G[:, i] + cell.G[:, j]
    length = math.sqrt(max(float(middle @ form.B @ middle), 0.0))
    if not length > 0.0:
        raise OpenCell("a cone is cut between opposite ends")
    middle = middle / length
    off = up((cell.off[i] + cell.off[j]) / length + 3.0 * UNIT * float(np.abs(middle).max()), 8)
    halves: list[_Cell | None] = []
    for end in (i, j):
        G, offs = cell.G.copy(), cell.off.copy()
        G[:, end], offs[end] = middle, off
        halves.append(replace(cell, G=G, off=offs))
    return halves
