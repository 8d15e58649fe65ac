r"""The entry-wise adversary: its data, and rule M with any attack whose entries are within their budgets.

The value of a unit vector v is :math:`\frac1n \sum_i (|x_i^\top v| - \sum_j \delta_{ij} |v_j|)_+^2`. It is that of
samples.py with another set in which the rows of an attack must stay, a box, and without a gain. docs/kernel.md, section
8.
"""

from collections.abc import Callable, Iterable

import numpy as np

from noap.kernel.arithmetic import U, gamma, need
from noap.kernel.data import Terms
from noap.kernel.samples import SampleData, SampleMajorant, norms_above
from noap.kernel.witness import SampleAttack
from noap.linalg.types import BoolArray, FloatArray, IntArray

__all__ = ["EntryData", "EntryMajorant", "response_of_entries"]

# Larger budgets, in units in which entries are about 1, are lowered to this.
_MOST = 2.0**30


class EntryData(SampleData):
    r"""The same of a claim about entries; `rho` has their budgets :math:`\delta_{ij}`, at most, in the shape of X.

    Entries that are not to be trusted at all are 0: a v that uses one gets nothing from their sample.
    """

    def __init__(
        self, blocks: Callable[[], Iterable[FloatArray]], d: int, terms: Terms, exponent: int | None = None
    ) -> None:
        super().__init__(blocks, d, terms, exponent)
        # Of the samples as they are: what is beyond budgets may be as small as their rounding.
        self.top = float(super()._columns_squared().max(initial=0.0)) / self.n

    def _as_given(self, rho: FloatArray) -> FloatArray:
        shared = len(rho) in (1, self.d)
        return np.broadcast_to(rho if shared else rho.reshape(self.n, self.d), (self.n, self.d))

    def _counting(
        self, blocks: Callable[[], Iterable[FloatArray]], budgets: FloatArray
    ) -> tuple[FloatArray, FloatArray, IntArray]:
        X, rho, rows = super()._counting(blocks, budgets)
        if budgets.strides[0] == 0 and len(rho):  # one row is enough
            rho = np.broadcast_to(rho[0].copy(), rho.shape)
        return X, rho, rows

    def _counts(self, block: FloatArray, rho: FloatArray, scaled: FloatArray, r: FloatArray) -> BoolArray:
        boundless = np.isinf(rho)
        if boundless.any():
            scaled[boundless] = 0.0
        np.minimum(r, _MOST, out=r)
        beyond: BoolArray = np.abs(block) > rho
        return np.asarray(beyond[:, self.allowed].any(axis=1))

    def _beyond(self, at: int, X: FloatArray, columns: IntArray | slice) -> FloatArray:
        """Return what entries have beyond their budgets, to a rounding."""
        return np.maximum(np.abs(X[:, columns]) - self.rho[at : at + len(X), columns], 0.0)

    def _columns_squared(self) -> FloatArray:
        squares, at = np.zeros(self.d), 0
        for X in self.portions():
            beyond = self._beyond(at, X, slice(None))
            squares += np.einsum("ij,ij->j", beyond, beyond)
            at += len(X)
        return squares

    @property
    def _least(self) -> float:
        return 0.0  # squares have lost their budgets

    def left_above(self, at: int, X: FloatArray, columns: IntArray, inside: int, p: int) -> FloatArray:
        r"""Return at least the largest :math:`|x_i^\top v| - \sum_j \delta_{ij} |v_j|`: N of what is beyond."""
        beyond = self._beyond(at, X, columns)
        return np.where(beyond.any(axis=1), norms_above(beyond, inside, p) * (1 + 4 * U), 0.0)

    def sum_of_most(self, I: IntArray, F: IntArray, p: int) -> float:  # noqa: E741
        """Return at least what any choice of a node is worth, by its features: samples never say more."""
        return self._by_features(I, F, p)

    def budgets_of(self, positions: IntArray, columns: IntArray) -> FloatArray:
        """Return the budgets of some rows, by position, and columns."""
        if self.rho.strides[0] == 0:
            return np.broadcast_to(self.rho[:1, columns], (len(positions), len(columns)))
        return self.rho[np.ix_(positions, columns)]

    def majorant(self, attack: SampleAttack) -> "EntryMajorant":
        """Return the majorant of an attack."""
        return EntryMajorant(self, attack)

    def _taken_above(self, rows: IntArray, features: IntArray, sizes: FloatArray) -> FloatArray:
        assert self.terms.rho is not None
        rho = np.ldexp(self._as_given(self.terms.rho)[np.ix_(rows, features)], -self.exponent)
        taken: FloatArray = (rho @ sizes) * (1 + gamma(2 * len(sizes) + 16)) + 1e-150
        return taken


def response_of_entries(X: FloatArray, delta: FloatArray, v: FloatArray, spread: float) -> FloatArray:
    r"""Return an attack in response to a vector v: any numbers within the budgets.

    Off the features of v entries go towards 0 as far as they can. On them, where :math:`|x^\top v| \ge \sum_j \delta_j
    |v_j|`, all of the budget goes against v; elsewhere entries go towards 0 and, as far as that leaves a score, in a
    mixture with all of the budget against it that leaves none. A share `spread` of the way towards 0 is mixed in.
    """
    E: FloatArray = -np.clip(X, -delta, delta)
    J = np.flatnonzero(v)
    near, full, w = E[:, J], delta[:, J] * np.sign(v[J]), v[J]
    scores, widths = X[:, J] @ w, delta[:, J] @ np.abs(w)
    rest = scores + near @ w
    side = np.where(np.abs(scores) >= widths, np.sign(scores), np.sign(rest))
    beyond = np.maximum(widths - side * scores, 0.0)
    share = np.abs(rest) / np.maximum(np.abs(rest) + beyond, 1e-300)
    share = np.where(np.abs(scores) >= widths, 1.0, share)[:, None] * (1.0 - spread)
    E[:, J] = (1.0 - share) * near - share * side[:, None] * full
    return E


class EntryMajorant(SampleMajorant):
    r"""Rule M for an attack on entries: :math:`M = Y^\top Y/n`, Y = X + E with :math:`|e_{ij}| \le \delta_{ij}`.

    Every unit v on the columns of the attack has :math:`(|x_i^\top v| - \sum_j \delta_{ij} |v_j|)_+^2 \le (y_i^\top
    v)^2`. Moves are cut to their budgets.
    """

    def __init__(self, data: EntryData, attack: SampleAttack) -> None:
        need(attack.gain == 0, "M: no gain against entries is proved")
        super().__init__(data, attack)

    def _response(self, X: FloatArray, rho: FloatArray, gains: bool = True) -> tuple[FloatArray, BoolArray]:
        return response_of_entries(X, rho, self.v, self.attack.spread), np.zeros(len(X), dtype=np.bool_)

    def _within(self, E: FloatArray, rho: FloatArray, strong: BoolArray) -> FloatArray:
        return np.clip(E, -rho, rho)

    def covers(self, I: IntArray, F: IntArray, p: int) -> None:  # noqa: E741
        """Refuse unless the attack is about all features of a node."""
        need((self.at[I] >= 0).all() and (self.at[F] >= 0).all(), "M: a feature that the attack does not know")
