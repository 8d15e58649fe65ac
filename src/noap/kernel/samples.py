r"""The sample-wise adversary: data, rule M with an attack on the rows of X, and rule E in the l1 norm of u.

The value of a unit vector v is :math:`\frac1n \sum_i (|x_i^\top v| - \rho_i)_+^2`. Everything is in units of the
certificate: X and budgets are multiplied by :math:`2^{-e}`. docs/kernel.md, section 8.
"""

import copy
import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from fractions import Fraction

import numpy as np

from noap.kernel.arithmetic import TINY, U, gamma, need, sum_up
from noap.kernel.cancelled import sum_of_squares
from noap.kernel.data import Choices, Terms, over_the_largest
from noap.kernel.definite import dominance
from noap.kernel.envelope import Bounded, NearMatrix, closes
from noap.kernel.majorant import schur
from noap.kernel.witness import Line, SampleAttack
from noap.linalg.types import BoolArray, FloatArray, IntArray

__all__ = [
    "MOST_AT_ONCE",
    "NO_DIRECTIONS",
    "SampleData",
    "SampleLine",
    "SampleMajorant",
    "check_samples_envelope",
    "norms_above",
    "response",
]

NO_DIRECTIONS = "no rule is about attacks on samples where v is orthogonal to directions"

# Squares of smaller numbers may underflow: so small a budget counts as 0, which lowers no value.
_SMALL = 1e-140
# Norms this close to the budget, relatively, are compared exactly.
_NEAR = 1e-9
# Where rounding alone makes room for the other features there is none: its root would be no longer a rounding.
_FAINT = 1e-12
# With more features no matrix of all of them is formed.
MOST_AT_ONCE = 2000
# About so many numbers of a portion of the rows are in hand at a time.
_PORTION = 2**18


def norms_above(E: FloatArray, inside: int, p: int) -> FloatArray:
    r"""Return at least :math:`N(e) = (\|e_I\|^2 + \|\mathrm{top}_p(e_F)\|^2)^{1/2}` of each row, columns of I first.

    It is the largest :math:`|e^\top v|` over unit vectors v of the node. Its square is a sum of so many squares; the
    last term is more than what underflows.
    """
    squares = E * E
    free = squares[:, inside:]
    m = free.shape[1]
    if p <= 0:
        free = free[:, :0]
    elif p < m:
        free = np.partition(free, m - p, axis=1)[:, m - p :]
    sums = squares[:, :inside].sum(axis=1) + free.sum(axis=1)
    above: FloatArray = np.sqrt(sums) * (1 + gamma(inside + min(max(p, 0), m) + 6)) + 1e-150
    return above


