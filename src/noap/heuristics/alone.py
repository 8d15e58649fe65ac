"""The single feature that is worth most: the one start that is never cancelled while the optimum is positive."""

import numpy as np

from noap.heuristics.starts import strengths
from noap.linalg.types import FloatArray
from noap.problem import Problem

__all__ = ["strongest_alone"]


def strongest_alone(problem: Problem) -> FloatArray:
    """Return the coordinate vector of the feature that is worth most alone; 0 where none is worth its cost.

    >>> import noap
    >>> X = [[3.0, 0.0], [4.0, 1.0]]
    >>> strongest_alone(noap.Problem(X, k=1, adversary=noap.FeatureWise([4.5, 0.0])))
    array([0., 1.])
    """
    with np.errstate(over="ignore"):  # what overflows is more than any feature is worth
        costs = None if problem.costs is None else problem.n_samples * problem.costs
    alone = strengths(problem.adversary, problem.column_norms, costs)
    v: FloatArray = np.zeros(problem.n_features)
    best = int(np.argmax(alone))
    if problem.costs is None or alone[best] > 0:
        v[best] = 1.0
    return v
