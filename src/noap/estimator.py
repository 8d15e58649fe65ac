"""The scikit-learn estimator. The only module that imports scikit-learn's machinery."""

import dataclasses
import sys
import warnings
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_array, check_is_fitted, validate_data

from noap.adversaries import BY_KEY
from noap.adversaries.base import Adversary
from noap.data.deflation import DEFLATIONS, Covariance, Samples, adjusted_variances
from noap.data.moments import Moments
from noap.data.standardising import standardise
from noap.data.validation import as_covariance, as_share, as_sparsity, as_strength
from noap.errors import InvalidProblem, NoapWarning
from noap.linalg.types import FloatArray
from noap.metrics import gap as relative_gap
from noap.result import Result
from noap.solving import solve
from noap.sweep import KPath, k_path
from noap.ties import break_ties, lowest_tie

__all__ = ["RobustSparsePCA"]


# scikit-learn ships no types, so its classes are Any to mypy.
class RobustSparsePCA(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    r"""Sparse principal components whose variance survives the worst perturbation of the data, with proof.

    With :math:`Z = (X - \mathrm{mean})/\mathrm{scale}`, the first component solves

    .. math:: \max_{\|v\|_2 = 1,\ \|v\|_0 \le k}\ \min_{\|E\| \le \rho}\ \tfrac1n \|(Z + E) v\|_2^2,

    so the adversary acts after centring and scaling. Later components solve the same problem on what `deflation` leaves
    of Z; their values and bounds are those of that problem.

    Parameters
    ----------
    n_components : int
        At most the number of features.
    k : int
        How many features a component may use; more than there are means all of them.
    k_share : float, optional
        Use fewer than k features where little is lost: each component has the smallest number that is proved to keep
        this share of the best possible robust variance with k (:meth:`noap.KPath.choose`); 0.9 gives up a tenth at
        most. None uses all k. Needs method="exact".
    adversary : "feature", "sample" or "none"
        Moves every feature, every sample, or nothing (plain sparse PCA).
    noise : float
        How strong the adversary is. "feature": the root-mean-square error per entry of Z, rho/sqrt(n); with
        `scale=True`, 1 is everything. "sample": the largest shift of one sample's score, rho.
    rho : float, optional
        The budget itself, as the paper counts it; given, it replaces `noise`.
    method : str
        As for :func:`noap.solve`; only "exact" proves each component optimal.
    deflation : "projection" or "disjoint"
        What a component leaves to the next: the data projected off the span of the components before,
        :math:`Z(I - QQ^\top)`, or the features not used before.
    center, scale : bool
        Subtract the column means; divide by the column standard deviations (ddof = 0).
    gap : float
        Relative gap to prove.
    time_limit : float, optional
        Seconds for each component, its path over k included.
    random_state : int, Generator, RandomState or None
        None means 0: the same data give the same answer.
    options : dict, optional
        More options of the method, as for :func:`noap.solve`.

    Attributes
    ----------
    components_ : array of shape (n_components, d)
        Unit vectors, at most k non-zero entries each, the entry of largest magnitude positive.
    results_ : tuple of Result
        Per component what was found and what is proved. They hold the (deflated) data, for `attack()` needs them.
    robust_variance_, bound_, gap_ : arrays of shape (n_components,)
        Variance left by the adversary, its proved upper bound, and (bound - value)/value, on the deflated data.
    explained_variance_ : array of shape (n_components,)
        Adjusted variance: :math:`R_{jj}^2/n` of the QR decomposition of the scores, so that what two components share
        counts once. Divides by n. No adversary in it.
    explained_variance_ratio_ : array of shape (n_components,)
        The same over the total variance, the trace of :math:`Z^\top Z/n`.
    ties_ : tuple of tuples of (int, int)
        Per component the pairs (kept, tied) of features that can stand in for one another; the lower index is kept.
    k_ : array of int, shape (n_components,)
        How many features each component was allowed: k, or what `k_share` chose.
    k_paths_ : tuple of KPath
        With `k_share`, the path over k that each component was chosen from; empty without.
    mean_, scale_ : arrays of shape (d,)
    noise_, rho_ : float
        The strength of the adversary in both units.
    n_samples_seen_, n_features_in_ : int
    feature_names_in_ : array of str
        When X has column names.

    References
    ----------
    He, Wang and Yang, Sparse Principal Component Analysis with Non-Oblivious Adversarial Perturbations.
    Zou, Hastie and Tibshirani (2006), Sparse Principal Component Analysis: the adjusted variance.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from noap import RobustSparsePCA
    >>> X = load_wine().data
    >>> model = RobustSparsePCA(n_components=2, k=4, noise=0.3, scale=True, method="ascent").fit(X)
    >>> (model.components_ != 0).sum(axis=1)
    array([4, 4])
    >>> model.transform(X).shape
    (178, 2)
    """

    def __init__(
        self,
        n_components: int = 1,
        k: int = 5,
        adversary: str = "feature",
        noise: float = 0.1,
        rho: float | None = None,
        method: str = "exact",
        *,
        k_share: float | None = None,
        deflation: str = "projection",
        center: bool = True,
        scale: bool = False,
        gap: float = 1e-4,
        time_limit: float | None = None,
        random_state: int | np.random.Generator | np.random.RandomState | None = None,
        options: dict[str, Any] | None = None,
    ) -> None:
        self.n_components = n_components
        self.k = k
        self.adversary = adversary
        self.noise = noise
        self.rho = rho
        self.method = method
        self.k_share = k_share
        self.deflation = deflation
        self.center = center
        self.scale = scale
        self.gap = gap
        self.time_limit = time_limit
        self.random_state = random_state
        self.options = options

    def fit(self, X: Any, y: Any = None) -> "RobustSparsePCA":
        """Find the components of the samples X, shape (n, d); y is ignored."""
        data = self._checked(X, reset=True)
        self._moments: Moments | None = None
        Z, mean, scale = standardise(
            data, center=self.center, scale=self.scale, names=_names(getattr(self, "feature_names_in_", None))
        )
        return self._solve(Samples(Z), mean, scale)

    def partial_fit(self, X: Any, y: Any = None, solve: bool = True) -> "RobustSparsePCA":
        """Add the samples X, shape (n, d), to those seen in earlier calls, and find the components of all of them.

        Only sums are kept, so the stream may be as long as it likes; y is ignored. The first call after `fit` starts
        a new stream.

        Parameters
        ----------
        X : array-like of shape (n, d)
        y : ignored
        solve : bool
            False adds the samples and leaves the components for a later call.
        """
        self._sums_must_do("partial_fit", "use fit")
        seen = getattr(self, "_moments", None)
        data = self._checked(X, reset=seen is None)
        moments = Moments.of(data) if seen is None else seen.merged(Moments.of(data))
        self._moments = moments
        if not solve:
            return self
        S, mean, scale = moments.standardised(
            center=self.center, scale=self.scale, names=_names(getattr(self, "feature_names_in_", None))
        )
        return self._solve(Covariance(S, moments.n), mean, scale)

    def fit_covariance(self, S: Any, n_samples: int, mean: ArrayLike | None = None) -> "RobustSparsePCA":
        """Find the components from a covariance alone.

        Parameters
        ----------
        S : array-like or DataFrame of shape (d, d)
            X'X/n of the centred data (divided by n, not n - 1). `center` has nothing left to do; `scale` works.
        n_samples : int
            n, which turns `rho` into `noise` and back.
        mean : array-like of shape (d,), optional
            What `transform` subtracts; 0 by default.
        """
        self._sums_must_do("fit_covariance", "use fit with the samples")
        if isinstance(n_samples, bool) or not isinstance(n_samples, (int, np.integer)) or n_samples < 1:
            raise InvalidProblem(f"n_samples must be a positive integer, got {n_samples!r}.")
        covariance, names, *_ = as_covariance(S)
        d = len(covariance)
        offset = np.zeros(d) if mean is None else np.array(mean, dtype=np.float64)
        if offset.shape != (d,) or not np.isfinite(offset).all():
            raise InvalidProblem(f"mean must hold {d} finite numbers, one per feature.")
        self.n_features_in_ = d
        if names is not None:
            self.feature_names_in_ = np.array(names, dtype=object)
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_
        self._moments = None
        moments = Moments(int(n_samples), offset, int(n_samples) * covariance)
        scaled, _, scale = moments.standardised(center=True, scale=self.scale, names=names)
        return self._solve(Covariance(scaled, int(n_samples)), offset, scale)

    def transform(self, X: Any) -> FloatArray:
        """Return the scores, shape (n, n_components): the centred and scaled samples times the components."""
        check_is_fitted(self, "components_")
        scores: FloatArray = self._standardised(X) @ self.components_.T
        return scores

    def inverse_transform(self, X: Any) -> FloatArray:
        """Return the samples, shape (n, d), in the span of the components that have the given scores.

        The components need not be orthogonal, so this is least squares: after `transform` it is the orthogonal
        projection of the standardised samples on the span.
        """
        check_is_fitted(self, "components_")
        scores = check_array(X, dtype=np.float64)
        if scores.shape[1] != len(self.components_):
            raise InvalidProblem(f"X has {scores.shape[1]} scores per sample, expected {len(self.components_)}.")
        samples: FloatArray = (scores @ np.linalg.pinv(self.components_).T) * self.scale_ + self.mean_
        return samples

    def robust_variance(self, X: Any, noise: float | None = None) -> FloatArray:
        """Return the variance that the adversary leaves of every component on the samples X, shape (n, d).

        Parameters
        ----------
        X : array-like of shape (n, d)
            Centred and scaled by what `fit` learned, then deflated as in `fit`.
        noise : float, optional
            Another strength of the adversary; that of `fit` by default. The feature-wise budget is noise sqrt(n)
            for the n of these samples.

        Returns
        -------
        array of shape (n_components,)
        """
        check_is_fitted(self, "components_")
        data, C = Samples(self._standardised(X)), self.components_
        strength = self.noise_ if noise is None else as_strength("noise", noise)
        adversary = self._kind.with_noise(strength, data.n_samples)
        parts = [data if c == 0 else data.left(C[:c], self.deflation) for c in range(len(C))]
        return np.array([adversary.value(part.Z, v) for part, v in zip(parts, C, strict=True)])

    def score(self, X: Any, y: Any = None) -> float:
        """Return the robust variance of the samples X, shape (n, d), summed over the components.

        On the data of `fit` it is the sum of `robust_variance_`. Models of different `noise` face different
        adversaries: compare them by `robust_variance(X, noise=...)` at one noise.
        """
        return float(self.robust_variance(X).sum())

    @property
    def _n_features_out(self) -> int:
        return len(self.components_)

    def _checked(self, X: Any, reset: bool) -> FloatArray:
        data = validate_data(self, X, reset=reset, dtype=[np.float64, np.float32], ensure_all_finite="allow-nan")
        holes = np.flatnonzero(np.isnan(data.sum(axis=0, dtype=np.float64)))
        if holes.size:
            names = getattr(self, "feature_names_in_", None)
            label = repr(str(names[holes[0]])) if names is not None else str(holes[0])
            raise InvalidProblem(
                f"X contains NaN in column {label}; fill it first, for example with sklearn.impute.SimpleImputer."
            )
        checked: FloatArray = data
        return checked

    def _standardised(self, X: Any) -> FloatArray:
        standardised: FloatArray = (self._checked(X, reset=False) - self.mean_) / self.scale_
        return standardised

    def _sums_must_do(self, what: str, instead: str) -> None:
        if not self._kind.gram_suffices:
            raise InvalidProblem(
                f"{what} keeps sums over samples, but adversary={self.adversary!r} moves samples one by one; {instead}."
            )

    @property
    def _kind(self) -> type[Adversary]:
        if self.adversary not in tuple(BY_KEY):
            raise InvalidProblem(f"adversary must be one of {tuple(BY_KEY)}, got {self.adversary!r}.")
        return BY_KEY[self.adversary]

    def _strength(self, n: int) -> float:
        """Return the noise asked for, in units that do not depend on n."""
        if self.rho is None:
            return as_strength("noise", self.noise)
        rho = as_strength("rho", self.rho)
        return rho / self._kind.noise_unit(n)

    def _solve(self, data: Samples | Covariance, mean: FloatArray, scale: FloatArray) -> "RobustSparsePCA":
        d, n = len(mean), data.n_samples
        count, k = self._sizes(d)
        kind = self._kind
        if self.deflation not in DEFLATIONS:
            raise InvalidProblem(f"deflation must be one of {DEFLATIONS}, got {self.deflation!r}.")
        noise = self._strength(n)
        # The budget as given, not by way of the noise: a square root there and back costs an ulp.
        adversary = kind.with_noise(noise, n) if self.rho is None else kind.with_budget(float(self.rho))
        if self.k_share is not None and self.method != "exact":
            raise InvalidProblem(f"k_share needs method='exact', which proves what is kept, got {self.method!r}.")
        seed = self._seed()
        results: list[Result] = []
        ties: list[tuple[tuple[int, int], ...]] = []
        paths: list[KPath] = []
        part = data
        for c in range(count):
            if c:
                part = data.left(np.array([result.v for result in results]), self.deflation)
            found, tied, path = self._component(part, k, adversary, c, seed)
            results.append(found)
            ties.append(tied)
            paths += [path] if path is not None else []
        self._warn_if_nothing(results)
        self.results_, self.ties_, self.k_paths_ = tuple(results), tuple(ties), tuple(paths)
        self.k_ = np.array([result.problem.k for result in results])
        self.components_ = np.array([result.v for result in results])
        self.robust_variance_ = np.array([result.value for result in results])
        self.bound_ = np.array([result.bound for result in results])
        self.gap_ = np.array([relative_gap(result.value, result.bound) for result in results])
        self.explained_variance_ = adjusted_variances(data.products(self.components_))
        total = data.trace()
        self.explained_variance_ratio_ = self.explained_variance_ / (total if total > 0 else 1.0)
        self.mean_, self.scale_ = mean, scale
        self.noise_, self.rho_, self.n_samples_seen_ = noise, adversary.rho, n
        return self

    def _component(
        self, data: Samples | Covariance, k: int, adversary: Adversary, c: int, seed: int | np.random.Generator | None
    ) -> tuple[Result, tuple[tuple[int, int], ...], KPath | None]:
        share = None if self.k_share is None else as_share("k_share", self.k_share)
        settings = {"gap": self.gap, "time_limit": self.time_limit, "random_state": seed, **(self.options or {})}
        problem = data.problem(k, adversary)
        if c and self.deflation == "disjoint" and not problem.column_norms.any():
            raise InvalidProblem(
                f"deflation='disjoint' leaves no feature after {c} components; lower n_components or k."
            )
        with warnings.catch_warnings():
            # One warning for all components comes at the end.
            warnings.filterwarnings("ignore", message="rho = .* cancel every direction", category=NoapWarning)
            path = None if share is None else k_path(problem, **settings)
            if path is None or share is None:
                result, ties = break_ties(solve(problem, self.method, **settings))
            else:
                result = path.at(path.choose(share))
                ties = lowest_tie(result.problem, result.v)[1]  # the path has broken them
        if c:
            note = f"Value and bound are those of the data that deflation='{self.deflation}' leaves."
            result = dataclasses.replace(result, messages=(*result.messages, note))
        return result, ties, path

    def _sizes(self, d: int) -> tuple[int, int]:
        k = min(as_sparsity(self.k, sys.maxsize), d)
        count = self.n_components
        if isinstance(count, bool) or not isinstance(count, (int, np.integer)) or not 1 <= count <= d:
            raise InvalidProblem(
                f"n_components must be an integer from 1 to the number of features, {d}, got {count!r}."
            )
        return int(count), k

    def _seed(self) -> int | np.random.Generator | None:
        if isinstance(self.random_state, np.random.RandomState):
            return int(self.random_state.randint(2**31 - 1))
        return self.random_state

    def _warn_if_nothing(self, results: list[Result]) -> None:
        lost = [c for c, result in enumerate(results) if result.value == 0]
        if lost:
            warnings.warn(
                f"The adversary cancels every direction for component {lost[0]} and robust_variance_ is 0 there; "
                "use a smaller noise (or rho), or fewer components.",
                NoapWarning,
                stacklevel=4,
            )


def _names(names: Any) -> tuple[str, ...] | None:
    return None if names is None else tuple(str(name) for name in names)
