"""The estimator that chooses k and noise."""

import warnings
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, MetaEstimatorMixin, TransformerMixin, clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import KFold, check_cv
from sklearn.utils.validation import check_is_fitted

from noap.adversaries import FeatureWise, NoAdversary
from noap.adversaries.base import Adversary
from noap.adversaries.budgets import scaled
from noap.analysis.k_path import k_path
from noap.data.arguments import as_count, as_jobs, as_share, as_sparsity, as_strength
from noap.data.moments import Moments
from noap.data.per_feature import has_one_for_each, per_feature
from noap.data.standardising import centre_and_scale
from noap.data.validation import as_samples
from noap.errors import GapWarning, InvalidProblem, NoapWarning
from noap.estimators.choice import Choice, smallest_within_error
from noap.estimators.held_out import choose_by_held_out
from noap.estimators.inputs import checked_samples, fill, filling_of, is_sparse, missing_counts, names_in
from noap.estimators.permutation import permutation_null
from noap.estimators.robust_sparse_pca import RobustSparsePCA
from noap.estimators.searches import require_search_goes_on
from noap.estimators.strength import Frame, costs_of, kind_of, strength_of, widened
from noap.linalg.products import column_norms
from noap.linalg.types import Data, FloatArray
from noap.problem import Problem
from noap.runtime.tasks import seeds

__all__ = ["RobustSparsePCACV"]

_RULES = ("held-out", "permutation", "k-path")
# Up to so many features, and at these shares of the noise that leaves nothing, where the user names none.
_MOST_FEATURES, _SHARES = 10, (0.1, 0.2, 0.4, 0.6)
# What a component must be less likely than to be called more than chance.
_CHANCE = 0.05
_FITTED = (
    "components_",
    "n_components_",
    "robust_variance_",
    "bound_",
    "gap_",
    "explained_variance_",
    "explained_variance_ratio_",
    "mean_",
    "scale_",
    "results_",
)


