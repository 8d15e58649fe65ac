"""Sparse canonical correlation that survives errors in both views."""

import warnings
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_array, check_is_fitted, check_X_y, validate_data

from noap.adversaries import FeatureWise, NoAdversary
from noap.data.arguments import as_strength
from noap.data.groups import Groups
from noap.data.metric import length
from noap.data.standardising import centre_and_scale
from noap.data.validation import Symmetric
from noap.errors import InvalidProblem
from noap.estimators.directions import Directions, Found, deflated, one_by_one, sparsity, within_ridge
from noap.exact.generalised.pencils import best_in_groups
from noap.linalg.outward import definite_shift
from noap.linalg.types import FloatArray
from noap.problem import Problem
from noap.runtime.controls import Controls

__all__ = ["RobustSparseCCA"]


# scikit-learn ships no types, so its classes are Any to mypy.
class RobustSparseCCA(Directions, ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    r"""Sparse directions of two views whose correlation survives errors in every feature, with proof.

    With standardised views X and Y, covariances :math:`C_{xx}`, :math:`C_{yy}` (with a ridge) and :math:`C_{xy}`, let B
    have the blocks :math:`C_{xx}` and :math:`C_{yy}`, and A have :math:`C_{xy}` beside them: for :math:`v = (a, b)`
    the largest :math:`v^\top A v/v^\top B v` is one plus the canonical correlation. The first pair solves

    .. math:: \max_{v^\top B v = 1,\ \|a\|_0 \le k_x,\ \|b\|_0 \le k_y}\ \Bigl(\sqrt{v^\top A v} - noise\,\|v\|_1
        \Bigr)_+^2 - 1 ,

    where the first term is the least that is left of :math:`\tfrac1n\|(Z + E)v\|^2`, Z the two views side by side, when
    every column of E has length at most :math:`noise\sqrt n`: the adversary moves every feature of both views. B, what
    the scores are measured by, stays as it is. Without noise this is the canonical correlation. Each later pair solves
    the same once scores along the earlier ones are taken out of both views.

    Parameters
    ----------
    n_components : int
    kx, ky : int
        How many features of either view a pair may use.
    noise : float
        Root-mean-square error of every feature, in standard deviations; 0 is nobody.
    ridge : float
        What is added to the diagonals of the covariances within views, as a share of their means; above 0.
    method : "exact" or "ascent"
        Only "exact" proves anything.
    gap : float
        Relative gap of the correlation to prove.
    time_limit : float or None
        Seconds for the whole fit.
    random_state : int, Generator, RandomState or None

    Attributes
    ----------
    x_weights_, y_weights_ : arrays of shape (n_components, dx) and (n_components, dy)
        For standardised views; each score has variance 1, ridge included.
    correlation_ : array of shape (n_components,)
        The correlation of the scores, ridge included, before the adversary; on what the earlier pairs leave.
    robust_correlation_, bound_, gap_ : arrays of shape (n_components,)
        The objective at the best v, its proved upper bound over all supports of kx and ky features, and the relative
        gap. With noise the two halves of v may differ in length, and an objective below 0 says that nothing is left.
    results_ : tuple of Result
        Of the problems with metric and groups, whose optimum is one more; each has a certificate.
    components_ : array of shape (n_components, dx), the x weights
    x_mean_, x_scale_, y_mean_, y_scale_ : arrays
    n_components_, n_features_in_ : int

    Examples
    --------
    >>> from sklearn.datasets import load_linnerud
    >>> from noap import RobustSparseCCA
    >>> X, Y = load_linnerud(return_X_y=True)
    >>> model = RobustSparseCCA(kx=2, ky=1, noise=0.0).fit(X, Y)
    >>> round(float(model.correlation_[0]), 2), bool(model.gap_[0] <= 1e-4)
    (0.72, True)
    """

    def __init__(
        self,
        n_components: int = 1,
        kx: int = 3,
        ky: int = 3,
        noise: float = 0.05,
        *,
        ridge: float = 1e-3,
        method: str = "exact",
        gap: float = 1e-4,
        time_limit: float | None = 60.0,
        random_state: int | np.random.Generator | np.random.RandomState | None = None,
    ) -> None:
        self.n_components = n_components
        self.kx = kx
        self.ky = ky
        self.noise = noise
        self.ridge = ridge
        self.method = method
        self.gap = gap
        self.time_limit = time_limit
        self.random_state = random_state

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.target_tags.multi_output = True
        return tags

    def fit(self, X: Any, y: Any) -> "RobustSparseCCA":
        """Find pairs of directions of the views X, shape (n, dx), and y, shape (n, dy)."""
        first, second = validate_data(
            self, X, y, dtype=np.float64, multi_output=True, y_numeric=True, ensure_min_samples=2
        )
        views = [first, _as_view(second)]
        if self.method not in ("exact", "ascent"):
            raise InvalidProblem(f"method must be 'exact' or 'ascent', got {self.method!r}.")
        dx, dy = (view.shape[1] for view in views)
        Zx, self.x_mean_, self.x_scale_ = centre_and_scale(views[0], center=True, scale=True, names=None)
        Zy, self.y_mean_, self.y_scale_ = centre_and_scale(views[1], center=True, scale=True, names=None)
        self.mean_, self.scale_ = self.x_mean_, self.x_scale_
        sizes = (sparsity("kx", self.kx, dx), sparsity("ky", self.ky, dy))
        asked = self.n_components
        if isinstance(asked, bool) or not isinstance(asked, (int, np.integer)) or not 1 <= asked <= min(dx, dy):
            raise InvalidProblem(f"n_components must be an integer from 1 to {min(dx, dy)}, got {asked!r}.")
        noise = as_strength("noise", self.noise)
        Bx, By = (within_ridge(Z.T @ Z / len(Z), self.ridge) for Z in (Zx, Zy))
        pairs: list[tuple[FloatArray, FloatArray]] = []

        def following(before: list[FloatArray], seconds: float | None) -> Found:
            left = (deflated(Zx, [a for a, _ in pairs], Bx), deflated(Zy, [b for _, b in pairs], By))
            found = self._next(left, (Bx, By), sizes, noise, seconds)
            pairs.append((_unit(found.v[:dx], Bx), _unit(found.v[dx:], By)))
            return found

        found = one_by_one(int(asked), self.time_limit, following)
        self._report(found)
        self.robust_correlation_ = np.array([one.value for one in found])
        self.x_weights_ = self.components_ = np.array([a for a, _ in pairs])
        self.y_weights_ = np.array([b for _, b in pairs])
        self.correlation_ = np.array(
            [
                float(
                    a
                    @ (deflated(Zx, [p for p, _ in pairs[:c]], Bx).T @ deflated(Zy, [q for _, q in pairs[:c]], By))
                    @ b
                )
                / len(Zx)
                for c, (a, b) in enumerate(pairs)
            ]
        )
        return self

    def _next(
        self,
        views: tuple[FloatArray, FloatArray],
        metrics: tuple[FloatArray, FloatArray],
        sizes: tuple[int, int],
        noise: float,
        seconds: float | None,
    ) -> Found:
        n, dx, dy = len(views[0]), views[0].shape[1], views[1].shape[1]
        B = np.zeros((dx + dy, dx + dy))
        B[:dx, :dx], B[dx:, dx:] = metrics
        A = B.copy()
        A[:dx, dx:] = views[0].T @ views[1] / n
        A[dx:, :dx] = A[:dx, dx:].T
        adversary = FeatureWise(noise * np.sqrt(n)) if noise > 0 else NoAdversary()
        A.flags.writeable = False
        known = Symmetric(A, None, definite_shift(A), False)
        groups = Groups(np.repeat([0, 1], [dx, dy]), sizes)
        problem = Problem._of_symmetric(known, n, sum(sizes), adversary, None, B, groups)
        controls = Controls.checked(self.gap, seconds, _seed(self.random_state), False)
        result = best_in_groups(problem, controls, exact=self.method == "exact", less=1.0)
        bound = result.bound - 1.0
        # Rounded up where the difference is not exact.
        bound = bound if bound + 1.0 >= result.bound else float(np.nextafter(bound, np.inf))
        return Found(result.v, result.value - 1.0, bound, result.limit, result)

    def transform(self, X: Any, y: Any = None) -> Any:
        """Return the scores of the samples X, and those of y beside them where it is given."""
        scores = super().transform(X)
        if y is None:
            return scores
        other = _as_view(check_array(y, dtype=np.float64, ensure_2d=False))
        if other.shape[1] != len(self.y_mean_):
            raise InvalidProblem(f"y has {other.shape[1]} features, but {len(self.y_mean_)} were fitted.")
        return scores, ((other - self.y_mean_) / self.y_scale_) @ self.y_weights_.T

    def fit_transform(self, X: Any, y: Any) -> FloatArray:
        """Fit, and return the scores of X."""
        scores: FloatArray = self.fit(X, y).transform(X)
        return scores

    def score(self, X: Any, y: Any) -> float:
        """Return the mean correlation between the scores of X and of y, on these samples."""
        check_is_fitted(self, "x_weights_")
        first, second = check_X_y(X, y, multi_output=True, y_numeric=True)
        a, b = self.transform(first, second)
        with np.errstate(invalid="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # a constant score correlates with nothing
            correlations = [np.corrcoef(a[:, c], b[:, c])[0, 1] for c in range(self.n_components_)]
        return float(np.mean(np.nan_to_num(correlations)))


def _as_view(y: Any) -> FloatArray:
    view = np.asarray(y, dtype=np.float64)
    return view[:, None] if view.ndim == 1 else view


def _unit(v: FloatArray, B: FloatArray) -> FloatArray:
    """Return v with v'Bv = 1; the first coordinate vector where it is 0, for a half that the other outweighs."""
    size = length(B, v)
    if size > 0:
        return v / size
    first: FloatArray = np.eye(1, len(v))[0]
    return first / length(B, first)


def _seed(given: Any) -> Any:
    return int(given.randint(2**31 - 1)) if isinstance(given, np.random.RandomState) else given
