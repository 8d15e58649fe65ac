"""`noap.solve_components`: several components, disjoint and optimal together, or one after the other."""

import math
import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from noap.adversaries import ENERGY_LESS_L1, SampleWise, require_served
from noap.adversaries.base import Adversary
from noap.data.arguments import as_count, as_sparsity
from noap.data.centring import outside
from noap.data.deflation import CONSTRAINED, DEFLATIONS
from noap.errors import GapWarning, InvalidProblem, NoapWarning
from noap.joint.result import JointResult
from noap.joint.sequence import one_after_the_other
from noap.kernel.certificate import Certificate, Proof
from noap.kernel.claim import Claim, matrix_of
from noap.problem import Problem
from noap.result import Result, Status
from noap.runtime.controls import Controls
from noap.runtime.digits import percent_up
from noap.runtime.interrupts import holding_interrupts
from noap.runtime.threads import one_thread
from noap.search.solve import in_users_units
from noap.settings import Settings
from noap.solving import gap_in_words, nothing_left, warn_of_gaps, why_not_closed
from noap.ties import break_ties

if TYPE_CHECKING:
    from noap.joint.search import JointSearch

__all__ = ["MOST_FEATURES", "SERVES", "solve_components"]

SERVES: tuple[type[Adversary], ...] = (*ENERGY_LESS_L1, SampleWise)
MOST_FEATURES = 10_000
"""From samples of more features X'X is not formed: it takes 800 MB here."""
_PART = "One of several components that were chosen together; what is proved is about their sum."


