"""Directions one after the other in a metric: what the ones before leave, and what an estimator says of them."""

import sys
import time
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted, validate_data

from noap.data.arguments import as_seconds, as_sparsity
from noap.data.standardising import centre_and_scale
from noap.errors import InvalidProblem, NoapWarning
from noap.estimators.inputs import names_in
from noap.linalg.types import FloatArray
from noap.result import Result
from noap.runtime.limits import Limit
from noap.solving import NOTHING_LEFT, solve

__all__ = ["Directions", "deflated", "one_by_one", "orthonormal", "sparsity", "within_ridge"]


class Found(NamedTuple):
    """A direction, what it is worth, what none is worth more than, and why the search stopped early, if it did."""

    v: FloatArray
    value: float
    bound: float
    limit: Limit | None
    result: Any = None

    @classmethod
    def of(cls, result: Result) -> "Found":
        """Take what a Result says."""
        return cls(result.v, result.value, result.bound, result.limit, result)


def one_by_one(
    count: int, time_limit: Any, solve_next: Callable[[list[FloatArray], float | None], Found]
) -> list[Found]:
    """Return so many directions, each given those before it and an even share of the time that is left."""
    limit, started = as_seconds(time_limit), time.perf_counter()
    found: list[Found] = []
    for number in range(count):
        left = None if limit is None else max(limit - (time.perf_counter() - started), 1e-3) / (count - number)
        found.append(solve_next([one.v for one in found], left))
        if found[-1].limit is Limit.INTERRUPTED:
            break
    return found


def solved(problem: Any, model: Any, seconds: float | None) -> Found:
    """Solve a problem with the settings of an estimator."""
    with warnings.catch_warnings():
        # Said once, by the estimator.
        warnings.filterwarnings("ignore", message=NOTHING_LEFT, category=NoapWarning)
        result = solve(problem, model.method, gap=model.gap, time_limit=seconds, random_state=_seed(model.random_state))
    return Found.of(result)


def _seed(given: Any) -> Any:
    return int(given.randint(2**31 - 1)) if isinstance(given, np.random.RandomState) else given


def sparsity(name: str, k: Any, d: int) -> int:
    """Return how many features a direction may use: all of them, with a warning, where more are asked for."""
    asked = as_sparsity(k, sys.maxsize)
    if asked > d:
        warnings.warn(
            f"{name} = {asked} is more than the {d} features; {name} = {d} is used, which is no sparsity.",
            NoapWarning,
            stacklevel=4,
        )
    return min(asked, d)


def within_ridge(S: FloatArray, ridge: Any) -> FloatArray:
    """Return a covariance with a ridge on its diagonal, a share of its mean, which makes it positive definite."""
    try:
        share = float("nan") if isinstance(ridge, (bool, str)) else float(ridge)
    except (TypeError, ValueError):
        share = float("nan")
    if not 0.0 < share < float("inf"):
        raise InvalidProblem(f"ridge must be a finite number above 0, got {ridge!r}.")
    mean = float(S.diagonal().mean())
    # Where nothing varies every direction is as good as any other.
    raised: FloatArray = S + share * (mean if mean > 0 else 1.0) * np.eye(len(S))
    return (raised + raised.T) / 2.0


def orthonormal(vectors: list[FloatArray], B: FloatArray | None) -> FloatArray:
    """Return a basis Q of the span of the vectors with Q'BQ = I, one column each; B = None is I."""
    V = np.array(vectors).T
    L = np.eye(len(V)) if B is None else np.linalg.cholesky(B).T
    Q, R = np.linalg.qr(L @ V)
    kept = np.abs(R.diagonal()) > 1e-10 * np.abs(R.diagonal()).max()
    basis: FloatArray = np.linalg.solve(L, Q[:, kept])
    return basis


def deflated(M: FloatArray, vectors: list[FloatArray], B: FloatArray | None) -> FloatArray:
    """Return M(I - QQ'B): what is left of the rows once scores along the vectors are taken out."""
    if not vectors:
        return M
    Q = orthonormal(vectors, B)
    left: FloatArray = M - (M @ Q) @ (Q.T if B is None else Q.T @ B)
    return left


class Directions:
    """What the estimators of directions in a metric have in common: transform, and what is reported."""

    components_: FloatArray
    mean_: FloatArray
    scale_: FloatArray

    def transform(self: Any, X: Any) -> FloatArray:
        """Return the scores of the samples X, shape (n, d): centred and scaled as in fit, times the directions."""
        check_is_fitted(self, "components_")
        data = validate_data(self, X, reset=False, dtype=[np.float64, np.float32])
        scores: FloatArray = ((data - self.mean_) / self.scale_) @ self.components_.T
        return scores

    @property
    def _n_features_out(self) -> int:
        return len(self.components_)

    def _standardised(self: Any, data: FloatArray) -> FloatArray:
        """Centre the samples, scale them if asked, and remember how."""
        names = names_in(self)
        Z, self.mean_, self.scale_ = centre_and_scale(data, center=True, scale=self.scale, names=names)
        return np.asarray(Z, dtype=np.float64)

    def _report(self: Any, found: list[Found]) -> None:
        """Set what every fit tells of its directions, and warn of limits."""
        self.components_ = np.array([one.v for one in found])
        self.n_components_ = len(found)
        self.results_ = tuple(one.result for one in found)
        values, bounds = (np.array([getattr(one, name) for one in found]) for name in ("value", "bound"))
        self.bound_ = bounds
        with np.errstate(divide="ignore", invalid="ignore"):
            gaps = np.where(values > 0, (bounds - values) / values, np.where(bounds <= values, 0.0, np.inf))
        self.gap_ = gaps
        stopped = [c for c, one in enumerate(found) if one.limit is not None]
        if stopped and found[stopped[0]].limit is Limit.INTERRUPTED:
            warnings.warn(
                f"Interrupted: the model holds {len(found)} directions; fit again for the rest.",
                ConvergenceWarning,
                stacklevel=3,
            )
        elif stopped:
            worst = max(stopped, key=lambda c: gaps[c])
            warnings.warn(
                f"A limit left {len(stopped)} of {len(found)} directions unproved, direction {worst} with a gap of "
                f"{gaps[worst]:.2%} where {self.gap:g} was asked for; raise time_limit, or ask for a larger gap.",
                ConvergenceWarning,
                stacklevel=3,
            )
