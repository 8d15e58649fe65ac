"""`noap.near_optimal`: every support of almost the best value, and a proof that none is missing."""

import contextlib
import importlib
import math
import warnings
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from noap.adversaries import ENERGY_LESS_L1, require_served
from noap.data.arguments import as_count, as_fraction
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
from noap.runtime.frames import Tabular, shaped
from noap.runtime.interrupts import holding_interrupts, interrupts_wait
from noap.runtime.limits import Limits
from noap.runtime.line import Part
from noap.runtime.names import counted
from noap.runtime.threads import one_thread
from noap.search.listing import Listing
from noap.search.prove import Stop
from noap.solving import nothing_left

if TYPE_CHECKING:
    import polars

__all__ = ["NearOptimal", "near_optimal"]

LISTING_SERVES = ENERGY_LESS_L1
# The optimum is proved to this gap before the list is made: the list does not depend on it.
_GAP = 1e-4
# The search lists supports down to this share below the threshold, where rounding leaves nodes open.
_BELOW = 1e-8
# Further features of a support add nothing if they add less than a tenth of `within`, between these limits.
_MOST_SLACK, _LEAST_SLACK = 1e-4, 1e-6
# Values within this share of the threshold count as on it.
_ON_THRESHOLD = 1e-7
# With costs, features add nothing if they add less than this share.
_NOTHING = 1e-9


@dataclass(frozen=True, eq=False, repr=False)
class NearOptimal(Tabular):
    """Every support within a share of the optimum, as returned by :func:`noap.near_optimal`.

    Attributes
    ----------
    problem : Problem
    within : float
    vectors : array of shape (m, d)
        The best direction found on each support, the best of all first.
    values : array of shape (m,)
        Their robust variances, falling.
    complete : bool
        Whether the search proves that no other support has a value above the threshold. The first of the list is then
        optimal, to the bound of the certificate.
    limit : Limit or None
        The limit that stopped the search; None also if it ended because `limit` supports were found.
    nodes : int
    seconds : float
    certificate : Certificate or None
        The proof that the list is complete, for :func:`noap.verify`; None where it is not.
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
        supports = counted(len(self), "support")
        return f"NearOptimal({self.problem.terms}; {supports} within {100 * self.within:g} % of {best}, {known})"

    def __len__(self) -> int:
        return len(self.values)

    @property
    def threshold(self) -> float:
        """The least value of a listed support: (1 - within) times the best value."""
        return (1.0 - self.within) * float(self.values[0]) if len(self) else 0.0

    @cached_property
    def supports(self) -> tuple[IntArray, ...]:
        """The features of each support."""
        return tuple(np.flatnonzero(v) for v in self.vectors)

    @cached_property
    def counts(self) -> IntArray:
        """The number of supports that use each feature."""
        counts: IntArray = (self.vectors != 0).sum(axis=0)
        return counts

    @property
    def core(self) -> IntArray:
        """The features that all supports use; none if there is no support."""
        return np.flatnonzero(self.counts == len(self)) if len(self) else np.empty(0, dtype=np.int64)

    def to_frame(self, flat: bool = False, library: str = "polars") -> Any:
        """Return a table with one row per support.

        Parameters
        ----------
        flat : bool
            Write lists as text, entries apart by "; ".
        library : "polars" or "pandas"

        Returns
        -------
        DataFrame
            Columns value, share (of the best), size, features (names, or positions as text), `has` (features that the
            best support lacks) and `instead_of` (features of the best support that this one lacks).
        """
        import polars

        names = self.problem.names

        def listed(sets: list[set[int]]) -> "polars.Series":
            return polars.Series([[names[j] for j in sorted(one)] for one in sets], dtype=polars.List(str))

        sets = [set(support.tolist()) for support in self.supports]
        first = sets[0] if sets else set()
        frame = polars.DataFrame(
            {
                "value": self.values,
                "share": self.values / self.values[0] if len(self) else self.values,
                "size": [len(one) for one in sets],
                "features": listed(sets),
                "instead_of": listed([first - one for one in sets]),
                "has": listed([one - first for one in sets]),
            }
        )
        return shaped(frame, flat, library)

    def plot(self, ax: Any = None, top: int | None = None) -> Any:
        """Draw the features of each support, the best on the left, and its share of the best value.

        The parameters and the Figure are those of `noap.figures.draw_near_optimal`.
        """
        # Pictures lie in a layer above; the name is resolved on use.
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

    and S is no part of another one on the list; with costs, which are subtracted on both sides, also if it is. A
    feature that adds less than 1e-9 of the value adds nothing. The list shows whether the answer is the only one, which
    features all good answers have in common, and which features are interchangeable. The tree search of the exact
    method finds it, and `certificate` proves that nothing is missing (docs/kernel.md, "Lists").

    Parameters
    ----------
    problem : Problem
        Without an adversary or against FeatureWise.
    within : float
        At least 0 and below 1.
    limit : int, optional
        Stop once this many supports were found; the list is then not complete, and shorter if some of them are part of
        others or turn out to have a smaller value.
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
        "use noap.stability, which takes any adversary, to see which features return",
    )
    problem.require_covariance("near_optimal")
    share, most = as_fraction("within", within), None if limit is None else as_count("limit", limit)
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
    """Prove the optimum first, which sets the threshold, then list the supports above it."""
    # The proof of a list contains that of the bound, so both stand on the tree, whatever the number of features.
    limits = Limits.checked(None, None, True)
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
    # Supports whose value is on the threshold to rounding are listed.
    good = np.flatnonzero(values >= threshold * (1.0 - _ON_THRESHOLD))
    kept = np.array(_shortened([vectors[i] for i in good[np.argsort(-values[good], kind="stable")]], problem))
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


def _shortened(vectors: list[FloatArray], problem: Problem) -> list[FloatArray]:
    """Return one vector for each support, the first, without the supports that are not listed.

    Without costs, a part of another support is not listed; with costs, where more features may have a smaller value, a
    support is not listed if a part of it has as large a value.
    """
    first: dict[frozenset[int], FloatArray] = {}
    for v in vectors:
        first.setdefault(frozenset(np.flatnonzero(v).tolist()), v)
    if problem.costs is None:
        return [v for own, v in first.items() if not any(own < other for other in first)]
    values = {own: problem.value(v) for own, v in first.items()}
    return [
        v
        for own, v in first.items()
        if not any(part < own and value >= (1 - _NOTHING) * values[own] for part, value in values.items())
    ]
