"""Components with disjoint supports that are chosen together: when a fit does so, and what it makes of the answer."""

import dataclasses
import math
import warnings
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

from noap.adversaries import ENERGY_LESS_L1, serves
from noap.adversaries.registry import listed
from noap.data.deflation import CONSTRAINED, Covariance, Samples
from noap.errors import GapWarning, InvalidProblem, NoapWarning
from noap.estimators.fitting import Component, Fitted, Recipe, forgetting, said_line
from noap.joint import JointResult, solve_components
from noap.joint.components import SERVES
from noap.kernel.claim import matrix_of
from noap.kernel.verify import rounded_down
from noap.linalg.memory import MANY_FEATURES
from noap.problem import Problem
from noap.result import Limit, Result
from noap.runtime.interrupts import noticing_interrupts
from noap.runtime.line import Part
from noap.runtime.names import listed as named
from noap.solving import NOTHING_LEFT
from noap.ties import lowest_tie

__all__ = ["TOGETHER", "chosen_together", "fit_together"]

# What the search for several components knows of the options of a method.
_OPTIONS = {"progress"}
TOGETHER = "Value and bound are those of the data without the features of the other components, chosen with it."
"""What every component that was chosen together with others says of itself."""


def chosen_together(recipe: Recipe, joint: Any, d: int) -> Recipe:
    """Return the recipe, with its word on whether components are chosen together.

    Parameters
    ----------
    recipe : Recipe
    joint : "auto", True or False
        As for the estimator.
    d : int
        The number of features.
    """
    if not (isinstance(joint, (bool, np.bool_)) or (isinstance(joint, str) and joint == "auto")):
        raise InvalidProblem(f"joint must be 'auto', True or False, got {joint!r}.")
    reason = _why_not(recipe)
    if isinstance(joint, str):
        several = recipe.most > 1 and recipe.deflation == "disjoint" and d <= MANY_FEATURES
        # Where samples move, one attack on all components is another problem: whoever wants the sum says so.
        several = several and serves(ENERGY_LESS_L1, recipe.adversary)
        return dataclasses.replace(recipe, together=several and reason is None)
    if joint and reason is not None:
        raise InvalidProblem(f"joint=True {reason}.")
    return dataclasses.replace(recipe, together=bool(joint))


def _why_not(recipe: Recipe) -> str | None:
    """Return why components cannot be chosen together, as a sentence about it ends; None if they can."""
    if recipe.deflation in CONSTRAINED:
        return f"chooses disjoint components, which deflation={recipe.deflation!r} does not; leave out one of them"
    if not recipe.exactly:
        return "needs a number of components; pass n_components=3, say, or leave out joint"
    if recipe.method != "exact":
        return f"needs method='exact', got {recipe.method!r}; leave out one of them"
    if recipe.k_share is not None:
        return "gives every component the same k; leave out k_share, or joint"
    if not serves(SERVES, recipe.adversary):
        name = type(recipe.adversary).__name__
        return f"serves the adversaries {listed(SERVES)}, not {name}; pass one of these, or leave out joint"
    unknown = sorted(set(recipe.options) - _OPTIONS)
    if unknown:
        return f"does not know the option {unknown[0]!r}, which is about one component; leave out one of them"
    return None


def fit_together(data: Samples | Covariance, recipe: Recipe, seen: Callable[[], None] = lambda: None) -> Fitted:
    """Choose the components of the data together, with disjoint supports.

    Parameters
    ----------
    data : Samples or Covariance
    recipe : Recipe
    seen : callable
        Called when Ctrl-C has ended the fit.
    """
    problem = data.problem(max(recipe.sizes), recipe.adversary, recipe.costs)
    progress = recipe.verbose or bool(recipe.options.get("progress"))
    with noticing_interrupts() as interrupts, _TogetherLine(progress, recipe), warnings.catch_warnings():
        # The estimator says it in its own words, once.
        warnings.filterwarnings("ignore", message=NOTHING_LEFT, category=NoapWarning)
        warnings.simplefilter("ignore", GapWarning)
        joint = solve_components(
            problem,
            recipe.most,
            k=recipe.sizes,
            gap=recipe.gap,
            time_limit=recipe.time_limit,
            random_state=recipe.seed,
            progress=progress,
        )
        interrupted = interrupts.seen or joint.limit is Limit.INTERRUPTED
    if interrupted and not joint.components:
        raise KeyboardInterrupt
    if interrupted:
        seen()
    found = _bounded(data, recipe, joint) if joint.components else [_nothing(problem, joint)]
    if recipe.verbose:
        for number, one in enumerate(joint.components, start=1):
            said_line(
                f"component {number} of {recipe.most}: robust variance {one.value:.6g}. "
                f"Features: {named(one.features, None)}"
            )
        said_line(f"together, {joint.claim} {joint.seconds:.1f} s.")
    if not recipe.keep_data:
        found, joint = [forgetting(one, one.result) for one in found], joint.without_data()
    return Fitted(tuple(found), interrupted, False, joint)


class _TogetherLine(Part):
    """How many components are being chosen, for the line that says how far the search is."""

    def __init__(self, wanted: bool, recipe: Recipe) -> None:
        super().__init__(wanted)
        self._most = recipe.most

    @property
    def doing(self) -> str:
        """How many there will be."""
        return f"components 1 to {self._most} together" if self._most > 1 else "component 1 of 1"


def _bounded(data: Samples | Covariance, recipe: Recipe, joint: JointResult) -> list[Component]:
    """Return the components, each as an answer to the problem that the features of the others leave, with its bound.

    Another answer to it, and the others, are r disjoint components, which are worth no more than the joint bound: it is
    worth no more than that less what the others are certainly worth.
    """
    parts, bound = joint.components, joint.bound
    assert bound is not None  # they were chosen at once
    proved, _ = matrix_of(joint.problem.with_sparsity(max(joint.ks)))
    below = [max(proved.value_at_least(one.support, one.v[one.support]), 0.0) for one in parts]
    below = [rounded_down(Fraction(value) * Fraction(4) ** proved.exponent) for value in below]
    components = []
    for i, one in enumerate(parts):
        problem = one.problem
        if len(parts) > 1:
            left = data.left(np.delete(joint.vectors, i, axis=0), "disjoint")
            problem = left.problem(one.problem.k, recipe.adversary, recipe.costs)
        room = math.fsum([bound, *(-value for h, value in enumerate(below) if h != i)])
        result = dataclasses.replace(
            one,
            problem=problem,
            bound=math.nextafter(room, math.inf),
            bound_proof="rigorous",
            limit=joint.limit,
            seconds=joint.seconds / len(parts),
            messages=(TOGETHER, *one.messages[1:]),
        )
        components.append(Component(result, lowest_tie(problem, result.v)[1]))
    return components


def _nothing(problem: Problem, joint: JointResult) -> Component:
    """Return the one component of data of which nothing is left: a direction that is worth nothing."""
    v = np.zeros(problem.n_features)
    if problem.costs is None:
        v[int(np.argmax(problem.column_norms))] = 1.0
    assert joint.bound is not None  # as above
    result = Result(problem, "joint", v, bound=joint.bound, bound_proof="rigorous", asked_gap=joint.asked_gap)
    return Component(result, ())