def solve_components(
    problem: Problem,
    r: int,
    *,
    k: int | Sequence[int] | None = None,
    deflation: str = "disjoint",
    joint: bool | None = None,
    gap: float = 1e-4,
    time_limit: float | None = None,
    random_state: int | np.random.Generator | None = None,
    progress: bool = False,
    settings: Settings | None = None,
) -> JointResult:
    r"""Find r components: with disjoint supports, whose robust variances add up to the most, or one after the other.

    Disjoint and together, which is the default, they solve

    .. math:: \max \sum_{t=1}^r \max_{\mathrm{supp}(v_t) \subseteq S_t}
        \min_{\|E\| \le \rho} \tfrac1n \|(X + E) v_t\|_2^2

    over disjoint :math:`S_1, \ldots, S_r` of at most k features, less the costs of the features used, if the problem
    has costs. Against FeatureWise one E for all of them can do no more than one for each, since it moves every column
    by itself; against SampleWise it can do less, and the sum of separate robust variances is a lower bound on what it
    leaves (docs/components.md). A component may stay away: where no further support is worth anything, fewer than
    r come back.

    One after the other (`joint=False`, or another `deflation`) each component is the best of what those before it
    leave, and proved so: `components` are in the order found, each with its own bound and certificate, and there is no
    bound on the sum. See docs/components.md for when that loses how much.

    Parameters
    ----------
    problem : Problem
        Without an adversary, against FeatureWise or SampleWise, with any budgets and costs. Samples may have 10,000
        features at most; with more than some hundreds (SampleWise: some tens) expect a gap that time alone does not
        close, and give a time limit.
    r : int
        How many components.
    k : int or sequence of r int, optional
        How many features each component may use; by default all of them as many as the problem says.
    deflation : "disjoint", "projection", "orthogonal" or "uncorrelated"
        What a component leaves to the next: the features that it does not use; the data projected off the span of the
        components so far; all directions orthogonal to the components before; all whose scores are uncorrelated with
        theirs. A bound of the last two is about all such directions, to 1e-8, given the components before
        (:meth:`noap.Problem.with_orthogonality`); they are for NoAdversary, FeatureWise and SpectralNorm.
    joint : bool, optional
        Whether components are chosen at once; None: those with disjoint supports are, the others one after the other.
    gap : float
        Relative gap (bound - value)/value of the sums at which the result counts as optimal.
    time_limit : float, optional
        Seconds. When it runs out, or on Ctrl-C, the best answer so far comes back, with its bound.
    random_state : int, Generator or None
        None means 0: the same call gives the same answer.
    progress : bool
        Show a line of progress on a terminal or under the cell of a notebook, and once a minute in a log.

    settings : Settings, optional
        What steers the search for components at once.

    Returns
    -------
    JointResult
        Where its gap is larger than the one asked for, one GapWarning says why and what to do.

    Examples
    --------
    >>> import noap
    >>> S = [[1.0, 0.8, 0.7, 0.0], [0.8, 1.0, 0.0, 0.6], [0.7, 0.0, 1.0, 0.0], [0.0, 0.6, 0.0, 1.0]]
    >>> problem = noap.Problem.from_covariance(S, n_samples=10, k=2, adversary=noap.NoAdversary())
    >>> joint = noap.solve_components(problem, 2)
    >>> [one.support.tolist() for one in joint.components], round(joint.value, 4), joint.status
    ([[0, 2], [1, 3]], 3.3, <Status.OPTIMAL: 'optimal'>)
    >>> noap.verify(problem, joint.certificate).ok
    True

    Taking the best pair first, features 0 and 1, leaves nothing that goes together: 1.8 + 1.0.
    """
    if not isinstance(problem, Problem):
        raise InvalidProblem(f"problem must be a noap.Problem, got {type(problem).__name__}.")
    problem.require_no_metric("solve_components")
    problem.require_no_directions("solve_components")
    if deflation not in DEFLATIONS:
        raise InvalidProblem(f"deflation must be one of {DEFLATIONS}, got {deflation!r}.")
    if not (joint is None or isinstance(joint, (bool, np.bool_))):
        raise InvalidProblem(f"joint must be True, False or None, got {joint!r}.")
    if joint and deflation != "disjoint":
        raise InvalidProblem(
            f"joint=True chooses disjoint components at once, and deflation={deflation!r} takes one after the other; "
            "leave out one of them."
        )
    if deflation != "disjoint" or joint is False:
        return _sequence(
            problem, _sizes(problem, as_count("r", r), k), deflation, gap, time_limit, random_state, progress
        )
    if len(problem.include):
        raise InvalidProblem(
            "solve_components chooses components at once without demanded features; leave out include, or pass "
            "joint=False with deflation='orthogonal' or 'uncorrelated'."
        )
    require_served(problem.adversary, SERVES, "solve_components", "take components one by one with RobustSparsePCA")
    ks = _sizes(problem, as_count("r", r), k)
    if problem.X is not None and problem.n_features > MOST_FEATURES:
        raise InvalidProblem(
            f"solve_components forms X'X, which is too large for {problem.n_features} features; keep at most "
            f"{MOST_FEATURES}, or take components one by one with RobustSparsePCA."
        )
    controls = Controls.checked(gap, time_limit, random_state, progress)
    problem.check_unchanged()
    made = _at_once(problem, ks, controls, Settings() if settings is None else settings)
    if made.status is not Status.OPTIMAL:
        warnings.warn(
            f"The components have {gap_in_words(made.gap)} together where {percent_up(controls.gap)} was asked for: "
            f"{why_not_closed(made.limit)}.",
            GapWarning,
            stacklevel=outside(),
        )
    return made


def _at_once(problem: Problem, ks: tuple[int, ...], controls: Controls, settings: Settings) -> JointResult:
    """Return disjoint components, with a proof of what any are worth together."""
    from noap.joint.search import JointSearch

    whole = problem.with_sparsity(max(ks))
    found: list[Result] = []
    with holding_interrupts() as interrupts, np.errstate(all="ignore"), one_thread(problem.n_features):
        data, shift = matrix_of(whole)
        search = JointSearch(data, ks, controls, interrupts, settings)
        if whole.optimum_is_zero:
            said = f"{nothing_left(problem)}, so there is no component; use less noise."
            warnings.warn(said, NoapWarning, stacklevel=outside())
        else:
            search.run()
    for column, size in zip(sorted(search.packing, key=len, reverse=True), sorted(ks, reverse=True), strict=False):
        v, own = column.vector(problem.n_features), problem.with_sparsity(size)
        result = Result(own, "joint", v, limit=controls.limit, asked_gap=controls.gap, messages=(_PART,))
        if result.value > 0:
            found.append(result)
    components = tuple(sorted(_without_ties(found), key=lambda one: -one.value))
    bound = in_users_units(search.bound, data.exponent)
    return JointResult(
        problem, ks, components, bound=bound, limit=controls.limit, asked_gap=controls.gap,
        columns=len(search.columns), pricings=search.pricings, nodes=search.nodes, branches=search.branches,
        seconds=controls.seconds, certificate=_certificate(whole, ks, components, search, bound, shift),
    )  # fmt: skip


