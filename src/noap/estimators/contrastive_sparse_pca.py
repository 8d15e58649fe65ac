"""Sparse directions with much variance in the foreground and little in the background."""

import math
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import validate_data

from noap.adversaries import NoAdversary
from noap.adversaries.base import Adversary
from noap.data.arguments import as_strength
from noap.data.standardising import centre_and_scale
from noap.data.validation import Samples
from noap.errors import InvalidProblem
from noap.estimators.directions import Directions, Found, deflated, one_by_one, solved, sparsity
from noap.estimators.inputs import names_in
from noap.estimators.strength import Frame, strength_of
from noap.linalg.outward import up
from noap.linalg.types import FloatArray
from noap.problem import Problem
from noap.runtime.limits import Limit

__all__ = ["ContrastiveSparsePCA"]

# Thresholds that are tried against an adversary: each but the last found a better direction.
_TRIES = 12
# Where nothing is worth anything a contrast is shown not to exceed this share of the largest variance.
_NOTHING = 1e-6


# scikit-learn ships no types, so its classes are Any to mypy.
class ContrastiveSparsePCA(Directions, ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    r"""Sparse directions whose variance stands out from that of a background, with proof.

    With Z the centred foreground (n samples) and S the covariance of the background, the first direction solves

    .. math:: \max_{\|v\|_2 = 1,\ \|v\|_0 \le k}\ \min_E\ \tfrac1n \|(Z + E) v\|_2^2 - \alpha\,v^\top S v ,

    where every column of E has length at most :math:`noise \sqrt n`: the adversary attacks the foreground, and the
    background stays as it is. Each later direction solves the same once both are projected off the earlier ones.

    Parameters
    ----------
    n_components : int
    k : int
        How many features a direction may use.
    alpha : float
        What the background counts, at least 0.
    noise : float, array of shape (d,), dict, Series or DataFrame
        Root-mean-square error per entry of the foreground; 0 is nobody.
    method : "exact" or "ascent"
        Only "exact" proves anything.
    scale : bool
        Divide foreground and background by the standard deviations of the foreground.
    gap : float
        Relative gap to prove.
    time_limit : float or None
        Seconds for the whole fit.
    random_state : int, Generator, RandomState or None

    Attributes
    ----------
    components_ : array of shape (n_components, d), unit vectors with at most k non-zero entries
    contrast_, bound_, gap_ : arrays of shape (n_components,)
        The objective, which may be negative, its proved upper bound, and (bound - contrast)/contrast.
    results_ : tuple of Result
        Without noise of the problem :math:`Z^\top Z/n - \alpha S + cI` with `shift_` c; with noise of that with the
        metric :math:`\alpha S + TI`, T the bound, whose optimum is at most 1.
    shift_ : array of shape (n_components,)
    mean_, scale_, background_mean_ : arrays of shape (d,)
    n_components_, n_features_in_ : int

    References
    ----------
    Abid, Zhang, Bagaria and Zou (2018), Exploring patterns enriched in a dataset with contrastive PCA.

    Examples
    --------
    >>> import numpy as np
    >>> from noap import ContrastiveSparsePCA
    >>> rng = np.random.default_rng(0)
    >>> common = np.array([5.0, 5.0, 1.0, 1.0, 1.0])
    >>> X, Y = rng.standard_normal((200, 5)) * common, rng.standard_normal((200, 5)) * common
    >>> X[:, 2] += 2.0 * rng.standard_normal(200)
    >>> model = ContrastiveSparsePCA(k=1, alpha=2.0).fit(X, background=Y)
    >>> np.flatnonzero(model.components_[0])
    array([2])
    """

    def __init__(
        self,
        n_components: int = 1,
        k: int = 5,
        alpha: float = 1.0,
        noise: Any = 0.0,
        *,
        method: str = "exact",
        scale: bool = False,
        gap: float = 1e-4,
        time_limit: float | None = 60.0,
        random_state: int | np.random.Generator | np.random.RandomState | None = None,
    ) -> None:
        self.n_components = n_components
        self.k = k
        self.alpha = alpha
        self.noise = noise
        self.method = method
        self.scale = scale
        self.gap = gap
        self.time_limit = time_limit
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None, background: Any = None) -> "ContrastiveSparsePCA":
        """Find the directions of the foreground X, shape (n, d), against the background, shape (m, d).

        Without a background there is nothing to contrast with: plain sparse PCA. y is ignored.
        """
        Z = self._standardised(validate_data(self, X, dtype=[np.float64, np.float32], ensure_min_samples=2))
        d = Z.shape[1]
        alpha = as_strength("alpha", self.alpha)
        Y = np.zeros((1, d))
        self.background_mean_: FloatArray = np.zeros(d)
        if background is not None:
            data = validate_data(self, background, reset=False, dtype=[np.float64, np.float32])
            centred, self.background_mean_, _ = centre_and_scale(data, center=True, scale=False, names=names_in(self))
            Y = math.sqrt(alpha / len(centred)) * (np.asarray(centred, dtype=np.float64) / self.scale_)
        found = one_by_one(self._count(d), self.time_limit, lambda before, seconds: self._next(Z, Y, before, seconds))
        self._report([one for one, _ in self._pairs(found)])
        self.shift_ = np.array([shift for _, shift in self._pairs(found)])
        self.contrast_ = np.array([one.value for one, _ in self._pairs(found)])
        return self

    @staticmethod
    def _pairs(found: list[Found]) -> list[tuple[Found, float]]:
        return [(one._replace(result=one.result[0]), one.result[1]) for one in found]

    def _count(self, d: int) -> int:
        asked = self.n_components
        if isinstance(asked, bool) or not isinstance(asked, (int, np.integer)) or not 1 <= asked <= d:
            raise InvalidProblem(f"n_components must be an integer from 1 to {d}, got {asked!r}.")
        return int(asked)

    def _next(self, Z: FloatArray, Y: FloatArray, before: list[FloatArray], seconds: float | None) -> Found:
        left, other = deflated(Z, before, None), deflated(Y, before, None)
        frame = Frame(len(Z), names_in(self), self.scale_)
        adversary: Adversary = strength_of("feature", self.noise, None, frame).adversary
        k, S = sparsity("k", self.k, Z.shape[1]), other.T @ other
        if not adversary.is_idle and S.any():
            return _Attacked(self, Samples(left, names_in(self)), S, k, adversary).found(seconds)
        if not adversary.is_idle:
            plain = solved(Problem(Samples(left, names_in(self)), k, adversary), self, seconds)
            return plain._replace(result=(plain.result, 0.0))
        return self._without_adversary(left.T @ left / len(Z) - S, len(Z), k, seconds)

    def _without_adversary(self, form: FloatArray, n: int, k: int, seconds: float | None) -> Found:
        # v'(S + cI)v = v'Sv + c: with c something is worth more than nothing.
        top, size = float(form.diagonal().max()), float(np.abs(form).max())
        shift = 0.0 if top > 0 else size - top
        raised = (form + form.T) / 2.0 + shift * np.eye(len(form))
        problem = Problem.from_covariance(
            raised, n_samples=n, k=k, adversary=NoAdversary(), feature_names=names_in(self)
        )
        one = solved(problem, self, seconds)
        # Adding c to the diagonal and taking it off again are two roundings.
        error = 4e-16 * (abs(one.bound) + size + shift) if shift > 0 else 0.0
        return Found(one.v, one.value - shift, one.bound - shift + error, one.limit, (one.result, shift))


