"""`noap.near_optimal`: every support that comes close to the best one, and whether the list is complete."""

import contextlib
import importlib
import math
import warnings
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from noap.adversaries import ENERGY_LESS_L1, require_served
from noap.data.arguments import as_count
from noap.data.centring import outside
from noap.errors import InvalidProblem, NoapWarning
from noap.kernel.certificate import Certificate, Proof
from noap.kernel.claim import Claim, matrix_of
from noap.kernel.data import Data
from noap.kernel.witness import Support
from noap.linalg.types import FloatArray, IntArray
from noap.linalg.vectors import unit
from noap.methods import run_exact
from noap.problem import Problem
from noap.result import Limit
from noap.runtime.controls import Controls
from noap.runtime.interrupts import holding_interrupts, interrupts_wait
from noap.runtime.limits import Limits
from noap.runtime.line import Part
from noap.runtime.names import counted
from noap.runtime.threads import one_thread
from noap.search.listing import Listing
from noap.search.prove import Stop
from noap.settings import Settings
from noap.solving import nothing_left

if TYPE_CHECKING:
    import polars

__all__ = ["NearOptimal", "near_optimal"]

LISTING_SERVES = ENERGY_LESS_L1
# The optimum is proved to this gap before the list is made: the list does not depend on it.
_GAP = 1e-4
# The search lists what is worth so little less than the threshold: room for what rounding keeps open there.
_BELOW = 1e-8
# What further features add to a support counts as nothing up to a tenth of `within`, but not more, nor less, than this.
_MOST_SLACK, _LEAST_SLACK = 1e-4, 1e-6
# What rounding keeps open at the threshold is worth it to this share.
_ON_THRESHOLD = 1e-7
# Features that cost something add nothing where they add less than this share.
_NOTHING = 1e-9


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
        optimal, to the bound that the certificate has.
    limit : Limit or None
        What stopped the search; None also where it ended because `limit` supports were found.
    nodes : int
    seconds : float
    certificate : Certificate or None
        The proof that the list is complete, for :func:`noap.verify`; None where it is not.
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
    certificate: Certificate | None = None

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

    def plot(self, ax: Any = None, top: int | None = None) -> Any:
        """Draw which features each support uses, the best on the left, and what each keeps of the best.

        Parameters
        ----------
        ax : matplotlib Axes or sequence of two, optional
            Where to draw; given one, what each keeps is left out. A figure of its own by default.
        top : int, optional
            At most so many features; 25 by default.

        Returns
        -------
        matplotlib.figure.Figure
        """
        # Pictures lie a layer above; the name is resolved when someone asks for one.
        return importlib.import_module("noap.figures").draw_near_optimal(self, ax=ax, top=top)