# scikit-learn ships no types, so its classes are Any to mypy.
class RobustSparsePCACV(ClassNamePrefixFeaturesOutMixin, TransformerMixin, MetaEstimatorMixin, BaseEstimator):  # type: ignore[misc]
    """Robust sparse components whose k is chosen by the data, and their noise where a rule can.

    Three rules, each an answer to another question:

    - "held-out": how many features keep most on new samples, at a noise that you name? Every pair is fitted on part of
      the samples and measured on the rest, at `at_noise`. Chosen is the smallest k within one standard error of the
      best. The noise is yours: what is fitted for the noise that is met does best at it, so the noise chosen is
      `at_noise` or near it, whichever that is. Take it from what you know: :mod:`noap.noise`, replicates.
    - "permutation": which pair stands out most from chance? Every column is shuffled by itself, which leaves features
      and breaks what ties them together (Witten, Tibshirani and Hastie 2009). Compared is the share of the robust
      variance that shuffled data do not have; chosen is the smallest k within one standard deviation of the largest
      share. It looks at the first component.
    - "k-path": how few features are proved to keep a share of what the most would? It chooses k at one noise, by
      :meth:`noap.KPath.choose`, for the first component.

    The number of features is settled first: of all pairs that score within the error of the best, at whatever noise,
    those with the smallest k are left; the noise is that of the largest score among them. A choice at the edge of what
    was tried comes with a warning that says what to widen. The pair chosen is then fitted on all samples by `estimator`
    itself.

    Parameters
    ----------
    estimator : RobustSparsePCA, optional
        What is fitted in the end; its k and noise are replaced. RobustSparsePCA() by default.
    ks : sequence of int, optional
        1 to 10 by default, or to the number of features if there are fewer.
    noises : sequence of float, optional
        By default 0.1, 0.2, 0.4 and 0.6 of the noise that leaves nothing of half of the features (which is 1 for scaled
        data), for "sample" of all directions, and for "k-path" the first of these. An adversary object has its own.
        Where the estimator's `noise` (or `rho`) is one for each feature, these are factors, by which all of them are
        multiplied.
    by : "held-out", "permutation" or "k-path"
    search_method : str
        The method that tries the pairs, "ascent" by default: it takes milliseconds. "k-path" takes the exact one.
    at_noise : float, optional
        For "held-out": the noise that held-out samples face, the smallest of `noises` by default. Not chosen: k is.
    cv : int, splitter or iterable
        For "held-out", as in scikit-learn; an int is that many folds of shuffled samples, for data often come sorted.
    share : float
        For "k-path": what share is to be kept.
    n_permutations : int
        For "permutation": how many shuffled copies.
    random_state : int, Generator or None
        Of all shuffling; None means 0.
    n_jobs : int, optional
        Number of processes (-1 for all cores); the choice does not depend on it.
    verbose : bool or int
        Above 0, count what is done on stderr.

    Attributes
    ----------
    choice_ : Choice
        Every pair that was tried with its score; `choice_.plot()` draws it, `choice_.to_frame()` is the table.
    best_k_, best_noise_ : int, float
        Where features have noises of their own, the factor on them.
    best_params_ : dict
        Both, for `RobustSparsePCA(**best_params_)`: k, and the noise, one for each feature where they have their own.
    best_estimator_ : RobustSparsePCA
        Fitted on all samples; Ctrl-C during the search leaves the best so far. Its `components_`, `n_components_`,
        `robust_variance_`, `bound_`, `gap_`, `explained_variance_`, `explained_variance_ratio_`, `mean_`, `scale_` and
        `results_` are attributes here as well.
    n_features_in_ : int
    feature_names_in_ : array of str
        When X has column names.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from noap import RobustSparsePCA, RobustSparsePCACV
    >>> X = load_wine(as_frame=True).data
    >>> base = RobustSparsePCA(scale=True)
    >>> model = RobustSparsePCACV(base, ks=[4, 8, 13], noises=[0.0, 0.2, 0.4], by="permutation").fit(X)
    >>> model.best_params_
    {'k': 8, 'noise': 0.2}
    """

    def __init__(
        self,
        estimator: RobustSparsePCA | None = None,
        *,
        ks: ArrayLike | None = None,
        noises: ArrayLike | None = None,
        by: str = "held-out",
        search_method: str = "ascent",
        at_noise: float | None = None,
        cv: Any = 5,
        share: float = 0.9,
        n_permutations: int = 20,
        random_state: int | np.random.Generator | None = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.estimator = estimator
        self.ks = ks
        self.noises = noises
        self.by = by
        self.search_method = search_method
        self.at_noise = at_noise
        self.cv = cv
        self.share = share
        self.n_permutations = n_permutations
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def fit(self, X: Any, y: Any = None) -> "RobustSparsePCACV":
        """Choose k and noise for the samples X, shape (n, d), and fit them; y is ignored."""
        require_search_goes_on()
        if self.by not in _RULES:
            raise InvalidProblem(f"by must be one of {_RULES}, got {self.by!r}.")
        base = self._base()
        data = checked_samples(self, X, reset=True, missing=base.missing)
        own = self._own_noises(base, *data.shape)
        self.choice_, complete = self._chosen(base, data, own)
        self.best_k_, self.best_noise_ = self.choice_.k, self.choice_.noise
        noise = self.best_noise_ if own is None else scaled(own, self.best_noise_)
        self.best_params_ = {"k": self.best_k_, "noise": noise}
        if not complete:
            warnings.warn(
                f"Interrupted: k = {self.best_k_} and noise = {self.best_noise_:g} are the best of what was tried so "
                "far; fit again to try the rest.",
                ConvergenceWarning,
                stacklevel=2,
            )
        elif edges := self.choice_.edges(data.shape[1]):
            warnings.warn(edges, NoapWarning, stacklevel=2)
        self.best_estimator_ = base.set_params(**self.best_params_, rho=None).fit(X)
        for name in _FITTED:
            setattr(self, name, getattr(self.best_estimator_, name))
        return self

    def transform(self, X: Any) -> FloatArray:
        """Return the scores, shape (n, n_components), of `best_estimator_`."""
        return self._best().transform(X)

    def inverse_transform(self, X: Any) -> FloatArray:
        """Return the samples that have these scores, as `best_estimator_` does."""
        return self._best().inverse_transform(X)

    @property
    def features_(self) -> tuple[Any, ...]:
        """Per component the features that it uses, of `best_estimator_`."""
        return self._best().features_

    def get_support(self, indices: bool = False) -> Any:
        """Return the features that some component uses, of `best_estimator_`."""
        return self._best().get_support(indices)

    def loadings_frame(self, library: str | None = None) -> Any:
        """Return the loadings by name as a table, as `best_estimator_` does."""
        return self._best().loadings_frame(library)

    def robust_variance(self, X: Any, noise: Any = None) -> FloatArray:
        """Return the robust variances on the samples X, as `best_estimator_` does."""
        return self._best().robust_variance(X, noise)

    def score(self, X: Any, y: Any = None) -> float:
        """Return the robust variance of the samples X, summed over the components, at the noise chosen."""
        return self._best().score(X)

    def score_samples(self, X: Any) -> FloatArray:
        """Return the log-likelihood of every sample, as `best_estimator_` does."""
        return self._best().score_samples(X)

    def get_covariance(self) -> FloatArray:
        """Return the covariance of the model, as `best_estimator_` does."""
        return self._best().get_covariance()

    @property
    def _n_features_out(self) -> int:
        return len(self.components_)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        inner = self._base().__sklearn_tags__()
        tags.input_tags.sparse = inner.input_tags.sparse and self.by == "held-out"
        tags.input_tags.allow_nan = inner.input_tags.allow_nan
        return tags

    def _best(self) -> RobustSparsePCA:
        check_is_fitted(self, "best_estimator_")
        best: RobustSparsePCA = self.best_estimator_
        return best

    def _base(self) -> RobustSparsePCA:
        """Return an unfitted estimator whose adversary is a word: its budget is what is chosen."""
        if not (self.estimator is None or isinstance(self.estimator, RobustSparsePCA)):
            raise InvalidProblem(f"estimator must be a RobustSparsePCA, got {type(self.estimator).__name__}.")
        base = RobustSparsePCA() if self.estimator is None else clone(self.estimator)
        if isinstance(base.adversary, Adversary):
            base.set_params(adversary=kind_of(base.adversary).key)
        return base

    def _own_noises(self, base: RobustSparsePCA, n: int, d: int) -> FloatArray | None:
        """Return the noises of the features, in the units of the estimator, where they have their own; else None."""
        given = getattr(self.estimator, "adversary", None)
        named, kind = base.noise if base.rho is None else base.rho, kind_of(base.adversary)
        several = has_one_for_each(named) if not isinstance(given, Adversary) else not given.has_one_budget
        if several and kind not in (FeatureWise, NoAdversary):
            raise InvalidProblem("noise must be a number for all samples, or one for each feature, to be chosen.")
        own = None
        if several and isinstance(given, Adversary):
            own = given.rho / kind.noise_unit(n)
        elif several and kind is FeatureWise:
            name, unit = ("noise", 1.0) if base.rho is None else ("rho", kind.noise_unit(n))
            own = per_feature(name, named, d, names_in(self)) / unit
        if isinstance(given, Adversary) or base.rho is not None:
            base.set_params(noise_units="standardised")  # what these count in
        return own

    def _chosen(self, base: RobustSparsePCA, data: Data, own: FloatArray | None) -> tuple[Choice, bool]:
        n, d = data.shape
        jobs, progress = as_jobs(self.n_jobs), bool(self.verbose)
        ks = self._ks(d)
        if self.by == "held-out":
            noises = self._noises(base, data, ks, own)
            at = noises[0] if self.at_noise is None else as_strength("at_noise", self.at_noise)
            searcher = clone(base).set_params(method=self.search_method, k_share=None, verbose=0, n_jobs=None)
            if base.joint is True and self.search_method != "exact":
                searcher.set_params(joint=False, deflation="disjoint")  # as near as it comes
            if base.costs is not None:
                searcher.set_params(costs=costs_of(base.costs, Frame(n, names_in(self), np.ones(d))))
            splits = list(self._folds().split(np.zeros((n, 1))))
            return choose_by_held_out(searcher, data, ks, noises, at, splits, own, n_jobs=jobs, progress=progress)
        Z, scale = self._standardised(base, data)
        noises = self._noises(base, data, ks, own)
        frame = Frame(n, names_in(self), scale)
        costs = costs_of(base.costs, frame)
        word = kind_of(base.adversary).key
        tried = [noise if own is None else scaled(own, noise) for noise in noises]
        strengths = [strength_of(word, noise, None, frame, base.noise_units) for noise in tried]
        if base.missing == "impute":
            extra = np.sqrt(missing_counts(data)) * filling_of(data, frame.names).spread / scale
            strengths = [widened(strength, extra, n) for strength in strengths]
        adversaries = [strength.adversary for strength in strengths]
        if self.by == "k-path":
            return self._by_k_path(base, Problem(as_samples(Z), ks[-1], adversaries[0], costs=costs), ks, noises)
        count = as_count("n_permutations", self.n_permutations)
        if count < 2:
            raise InvalidProblem(f"n_permutations must be at least 2, for a standard deviation, got {count}.")
        null = permutation_null(
            Z,
            ks,
            adversaries,
            n_permutations=count,
            costs=costs,
            method=self.search_method,
            random_state=self.random_state,
            n_jobs=jobs,
            progress=progress,
        )
        place = smallest_within_error(null.shares, null.errors)
        p_value = float(null.p_values[place])
        # So few copies cannot make it smaller than this.
        if p_value > max(_CHANCE, 1 / (1 + len(null.nulls))):
            warnings.warn(
                f"No k and noise stand out from chance: {p_value:.0%} of the shuffled copies are worth as much; a "
                "component of these data is no evidence that features go together.",
                NoapWarning,
                stacklevel=3,
            )
        reason = (
            f"the fewest features within one standard deviation of the largest share beyond chance, "
            f"{null.shares.max():.3g}; p = {p_value:.3g}"
        )
        columns = {"value": null.values, "null mean": null.nulls.mean(axis=0), "p": null.p_values}
        rows, steps = np.array(noises), np.array(ks)
        choice = Choice("permutation", rows, steps, null.shares, null.errors, place, reason, columns)
        return choice, null.complete

    def _folds(self) -> Any:
        if isinstance(self.cv, bool) or not isinstance(self.cv, (int, np.integer)):
            return check_cv(self.cv)
        seed = seeds(self.random_state, 1)[0].generate_state(1)[0]
        return KFold(as_count("cv", self.cv), shuffle=True, random_state=int(seed))

    def _by_k_path(
        self, base: RobustSparsePCA, problem: Problem, ks: list[int], noises: list[float]
    ) -> tuple[Choice, bool]:
        if len(noises) > 1:
            raise InvalidProblem(f"noises must be one noise for by='k-path', which chooses k alone, got {noises}.")
        share = as_share("share", self.share)
        with warnings.catch_warnings():
            # `choose` counts on what is proved alone, and says where that is too little; the fit speaks of its own gap.
            warnings.simplefilter("ignore", GapWarning)
            path = k_path(problem, ks, gap=base.gap, time_limit=base.time_limit, progress=bool(self.verbose))
        k = path.choose(share)
        place = (0, path.ks.tolist().index(k))
        reason = f"the fewest features that are proved to keep a share of {share:g} of what {path.ks[-1]} can"
        scores = path.shares[None, :]
        columns = {"value": path.values[None, :], "bound": path.bounds[None, :]}
        choice = Choice("k-path", np.array(noises), path.ks, scores, np.zeros_like(scores), place, reason, columns)
        return choice, len(path) == len(ks)

    def _standardised(self, base: RobustSparsePCA, data: Data) -> tuple[FloatArray, FloatArray]:
        if is_sparse(data):
            raise InvalidProblem(
                f"X is sparse, which by={self.by!r} does not take; pass X.toarray(), or by='held-out'."
            )
        if base.missing == "impute":
            data = fill(data, filling_of(data, names_in(self)).values)
        with warnings.catch_warnings():
            # The fit itself warns of constant columns.
            warnings.simplefilter("ignore", NoapWarning)
            Z, _, scale = centre_and_scale(data, center=base.center, scale=base.scale)
            return Z, scale

    def _ks(self, d: int) -> list[int]:
        if self.ks is None:
            return list(range(1, min(_MOST_FEATURES, d) + 1))
        listed = sorted({as_sparsity(k, np.iinfo(np.int64).max) for k in _listed("ks", self.ks)})
        if listed[-1] > d:
            warnings.warn(
                f"ks goes up to {listed[-1]}, beyond the {d} features of X; it was cut at {d}.",
                NoapWarning,
                stacklevel=4,
            )
        return sorted({min(k, d) for k in listed})

    def _noises(self, base: RobustSparsePCA, data: Data, ks: list[int], own: FloatArray | None) -> list[float]:
        n = int(data.shape[0])
        kind = kind_of(base.adversary)
        given = getattr(self.estimator, "adversary", None)
        if isinstance(given, Adversary):
            if self.noises is not None:
                raise InvalidProblem("noises must be None where the estimator's adversary is an object with a budget.")
            return [1.0 if own is not None else given.rho / kind.noise_unit(n)]
        if self.noises is not None:
            return sorted({as_strength("noises", noise) for noise in _listed("noises", self.noises)})
        if is_sparse(data):
            if not kind.gram_suffices or own is not None:
                raise InvalidProblem("noises must be given for a sparse X, whose scale is not looked at.")
            S, _, scale = Moments.of(data).standardised(center=base.center, scale=base.scale)
            most = _noise_that_half_survive(np.sqrt(np.diag(S)))
            return self._shares_of(most * (float(scale.max()) if base.noise_units == "data" else 1.0))
        Z, scale = self._standardised(base, data)
        if own is None and kind is FeatureWise:
            # One feature in large units would make every noise too large for all the others.
            most = _noise_that_half_survive(column_norms(Z) / kind.noise_unit(n))
            if base.noise_units == "data":
                most *= float(scale.max())
        elif own is None:
            most = kind.with_budget(0.0).rho_max(Z, ks[-1]) / kind.noise_unit(n)
        else:
            whole = strength_of(kind.key, own, None, Frame(n, None, scale), base.noise_units).adversary
            most = whole.rho_max(Z, ks[-1])
            if not np.isfinite(most):  # an exact feature is never wiped out
                most = 1.0
        return [0.0] if not np.isfinite(most) else self._shares_of(most)

    def _shares_of(self, most: float) -> list[float]:
        shares = _SHARES[:1] if self.by == "k-path" else _SHARES
        return sorted({share * most for share in shares})


def _noise_that_half_survive(deviations: FloatArray) -> float:
    """Return the median root mean square of the features that vary: of scaled data 1, which wipes all out."""
    varying = deviations[deviations > 0]
    return float(np.median(varying)) if len(varying) else 0.0


def _listed(name: str, given: Any) -> list[Any]:
    try:
        listed = list(given)
    except TypeError:
        raise InvalidProblem(f"{name} must be a list of numbers, got {given!r}.") from None
    if not listed:
        raise InvalidProblem(f"{name} is empty; pass at least one, or None to have them chosen.")
    return listed