class _Attacked:
    r"""The contrast against an adversary, by problems with a metric.

    For :math:`T > 0` no k-sparse unit v has :math:`(\|Zv\| - \sum_j \rho_j |v_j|)_+^2/n - v^\top S v > T` if and only
    if the problem with the metric :math:`S + TI` has an optimum of at most 1; and where its optimum is at most b > 1,
    the contrast is at most :math:`bT + (b - 1)\,\lambda_{\max}(S)`.
    """

    def __init__(self, model: Any, samples: Samples, S: FloatArray, k: int, adversary: Adversary) -> None:
        self.model, self.S, self.k = model, S, k
        self.plain = Problem(samples, k, adversary)

    def contrast(self, v: FloatArray) -> float:
        """Return the objective of the direction of v."""
        unit = v / np.linalg.norm(v)
        return self.plain.robust_variance(unit) - float(unit @ self.S @ unit)

    def found(self, seconds: float | None) -> Found:
        """Return the best direction, and a bound."""
        tiny = _NOTHING * max(self.plain.scale, 1e-300)
        gap, limit, bound, result = self.model.gap, None, math.inf, None
        best = solved(self.plain, self._settings("ascent", gap), seconds).v
        until = None if seconds is None else seconds / 2
        for _ in range(_TRIES):
            value = self.contrast(best)
            T = max(value * (1.0 + 0.9 * gap), tiny)
            problem = self.plain.with_metric(self.S + T * np.eye(len(self.S)))
            start = value + float(best @ self.S @ best) / float(best @ best)
            ratio = max(start, 0.0) / (start - value + T)
            asked = 0.99 * (1.0 / ratio - 1.0) if ratio > 0.5 else 1.0
            one = solved(problem, self._settings(self.model.method, min(asked, 1.0)), until)
            better = self.contrast(one.v) > value + 1e-12 * abs(value)
            if better:
                best = one.v
            if one.bound < math.inf:
                reach = up(float(np.abs(self.S).sum(axis=1).max()), len(self.S))
                new = T if one.bound <= 1.0 else up(up(one.bound * T) + up((one.bound - 1.0) * reach))
                new = up(new + 4e-16 * max(one.bound, 1.0) * (reach + T))  # the sum S + TI is rounded
                if new < bound:
                    bound, result = new, one.result
            limit = one.limit if bound > max(value * (1.0 + gap), tiny) else None
            if not better or (limit is not None and limit is not Limit.TIME):
                break
        unit = best / np.linalg.norm(best)
        return Found(unit, self.contrast(unit), bound, limit, (result or one.result, 0.0))

    def _settings(self, method: str, gap: float) -> Any:
        return _Settings(method, gap, self.model.random_state)


class _Settings:
    def __init__(self, method: str, gap: float, random_state: Any) -> None:
        self.method, self.gap, self.random_state = method, gap, random_state
