"""Every entry may be moved: by at most delta."""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from noap.adversaries.base import Adversary, samples_of, vector_of
from noap.adversaries.budgets import checked_budget
from noap.errors import InvalidProblem
from noap.linalg.products import row_blocks, scores
from noap.linalg.types import Data, FloatArray
from noap.linalg.vectors import norms, soft, unit

__all__ = ["EntryWise", "largest_entries"]


@dataclass(frozen=True)
class EntryWise(Adversary):
    r"""The largest-entry norm ball: the adversary moves every entry of the table by at most delta.

    The set of reachable :math:`Ev` is the box of half-width :math:`\delta\|v\|_1`, so the robust variance is

    .. math:: \tfrac1n \sum_i \left(|x_i^\top v| - \delta\|v\|_1\right)_+^2 .

    The support function is :math:`\sigma(u, v) = \delta\|u\|_1\|v\|_1`, so that each half-step is a soft threshold that
    the other vector sets: :math:`u \leftarrow \mathrm{soft}(Xv, \delta\|v\|_1)` and
    :math:`v \leftarrow \mathrm{top}_k(\mathrm{soft}(X^\top u, \delta\|u\|_1))`, each scaled to length 1.

    Parameters
    ----------
    delta : float
        The largest error of an entry.

    >>> round(EntryWise(1.0).value([[3.0, 0.0], [4.0, 1.0]], [1.0, 0.0]), 12)
    6.5
    """

    key = "entry"
    moves = "entry (every cell of the table)"
    gram_suffices = False

    delta: float

    def __post_init__(self) -> None:
        try:
            budget = checked_budget(self.delta)
        except InvalidProblem as refused:
            raise InvalidProblem(str(refused).replace("rho", "delta")) from None
        object.__setattr__(self, "delta", budget)

    @property
    def rho(self) -> float:
        """The budget, delta."""
        return self.delta

    @classmethod
    def noise_in_words(cls, scaled: bool) -> str:
        """Return what noise means, in one sentence: delta itself."""
        said = "Noise is how far the adversary may move every entry of the table"
        if scaled:
            return f"{said}, in standard deviations of its column."
        return f"{said}, in the units of the data."

    def norm(self, E: ArrayLike) -> float:
        """Return the largest magnitude of an entry of E."""
        return float(np.abs(np.asarray(E, dtype=np.float64)).max(initial=0.0))

    def support_function(self, u: FloatArray, v: FloatArray) -> float:
        r"""Return :math:`\delta\|u\|_1\|v\|_1`."""
        return float(self.delta * np.abs(u).sum() * np.abs(v).sum())

    def distance(self, scores: FloatArray, v: FloatArray) -> FloatArray:
        r"""Return :math:`\|\mathrm{soft}(Xv, \delta\|v\|_1)\|_2`."""
        return norms(self._beyond(scores, v))

    def _beyond(self, scores: FloatArray, v: FloatArray) -> FloatArray:
        box = self.delta * np.abs(v).sum(axis=-1)[..., None]
        beyond: FloatArray = scores - np.clip(scores, -box, box)
        return beyond

    def attack(self, X: Data, v: ArrayLike) -> FloatArray:
        r"""Return the minimiser :math:`E_{ij} = -\pi_i\,\mathrm{sgn}(v_j)/\|v\|_1`.

        :math:`\pi_i` clips the score :math:`x_i^\top v` to the box of half-width :math:`\delta\|v\|_1`. Features
        outside the support are left alone.
        """
        data = samples_of(X)
        direction = vector_of(v, data.shape[1])
        length = np.abs(direction).sum()
        E = np.zeros(data.shape)
        if length == 0:
            return E
        shift = np.clip(scores(data, direction / length), -self.delta, self.delta)
        support = np.flatnonzero(direction)
        E[:, support] = -np.outer(shift, np.sign(direction[support]))
        return E

    def rho_max(self, X: Data, k: int) -> float:
        r"""Return the largest :math:`|X_{ij}|`: then :math:`|x_i^\top v| \le \delta\|v\|_1` for all of them."""
        data = samples_of(X)
        return float(largest_entries(data).max(initial=0.0))

    def respond(self, scores: FloatArray) -> FloatArray:
        """Return the response to single features, for which |v|_1 = 1; `respond_to` is told the vectors."""
        return unit(soft(scores, self.delta))

    def respond_to(self, scores: FloatArray, v: FloatArray) -> FloatArray:
        """Return soft(Xv, delta |v|_1) normalised; zero where no score exceeds it."""
        return unit(self._beyond(scores, v))

    def levelled(self, u: FloatArray) -> FloatArray:
        """Return u/|u|_1: sigma depends on u through that norm, and `shrink` takes it to be 1."""
        lengths = np.abs(u).sum(axis=-1, keepdims=True)
        levelled: FloatArray = u / (lengths + (lengths == 0))
        return levelled

    def shrink(self, loadings: FloatArray) -> FloatArray:
        """Return soft(X'u, delta) for u of |u|_1 = 1, as `levelled` makes it."""
        return soft(loadings, self.delta)

    def gradient(self, loadings: FloatArray, v: FloatArray) -> FloatArray:
        r"""Return :math:`X^\top u - \delta\,\mathrm{sgn}(v)` for u of :math:`\|u\|_1 = 1`."""
        return loadings - self.delta * np.sign(v)

    def rescaled(self, factor: float) -> "EntryWise":
        """Return the adversary with budget factor delta."""
        return replace(self, delta=factor * self.delta)


def largest_entries(X: Data) -> FloatArray:
    """Return the largest magnitude in every column.

    >>> largest_entries(np.array([[1.0, -3.0], [2.0, 0.0]]))
    array([2., 3.])
    """
    largest = np.zeros(X.shape[1])
    for block in row_blocks(X):
        np.maximum(largest, np.abs(block).max(axis=0, initial=0.0), out=largest)
    return largest
