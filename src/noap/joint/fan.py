r"""One inequality for all components at once: a matrix B near A whose r largest eigenvalues count (docs/components.md).

For r orthonormal vectors with disjoint supports :math:`W = \frac1r \sum_t v_t v_t^\top` is positive semidefinite, of
trace 1, and has no eigenvalue above 1/r; no feature takes more than one index in all, which is 1/r of W. So the
relaxation of one component with costs goes on with another projection, and with a price for every feature that takes
more than its index.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np
from scipy.linalg import eigh

from noap.kernel.arithmetic import Refused, gamma
from noap.kernel.data import Data
from noap.kernel.packing import FanBound
from noap.kernel.witness import IN_PLAIN_NORM, Fan
from noap.linalg.types import BoolArray, FloatArray, IntArray
from noap.search.lines import decoded, line_of
from noap.search.multipliers import Multipliers, Proposal
from noap.search.prove import whole
from noap.settings import JointSettings, RelaxationSettings, Settings

__all__ = ["FanSearch", "on_fantope"]

# Halvings of an interval that holds the shift of the eigenvalues.
_HALVINGS = 50
# The bound that is claimed is larger by this part than the one computed: other machines round otherwise.
_PADDED = 1e-12


@dataclass
class _JointMultipliers(Multipliers):
    """The state of the iteration.

    Attributes
    ----------
    several : int
        How many components.
    joint : JointSettings
    mu, each : float
        What the l1 norm and an index cost.
    own, prices, spared : arrays of shape (m,)
        What features cost; the prices of those that several components want; the part of the price of an index that
        unused features do not pay.
    sparing : bool
        Whether unused features pay less, as little as keeps them out: what is left tells which of them are out.
    """

    several: int = 1
    joint: JointSettings = field(default_factory=JointSettings)
    mu: float = 0.0
    each: float = 0.0
    own: FloatArray = field(default_factory=lambda: np.empty(0))
    prices: FloatArray = field(default_factory=lambda: np.empty(0))
    spared: FloatArray = field(default_factory=lambda: np.empty(0))
    sparing: bool = False
    _sizes: FloatArray = field(default_factory=lambda: np.empty(0))
    _directions: FloatArray = field(default_factory=lambda: np.empty(0))

    @classmethod
    def of_components(
        cls, A: FloatArray, k: int, r: int, costs: FloatArray, settings: RelaxationSettings, joint: JointSettings
    ) -> "_JointMultipliers":
        """Start from the leading eigenvectors."""
        plain, m = Multipliers.of(A, np.ones(len(A)), None, costs.copy(), settings), len(A)
        values, vectors = np.linalg.eigh(A)
        W = vectors[:, -r:] @ vectors[:, -r:].T / r
        each = max(float(values[-r:].sum()) / r, plain.top) / k
        made = cls(
            **{name: getattr(plain, name) for name in plain.__dataclass_fields__}, several=r, joint=joint,
            mu=joint.mu * each, each=joint.each * each, own=costs, prices=np.zeros(m), spared=np.zeros(m),
            _sizes=np.full(m, joint.price_step), _directions=np.zeros(m),
        )  # fmt: skip
        made.W = made.Z = W
        made.counts = IN_PLAIN_NORM
        return made

    def step(self, k: int, places: int) -> Proposal:
        """Take some steps for components of k features, and so many indices of one."""
        paid = self.each * places / k
        self.share = paid / (self.mu + paid) if paid > 0 else 0.0
        return self.advance(self.mu + paid, 0.0, np.ones(len(self.A), dtype=np.bool_), places, float(k))

    def _projected(self, M: FloatArray) -> FloatArray:
        return on_fantope(M, self.several)

    def _move(self, prices: FloatArray, free: BoolArray, places: int, at: float) -> None:
        """Pay more for the norm, for indices, and for features of which more than one index is taken."""
        joint, settings = self.joint, self.settings
        size = float(np.sum(self.A * self.Z)) / max(float(self.Z.trace()), settings.negligible)
        size = min(max(size, self.top), self.top * len(self.A))
        by_sums, by_squares = self._sides()
        by_sums = by_sums * self.length(self.norm) / at
        sums, squares = float(prices @ by_sums), float(prices @ by_squares)
        used = (1.0 - self.mix) * by_sums + self.mix * by_squares
        if places:
            step = self.share_step.towards(float(used.sum()) / places - 1.0, settings)
            self.each = max(self.each + joint.slower * step * size / places, 0.0)
        step = self.length_step.towards(self.length(self.norm) / at - 1.0, settings)
        self.mu = max(self.mu + joint.slower * step * size / at, 0.0)
        step = self.mix_step.towards(0.5 * (squares - sums) / max(squares + sums, 1e-300), settings)
        self.mix = min(max(self.mix + step, settings.least_mix), settings.most_mix)
        taken = self.several * used
        direction = np.sign(taken - 1.0)
        same = direction * self._directions
        self._sizes = np.clip(
            self._sizes * np.where(same > 0, 1.3, np.where(same < 0, 0.5, 1.0)), joint.least_price_step,
            joint.most_price_step,
        )  # fmt: skip
        self._directions = direction
        moved = direction * self._sizes * np.minimum(joint.full * np.abs(taken - 1.0), 1.0) * size / at
        self.prices = np.maximum(self.prices + moved, 0.0)
        if self.sparing:
            sparing = np.where(taken < joint.unused, joint.fall, np.where(taken > joint.used, -joint.rise, 0.0))
            self.spared = np.clip(self.spared + sparing, 0.0, joint.most_spared)
        self.costs = self.own + self.prices - self.spared * (self.own + self.each)

    def __post_init__(self) -> None:
        self.length_step = replace(self.share_step)


def on_fantope(M: FloatArray, r: int) -> FloatArray:
    """Return the nearest matrix of trace 1 with eigenvalues between 0 and 1/r, to single precision.

    Examples
    --------
    >>> on_fantope(np.diag([2.0, 1.0, 0.0]), 2).diagonal().round(6).tolist()
    [0.5, 0.5, 0.0]
    """
    values, vectors = eigh(M.astype(np.float32), driver="evd", overwrite_a=True, check_finite=False)
    # One number is taken off all eigenvalues, before they are cut off.
    known = values.astype(np.float64)
    low, high = float(known[0]) - 1.0, float(known[-1])
    for _ in range(_HALVINGS):
        shift = 0.5 * (low + high)
        if float(np.clip(known - shift, 0.0, 1.0 / r).sum()) > 1.0:
            low = shift
        else:
            high = shift
    weights = np.clip(known - 0.5 * (low + high), 0.0, 1.0 / r)
    used = weights > 0
    leading = vectors[:, used]
    nearest: FloatArray = ((leading * weights[used].astype(np.float32)) @ leading.T).astype(np.float64)
    return nearest


class FanSearch:
    """Looks for the best such inequality.

    Attributes
    ----------
    bound : float
        No packing is worth more, in the units of the data.
    using : array of shape (d,)
        No packing that uses the feature is; infinite where nothing is said.
    fans : list of Fan
    """

    def __init__(self, data: Data, ks: tuple[int, ...], settings: Settings) -> None:
        self.data, self.ks, self.settings = data, ks, settings
        self.bound, self.using, self.fans = np.inf, np.full(data.d, np.inf), list[Fan]()
        self.features: IntArray = whole(data)[1]
        A = data.A[np.ix_(self.features, self.features)]
        rank = min(len(ks), len(self.features))
        costs = data.costs[self.features]
        self._state = _JointMultipliers.of_components(
            A, min(max(ks), len(A)), rank, costs, settings.relaxation, settings.joint
        )

    @staticmethod
    def serves(data: Data, settings: Settings) -> bool:
        """Return whether there is such an inequality, and not too large a one."""
        return data.r_max == 0 and 2 <= len(whole(data)[1]) <= settings.joint.most_features

    def run(self, target: float, over: Callable[[], bool]) -> None:
        """Lower the bound as long as that pays, and see which features no better packing uses."""
        joint, state = self.settings.joint, self._state
        best, lowest = self._advanced()
        last, before = best, np.inf
        for look in range(1, joint.most_looks):
            if lowest <= target or over():
                break
            if look % joint.looks == 0:
                # From here on features that are not used pay less and less: what is left tells them to be out.
                state.sparing = True
                if look >= joint.least_looks and before - lowest < joint.worth_it * (before - target):
                    break
                before = lowest
            last, height = self._advanced()
            if height < lowest:
                best, lowest = last, height
        self._take(best)
        if last is not best and self.bound > target:
            known = int((self.using <= target).sum())
            self._take(last, known, target)

    def _advanced(self) -> tuple[Proposal, float]:
        """Take some steps; returns the matrix and about what it proves."""
        state, r, total = self._state, len(self.ks), sum(self.ks)
        added, mu = state.costs + state.each - state.own, state.mu  # type: ignore[operator]  # there are costs
        k = min(max(self.ks), len(self.features))
        found = state.step(k, min(k, max(total // r, 1)))
        largest = np.maximum(np.linalg.eigvalsh(found.B)[-r:], 0.0).sum()
        places = np.sort(np.maximum(added, 0.0))[::-1][:total].sum()
        return found, float(largest + mu * total + places)

    def _take(self, found: Proposal, more_than: int = -1, target: float = np.inf) -> None:
        """Keep what the kernel makes of a proposal, if it removes more features than are known to be out."""
        data, b = self.data, len(self.features)
        A, ones = data.A[np.ix_(self.features, self.features)], np.ones(b)
        line = line_of(A, self.features, ones, IN_PLAIN_NORM, found, settings=self.settings.relaxation)
        B = decoded(line, A, ones)
        values, vectors = np.linalg.eigh(B)
        r = min(len(self.ks), b)
        c = max(float(values[-r - 1]), 0.0) if b > r else 0.0
        factor = vectors[:, -r:] * np.sqrt(np.maximum(values[-r:] - c, 0.0))
        length, top = float((factor * factor).sum()), float(np.abs(B).max())
        c += 8.0 * gamma(b + r + 16) * (float(np.abs(B.diagonal()).sum()) + length + b * (c + top))
        fan = Fan(replace(line, c=c), factor)
        try:
            said = FanBound(data, fan, self.ks)
        except Refused:
            return
        using = said.using + _PADDED * np.abs(said.using)
        if int((using <= target).sum()) <= more_than:
            return
        self.fans.append(fan)
        self.bound = min(self.bound, said.bound * (1.0 + _PADDED))
        self.using = np.minimum(self.using, using)

    def vectors(self) -> list[FloatArray]:
        """Return directions that W points to: of a sum of v v' a row of it is a v."""
        W, found = self._state.W.copy(), list[FloatArray]()
        for k in sorted(self.ks, reverse=True):
            j = int(np.argmax(W.diagonal()))
            if not W[j, j] > 0:
                break
            at = np.argsort(-np.abs(W[j]), kind="stable")[:k]
            at = at[W[j, at] != 0]  # the others may belong to those before
            v: FloatArray = np.zeros(self.data.d)
            v[self.features[at]] = W[j, at]
            found.append(v)
            W[at], W[:, at] = 0.0, 0.0
        return found
