"""Sparse Fisher discriminants that survive errors in the class means."""

import warnings
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from noap.adversaries import FeatureWise, NoAdversary
from noap.data.validation import Samples
from noap.errors import InvalidProblem, NoapWarning
from noap.estimators.directions import Directions, Found, deflated, one_by_one, solved, sparsity, within_ridge
from noap.estimators.inputs import names_in
from noap.estimators.strength import Frame, strength_of
from noap.linalg.types import FloatArray
from noap.problem import Problem

__all__ = ["RobustSparseLDA"]


# scikit-learn ships no types, so its classes are Any to mypy.
class RobustSparseLDA(Directions, ClassNamePrefixFeaturesOutMixin, ClassifierMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    r"""Sparse linear discriminants whose separation survives errors in the class means, with proof.

    With :math:`m_c` the mean of class c of the standardised data, :math:`\pi_c` its share of the samples and W the
    covariance within classes plus a ridge, the first discriminant solves

    .. math:: \max_{v^\top W v = 1,\ \|v\|_0 \le k}\ \min_{E}\ \sum_c \pi_c \bigl((m_c + e_c)^\top v\bigr)^2 ,

    where the adversary may move the means of every feature j by :math:`\sum_c \pi_c e_{cj}^2 \le noise^2`. It attacks
    the numerator: W stays as it is. Each later discriminant solves the same on what is left of the means once scores
    along the earlier ones are taken out, :math:`M (I - QQ^\top W)`; its bound is about that problem.

    Parameters
    ----------
    n_components : int, optional
        How many discriminants: at most, and by default, the number of classes less one, or of features.
    k : int
        How many features a discriminant may use.
    noise : float, array of shape (d,), dict, Series or DataFrame
        Root-mean-square error of the class means of each feature, in the units of the standardised data; 0 is nobody.
    ridge : float
        What is added to the diagonal of W, as a share of its mean; above 0.
    method : "exact" or "ascent"
        Only "exact" proves anything.
    scale : bool
        Divide by the standard deviations of the columns (ddof = 0).
    gap : float
        Relative gap to prove.
    time_limit : float or None
        Seconds for the whole fit.
    random_state : int, Generator, RandomState or None

    Attributes
    ----------
    classes_ : array, the labels
    priors_ : array of shape (n_classes,), the shares of the samples
    means_ : array of shape (n_classes, d), the standardised class means
    within_ : array of shape (d, d), W
    components_ : array of shape (n_components, d), with v'Wv = 1 and at most k non-zero entries
    separation_, bound_, gap_ : arrays of shape (n_components,)
        What the adversary leaves of the separation, the proved upper bound on that of every k-sparse direction, and
        (bound - value)/value; for later ones on the deflated means.
    results_ : tuple of Result
    mean_, scale_ : arrays of shape (d,)
    n_components_, n_features_in_ : int
    feature_names_in_ : array of str, when X has column names

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from noap import RobustSparseLDA
    >>> X, y = load_wine(return_X_y=True)
    >>> model = RobustSparseLDA(k=3, noise=0.1).fit(X, y)
    >>> (model.components_ != 0).sum(axis=1), bool((model.gap_ <= 1e-4).all())
    (array([3, 3]), True)
    >>> model.score(X, y) > 0.9
    True
    """

    def __init__(
        self,
        n_components: int | None = None,
        k: int = 5,
        noise: Any = 0.1,
        *,
        ridge: float = 1e-3,
        method: str = "exact",
        scale: bool = True,
        gap: float = 1e-4,
        time_limit: float | None = 60.0,
        random_state: int | np.random.Generator | np.random.RandomState | None = None,
    ) -> None:
        self.n_components = n_components
        self.k = k
        self.noise = noise
        self.ridge = ridge
        self.method = method
        self.scale = scale
        self.gap = gap
        self.time_limit = time_limit
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> "RobustSparseLDA":
        """Find the discriminants of the samples X, shape (n, d), with the labels y."""
        data, labels = validate_data(self, X, y, dtype=[np.float64, np.float32], ensure_min_samples=2)
        check_classification_targets(labels)
        self.classes_, members, counts = np.unique(labels, return_inverse=True, return_counts=True)
        C = len(self.classes_)
        if C < 2:
            raise InvalidProblem(f"y has {C} class, but a discriminant needs two; pass labels of at least 2 classes.")
        Z = self._standardised(data)
        n, d = Z.shape
        self.priors_ = counts / n
        self.means_ = np.array([Z[members == c].mean(axis=0) for c in range(C)])
        rest = Z - self.means_[members]
        self.within_ = within_ridge(rest.T @ rest / n, self.ridge)
        # One row for each class, so that M'M/C is the covariance between classes.
        M = np.sqrt(C * self.priors_)[:, None] * (self.means_ - self.priors_ @ self.means_)
        found = one_by_one(self._count(C, d), self.time_limit, lambda before, seconds: self._next(M, before, seconds))
        self._report(found)
        self.separation_ = np.array([one.value for one in found])
        if not self.separation_.all():
            warnings.warn(
                "The adversary can make the class means of every feature equal, and separation_ is 0; use less noise.",
                NoapWarning,
                stacklevel=2,
            )
        V = self.components_
        self._centres = self.means_ @ V.T
        self._precision = np.linalg.pinv(V @ self.within_ @ V.T, hermitian=True)
        return self

    def _count(self, C: int, d: int) -> int:
        most = min(C - 1, d)
        asked = self.n_components
        if asked is None:
            return most
        if isinstance(asked, bool) or not isinstance(asked, (int, np.integer)) or not 1 <= asked <= most:
            raise InvalidProblem(f"n_components must be an integer from 1 to {most}, or None, got {asked!r}.")
        return int(asked)

    def _next(self, M: FloatArray, before: list[FloatArray], seconds: float | None) -> Found:
        d = M.shape[1]
        frame = Frame(len(M), names_in(self), self.scale_)
        adversary = strength_of("feature", self.noise, None, frame).adversary
        assert isinstance(adversary, FeatureWise)
        left = deflated(M, before, self.within_)
        problem = Problem(
            Samples(left, names_in(self)),
            sparsity("k", self.k, d),
            NoAdversary() if adversary.is_idle else adversary,
            metric=self.within_,
        )
        return solved(problem, self, seconds)

    def _log_posterior(self, X: Any) -> FloatArray:
        """Return the log-probabilities of the classes, each a Gaussian of the covariance W along the discriminants."""
        check_is_fitted(self, "components_")
        away = self.transform(X)[:, None, :] - self._centres
        scores = np.log(self.priors_) - 0.5 * np.einsum("ncr,rs,ncs->nc", away, self._precision, away)
        top = scores.max(axis=1, keepdims=True)
        logs: FloatArray = scores - top - np.log(np.exp(scores - top).sum(axis=1, keepdims=True))
        return logs

    def predict_log_proba(self, X: Any) -> FloatArray:
        """Return the logarithms of the class probabilities of the samples X, shape (n, n_classes)."""
        return self._log_posterior(X)

    def predict_proba(self, X: Any) -> FloatArray:
        """Return the class probabilities of the samples X, shape (n, n_classes)."""
        shares: FloatArray = np.exp(self._log_posterior(X))
        return shares

    def decision_function(self, X: Any) -> FloatArray:
        """Return the log-probabilities of the classes; of two classes the log-odds of the second."""
        logs = self._log_posterior(X)
        return logs[:, 1] - logs[:, 0] if logs.shape[1] == 2 else logs

    def predict(self, X: Any) -> Any:
        """Return the most probable class of each of the samples X."""
        logs = self._log_posterior(X)
        return self.classes_[np.argmax(logs, axis=1)]
