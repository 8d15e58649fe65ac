"""`noap.near_optimal`: every support that comes close to the best one, and whether the list is complete."""

import math
import warnings
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from noap.adversaries import ENERGY_LESS_L1, require_served
from noap.data.validation import as_count
from noap.errors import InvalidProblem, NoapWarning
from noap.heuristics.batch import truncate
from noap.heuristics.gram_climber import GramClimber
from noap.linalg.types import FloatArray, IntArray
from noap.methods import METHODS
from noap.problem import Problem
from noap.result import Limit
from noap.runtime.controls import Controls
from noap.runtime.line import Part
from noap.runtime.names import counted
from noap.solving import nothing_left

if TYPE_CHECKING:
    import polars

    from noap.exact.feature_wise.instance import GramInstance

__all__ = ["NearOptimal", "near_optimal"]

LISTING_SERVES = ENERGY_LESS_L1
# Values this near to each other, relatively, are one number.
_SAME = 1e-9


@dataclass(frozen=True, eq=False, repr=False)
class NearOptimal:
    """Every support within a share of the optimum, as returned by :func:`noap.near_optimal`.

    Attributes
    ----------
    problem : Problem
    within : float
    vectors : array of shape (m, d)
        The best direction found on each support, the best of all first.
    values : array of shape (m,)
        Their robust variances, falling.
    supports : tuple of int arrays
        The features that each of them uses.
    threshold : float
        What a support has to be worth to be listed: (1 - within) times the best value.
    complete : bool
        Whether the search proves that no other support is worth more than the threshold. The first of the list is then
        optimal. The proof is that of the search, rounded outwards as all its tests are; no certificate is made of it.
    limit : Limit or None
        What stopped the search; None also where it ended because `limit` supports were found.
    nodes : int
    seconds : float
    core : array of int
        The features that all of them use.
    counts : array of int, shape (d,)
        How many of them use each feature.
    """

    problem: Problem
    within: float
    vectors: FloatArray
    values: FloatArray
    complete: bool
    limit: Limit | None
    nodes: int
    seconds: float

    def __repr__(self) -> str:
        known = "complete" if self.complete else "not complete"
        best = f"{self.values[0]:.6g}" if len(self) else "0"
        return f"NearOptimal({counted(len(self), 'support')} within {self.within:.3%} of {best}, {known})"

    def __len__(self) -> int:
        return len(self.values)

    @property
    def threshold(self) -> float:
        """What a support has to be worth to be listed."""
        return (1.0 - self.within) * float(self.values[0]) if len(self) else 0.0

    @cached_property
    def supports(self) -> tuple[IntArray, ...]:
        """The features of each."""
        return tuple(np.flatnonzero(v) for v in self.vectors)

    @cached_property
    def counts(self) -> IntArray:
        """How many of the supports use each feature."""
        counts: IntArray = (self.vectors != 0).sum(axis=0)
        return counts

    @property
    def core(self) -> IntArray:
        """The features that all of them use; none if there is no support."""
        return np.flatnonzero(self.counts == len(self)) if len(self) else np.empty(0, dtype=np.int64)

    def to_frame(self) -> "polars.DataFrame":
        """Return a table with one row per support.

        Returns
        -------
        polars.DataFrame
            Columns value, share (of the best), size, features (names, or positions as text), and what the support has
            instead of what the best one has: `instead_of` and `has`.
        """
        import polars

        names = self.problem.feature_names or tuple(str(j) for j in range(self.problem.n_features))
        first = set(self.supports[0].tolist()) if len(self) else set()

        def listed(sets: list[set[int]]) -> "polars.Series":
            return polars.Series([[names[j] for j in sorted(one)] for one in sets], dtype=polars.List(str))

        sets = [set(support.tolist()) for support in self.supports]
        return polars.DataFrame(
            {
                "value": self.values,
                "share": self.values / self.values[0] if len(self) else self.values,
                "size": [len(one) for one in sets],
                "features": listed(sets),
                "instead_of": listed([first - one for one in sets]),
                "has": listed([one - first for one in sets]),
            }
        )


