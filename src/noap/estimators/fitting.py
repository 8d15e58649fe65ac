"""Components one after the other: how many, within which time, and what Ctrl-C leaves."""

import dataclasses
import gc
import sys
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from noap.adversaries.base import Adversary
from noap.analysis.k_path import KPath, k_path
from noap.data.deflation import CONSTRAINED, Covariance, Samples, constrained, scope_of, span_variances
from noap.errors import GapWarning, InvalidProblem, NoapWarning
from noap.joint import JointResult
from noap.linalg.types import FloatArray
from noap.problem import Problem
from noap.result import Limit, Result
from noap.runtime.interrupts import noticing_interrupts
from noap.runtime.line import Part
from noap.runtime.names import listed
from noap.solving import NOTHING_LEFT, misses_gap, solve
from noap.ties import break_ties, lowest_tie

__all__ = ["Component", "Fitted", "Recipe", "fit_components", "how_many", "said_line"]

# Where nobody knows how many components will follow, the next one may use this share of the time that is left.
# With less than the second there are no more.
_SHARE, _TOO_LITTLE = 0.25, 0.05
_LEAST_SECONDS = 1e-3
# Bytes of samples from which on it is not left to chance when they go.
_LARGE = 2**25
# A proof that found a vector worth more than this beyond the guess it started from has found another vector.
_SAME = 1e-12


@dataclass(frozen=True)
class Recipe:
    """What is asked for.

    Attributes
    ----------
    most : int
        At most so many components.
    exactly : bool
        Whether that is the number asked for: components that are worth nothing then count too.
    share : float or None
        Stop when the components explain this share of the total variance.
    k : tuple of int
        Of each component; of all where there is one.
    k_share, adversary, costs, method, deflation, gap, seed, options
        As for the estimator; the seed is a number.
    time_limit : float or None
        Seconds for all components together.
    n_jobs : int or None
        Processes that prove components side by side.
    verbose, keep_data : bool
    together : bool
        Whether the components are chosen together, which is what `fit_together` does.
    """

    most: int
    exactly: bool
    share: float | None
    k: tuple[int, ...]
    k_share: float | None
    adversary: Adversary
    costs: FloatArray | None
    method: str
    deflation: str
    gap: float
    time_limit: float | None
    seed: int | None
    options: dict[str, Any]
    n_jobs: int | None
    verbose: bool
    keep_data: bool
    together: bool = False

    @property
    def sizes(self) -> tuple[int, ...]:
        """How many features each of a known number of components may use."""
        return tuple(self.size(number) for number in range(self.most))

    def size(self, number: int) -> int:
        """Return how many features a component may use."""
        return self.k[min(number, len(self.k) - 1)]


@dataclass(frozen=True)
class Component:
    """One component: what was found, which features tie, and the path over k that it was chosen from, if any."""

    result: Result
    ties: tuple[tuple[int, int], ...]
    path: KPath | None = None

    @property
    def limit(self) -> Limit | None:
        """Why its proof stopped early, None if it did not."""
        # The share that a path keeps is of what its last level proves.
        return self.result.limit or (self.path[-1].limit if self.path is not None else None)

    @property
    def misses_gap(self) -> bool:
        """Whether a gap was asked for that is not proved; of a path it is that of the last level."""
        return misses_gap(self.result if self.path is None else self.path[-1])

    @property
    def seconds(self) -> float:
        """How long it took."""
        return self.result.seconds if self.path is None else sum(level.seconds for level in self.path)


@dataclass(frozen=True)
class Fitted:
    """The components, whether Ctrl-C ended the fit, and whether the time did before as many as asked for were found.

    `joint` is what was found and proved of all of them, where they were chosen together.
    """

    components: tuple[Component, ...]
    interrupted: bool
    out_of_time: bool
    joint: JointResult | None = None


def how_many(asked: Any, n: int, d: int) -> tuple[int, bool, float | None]:
    """Return the largest number of components, whether it is the number asked for, and the share to explain."""
    if asked is None:
        return min(n, d), False, None
    whole = isinstance(asked, (int, np.integer)) and not isinstance(asked, bool)
    if whole and 1 <= asked <= d:
        return int(asked), True, None
    if isinstance(asked, (float, np.floating)) and 0 < asked < 1:
        return min(n, d), False, float(asked)
    raise InvalidProblem(
        f"n_components must be an integer from 1 to the number of features, {d}, a share of the variance between 0 "
        f"and 1, or None, got {asked!r}."
    )