@interrupts_wait
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

    and S is no part of another one on the list; with costs, which are taken off both sides, also if it is. A feature
    that adds less than 1e-9 of the value adds nothing. The list shows how far the answer is the only one, which
    features all good answers share, and which can stand in for which. It is found by the search of the exact method,
    and `certificate` proves that nothing is missing (docs/kernel.md, "Lists").

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
    >>> noap.verify(near.problem, near.certificate).supports
    3
    """
    if not isinstance(problem, Problem):
        raise InvalidProblem(f"problem must be a noap.Problem, got {type(problem).__name__}.")
    problem.require_no_metric("near_optimal")
    problem.require_no_demands("near_optimal")
    problem.require_no_directions("near_optimal")
    require_served(
        problem.adversary,
        LISTING_SERVES,
        "near_optimal",
        "see with noap.stability, which takes any adversary, which features come back",
    )
    problem.require_covariance("near_optimal")
    share, most = _share(within), None if limit is None else as_count("limit", limit)
    controls = Controls.checked(_GAP, time_limit, random_state, progress)
    problem.check_unchanged()
    if problem.optimum_is_zero:
        less = "less noise" if problem.costs is None else "less noise or lower costs"
        warnings.warn(
            f"{nothing_left(problem)}, so no support is worth anything; use {less}.",
            NoapWarning,
            stacklevel=outside(),
        )
        nothing = np.empty((0, problem.n_features))
        certificate = _of_nothing(problem, controls)
        complete = certificate is not None
        return NearOptimal(problem, share, nothing, np.empty(0), complete, None, 0, controls.seconds, certificate)
    return _listed(problem, share, most, controls)


def _listed(problem: Problem, within: float, most: int | None, controls: Controls) -> NearOptimal:
    """Prove the optimum first, so that the threshold is known, then list what exceeds it."""
    # The proof of a list contains that of the bound, so both stand on the tree, whatever the number of features.
    limits = Limits.checked(None, None, True, settings=Settings(most_features=problem.n_features))
    with holding_interrupts() as interrupts, np.errstate(all="ignore"), one_thread(problem.n_features):
        best = run_exact(problem, controls, limits)
        least = (1.0 - within) * best.value
        data, shift = matrix_of(problem)
        assert isinstance(data, Data)

        def check() -> None:
            if interrupts.seen:
                controls.limit = Limit.INTERRUPTED
            if controls.expired():
                raise Stop

        T = math.ldexp((1.0 - _BELOW) * least, -2 * data.exponent)
        listing = Listing(data, T, max(min(within / 10, _MOST_SLACK), _LEAST_SLACK), limits.settings, check)
        listing.add(best.v)
        with Part(controls.progress) as line, contextlib.suppress(Stop):
            while listing.open and (most is None or len(listing.supports) < most):
                listing.advance()
                if line.line is not None and line.line.due():
                    seen = f"{best.nodes + listing.nodes} nodes, {len(listing.supports)} supports found"
                    line.say(f"{controls.seconds:.1f} s, {seen}")
        level = listing.level(math.ldexp(least, -2 * data.exponent)) if listing.done else None
    vectors = [best.v, *(_whole(problem, one) for one in listing.supports)]
    values = np.array([problem.value(v) for v in vectors])
    threshold = (1.0 - within) * float(values.max())
    # What rounding leaves at the threshold is listed, if that is what it is.
    good = np.flatnonzero(values >= threshold * (1.0 - _ON_THRESHOLD))
    ordered = list(_by_support([vectors[i] for i in good[np.argsort(-values[good], kind="stable")]]).values())
    kept = np.array(_maximal(ordered) if problem.costs is None else _worth_their_cost(ordered, problem))
    values = np.array([problem.value(v) for v in kept])
    certificate = None
    if level is not None and isinstance(best.proof, Proof):
        claim = Claim.about(problem, best.value, best.bound, "list")
        proof = Proof((*best.proof.levels, level), data.exponent, shift, tuple(listing.supports))
        certificate = Certificate(claim, best.support, best.v[best.support], proof)
    nodes, complete = best.nodes + listing.nodes, certificate is not None
    return NearOptimal(problem, within, kept, values, complete, controls.limit, nodes, controls.seconds, certificate)


def _of_nothing(problem: Problem, controls: Controls) -> Certificate | None:
    """Return the proof that no support has a value above 0."""
    nothing = run_exact(problem, controls, Limits.checked(None, None, True))
    if not isinstance(nothing.proof, Proof) or nothing.bound > 0:
        return None
    proof = replace(nothing.proof, levels=nothing.proof.levels * 2)
    none: IntArray = np.empty(0, np.intp)
    return Certificate(Claim.about(problem, 0.0, 0.0, "list"), none, np.empty(0), proof)


def _whole(problem: Problem, one: Support) -> FloatArray:
    v: FloatArray = np.zeros(problem.n_features)
    v[one.features] = one.weights
    return unit(v)


def _by_support(vectors: list[FloatArray]) -> dict[frozenset[int], FloatArray]:
    """Return one vector for each support, the first."""
    by_support: dict[frozenset[int], FloatArray] = {}
    for v in vectors:
        by_support.setdefault(frozenset(np.flatnonzero(v).tolist()), v)
    return by_support


def _maximal(vectors: list[FloatArray]) -> list[FloatArray]:
    """Return those whose support is no part of another one's."""
    supports = [frozenset(np.flatnonzero(v).tolist()) for v in vectors]
    largest = max(map(len, supports))
    return [
        v
        for own, v in zip(supports, vectors, strict=True)
        if len(own) == largest or not any(own < other for other in supports)
    ]


def _worth_their_cost(vectors: list[FloatArray], problem: Problem) -> list[FloatArray]:
    """Return those of which no part is worth as much: where features cost something, more may be worth less."""
    listed = [(frozenset(np.flatnonzero(v).tolist()), problem.value(v), v) for v in vectors]
    return [
        v
        for own, value, v in listed
        if not any(part < own and worth >= (1 - _NOTHING) * value for part, worth, _ in listed)
    ]


def _share(within: Any) -> float:
    try:
        share = math.nan if isinstance(within, (bool, str)) else float(within)
    except (TypeError, ValueError):
        share = math.nan
    if not 0 <= share < 1:
        raise InvalidProblem(f"within must be a number of at least 0 and below 1, got {within!r}.")
    return share
