"""The scikit-learn estimator of robust sparse components."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import _check_sample_weight

from noap.adversaries import SampleWise
from noap.adversaries.base import Adversary
from noap.data.deflation import Covariance, Samples, adjusted_variances, span_variances
from noap.data.implicit import centred
from noap.data.moments import Moments
from noap.data.scales import warn_of_scales
from noap.data.standardising import centre_and_scale, scale_sparse
from noap.data.validation import as_covariance
from noap.errors import InvalidProblem
from noap.estimators.fitting import fit_components
from noap.estimators.from_sums import from_sums
from noap.estimators.inputs import checked_samples, fill, filling_of, is_sparse, missing_counts, names_in
from noap.estimators.projecting import ProjectionMixin
from noap.estimators.recipe import recipe_of
from noap.estimators.searches import end_search, require_search_goes_on
from noap.estimators.span_model import SpanModel
from noap.estimators.strength import Frame, costs_of, kind_of, strength_of, widened
from noap.estimators.together import fit_together
from noap.estimators.warning import warn_of
from noap.linalg.memory import MANY_FEATURES
from noap.linalg.types import Data, FloatArray
from noap.metrics import gap as relative_gap

__all__ = ["RobustSparsePCA"]


# scikit-learn ships no types, so its classes are Any to mypy.
class RobustSparsePCA(ClassNamePrefixFeaturesOutMixin, TransformerMixin, ProjectionMixin, BaseEstimator):  # type: ignore[misc]
    r"""Sparse principal components whose variance survives the worst perturbation of the data, with proof.

    With :math:`Z = (X - \mathrm{mean})/\mathrm{scale}`, the first component solves

    .. math:: \max_{\|v\|_2 = 1,\ \|v\|_0 \le k}\ \min_{\|E\| \le \rho}\ \tfrac1n \|(Z + E) v\|_2^2,

    so the adversary acts after centring and scaling. Later components solve the same problem on what `deflation` leaves
    of Z, or among the directions that it leaves; their values and bounds are those of that problem. With `joint`,
    components with disjoint supports are chosen together instead, so that their robust variances add up to the most.

    Parameters
    ----------
    n_components : int, float or None
        How many components, at most the number of features; a share between 0 and 1: as many as explain that share of
        the total variance by their span (`span_variance_ratio_`); None: as many as the adversary leaves any variance,
        at most min(n, d).
    k : int or list of int
        How many features a component may use; more than there are means all of them, with a warning. A list has one
        entry for each component, and says how many there are.
    k_share : float, optional
        Use fewer than k features where little is lost: each component has the smallest number that is proved to keep
        this share of the best possible robust variance with k (:meth:`noap.KPath.choose`); 0.9 gives up a tenth at
        most. None uses all k. Needs method="exact".
    adversary : "feature", "sample", "spectral", "entry", "none" or an object
        Moves every feature, every sample, the table as a whole, every entry, or nothing (plain sparse PCA). An object
        such as ``noap.FeatureWise(2.0)`` brings its own budget, and `noise` does not count.
    noise : float, array of shape (d,), dict, Series or one-row DataFrame
        How strong the adversary is. "feature": the root-mean-square error per entry of Z, rho/sqrt(n); with
        `scale=True`, 1 is everything. A number for all features, an array with one for each, or one for each by name,
        as a dict, a pandas Series or a DataFrame of one row; 0 means an exact feature, infinity one that is not to be
        trusted at all. "sample": the largest shift of one sample's score, rho; a number, or an array of shape (n,).
        "spectral": the largest root mean square shift of the scores, rho/sqrt(n). "entry": the largest error of an
        entry of Z.
    rho : float, array, dict, Series or DataFrame, optional
        The budget itself, as the paper counts it; given, it replaces `noise`.
    method : str
        As for :func:`noap.solve`; only "exact" proves each component optimal.
    deflation : "projection", "disjoint", "orthogonal" or "uncorrelated"
        What a component leaves to the next: the data projected off the span of the components before,
        :math:`Z(I - QQ^\top)`; the features not used before, see `joint`; all directions orthogonal to the components
        before; or all whose scores are uncorrelated with theirs. The last two leave the data as they are, and each
        bound is about every such direction, to 1e-8, given the components before: for "feature", "spectral" and
        "none", and method "exact", "relaxation" or "ascent".
    center, scale : bool
        Subtract the column means; divide by the column standard deviations (ddof = 0). Without scaling a
        :class:`noap.errors.ScaleWarning` names the extremes where the norms of columns differ by more than a factor of
        10: pass scale=True unless all features have one unit.
    gap : float
        Relative gap to prove.
    time_limit : float or None
        Seconds for the whole fit, 60 unless you say so: each component has an even share of what is left. One that is
        not proved to the gap by then is the best so far, with the bound so far and a ConvergenceWarning; so it is with
        Ctrl-C, which ends the whole fit. None is no limit.
    random_state : int, Generator, RandomState or None
        None means 0: the same data give the same answer.
    options : dict, optional
        More options of the method, as for :func:`noap.solve`.
    missing : "error" or "impute"
        What NaN in X does: raise an error, or be filled with the mean of its column, here and in `transform`. What was
        filled is off by the standard deviation s_j of its column, in root mean square, if what is missing is like what
        is there: the feature-wise budget of a feature with m filled entries is :math:`\sqrt{\rho_j^2 + m s_j^2}`. The
        other adversaries know nothing of it: `missing_share_` says how much it is.
    verbose : bool or int
        Above 0, say what is found as it is found, on stderr.
    n_jobs : int, optional
        Processes (-1 for all cores) that prove several components side by side, for method="exact" without `k_share`
        and a given number of components. The answer is the same, up to rounding and what the time limit allows.
    costs : array of shape (d,), dict, Series or one-row DataFrame, optional
        What it costs to use each feature, in the units of the robust variance, by position or by name: a component is
        worth its robust variance less what its features cost, and one that is worth nothing is 0. Each component pays
        for its own. For "feature" and "none".
    noise_units : "standardised" or "data"
        What `noise` counts in: the units of Z, or those of X, which are divided by `scale_`. Without scaling they are
        the same. For "feature".
    joint : "auto", True or False
        True: components are chosen together, with disjoint supports, so that the sum of their robust variances (less
        costs) is the largest, which one bound proves (:func:`noap.solve_components`); they come largest first, and
        neither `deflation` nor `n_jobs` has anything to do. There may be fewer than asked for, where no further one is
        worth anything. For a number of components, "feature", "none" and "sample" (each component attacked by itself),
        method="exact" without `k_share`, and at most 10,000 features. False: one after the other, each the best of what
        `deflation` leaves. "auto": together with deflation="disjoint", where that is possible, for "feature" and
        "none" and at most 2,000 features.
    keep_data : bool
        Whether `results_` keep the samples that they are about, and a pickle of the model with them. Without them
        ``results_[0].attack(Z)`` takes the standardised data, and :func:`noap.verify` a Problem made of them.

    Attributes
    ----------
    components_ : array of shape (n_components, d)
        Unit vectors, at most k non-zero entries each, the entry of largest magnitude positive; 0 where no feature is
        worth its cost.
    features_ : tuple of arrays
        Per component the features that it uses, the largest loading first: names, or positions where X has none.
    n_components_ : int
        How many there are: fewer than asked for after Ctrl-C, or where those chosen together are all that is worth
        anything.
    results_ : tuple of Result
        Per component what was found and what is proved, with its certificate; without the samples unless `keep_data`.
    robust_variance_, bound_, gap_ : arrays of shape (n_components,)
        Variance left by the adversary, its proved upper bound, and (bound - value)/value, on the deflated data. With
        `costs` the last two are about `objective_`. Of components that were chosen together they are on the data
        without the features of the others, so that a bound is what one can be worth at most while the others stay.
    joint_result_ : JointResult or None
        Where components were chosen together: what all of them are worth, the proved bound on that, and the
        certificate. None where they were found one after the other.
    joint_gap_ : float or None
        By how much, relatively, any other disjoint components may be worth more.
    objective_ : array of shape (n_components,)
        `robust_variance_` less what the features of each component cost.
    explained_variance_ : array of shape (n_components,)
        Adjusted variance: :math:`R_{jj}^2/n` of the QR decomposition of the scores, so that what two components share
        counts once. Divides by n. No adversary in it.
    explained_variance_ratio_ : array of shape (n_components,)
        The same over the total variance, the trace of :math:`Z^\top Z/n`.
    span_variance_ratio_ : array of shape (n_components,)
        Cumulative: the share of the total variance on the span of the first component, the first two, and so on. It is
        what `inverse_transform` gives back of the samples, :math:`1 - \|Z - ZQQ^\top\|^2/\|Z\|^2`.
    total_variance_ : float
    singular_values_ : array of shape (n_components,)
        :math:`|R_{jj}|`, the lengths of the scores, what two share counted once; its square is n times the
        `explained_variance_`.
    noise_variance_ : float
        Mean variance of the standardised data off the span of the components.
    ties_ : tuple of tuples of (int, int)
        Per component the pairs (kept, tied) of features that can stand in for one another; the lower index is kept.
    k_ : array of int, shape (n_components,)
        How many features each component was allowed: k, or what `k_share` chose.
    k_paths_ : tuple of KPath
        With `k_share`, the path over k that each component was chosen from; empty without.
    mean_, scale_ : arrays of shape (d,)
    noise_, rho_ : float or array of shape (d,)
        The strength of the adversary in both units, those of Z; one for each feature (or sample) where they differ.
    costs_ : array of shape (d,) or None
    fill_values_, missing_share_ : arrays of shape (d,)
        With missing="impute": what stands for NaN, and the share of every column that was missing.
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
        n_components: int | float | None = 1,
        k: Any = 5,
        adversary: str | Adversary = "feature",
        noise: Any = 0.1,
        rho: Any = None,
        method: str = "exact",
        *,
        k_share: float | None = None,
        deflation: str = "projection",
        center: bool = True,
        scale: bool = False,
        gap: float = 1e-4,
        time_limit: float | None = 60.0,
        random_state: int | np.random.Generator | np.random.RandomState | None = None,
        options: dict[str, Any] | None = None,
        missing: str = "error",
        verbose: int = 0,
        n_jobs: int | None = None,
        costs: Any = None,
        noise_units: str = "standardised",
        joint: bool | str = "auto",
        keep_data: bool = False,
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
        self.missing = missing
        self.verbose = verbose
        self.n_jobs = n_jobs
        self.costs = costs
        self.noise_units = noise_units
        self.joint = joint
        self.keep_data = keep_data

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> "RobustSparsePCA":
        """Find the components of the samples X, shape (n, d); y is ignored.

        With `sample_weight`, n numbers of at least 0, a sample of weight 2 counts as two: in means, scales, variances
        and noise. They are divided by their mean, so that rho = noise sqrt(n). For all adversaries but "entry".

        A sparse X is not filled: its columns are centred through their sums, and the components are those of the
        covariance, or, with more than 2,000 features, of samples that are centred when they are looked at; without
        centring X is used as it is. The sample-wise adversary takes a sparse X without centring only. An X of more than
        256 MB in a file (numpy.memmap) stays there, and a Dask array is read once.
        """
        require_search_goes_on()
        data = self._filled(self._checked(X, reset=True))
        self._moments: Moments | None = None
        names = names_in(self)
        if sample_weight is not None:
            return self._fit_weighted(data, sample_weight, names)
        if not is_sparse(data):
            Z, mean, scale = centre_and_scale(data, center=self.center, scale=self.scale, names=names)
            return self._solve(Samples(Z, names), mean, scale)
        if not self.center:
            Z, scale = scale_sparse(data, scale=self.scale)
            return self._solve(Samples(Z, names), np.zeros(len(scale)), scale)
        if not kind_of(self.adversary).gram_suffices:
            raise InvalidProblem(
                f"X is sparse, and adversary={self.adversary!r} moves samples one by one, which centring fills; pass "
                "X.toarray(), or center=False."
            )
        if data.shape[1] > MANY_FEATURES:
            implicit = centred(data, scale=self.scale, names=names)
            scale = np.where(np.isinf(implicit.scale), 1.0, implicit.scale)
            return self._solve(Samples(implicit, names), implicit.mean, scale)
        moments = Moments.of(data)
        S, mean, scale = moments.standardised(center=True, scale=self.scale, names=names)
        return self._solve(Covariance(S, moments.n, names), mean, scale)

    def _fit_weighted(self, data: Data, sample_weight: Any, names: tuple[str, ...] | None) -> "RobustSparsePCA":
        kind = kind_of(self.adversary)
        dense = isinstance(data, np.ndarray)
        imputed = self.missing == "impute" and self.missing_share_.any()
        if imputed:
            raise InvalidProblem("sample_weight needs X with no entry missing; leave it out.")
        if not kind.gram_suffices and not (kind is SampleWise and dense):
            raise InvalidProblem(f"sample_weight takes no adversary={self.adversary!r} on these data; leave it out.")
        weights = _check_sample_weight(sample_weight, data, dtype=np.float64, ensure_non_negative=True)
        moments = Moments.weighted(data, weights)
        S, mean, scale = moments.standardised(center=self.center, scale=self.scale, names=names)
        if kind.gram_suffices:
            return self._solve(Covariance(S, moments.n, names), mean, scale)
        # A sample of weight w is worth w times (|x'v| - rho)^2, as one that is longer by the root, with its budget.
        roots = np.sqrt(weights / weights.mean())
        return self._solve(Samples(roots[:, None] * ((data - mean) / scale), names), mean, scale, roots)

    @from_sums(instead="use fit")
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
        require_search_goes_on()
        seen = getattr(self, "_moments", None)
        data = self._checked(X, reset=seen is None)
        self._forget_filling()
        if self.missing == "impute" and missing_counts(data).any():
            raise InvalidProblem(
                "X contains NaN, and missing='impute' needs all samples at once to know what to fill in; use fit, or "
                "fill X before partial_fit."
            )
        moments = Moments.of(data) if seen is None else seen.merged(Moments.of(data))
        self._moments = moments
        if not solve:
            return self
        names = names_in(self)
        S, mean, scale = moments.standardised(center=self.center, scale=self.scale, names=names)
        return self._solve(Covariance(S, moments.n, names), mean, scale)

    @from_sums(instead="use fit with the samples")
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
        if isinstance(n_samples, bool) or not isinstance(n_samples, (int, np.integer)) or n_samples < 1:
            raise InvalidProblem(f"n_samples must be a positive integer, got {n_samples!r}.")
        covariance, names, *_ = as_covariance(S)
        d = len(covariance)
        offset = np.zeros(d) if mean is None else np.array(mean, dtype=np.float64)
        if offset.shape != (d,) or not np.isfinite(offset).all():
            raise InvalidProblem(f"mean must hold {d} finite numbers, one per feature.")
        self._forget_filling()
        self.n_features_in_ = d
        if names is not None:
            self.feature_names_in_ = np.array(names, dtype=object)
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_
        self._moments = None
        moments = Moments(int(n_samples), offset, int(n_samples) * covariance)
        scaled, _, scale = moments.standardised(center=True, scale=self.scale, names=names)
        # n S/n has other last digits than S, and a certificate is about every digit.
        return self._solve(Covariance(scaled if self.scale else covariance, int(n_samples), names), offset, scale)

    def transform(self, X: Any) -> FloatArray:
        """Return the scores, shape (n, n_components): the centred and scaled samples times the components.

        A NumPy array, of float32 for an X of float32.
        """
        data = self._taken(X)
        scores = self._scores(data, self.components_.T)
        return scores.astype(np.float32) if data.dtype == np.float32 else scores

    @property
    def _n_features_out(self) -> int:
        return len(self.components_)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        try:
            sums_suffice = kind_of(self.adversary).gram_suffices
        except InvalidProblem:
            sums_suffice = False
        tags.input_tags.sparse = sums_suffice or not self.center
        tags.input_tags.allow_nan = self.missing == "impute"
        return tags

    def _checked(self, X: Any, reset: bool) -> Data:
        return checked_samples(self, X, reset=reset, missing=self.missing)

    def _filled(self, data: Data) -> Data:
        """Learn what stands for missing entries, and put it there."""
        self._forget_filling()
        if self.missing != "impute":
            return data
        self.fill_values_, self.missing_share_, self._fill_spread = filling_of(data, names_in(self))
        return fill(data, self.fill_values_)

    def _forget_filling(self) -> None:
        for name in ("fill_values_", "missing_share_", "_fill_spread"):
            if hasattr(self, name):
                delattr(self, name)

    def _solve(
        self, data: Samples | Covariance, mean: FloatArray, scale: FloatArray, roots: FloatArray | None = None
    ) -> "RobustSparsePCA":
        n = data.n_samples
        frame = Frame(n, names_in(self), scale)
        given = strength_of(self.adversary, self.noise, self.rho, frame, self.noise_units)
        adversary, noise = given
        if hasattr(self, "fill_values_"):
            holes = np.round(self.missing_share_ * n)
            adversary, noise = widened(given, np.sqrt(holes) * self._fill_spread / scale, n)
        faced = adversary if roots is None else SampleWise(roots * adversary.budgets(n))
        recipe = recipe_of(self, n, len(mean), faced, costs_of(self.costs, frame))
        if not self.scale:
            warn_of_scales(data.column_norms(), mean, n, frame.names)
        fitted = (fit_together if recipe.together else fit_components)(data, recipe, end_search)
        results = [one.result for one in fitted.components]
        self.results_ = tuple(results)
        self.joint_result_ = fitted.joint
        self.joint_gap_ = None if fitted.joint is None else fitted.joint.gap
        self.ties_ = tuple(one.ties for one in fitted.components)
        self.k_paths_ = tuple(one.path for one in fitted.components if one.path is not None)
        self.k_ = np.array([result.problem.k for result in results])
        self.components_ = np.array([result.v for result in results])
        self.n_components_ = len(results)
        self.objective_ = np.array([result.value for result in results])
        paid = results[0].problem.costs is not None
        self.robust_variance_ = np.array([result.robust_variance if paid else result.value for result in results])
        self.bound_ = np.array([result.bound for result in results])
        self.gap_ = np.array([relative_gap(max(result.value, 0.0), result.bound) for result in results])
        covariances, total = data.products(self.components_), data.trace()
        self.explained_variance_ = adjusted_variances(covariances)
        self.singular_values_ = np.sqrt(n * self.explained_variance_)
        self.explained_variance_ratio_ = self.explained_variance_ / (total if total > 0 else 1.0)
        self.span_variance_ratio_ = span_variances(self.components_, covariances) / (total if total > 0 else 1.0)
        self.total_variance_ = total
        self._span_model = SpanModel.of(self.components_, covariances, total)
        self.noise_variance_ = self._span_model.noise_variance
        self.mean_, self.scale_ = mean, scale
        self.noise_, self.rho_, self.n_samples_seen_ = noise, adversary.rho, n
        self._given_noise, self.costs_ = given.noise, results[0].problem.costs
        warn_of(self, fitted)
        return self
