"""Every entry may be moved: by at most delta, or by a delta of its feature or of its own."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from noap.adversaries.base import Adversary, samples_of, vector_of
from noap.adversaries.budgets import Budgeted, checked_budgets, largest_ratio, scaled
from noap.errors import InvalidProblem
from noap.linalg.products import row_blocks, scores
from noap.linalg.types import BoolArray, Data, FloatArray, IntArray
from noap.linalg.vectors import norms, soft, unit

__all__ = ["EntryWise"]


@dataclass(frozen=True, eq=False, repr=False)
class EntryWise(Budgeted, Adversary):
    r"""The largest-entry norm ball: the adversary moves every entry of the table by at most delta.

    The set of reachable :math:`Ev` is the box of half-widths :math:`\sum_j \delta_{ij} |v_j|`: the robust variance is

    .. math:: \tfrac1n \sum_i \Bigl(|x_i^\top v| - \sum_j \delta_{ij} |v_j|\Bigr)_+^2 .

    The support function is :math:`\sigma(u, v) = \sum_{ij} \delta_{ij} |u_i| |v_j|`, so that each half-step is a soft
    threshold that the other vector sets: :math:`u_i \leftarrow \mathrm{soft}(x_i^\top v, \sum_j \delta_{ij} |v_j|)` and
    :math:`v \leftarrow \mathrm{top}_k(\mathrm{soft}(a_j^\top u, \sum_i \delta_{ij} |u_i|))`, each scaled to length 1.

    Parameters
    ----------
    delta : float, or array of shape (d,) or (n, d)
        The largest error of an entry: of every one, of those of each feature, or of each by itself. In an array 0 means
        that an entry is exact, and infinity that it is not to be trusted at all: where v uses its feature, its sample
        adds nothing to the value.

    >>> round(EntryWise(1.0).value([[3.0, 0.0], [4.0, 1.0]], [1.0, 0.0]), 12)
    6.5
    >>> round(EntryWise([[1.0, 0.0], [float("inf"), 0.0]]).value([[3.0, 0.0], [4.0, 1.0]], [1.0, 0.0]), 12)
    2.0
    """

    key = "entry"
    moves = "entry (every cell of the table)"
    gram_suffices = False
    name = "delta"

    delta: Any

    def __post_init__(self) -> None:
        try:
            budget = checked_budgets(self.delta, "feature or entry", 2)
        except InvalidProblem as refused:
            raise InvalidProblem(str(refused).replace("rho", "delta")) from None
        object.__setattr__(self, "delta", budget)

    @property
    def rho(self) -> Any:
        """The budget, delta."""
        return self.delta

    def check_shape(self, n: int, d: int) -> None:
        """Raise InvalidProblem unless there is a number, one for each of d features, or an n x d table."""
        if not self.has_one_budget and self.delta.shape not in ((d,), (n, d)):
            raise InvalidProblem(
                f"delta has shape {self.delta.shape}, but X has shape {(n, d)}; pass a number, one per feature, or one "
                "per entry."
            )

    def restricted_to(self, features: IntArray) -> "EntryWise":
        """Return the adversary with the budgets of these features; of m x k features, one row for each of m vectors."""
        if self.has_one_budget:
            return self
        return self._with(self._table[:, features] if features.ndim > 1 else self.delta[..., features])

    def restricted_to_samples(self, samples: IntArray) -> "EntryWise":
        """Return the adversary with the budgets of these samples."""
        return self._with(self.delta[samples]) if np.ndim(self.delta) > 1 else self

    def _with(self, delta: FloatArray) -> "EntryWise":
        # Past the checks: these are budgets of some entries.
        some = object.__new__(EntryWise)
        object.__setattr__(some, "delta", delta)
        return some

    @property
    def _table(self) -> FloatArray:
        """Budgets of samples (or one row for all of them) by features."""
        delta: FloatArray = np.asarray(self.delta)
        return delta if delta.ndim > 1 else np.atleast_1d(delta)[None]

    @classmethod
    def noise_in_words(cls, scaled: bool) -> str:
        """Return what noise means, in one sentence: delta itself."""
        said = "Noise is how far the adversary may move every entry of the table"
        if scaled:
            return f"{said}, in standard deviations of its column."
        return f"{said}, in the units of the data."

    def norm(self, E: ArrayLike) -> float:
        """Return the largest magnitude of an entry; with several budgets, the smallest c with |E| <= c delta."""
        sizes = np.abs(np.asarray(E, dtype=np.float64))
        if self.has_one_budget:
            return float(sizes.max(initial=0.0))
        return largest_ratio(sizes, np.broadcast_to(self.delta, sizes.shape))

    def support_function(self, u: FloatArray, v: FloatArray) -> float:
        r"""Return :math:`\sum_{ij} \delta_{ij} |u_i| |v_j|`."""
        return float(_spent("mn,mn->m", np.abs(u)[None], self._widths(v[None], len(u)))[0])

    def _widths(self, v: FloatArray, n: int) -> FloatArray:
        """Return the half-widths of the boxes of m vectors, an m x n array."""
        sizes = np.abs(v)
        if self.has_one_budget:
            return np.broadcast_to(self.delta * sizes.sum(axis=-1)[..., None], (len(v), n))
        if self._table.ndim > 2:
            return np.broadcast_to(_spent("mk,nmk->mn", sizes, self._table), (len(v), n))
        used = sizes.any(axis=0)
        return np.broadcast_to(_spent("mk,nk->mn", sizes[:, used], self._table[:, used]), (len(v), n))

    def distance(self, scores: FloatArray, v: FloatArray) -> FloatArray:
        r"""Return the length of what soft thresholds :math:`\sum_j \delta_{ij} |v_j|` leave of the scores."""
        return norms(soft(scores, self._widths(v, scores.shape[-1])))

    def attack(self, X: Data, v: ArrayLike) -> FloatArray:
        r"""Return the minimiser :math:`E_{ij} = -\theta_i \delta_{ij}\,\mathrm{sgn}(v_j)`.

        :math:`\theta_i` is so large that the score becomes 0, and at most 1 in magnitude. Where entries that v uses are
        not to be trusted at all, they alone are moved. Features outside the support are left alone.
        """
        data = samples_of(X)
        direction = vector_of(v, data.shape[1])
        E = np.zeros(data.shape)
        support = np.flatnonzero(direction)
        if len(support) == 0:
            return E
        direction = direction / np.abs(direction).sum()
        table = np.broadcast_to(self._table, data.shape)[:, support]
        infinite: BoolArray = np.isinf(table)
        boundless = np.asarray(infinite.any(axis=1))
        table = np.where(boundless[:, None], infinite, table)
        reached, widths = scores(data, direction), table @ np.abs(direction[support])
        share = np.divide(reached, widths, out=np.zeros(len(reached)), where=widths > 0)
        share = np.where(boundless, share, np.clip(share, -1.0, 1.0))
        E[:, support] = -share[:, None] * table * np.sign(direction[support])
        return E

    def rho_max(self, X: Data, k: int) -> float:
        r"""Return the largest :math:`|X_{ij}|`: then :math:`|x_i^\top v| \le \delta\|v\|_1` for all of them.

        With several budgets, the smallest factor c such that budgets c delta leave nothing: the largest
        :math:`|X_{ij}|/\delta_{ij}`.
        """
        data = samples_of(X)
        self.check_shape(*data.shape)
        largest = 0.0
        for block, delta in self._blocks(data):
            sizes = np.abs(block)
            if self.has_one_budget:
                largest = max(largest, float(sizes.max(initial=0.0)))
                continue
            at = np.flatnonzero(sizes)
            moved, own = sizes.ravel()[at], delta.ravel()[at]
            if not own.all():
                return float("inf")
            ratios = moved / own
            ratios = np.where(ratios * own < moved, np.nextafter(ratios, np.inf), ratios)
            largest = max(largest, float(ratios.max(initial=0.0)))
        return largest

    def _blocks(self, X: Data) -> "list[tuple[FloatArray, FloatArray]]":
        """Return the samples in blocks, with the budgets of their entries."""
        blocks, at = [], 0
        for block in row_blocks(X):
            table = self._table[at : at + len(block)] if len(self._table) > 1 else self._table
            blocks.append((block, np.broadcast_to(table, block.shape)))
            at += len(block)
        return blocks

    def kept(self, X: Data) -> BoolArray:
        r"""Return a mask of the features with an entry beyond its budget: the others add nothing at any u.

        :math:`|a_j^\top u| - \sum_i \delta_{ij} |u_i|` is at most the sum of :math:`(|x_{ij}| - \delta_{ij})|u_i|`.
        """
        kept: BoolArray = np.zeros(X.shape[1], dtype=np.bool_)
        for block, delta in self._blocks(X):
            beyond: BoolArray = np.abs(block) > delta
            kept |= beyond.any(axis=0)
        return kept

    def respond(self, scores: FloatArray) -> FloatArray:
        """Return the response to single features where |v|_1 = 1; `respond_to` is told the vectors."""
        return unit(soft(scores, self.delta)) if self.has_one_budget else unit(scores)

    def respond_to(self, scores: FloatArray, v: FloatArray) -> FloatArray:
        """Return what soft thresholds leave of the scores, normalised; zero where no score exceeds its own."""
        return unit(soft(scores, self._widths(v, scores.shape[-1])))

    def lessened(self, loadings: FloatArray, u: FloatArray) -> FloatArray:
        r"""Return :math:`\mathrm{soft}(a_j^\top u, \sum_i \delta_{ij} |u_i|)`."""
        sizes = np.abs(u)
        if len(self._table) == 1:
            sizes = sizes.sum(axis=-1, keepdims=True)
        spec = "mn,nk->mk" if self._table.ndim == 2 else "mn,nmk->mk"
        return soft(loadings, _spent(spec, sizes, self._table))

    def shrink(self, loadings: FloatArray) -> FloatArray:
        """Return the loadings unchanged: `lessened` has taken off what sigma costs."""
        return loadings

    def rescaled(self, factor: float) -> "EntryWise":
        """Return the adversary with budget factor delta."""
        return replace(self, delta=scaled(self.delta, factor))


def _spent(spec: str, sizes: FloatArray, table: FloatArray) -> FloatArray:
    """Return sums of sizes times budgets; a size of 0 spends nothing, whatever the budget.

    >>> _spent("mk,nk->mn", np.array([[1.0, 0.0], [0.0, 2.0]]), np.array([[np.inf, 3.0]]))
    array([[inf],
           [ 6.]])
    """
    boundless = np.isinf(table)
    if not boundless.any():
        sums: FloatArray = np.einsum(spec, sizes, table, optimize=True)
        return sums
    total: FloatArray = np.einsum(spec, sizes, np.where(boundless, 0.0, table), optimize=True)
    total[np.einsum(spec, (sizes > 0).astype(np.float64), boundless.astype(np.float64), optimize=True) > 0] = np.inf
    return total