class SampleData(Choices):
    r"""The rows of X that can contribute, and their budgets, with no value below that of the claim.

    Attributes
    ----------
    X : array of shape (m, d)
        The samples with :math:`N(x_i) > \rho_i` at the root; the others contribute nothing to any value.
    rows : array of shape (m,)
        Their numbers.
    rho : array of shape (m,)
        Their budgets, at most.
    n : int
        Counts all samples.
    squares : array of shape (d,)
        At least :math:`\|x_j\|^2/n` of these rows.
    top : float
        The largest of these squares.
    """

    additive = False  # contributions of features do not add up
    definite = True
    added = 0.0  # nothing is added to a value
    directions: FloatArray = np.empty((0, 0))
    metric = None
    constrained = False

    def __init__(
        self, blocks: Callable[[], Iterable[FloatArray]], d: int, terms: Terms, exponent: int | None = None
    ) -> None:
        need(terms.directions is None, NO_DIRECTIONS)
        super().__init__(terms, d)
        self.n = terms.n_samples
        assert terms.rho is not None
        need((terms.rho >= 0).all(), "budgets must be at least 0")
        budgets = self._as_given(terms.rho)
        sizes, at = [0.0], 0
        for block in blocks() if exponent is None else ():
            sizes.append(float(np.abs(block[np.isfinite(budgets[at : at + len(block)])]).max(initial=0.0)))
            at += len(block)
        own = math.frexp(max(sizes))[1]
        for _ in range(2):  # the second time by the size of those that can contribute, where others are far larger
            self._charge(max(min(own, 600), -600) if exponent is None else exponent)
            self.X, self.rho, self.rows = self._counting(blocks, budgets)
            size = float(np.abs(self.X).max(initial=0.0))
            if exponent is not None or size == 0 or size > 2.0**-20:
                break
            own = self.exponent + math.frexp(size)[1]
        # Beyond the least exponent no value is a double: what underflows then is more, and counted as ever.
        small = size > 0 and size <= 2.0**-40 and self.exponent > -600
        need(size < 2.0**40 and not small, "the exponent does not fit the data")
        squares = self._columns_squared() * ((1 + gamma(len(self.X) + 8)) / self.n)
        self.top = float(squares.max(initial=0.0))
        self.squares: FloatArray = np.where(squares > 0, squares + TINY, 0.0)

    def _as_given(self, rho: FloatArray) -> FloatArray:
        """Return the budgets in the user's units, with a row for every sample."""
        return np.broadcast_to(rho, (self.n,))

    def _columns_squared(self) -> FloatArray:
        """Return about what a feature can add to n times a value, in so many roundings as there are rows, and 4."""
        squares = np.zeros(self.d)
        for X in self.portions():
            squares += np.einsum("ij,ij->j", X, X)
        return squares

    @property
    def most(self) -> FloatArray:
        """At least what leaving a feature out can take off a value."""
        left: FloatArray = np.nextafter(self.squares - self.costs, np.inf)
        return np.where(self.squares > 0, left, -self.costs)

    def priced(self, k: int, costs: FloatArray | None) -> "SampleData":
        """Return the same data for at most k features, no more than before, with other costs in the user's units.

        Rows that contribute nothing to a choice of more features contribute nothing to it.
        """
        need(k <= self.k, "more features than the rows were chosen for")
        made = copy.copy(self)
        made.terms, made.k = replace(self.terms, k=k, costs=costs), k
        made._charge(self.exponent)
        return made

    def _counting(
        self, blocks: Callable[[], Iterable[FloatArray]], budgets: FloatArray
    ) -> tuple[FloatArray, FloatArray, IntArray]:
        """Return the rows that can contribute, in these units, with budgets and numbers."""
        kept_rows, kept_rho, kept, at = [], [], [], 0
        for block in blocks():
            rho = budgets[at : at + len(block)]
            with np.errstate(over="ignore"):  # what is too large for these units is decided exactly
                scaled, r = np.ldexp(block, -self.exponent), np.ldexp(rho, -self.exponent)
            counts = self._counts(block, rho, scaled, r)
            kept_rows.append(scaled if counts.all() else scaled[counts])
            kept_rho.append(np.where(r[counts] < _SMALL, 0.0, r[counts]))
            kept.append(at + np.flatnonzero(counts))
            at += len(block)
        need(at == self.n, "another number of samples")
        X = kept_rows[0] if len(kept_rows) == 1 else np.concatenate(kept_rows) if kept_rows else np.empty((0, self.d))
        need(np.isfinite(X).all(), "samples that are not finite")
        return X, np.concatenate([budgets[:0], *kept_rho]), np.concatenate([np.empty(0, np.intp), *kept])

    def _counts(self, block: FloatArray, rho: FloatArray, scaled: FloatArray, r: FloatArray) -> BoolArray:
        """Return which rows can contribute, from these numbers in both units."""
        inside, free, p = self.root()
        above = norms_above(scaled[:, np.concatenate([inside, free])], len(inside), p)
        counts = ~(above <= r) | (np.isinf(r) & np.isfinite(rho))
        for i in np.flatnonzero(counts & ((above * (1 - _NEAR) <= r) | ~np.isfinite(above))):
            counts[i] = not _cancelled(block[i, inside], block[i, free], p, float(rho[i]))
        return counts

    def root(self) -> tuple[IntArray, IntArray, int]:
        """Return all choices as a node (I, F, p)."""
        free = np.setdiff1d(np.flatnonzero(self.allowed), self.include).astype(np.intp)
        p = min(self.k - len(self.include), len(free))
        return self.include, free, max(p, 0)

    def portions(self) -> Iterator[FloatArray]:
        """Yield the rows in portions."""
        step = max(1, _PORTION // max(self.d, 1))
        for at in range(0, len(self.X), step):
            yield self.X[at : at + step]

    def left_above(self, at: int, X: FloatArray, columns: IntArray, inside: int, p: int) -> FloatArray:
        r"""Return at least the largest :math:`|x_i^\top v|` less budget of each row of a portion; at most 0 if that is.

        Parameters
        ----------
        at : int
            Where the portion begins.
        columns, inside, p
            The node, columns of I first.
        """
        return norms_above(X[:, columns], inside, p) - self.rho[at : at + len(X)]

    def majorant(self, attack: SampleAttack) -> "SampleMajorant":
        """Return the majorant of an attack."""
        return SampleMajorant(self, attack)

    def counting(self, I: IntArray, F: IntArray, p: int) -> IntArray:  # noqa: E741
        """Return the positions of the rows that can contribute in a node."""
        columns = np.concatenate([I, F])
        found, at = [np.empty(0, np.intp)], 0
        for X in self.portions():
            found.append(at + np.flatnonzero(~(self.left_above(at, X, columns, len(I), p) <= 0)))
            at += len(X)
        return np.concatenate(found)

    def sum_of_most(self, I: IntArray, F: IntArray, p: int) -> float:  # noqa: E741
        r"""Return at least what any choice of a node is worth, by the lengths of its samples or of its features."""
        return min(self._by_samples(I, F, p), self._by_features(I, F, p))

    def budgets_of(self, positions: IntArray, columns: IntArray) -> FloatArray:
        """Return the budgets of some rows, by position."""
        return self.rho[positions]

    def _by_features(self, I: IntArray, F: IntArray, p: int) -> float:  # noqa: E741
        r"""Return a bound by the squares :math:`a_j = \|x_j\|^2/n`.

        A choice is worth at most :math:`(\sqrt a - r)_+^2 \le \theta a` less its costs, :math:`a = \sum_S a_j`, r the
        least budget over root n, :math:`\theta = (1 - r/\sqrt A)_+^2` with A the largest of these sums.
        """
        count = min(max(p, 0), len(F))
        reach = sum_up([*self.squares[I].tolist(), *_largest(self.squares[F], count)])
        least = self._least / math.sqrt(self.n) * (1 - 4 * U)
        left = max(1.0 - least / math.sqrt(reach) * (1 - 4 * U), 0.0) if reach > 0 else 0.0
        most = np.nextafter(left * left * (1 + 8 * U) * self.squares * (1 + 4 * U) - self.costs, np.inf)
        return sum_up([*most[I].tolist(), *_largest(np.maximum(most[F], 0.0), count)])

    @property
    def _least(self) -> float:
        """The least budget of a sample."""
        return float(self.rho.min(initial=math.inf))

    def _by_samples(self, I: IntArray, F: IntArray, p: int) -> float:  # noqa: E741
        r"""Return :math:`\frac1n \sum_i (N(x_i) - \rho_i)_+^2` less what I costs, rounded up."""
        columns, total, at = np.concatenate([I, F]), 0.0, 0
        for X in self.portions():
            left = np.maximum(self.left_above(at, X, columns, len(I), p), 0.0)
            total += float(left @ left)
            at += len(X)
        total *= (1 + gamma(len(self.X) + 12)) / self.n
        paid = float(self.costs[I].sum()) * (1 - gamma(len(I) + 4))
        return math.nextafter(total - paid, math.inf) if total > 0 else -paid

    def _worth(self, features: IntArray, weights: FloatArray) -> float:
        r"""Return it from scores that are off by :math:`\gamma_b \sum |x_{ij}||w_j|`, and by what underflows."""
        w = np.ldexp(weights, -math.frexp(float(np.abs(weights).max()))[1])
        b, length, total, at = len(w), math.sqrt(float(w @ w)), 0.0, 0
        for X in self.portions():
            B = X[:, features]
            scores = np.abs(B @ w) - gamma(b + 4) * (np.abs(B) @ np.abs(w))
            taken = self._taken_above(self.rows[at : at + len(X)], features, np.abs(w) / length)
            left = scores / length * (1 - gamma(b + 8)) - taken
            left = np.maximum(left, 0.0)
            total += float(left @ left)
            at += len(X)
        return total / self.n * (1 - gamma(len(self.X) + 12))

    def _taken_above(self, rows: IntArray, features: IntArray, sizes: FloatArray) -> FloatArray:
        """Return at least what the adversary takes of the scores of a vector with entries of about these sizes."""
        assert self.terms.rho is not None
        # Budgets of these units that became 0 are 0 to the value but for what is added here.
        rho = np.ldexp(self._as_given(self.terms.rho)[rows], -self.exponent)
        taken: FloatArray = rho * (1 + 4 * U) + 1e-150
        return taken


def _largest(numbers: FloatArray, count: int) -> list[float]:
    """Return so many of the largest numbers."""
    largest: list[float] = np.partition(numbers, len(numbers) - count)[len(numbers) - count :].tolist() if count else []
    return largest


def _cancelled(inside: FloatArray, free: FloatArray, p: int, rho: float) -> bool:
    """Return whether N(x) <= rho, exactly."""
    if math.isinf(rho):
        return True
    largest = np.sort(np.abs(free))[::-1][: max(p, 0)]
    return sum_of_squares(np.concatenate([inside, largest])) <= Fraction(rho) ** 2


def response(
    X: FloatArray, rho: FloatArray, v: FloatArray, inside: int, p: int, spread: float, gains: bool
) -> tuple[FloatArray, BoolArray]:
    r"""Return an attack in response to a unit vector v, and the rows that get nothing but their budget against it.

    A row takes its score down by :math:`\min(|x^\top v|, \rho)`; a share `spread` of what is left goes against the rest
    of the row on the included features and those of v; and all other features are taken down by as much as N leaves
    room for: :math:`t^2 = \min_q (\rho^2 - \|e_I\|^2 - \sum_{j > q} b_j^2)/q - 10^{-12}\rho^2` with the entries b of
    the p places in rising order. Nothing has to be right here: what comes out is held against the budget.

    Parameters
    ----------
    X : array of shape (m, c)
        The included features first.
    v : array of shape (c,)
    gains : bool
        Rows with :math:`|x^\top v| \ge \rho` then get -rho sgn(x'v) v and nothing else.
    """
    room = gamma(8.0 * (inside + p) + 64)
    low: FloatArray = rho * (1 - room)
    scores = X @ v
    along = np.clip(scores, -low, low)
    E: FloatArray = -along[:, None] * v
    chosen = v != 0
    chosen[:inside] = True
    spare = np.maximum(low * low - along * along, 0.0)
    if spread > 0:
        across = (X - scores[:, None] * v) * chosen
        lengths = np.sqrt(np.einsum("ij,ij->i", across, across))
        E -= np.minimum(1.0, spread * np.sqrt(spare) / np.maximum(lengths, 1e-300))[:, None] * across
    others = np.flatnonzero(~chosen)
    if p > 0 and len(others):
        places = np.zeros((len(X), p))
        taken = np.flatnonzero(chosen[inside:]) + inside
        need(len(taken) <= p, "M: the vector is not one of its node")
        places[:, p - len(taken) :] = E[:, taken] ** 2
        places.sort(axis=1)
        left = low * low - np.einsum("ij,ij->i", E[:, :inside], E[:, :inside])
        above = places.sum(axis=1)[:, None] - np.cumsum(places, axis=1)
        squares = ((left[:, None] - above) / np.arange(1, p + 1)).min(axis=1) - _FAINT * rho * rho
        t = np.sqrt(np.maximum(squares, 0.0))[:, None]
        E[:, others] = -np.clip(X[:, others], -t, t)
    strong = np.zeros(len(X), dtype=np.bool_)
    if gains:
        strong = np.abs(scores) >= rho
        E[strong] = -(low * np.sign(scores))[strong, None] * v
    return E, strong


class SampleMajorant:
    r"""Rule M for an attack on samples: :math:`M = Z^\top Z/n + \kappa (T + \pi_I) v_0 v_0^\top`.

    For an attack E with :math:`N(e_i) \le \rho_i` on its node and Y = X + E, :math:`(|x_i^\top v| - \rho_i)_+^2 \le
    (y_i^\top v)^2` for every unit v of the node. Rows R get :math:`e_i = \mp\rho_i v_0` and gain; a row of Z is that of
    Y, longer by :math:`(1 + (\kappa - \rho_i/z_i)_+)^{1/2}` on R, :math:`z_i = N(x_i) - \rho_i`, and by
    :math:`(1 + \kappa)^{1/2}` elsewhere.

    Attributes
    ----------
    gain, error : float
        kappa, and by how much an entry of Z'Z/n may be off.
    """

    priced = 1.0  # costs of free features count once
    loss = 0.0  # there are no directions

    def __init__(self, data: SampleData, attack: SampleAttack) -> None:
        self.data, self.gain, self.attack = data, float(attack.gain), attack
        self.costs = self.paid = data.costs
        self.columns: IntArray = np.concatenate([attack.included, attack.free]).astype(np.intp)
        inside, p, c = len(attack.included), attack.places, len(self.columns)
        need(0.0 <= self.gain < 1e6 and 0.0 <= attack.spread <= 1.0, "M: gain or spread is out of range")
        need(0 <= p <= data.k and c > 0 and len(np.unique(self.columns)) == c, "M: the node of the attack")
        self.at: IntArray = np.full(data.d, -1)
        self.at[self.columns] = np.arange(c)
        responds = len(attack.features) > 0
        need(responds or self.gain == 0.0, "M: a gain without a response")
        self.v = self._unit() if responds else np.zeros(c)
        moves: FloatArray | None = None
        if not responds:
            need(attack.moves is not None and attack.moves.shape == (len(attack.rows), c), "M: moves are missing")
            assert attack.moves is not None
            need((np.diff(attack.rows) > 0).all() and np.isfinite(attack.moves).all(), "M: moves")
            moves = attack.moves.astype(np.float64)
        self._whole = c <= MOST_AT_ONCE
        self._rows: FloatArray = np.empty((0 if self._whole else len(data.X), c))
        G: FloatArray = np.zeros((c if self._whole else 0,) * 2)
        at = formed = 0
        for portion in data.portions():
            left = data.left_above(at, portion, self.columns, inside, p)
            live = np.flatnonzero(~(left <= 0))  # the others can be moved to 0
            X, rho = portion[np.ix_(live, self.columns)], data.budgets_of(at + live, self.columns)
            numbers, left = data.rows[at + live], left[live]
            at += len(portion)
            if moves is None:
                E, strong = self._response(X, rho)
            else:
                place = np.minimum(np.searchsorted(attack.rows, numbers), max(len(attack.rows) - 1, 0))
                need(len(numbers) == 0 or (len(attack.rows) > 0 and (attack.rows[place] == numbers).all()), "M: a row")
                E, strong = moves[place] if len(numbers) else X, np.zeros(len(X), dtype=np.bool_)
            Y = X + self._within(E, rho, strong)
            if self.gain > 0:
                z = left[strong] * (1 + 8 * U) + TINY
                longer = np.full(len(Y), 1.0 + self.gain)
                longer[strong] = 1.0 + np.maximum(self.gain - rho[strong] / z * (1 - 8 * U), 0.0)
                Y *= (np.sqrt(longer) * (1 + 8 * U))[:, None]
            if self._whole:
                G += Y.T @ Y
            else:
                self._rows[formed : formed + len(Y)] = Y
                formed += len(Y)
        self._rows = self._rows[:formed]
        self._gram: FloatArray = 0.5 * (G + G.T) / data.n
        squares = np.einsum("ij,ij->j", self._rows, self._rows) / data.n
        self._own: FloatArray = self._gram.diagonal() if self._whole else squares
        need(np.isfinite(self._own).all(), "M: out of range")
        self.error = 1.1 * gamma(len(data.X) + 24) * float(self._own.max(initial=0.0)) + TINY

    def moves(self, positions: IntArray) -> FloatArray:
        """Return the response of some samples, by position."""
        X, rho = self.data.X[np.ix_(positions, self.columns)], self.data.budgets_of(positions, self.columns)
        return self._response(X, rho, gains=False)[0]

    def _response(self, X: FloatArray, rho: FloatArray, gains: bool = True) -> tuple[FloatArray, BoolArray]:
        """Return the response of some samples, and those of R."""
        attack = self.attack
        return response(X, rho, self.v, len(attack.included), attack.places, attack.spread, gains and self.gain > 0)

    def _within(self, E: FloatArray, rho: FloatArray, strong: BoolArray) -> FloatArray:
        """Return the moves, or refuse those beyond their budgets."""
        norms = norms_above(E, len(self.attack.included), self.attack.places)
        need(((norms <= rho) | (E == 0).all(axis=1) | strong).all(), "M: a row is moved beyond its budget")
        return E

    def _unit(self) -> FloatArray:
        """Return the vector that is responded to, a little shorter than 1."""
        attack = self.attack
        where = self.at[attack.features]
        need((where >= 0).all(), "M: the vector has a feature that the attack does not know")
        largest = float(np.abs(attack.weights).max())
        need(0 < largest < math.inf, "M: the vector")
        x = np.ldexp(attack.weights, -math.frexp(largest)[1])
        v: FloatArray = np.zeros(len(self.columns))
        v[where] = x / (math.sqrt(float(x @ x)) * (1 + gamma(len(x) + 8)))
        need((v[len(attack.included) :] != 0).sum() <= attack.places, "M: the vector is not one of its node")
        return v

    def covers(self, I: IntArray, F: IntArray, p: int) -> None:  # noqa: E741
        """Refuse unless all vectors of a node are vectors of the attack's node: N is no larger there."""
        at, inside = self.at[I], len(self.attack.included)
        need((at >= 0).all() and (self.at[F] >= 0).all(), "M: a feature that the attack does not know")
        need(int((at < inside).sum()) == inside, "M: the attack is about another node")
        need(
            len(I) - len(self.attack.included) + min(p, len(F)) <= self.attack.places, "M: the attack has fewer places"
        )

    def block(self, features: IntArray, level: float, included: int = 0) -> FloatArray:
        """Return M on some features, for a threshold (costs of included features with it)."""
        M = self.entries(features, features, level)
        return M if self._whole else 0.5 * (M + M.T)

    def entries(self, features: IntArray, others: IntArray, level: float) -> FloatArray:
        """Return M between some features and others."""
        a, b = self.at[features], self.at[others]
        if self._whole:
            M: FloatArray = self._gram[np.ix_(a, b)]
        else:
            M = self._rows[:, a].T @ self._rows[:, b] / self.data.n
        if self.gain > 0:
            M += (self.gain * level) * np.outer(self.v[a], self.v[b])
        return M

    def diagonal(self, features: IntArray, level: float) -> FloatArray:
        """Return the entries of M on the diagonal."""
        at = self.at[features]
        own: FloatArray = self._own[at] + (self.gain * level) * self.v[at] ** 2
        return own


class SampleLine(NearMatrix):
    r"""A matrix R and a c: where :math:`X_S X_S^\top + R \preceq cI` a line bounds :math:`\|X_S^\top u\|^2` for unit u.

    It is the line of `NearMatrix` above the zero matrix, with R in the place of B, less :math:`u^\top R u`. Its
    `features` are samples.
    """

    def __init__(self, data: SampleData, line: Line) -> None:
        places = np.minimum(np.searchsorted(data.rows, line.features), max(len(data.rows) - 1, 0))
        need(len(line.features) > 0 and len(data.rows) > 0, "E: a line without samples")
        need((data.rows[places] == line.features).all(), "E: a sample that has no part in any value")
        need(data.rho.ndim == 1, "E: no line is about entries")
        need(line.signs is None or not line.signs.any(), "E: signs of samples")
        self.data, self.places, m = data, places, len(places)
        super().__init__(np.zeros((m, m)), over_the_largest(data.rho)[1][places], line)
        need(0 < self.c < 1e100, "E: c")
        self._spread(places, len(data.X))

    def holds(self, I: IntArray, F: IntArray, p: int, z: FloatArray | None) -> None:  # noqa: E741
        r"""Refuse unless :math:`X_S X_S^\top + R \preceq cI` for every S of a node.

        That says that cI - R and X_S, I make a positive semidefinite matrix; the first is divided by any s > 0, X_S by
        its root, so that entries are about 1. Each is off by 4u.
        """
        X, R, m = self.data.X[self.places], self.B, len(self.places)
        J = np.concatenate([I, F])
        s = max(self.c, float(np.abs(R).max()))
        P = np.zeros((m + len(J), m + len(J)))
        P[:m, :m] = -R / s
        P[m:, :m] = -(X[:, J] / math.sqrt(s)).T
        P[:m, m:] = P[m:, :m].T
        own = np.ones(len(P))
        own[:m] = P.diagonal()[:m] + self.c / s
        n, size = m + len(I), m + len(I) + min(p, len(F))
        largest = float(np.abs(own).max())
        need(np.isfinite(P).all() and largest < 1e100, "E: out of range")
        error = 4 * U * max(float(np.abs(P).max()), largest)
        P.flat[:: len(P) + 1] = own - size * (error + 4.0 * gamma(2 * n + 20) * 2.0 * largest + TINY)
        dominance(schur(P, n), p, z)


def check_samples_envelope(
    data: SampleData,
    lines: list[SampleLine],
    scalings: list[FloatArray | None],
    T: float,
    I: IntArray,  # noqa: E741
    F: IntArray,
    p: int,
) -> None:
    r"""Refuse unless no choice of a node has a value above T, by lines about samples.

    The root of n times the value is the largest :math:`\|X_S^\top u\| - \sum \rho_i |u_i|` over unit u. With costs the
    node must be one set.
    """
    need(len(F) == 0 or not data.costs[F].any(), "E: features that cost something are undecided")
    paid = float(data.costs[I].sum()) * (1 - gamma(len(I) + 4))
    rows = data.counting(I, F, p)
    if len(rows) == 0:
        need(T + paid >= 0, "E: the threshold")
        return
    for line, z in zip(lines, scalings, strict=True):
        line.holds(I, F, p, None if z is None else z[F])
    largest, w = over_the_largest(data.rho)
    closes(Bounded(w, np.zeros(len(w)), largest), lines, (T + paid) * data.n * (1 - 4 * U), rows, rows[:0], 0)