def fit_components(data: Samples | Covariance, recipe: Recipe, seen: Callable[[], None] = lambda: None) -> Fitted:
    """Find the components of the data, each on what those before it leave.

    Parameters
    ----------
    data : Samples or Covariance
    recipe : Recipe
    seen : callable
        Called when Ctrl-C has ended the fit.
    """
    found: list[Component] = []
    out_of_time = False
    with noticing_interrupts() as interrupts, _ComponentLine(recipe, found):
        try:
            while not _complete(data, recipe, found) and not interrupts.seen:
                if _side_by_side(recipe) and recipe.most - len(found) > 1:
                    found += _finished(recipe, _proved_together(data, recipe, found), len(found))
                    continue
                problem = _next_problem(data, [one.result.v for one in found], recipe)
                if problem is None:
                    break
                out_of_time = not recipe.exactly and _time_left(recipe, found) <= _TOO_LITTLE
                if out_of_time:
                    break
                one = _component(problem, recipe, _seconds(recipe, found))
                if found and one.result.value == 0 and not recipe.exactly:
                    break
                found += _finished(recipe, [one], len(found))
                large = getattr(problem.X, "nbytes", 0) > _LARGE
                del one, problem  # and with them the samples that deflation had left
                if large and not recipe.keep_data:
                    gc.collect()  # a search refers to itself: its samples would stay until the collector comes by
                _say(recipe, found)
        except KeyboardInterrupt:
            if not found:
                raise
        interrupted = interrupts.seen or any(one.limit is Limit.INTERRUPTED for one in found)
    if interrupted:
        seen()
    return Fitted(tuple(found), interrupted, out_of_time)


class _ComponentLine(Part):
    """Which component is being worked on, for the line that says how far its search is."""

    def __init__(self, recipe: Recipe, found: list[Component]) -> None:
        super().__init__(recipe.verbose or bool(recipe.options.get("progress")))
        self._recipe, self._found = recipe, found

    @property
    def doing(self) -> str:
        """Its number, and how many there will be where that is known."""
        return f"component {len(self._found) + 1}{_of(self._recipe)}"


def _of(recipe: Recipe) -> str:
    return f" of {recipe.most}" if recipe.exactly else ""


def _side_by_side(recipe: Recipe) -> bool:
    """Whether proofs run in several processes: guesses cost little where ascent makes them, and k is known."""
    return recipe.n_jobs not in (None, 1) and recipe.method == "exact" and recipe.k_share is None and recipe.exactly


def _complete(data: Samples | Covariance, recipe: Recipe, found: list[Component]) -> bool:
    if len(found) >= recipe.most:
        return True
    if found and found[-1].limit is Limit.INTERRUPTED:
        return True
    if recipe.share is None or not found:
        return False
    vectors = np.array([one.result.v for one in found])
    explained = span_variances(vectors, data.products(vectors))[-1]
    return bool(explained >= recipe.share * data.trace())


def _next_problem(data: Samples | Covariance, vectors: list[FloatArray], recipe: Recipe) -> Problem | None:
    """Return the problem on what the vectors leave; None if that is no feature and no component is owed."""
    k = recipe.size(len(vectors))
    if vectors and recipe.deflation in CONSTRAINED:
        return constrained(data.problem(k, recipe.adversary, recipe.costs), np.array(vectors), recipe.deflation)
    part = data.left(np.array(vectors), recipe.deflation) if vectors else data
    problem = part.problem(k, recipe.adversary, recipe.costs)
    if vectors and recipe.deflation == "disjoint" and not problem.column_norms.any():
        if not recipe.exactly:
            return None
        raise InvalidProblem(
            f"deflation='disjoint' leaves no feature after {len(vectors)} components; lower n_components or k."
        )
    return problem


def _time_left(recipe: Recipe, found: list[Component]) -> float:
    """Return the share of the time that is left."""
    if recipe.time_limit is None:
        return 1.0
    # What the components took, not what the clock says: compiling counts against no limit.
    return 1.0 - sum(one.seconds for one in found) / recipe.time_limit


