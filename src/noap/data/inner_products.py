"""Inner products of the features of a problem: all of them, or no more than are asked for."""

from typing import TYPE_CHECKING

import numpy as np

from noap.linalg import products
from noap.linalg.types import FloatArray, IntArray

if TYPE_CHECKING:
    from noap.problem import Problem

__all__ = ["block", "columns", "covariance", "lengths", "lifted"]


def covariance(problem: "Problem") -> FloatArray:
    r"""Return :math:`S = X^\top X/n` of the samples, d x d."""
    S: FloatArray = products.gram(problem.samples("Problem.covariance")) / problem.n_samples
    S.flags.writeable = False
    return S


def lifted(problem: "Problem") -> FloatArray:
    """Return S + cI, where c is the `lift` of the problem."""
    raised: FloatArray = problem.covariance + problem.lift * np.eye(problem.n_features)
    raised.flags.writeable = False
    return raised


def columns(problem: "Problem", features: IntArray) -> FloatArray:
    """Return the d x m columns of S that belong to the features."""
    if _has_all(problem):
        return problem.covariance[:, features]
    some: FloatArray = problem.samples("columns").T @ products.columns(problem.X, features) / problem.n_samples
    return some


def block(problem: "Problem", features: IntArray) -> FloatArray:
    """Return the m x m block of S + cI on the features, where c is the `lift` of the problem."""
    if len(features) == problem.n_features:
        return problem.gram
    if _has_all(problem):
        part: FloatArray = problem.gram[np.ix_(features, features)]
        return part
    return products.gram(problem.samples("block")[:, features]) / problem.n_samples


def lengths(problem: "Problem") -> FloatArray:
    r"""Return the norms :math:`\|a_j\|` of the columns of X, or what they are by the diagonal of S + cI."""
    if problem.X is not None:
        return products.column_norms(problem.X)
    squares = np.maximum(np.diag(problem.covariance) + problem.lift, 0.0)
    from_diagonal: FloatArray = np.sqrt(problem.n_samples * squares)
    return from_diagonal


def _has_all(problem: "Problem") -> bool:
    """Whether S was given, or has been computed before."""
    return problem.X is None or "covariance" in problem.__dict__
