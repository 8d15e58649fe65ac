r"""The attack of a node: data, a feasible E, and the mixture of directions it plays against.

Weak duality: if every row e of E satisfies :math:`\|e_I\|^2 + \|\mathrm{top}_p(e_F)\|^2 \le \rho_i^2`, with
:math:`\rho_i` the budget of its sample, then for every unit v of the node :math:`(|y_i^\top v| - \rho_i)_+ \le |(y_i +
e_i)^\top v|`, so its value is at most
:math:`v^\top M v` with :math:`M = (Y+E)^\top (Y+E)`.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from noap.exact.sample_wise.kernels.ball import project_rows
from noap.exact.sample_wise.kernels.game import climb, contest, respond, truncate
from noap.exact.sample_wise.kernels.supports import COMPLETE, list_supports, removable
from noap.exact.sample_wise.portions import gram, is_long, portions
from noap.linalg.types import FloatArray, IntArray
from noap.runtime.controls import never

__all__ = ["HALVINGS_OF_MANY", "Attack", "Listing", "Mixture", "rounding_room", "towards_zero"]

_UNIT = 2.0**-53
# Directions that play against an attack at most.
_ATTACKERS = 200
# The test of every feature costs the cube of their number: seconds at this one.
_MOST_PROBED = 600
# Accuracy of the first response, in bits; on very many samples it is paid for in seconds.
_HALVINGS, HALVINGS_OF_MANY = 30, 12
# Work (entries touched) after which the enumeration of supports gives up, at least and at most: a tenth of a second, a
# second; in between, so many times the entries of the matrix. The test of one feature has a smaller share.
_WORK, _MOST_WORK, _PASSES = 40_000_000, 400_000_000, 200
_PROBE = 400_000


def rounding_room(M: FloatArray, rows: int, k: int, t: float) -> float:
    """How far rounding can lift a support's eigenvalue above what the elimination sees.

    B = Y + E is rounded once per entry and M = B'B accumulates `rows` products: for a support S the error has norm at
    most (rows + 4) u |B_S|_F^2 <= (rows + 4) u k max diag(M). Eliminating at most k features from tI - M_SS moves
    every entry by at most 16 (k + 4) u t, in norm k times that. The factor 1.1 covers products of (1 + u).
    """
    largest = float(np.diag(M).max(initial=0.0))
    return 1.1 * _UNIT * k * ((rows + 4) * largest + 16 * (k + 4) * t)


@dataclass
class Mixture:
    """k-sparse directions (positions and values of their entries, in node columns) with weights."""

    places: IntArray
    values: FloatArray
    sizes: IntArray
    weights: FloatArray
    energies: FloatArray
    count: int

    @classmethod
    def empty(cls, k: int) -> "Mixture":
        """No direction yet."""
        return cls(
            np.zeros((_ATTACKERS, k), dtype=np.int64),
            np.zeros((_ATTACKERS, k)),
            np.zeros(_ATTACKERS, dtype=np.int64),
            np.zeros(_ATTACKERS),
            np.zeros(_ATTACKERS),
            0,
        )

    def moved(self, where: IntArray, n_inc: int, p: int) -> "Mixture":
        """Rename the columns (where[old] = new, -1 if gone) and keep the directions that are still of the node."""
        other = Mixture.empty(self.places.shape[1])
        for a in np.argsort(-self.weights[: self.count], kind="stable"):
            used = np.flatnonzero(self.values[a, : self.sizes[a]])
            places = where[self.places[a, used]]
            if (places < 0).any() or (places >= n_inc).sum() > p:
                continue
            dense = dict(zip(places.tolist(), self.values[a, used].tolist(), strict=True))
            order = [*range(n_inc), *(j for j in dense if j >= n_inc)]
            c, size = other.count, len(order)
            other.places[c, :size] = order
            other.values[c, :size] = [dense.get(j, 0.0) for j in order]
            other.sizes[c], other.weights[c] = size, self.weights[a]
            other.count += 1
        total = other.weights.sum()
        if total > 0:
            other.weights /= total
        return other

    def add(self, places: IntArray, values: FloatArray) -> None:
        """Add a direction, in the place of the lightest if there is no room."""
        if self.count < len(self.weights):
            at = self.count
            self.count += 1
        else:
            at = int(np.argmin(self.weights))
        self.sizes[at] = len(places)
        self.places[at, : len(places)] = places
        self.values[at, : len(places)] = values
        self.weights[at] = 0.1 / 8

    def mass(self, columns: int) -> FloatArray:
        """Return sum of w v_j^2 per column: how much the mixture leans on each feature."""
        total = np.zeros(columns)
        for a in range(self.count):
            c = self.sizes[a]
            np.add.at(total, self.places[a, :c], self.weights[a] * self.values[a, :c] ** 2)
        return total


@dataclass(frozen=True)
class Listing:
    """Supports that may exceed a threshold: complete (then all others stay below), or not."""

    complete: bool
    sets: list[tuple[IntArray, IntArray]]


@dataclass
class Attack:
    """An attack on the node whose columns are `cols`, the first n_inc of them included; rho has a budget per row.

    Where features cost something, `costs` has what each column costs. The included ones are paid by the thresholds that
    supports are held to; the others here, by what they take off the diagonal (docs/exact-sample-wise.md).
    """

    Y: FloatArray
    rows: IntArray
    cols: IntArray
    n_inc: int
    p: int
    rho: FloatArray
    E: FloatArray
    mixture: Mixture
    clock: int
    costs: FloatArray | None = None

    @classmethod
    def at_root(
        cls,
        Y: FloatArray,
        k: int,
        rho: FloatArray,
        v: FloatArray,
        check: Callable[[], None] = never,
        costs: FloatArray | None = None,
    ) -> "Attack":
        """Respond to the incumbent."""
        E = np.zeros(Y.shape)
        for rows in portions(Y.shape, check):
            respond(Y[rows], v, 0, k, rho[rows], E[rows], HALVINGS_OF_MANY if is_long(Y.shape) else _HALVINGS)
        return cls(Y, np.arange(len(Y)), np.arange(Y.shape[1]), 0, k, rho, E, Mixture.empty(k), 0, costs)

    def narrowed(self, inc: IntArray, free: IntArray, p: int, check: Callable[[], None] = never) -> "Attack":
        """Return the same attack on a smaller node: fewer columns, other roles, no samples that it can cancel."""
        position = {int(j): a for a, j in enumerate(self.cols)}
        cols = np.concatenate([inc, free]).astype(np.int64)
        old = np.array([position[int(j)] for j in cols], dtype=np.int64)
        where = np.full(len(self.cols), -1, dtype=np.int64)
        where[old] = np.arange(len(old))
        n_inc, p = len(inc), min(p, len(free))
        alive = np.empty(len(self.rows), dtype=np.bool_)
        for rows in portions(self.Y.shape, check):
            # So written that a row whose norm is not a number stays.
            alive[rows] = ~(_ball_norms(self.Y[rows][:, old], n_inc, p) <= self.rho[rows])
        kept = np.flatnonzero(alive)
        rho, Y, E = self.rho[kept], np.empty((len(kept), len(old))), np.empty((len(kept), len(old)))
        for rows in portions(Y.shape, check):
            chosen = np.ix_(kept[rows], old)
            Y[rows], E[rows] = self.Y[chosen], self.E[chosen]
            project_rows(E[rows], n_inc, p, rho[rows])
        mixture = self.mixture.moved(where, n_inc, p)
        costs = None if self.costs is None else self.costs[old]
        return Attack(Y, self.rows[kept], cols, n_inc, p, rho, E, mixture, min(self.clock, 50), costs)

    def coarsen(self) -> None:
        """Round the entries towards 0 to single precision, in which a proof keeps them; the ball is not left."""
        for rows in portions(self.E.shape):
            self.E[rows] = towards_zero(self.E[rows])

    @property
    def nbytes(self) -> int:
        """Memory that the node holds."""
        return (
            self.Y.nbytes + self.E.nbytes + self.rows.nbytes + self.mixture.places.nbytes + self.mixture.values.nbytes
        )

    @property
    def k(self) -> int:
        """How many features a direction of the node has at most."""
        return self.n_inc + self.p

    @property
    def is_long(self) -> bool:
        """Whether a pass over the data is cut up, so that limits are heard."""
        return is_long(self.Y.shape)

    def gram(self, check: Callable[[], None] = never) -> FloatArray:
        """Return (Y+E)'(Y+E)."""
        return gram(self.Y, self.E, check)

    def improve(self, target: float, rounds: int, patience: int) -> float:
        """Play against the directions; returns the energy of the strongest opponent known."""
        if len(self.rows) == 0 or len(self.cols) == 0:
            return 0.0
        x, best = self.mixture, np.empty_like(self.E)
        energy, x.count, self.clock, _ = contest(
            self.Y,
            self.E,
            best,
            self.n_inc,
            self.p,
            self.rho,
            x.places,
            x.values,
            x.sizes,
            x.weights,
            x.energies,
            x.count,
            rounds,
            self.clock,
            target,
            patience,
        )
        self.E = best
        return float(energy)

    def listing(self, M: FloatArray, t: float, limit: int) -> Listing:
        """List the supports above t, at most `limit` of them."""
        m = len(self.cols) - self.n_inc
        supports = np.zeros((limit, max(self.p, 1)), dtype=np.int64)
        sizes, rest_sizes = np.zeros(limit, dtype=np.int64), np.zeros(limit, dtype=np.int64)
        rest = np.zeros((limit, max(m, 1)), dtype=np.int64)
        room = rounding_room(M, len(self.rows), self.k, t)
        M = self.less_costs(M)
        work = min(max(_PASSES * m * m, _WORK), _MOST_WORK)
        verdict, count, _ = list_supports(M, self.n_inc, self.p, t, room, work, supports, sizes, rest, rest_sizes)
        sets = [(supports[c, : sizes[c]] + self.n_inc, rest[c, : rest_sizes[c]] + self.n_inc) for c in range(count)]
        return Listing(verdict == COMPLETE, sets)

    def less_costs(self, M: FloatArray) -> FloatArray:
        """Return M with the costs of the free features taken off its diagonal, as far as it stays above 0."""
        if self.costs is None:
            return M
        lowered, n_inc = M.copy(), self.n_inc
        own = M.diagonal()[n_inc:]
        taken = np.minimum(self.costs[n_inc:], own)
        lowered.flat[n_inc * (len(M) + 1) :: len(M) + 1] = own - taken + 4.0 * _UNIT * own
        return lowered

    def removable_columns(self, M: FloatArray, t: float) -> IntArray:
        """Positions of free columns that no support above t uses."""
        m = len(self.cols) - self.n_inc
        mask = np.zeros(m, dtype=np.bool_)
        # With three places or more beside the feature, one look at the dominance of its matrix is four passes over it.
        # With two places, one look serves all features.
        if self.p != 2 and (m > _MOST_PROBED or (self.p > 3 and 4 * (m - 1) ** 2 > _PROBE)):
            return np.flatnonzero(mask)
        room = rounding_room(M, len(self.rows), self.k, t)
        M = self.less_costs(M)
        removable(M, self.n_inc, self.p, t, room, _PROBE, mask)
        return np.flatnonzero(mask) + self.n_inc

    def recruit(self, M: FloatArray, sets: list[tuple[IntArray, IntArray]]) -> float:
        """Let the leading directions of listed supports join the mixture; returns the largest energy."""
        strongest = 0.0
        M = self.less_costs(M)
        g, width = np.empty(len(M)), self.mixture.places.shape[1]
        for places, _ in sets:
            support = np.concatenate([np.arange(self.n_inc), places])
            values, vectors = np.linalg.eigh(M[np.ix_(support, support)])
            v = np.zeros(len(M))
            v[support] = vectors[:, -1]
            place, value = np.zeros(width, dtype=np.int64), np.zeros(width)
            size, _ = truncate(v, self.n_inc, self.p, place, value)
            size, energy = climb(M, self.n_inc, self.p, place, value, size, g)
            self.mixture.add(place[:size], value[:size])
            strongest = max(strongest, float(energy), float(values[-1]))
        self.mixture.weights /= self.mixture.weights.sum()
        return strongest

    def directions(self, count: int, d: int) -> FloatArray:
        """Return the `count` strongest directions of the mixture as rows of length d."""
        x = self.mixture
        rows = np.zeros((min(count, x.count), d))
        for r, a in enumerate(np.argsort(-x.energies[: x.count], kind="stable")[:count]):
            c = x.sizes[a]
            rows[r, self.cols[x.places[a, :c]]] = x.values[a, :c]
        return rows


def towards_zero(E: FloatArray) -> FloatArray:
    """Return the entries rounded to single precision, none of them away from 0."""
    short = E.astype(np.float32)
    nearer: FloatArray = np.where(np.abs(short) > np.abs(E), np.nextafter(short, np.float32(0.0)), short)
    return nearer


def _ball_norms(Y: FloatArray, n_inc: int, p: int) -> FloatArray:
    """N(y_i) of every row, rounded up: rows at or below their budget can be cancelled."""
    squares = np.einsum("ij,ij->i", Y[:, :n_inc], Y[:, :n_inc])
    if p > 0 and Y.shape[1] > n_inc:
        free = Y[:, n_inc:] ** 2
        m = free.shape[1]
        squares = squares + (np.partition(free, m - p, axis=1)[:, m - p :] if p < m else free).sum(axis=1)
    up: FloatArray = np.sqrt(squares) * (1.0 + 2.0 * _UNIT * (n_inc + p + 4))
    return up