def _seconds(recipe: Recipe, found: list[Component]) -> float | None:
    """Return the time for the next component: an even share of what is left, so that none goes without."""
    if recipe.time_limit is None:
        return None
    share = 1.0 / (recipe.most - len(found)) if recipe.exactly else _SHARE
    return max(share * _time_left(recipe, found) * recipe.time_limit, _LEAST_SECONDS)


def _component(problem: Problem, recipe: Recipe, seconds: float | None, method: str | None = None) -> Component:
    shared = {"gap": recipe.gap, "time_limit": seconds, "random_state": recipe.seed, "progress": recipe.verbose}
    settings: dict[str, Any] = shared | (recipe.options if method is None else {})
    with warnings.catch_warnings():
        # One warning for all components comes at the end.
        warnings.filterwarnings("ignore", message=NOTHING_LEFT, category=NoapWarning)
        warnings.filterwarnings("ignore", message="Interrupted: ", category=NoapWarning)
        warnings.simplefilter("ignore", GapWarning)
        if method is not None:
            return Component(*break_ties(solve(problem, method, **settings)))
        if recipe.k_share is None:
            return Component(*break_ties(solve(problem, recipe.method, **settings)))
        path = k_path(problem, **settings)
        result = path.at(path.choose(recipe.k_share))
        return Component(result, lowest_tie(result.problem, result.v)[1], path)  # the path has broken the ties


def _proved_together(data: Samples | Covariance, recipe: Recipe, found: list[Component]) -> list[Component]:
    """Return the next components, guessed by ascent one after the other and then proved side by side.

    The proof of a component is about the data that the vectors before it leave. Where the proof finds a better vector
    than the guess, that one is kept, and what was guessed after it is left out.
    """
    from joblib import Parallel, delayed  # type: ignore[import-untyped]

    vectors = [one.result.v for one in found]
    guesses: list[Component] = []
    for _ in range(recipe.most - len(found)):
        problem = _next_problem(data, vectors, recipe)
        assert problem is not None  # so many are owed
        guesses.append(_component(problem, recipe, None, "ascent"))
        vectors.append(guesses[-1].result.v)
    quiet = dataclasses.replace(recipe, verbose=False)
    seconds = None if recipe.time_limit is None else max(recipe.time_limit / len(guesses), _LEAST_SECONDS)
    try:
        proved = Parallel(n_jobs=recipe.n_jobs)(
            delayed(_component)(guess.result.problem, quiet, seconds) for guess in guesses
        )
    except KeyboardInterrupt:
        return [Component(dataclasses.replace(guess.result, limit=Limit.INTERRUPTED), guess.ties) for guess in guesses]
    kept: list[Component] = []
    for guess, one in zip(guesses, proved, strict=True):
        same = one.result.value - guess.result.value <= _SAME * one.result.value
        # Later components stand on the guess: the same vector to the last digit.
        kept.append(dataclasses.replace(one, result=dataclasses.replace(one.result, v=guess.result.v)) if same else one)
        _say(recipe, [*found, *kept])
        if not same:
            break
    return kept


def _finished(recipe: Recipe, found: list[Component], before: int) -> list[Component]:
    """Return components as they stay: all but the first say which problem they solve; samples only if they are kept."""
    finished = []
    for number, one in enumerate(found, start=before):
        result = one.result
        if number:
            result = result.with_message(scope_of(recipe.deflation))
        finished.append(dataclasses.replace(one, result=result) if recipe.keep_data else forgetting(one, result))
    return finished


def forgetting(one: Component, result: Result) -> Component:
    """Return the component with this result, without samples."""
    path = one.path
    if path is not None:
        path = dataclasses.replace(path, results=tuple(level.without_data() for level in path))
    return dataclasses.replace(one, result=result.without_data(), path=path)


def _say(recipe: Recipe, found: list[Component]) -> None:
    if recipe.verbose:
        result = found[-1].result
        said_line(
            f"component {len(found)}{_of(recipe)}: robust variance {result.value:.6g}, {result.claim} "
            f"{found[-1].seconds:.1f} s. Features: {listed(result.features, None)}"
        )


def said_line(text: str) -> None:
    """Write a line about the fit to stderr, over the line of a search that may stand there."""
    erased = "\r\x1b[K" if sys.stderr.isatty() else ""
    sys.stderr.write(f"{erased}noap: {text}\n")