def near_optimal(
    problem: Problem,
    within: float = 0.01,
    limit: int | None = None,
    *,
    time_limit: float | None = None,
    random_state: int | np.random.Generator | None = None,
    progress: bool = False,
) -> NearOptimal:
    r"""List every support whose robust variance is within a share of the optimum.

    A support is a set S of at most k features all of which its best direction uses. It is listed if

    .. math:: \max_{\mathrm{supp}(v) = S} \min_{\|E\| \le \rho} \tfrac1n \|(X + E) v\|_2^2 \ge (1 - within)\,opt

    and S is no part of another one on the list; with costs, which are taken off both sides, also if it is. The list
    shows how far the answer is the only one, which features all good answers share, and which can stand in for which.
    It is found by the exact search: everything that is not listed is closed by its tests (docs/exact.md, "Every good
    support").

    Parameters
    ----------
    problem : Problem
        Without an adversary or against FeatureWise.
    within : float
        At least 0 and below 1.
    limit : int, optional
        Stop once so many supports were met; the list is then not complete, and shorter where some of them are part of
        others or turn out to be worth less.
    time_limit : float, optional
        Seconds. When it runs out, or on Ctrl-C, the list so far comes back.
    random_state : int, Generator or None
        None means 0: the same call gives the same answer.
    progress : bool
        Count nodes and supports on a terminal or under the cell of a notebook, and once a minute in a log.

    Returns
    -------
    NearOptimal

    Examples
    --------
    >>> import noap
    >>> X = [[2.0, 1.9, 2.0], [-2.0, -2.1, -1.9], [1.0, 1.1, 0.9], [-1.0, -0.9, -1.2]]
    >>> near = noap.near_optimal(noap.Problem(X, k=2, adversary=noap.FeatureWise(0.5)), within=0.05)
    >>> [support.tolist() for support in near.supports], near.complete
    ([[0, 1], [0, 2], [1, 2]], True)
    """
    if not isinstance(problem, Problem):
        raise InvalidProblem(f"problem must be a noap.Problem, got {type(problem).__name__}.")
    require_served(
        problem.adversary,
        LISTING_SERVES,
        "near_optimal",
        "see with noap.stability, which takes any adversary, which features come back",
    )
    problem.require_covariance("near_optimal")
    share, most = _share(within), None if limit is None else as_count("limit", limit)
    controls = Controls.checked(0.0, time_limit, random_state, progress)
    problem.check_unchanged()
    if problem.optimum_is_zero:
        less = "less noise" if problem.costs is None else "less noise or lower costs"
        warnings.warn(
            f"{nothing_left(problem)}, so no support is worth anything; use {less}.",
            NoapWarning,
            stacklevel=2,
        )
        nothing = np.empty((0, problem.n_features))
        return NearOptimal(problem, share, nothing, np.empty(0), True, None, 0, controls.seconds)
    return _listed(problem, share, most, controls)


def _listed(problem: Problem, within: float, most: int | None, controls: Controls) -> NearOptimal:
    from noap.exact.feature_wise.instance import GramInstance, Incumbent
    from noap.exact.feature_wise.listing import Listing  # loads Numba

    start = METHODS["ascent"]().run(problem, controls, METHODS["ascent"]().check(problem)).v
    instance = GramInstance.of(problem)
    incumbent = Incumbent(instance, instance.inside(start))
    # The matrix of the search is the given one or a little larger, so that nothing worth the threshold is lost.
    T = (1.0 - within) * (1.0 - _SAME) * problem.value(start) / instance.unit
    listing, nodes = Listing(instance, incumbent, T), 0
    with Part(controls.progress) as line:
        try:
            while listing.stack and not controls.expired() and (most is None or len(listing.supports) < most):
                nodes += listing.advance()
                if line.line is not None and line.line.due():
                    line.say(f"{controls.seconds:.1f} s, {nodes} nodes, {len(listing.supports)} supports found")
        except KeyboardInterrupt:
            controls.limit = Limit.INTERRUPTED
    complete = not listing.stack
    vectors = [start]
    for support, met in listing.supports.items():
        v, worth = _best_on(instance, list(support), met)
        # Rounding keeps a node open only if it is worth T to the last digits.
        complete = complete and (met is not None or worth >= (1.0 - 1e-6) * T)
        vectors.append(np.zeros(problem.n_features))
        vectors[-1][instance.features] = v
    values = np.array([problem.value(v) for v in vectors])
    good = np.flatnonzero(values >= (1.0 - within) * (1.0 - _SAME) * values.max())
    ordered = [vectors[i] for i in good[np.argsort(-values[good], kind="stable")]]
    # Where features cost something, more of them may be worth less: then every support stands for itself.
    kept = np.array(_maximal(ordered) if problem.costs is None else list(_by_support(ordered).values()))
    values = np.array([problem.value(v) for v in kept])
    return NearOptimal(problem, within, kept, values, complete, controls.limit, nodes, controls.seconds)


def _best_on(instance: "GramInstance", support: list[int], met: FloatArray | None) -> tuple[FloatArray, float]:
    """Return the best unit vector on a support that ascent reaches from the one that was met, and its worth.

    It also starts from the leading direction. Where it does not need all of the support it is zero on the rest.
    """
    A = instance.A[np.ix_(support, support)]
    starts = [np.linalg.eigh(A)[1][:, -1], *([] if met is None else [met[support]])]
    adversary = instance.adversary.restricted_to(np.array(support))
    climber = GramClimber(A, adversary, len(support), None if instance.costs is None else instance.costs[support])
    reached = [climber.to_fixed_point(climber.measured(truncate(x[None, :], len(support)))) for x in starts]
    best = max(reached, key=lambda one: float(one.distances[0]))
    v: FloatArray = np.zeros(len(instance.norms))
    v[support] = best.batch.first(len(support))
    return v, float(best.distances[0]) ** 2


def _by_support(vectors: list[FloatArray]) -> dict[frozenset[int], FloatArray]:
    """Return one vector for each support, the first."""
    by_support: dict[frozenset[int], FloatArray] = {}
    for v in vectors:
        by_support.setdefault(frozenset(np.flatnonzero(v).tolist()), v)
    return by_support


def _maximal(vectors: list[FloatArray]) -> list[FloatArray]:
    """Return one vector for each support, the first, without supports that are part of another one."""
    by_support = _by_support(vectors)
    largest = max(map(len, by_support))
    return [v for S, v in by_support.items() if len(S) == largest or not any(S < other for other in by_support)]  # noqa: SIM300 - a proper subset


def _share(within: Any) -> float:
    try:
        share = math.nan if isinstance(within, (bool, str)) else float(within)
    except (TypeError, ValueError):
        share = math.nan
    if not 0 <= share < 1:
        raise InvalidProblem(f"within must be a number of at least 0 and below 1, got {within!r}.")
    return share
