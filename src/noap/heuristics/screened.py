"""Ascent looks only at the features, and samples, that screening leaves."""

from collections.abc import Callable

import numpy as np

from noap.heuristics.climber import Climber
from noap.heuristics.oracle import GramOracle, in_units_of_samples, works_on_gram
from noap.heuristics.sample_oracle import SampleOracle
from noap.linalg.memory import MANY_FEATURES
from noap.linalg.types import IntArray
from noap.problem import Problem
from noap.runtime.controls import never

__all__ = ["screened_climber"]

# Leaving out what screening rules out costs a copy of the rest; worth it when this share or less is left.
_WORTH_COPYING = 0.7


def screened_climber(problem: Problem, check: Callable[[], None] = never) -> tuple[Climber, IntArray]:
    """Return a climber over what screening leaves of the problem, and the features it is about.

    `check` is called between portions of its work; what it raises passes through.
    """
    d = problem.n_features
    kept = np.flatnonzero(problem.kept_features)
    if not problem.k <= len(kept) <= _WORTH_COPYING * d:
        kept = np.arange(d)
    k = min(problem.k, len(kept))
    adversary = in_units_of_samples(problem)
    costs = problem.costs
    if len(kept) < d:
        adversary = adversary.restricted_to(kept)
        costs = None if costs is None else costs[kept]
    if works_on_gram(adversary) and (problem.X is None or len(kept) <= MANY_FEATURES):
        return Climber(GramOracle(problem.gram_block(kept), adversary, costs), k), kept
    X = problem.samples("a problem of this size")
    rows = _kept_rows(problem)
    if rows is not None:
        adversary = adversary.restricted_to_samples(rows)
    if rows is not None and len(kept) < d and isinstance(X, np.ndarray):
        X = X[np.ix_(rows, kept)]  # one copy, where two steps would hold two
    else:
        X = X if rows is None else X[rows]
        X = X[:, kept] if len(kept) < d else X
    return Climber(SampleOracle(X, problem.n_samples, adversary, check, costs), k), kept


def _kept_rows(problem: Problem) -> IntArray | None:
    """Return the samples that matter, None if (nearly) all of them do."""
    if problem.adversary.gram_suffices:
        return None
    rows = np.flatnonzero(problem.kept_samples)
    return rows if 0 < len(rows) <= _WORTH_COPYING * problem.n_samples else None