def _certificate(
    problem: Problem,
    ks: tuple[int, ...],
    components: tuple[Result, ...],
    search: "JointSearch",
    bound: float,
    shift: float | None,
) -> Certificate:
    """Return the certificate of all components, the largest in the largest slot: it fits if any order does."""
    by_slot: dict[int, Result] = dict(
        zip(
            sorted(range(len(ks)), key=lambda slot: -ks[slot]),
            sorted(components, key=lambda one: -len(one.support)),
            strict=False,
        )
    )
    filled = [by_slot[slot] for slot in range(len(ks)) if slot in by_slot]
    sizes = tuple(len(by_slot[slot].support) if slot in by_slot else 0 for slot in range(len(ks)))
    value = math.fsum(one.value for one in components)
    return Certificate(
        Claim.about(problem, value, max(bound, value), "joint"),
        np.concatenate([np.empty(0, np.intp), *(one.support for one in filled)]).astype(np.intp),
        np.concatenate([np.empty(0), *(one.v[one.support] for one in filled)]),
        Proof((), search.data.exponent, shift, (), search.witness(sizes)),
    )


def _sequence(
    problem: Problem,
    ks: tuple[int, ...],
    deflation: str,
    gap: float,
    time_limit: float | None,
    random_state: int | np.random.Generator | None,
    progress: bool,
) -> JointResult:
    """Return components one after the other."""
    if deflation not in CONSTRAINED:
        problem.require_no_demands(f"solve_components with deflation={deflation!r}")
    controls = Controls.checked(gap, time_limit, random_state, progress)
    problem.check_unchanged()
    found = one_after_the_other(problem, ks, deflation, controls, time_limit)
    if not found:
        warnings.warn(
            f"{nothing_left(problem)}, so there is no component; use less noise.", NoapWarning, stacklevel=outside()
        )
    limit = next((one.limit for one in found if one.limit is not None), None)
    warn_of_gaps(found, "components", [f"component {number}" for number in range(1, len(found) + 1)])
    return JointResult(
        problem, ks, found, bound=None, limit=limit, asked_gap=controls.gap, nodes=sum(one.nodes for one in found),
        seconds=sum(one.seconds for one in found), certificate=None, deflation=deflation,
    )  # fmt: skip


def _without_ties(found: list[Result]) -> list[Result]:
    """Give ties to the lowest index that no other component uses."""
    kept = list(found)
    for i, one in enumerate(kept):
        others = [other.support for h, other in enumerate(kept) if h != i]
        kept[i] = break_ties(one, np.concatenate([one.problem.exclude, *others]))[0]
    return kept


def _sizes(problem: Problem, r: int, k: Any) -> tuple[int, ...]:
    """Return how many features each component may use."""
    if r > problem.n_features:
        raise InvalidProblem(f"r must be at most the number of features, {problem.n_features}, got {r}.")
    if k is None:
        return (problem.k,) * r
    if isinstance(k, (int, np.integer)) and not isinstance(k, bool):
        return (as_sparsity(k, problem.n_features),) * r
    try:
        given = tuple(k)
    except TypeError:
        raise InvalidProblem(
            f"k must be an integer, or one for each of the r components, got {k!r}; leave it out for the problem's own."
        ) from None
    if len(given) != r:
        raise InvalidProblem(f"k must have one entry for each of the {r} components, got {len(given)}.")
    return tuple(as_sparsity(one, problem.n_features) for one in given)
