"""The problem: data, sparsity, adversary. Validated once, frozen ever after."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from noap.adversaries.base import Adversary, GramAdversary, vector_of
from noap.data import inner_products, screening
from noap.data.arguments import as_costs, as_sparsity
from noap.data.centring import warn_if_uncentred
from noap.data.chosen import ORTHOGONAL, as_demands, as_directions
from noap.data.identifiers import warn_of_identifiers
from noap.data.metric import as_metric, rounding_of_length
from noap.data.metric import length as length_in
from noap.data.per_feature import has_one_for_each
from noap.data.requirements import adversary_of, require_covariance_suffices, require_fit
from noap.data.validation import PrivateSamples, Samples, Symmetric, as_covariance, as_names, as_samples
from noap.data.variants import Variants
from noap.errors import InvalidProblem
from noap.linalg import products
from noap.linalg.frozen import changes, fingerprint, frozen, read_only
from noap.linalg.mapped import by_columns
from noap.linalg.memory import covariance_is_too_large
from noap.linalg.screening import longer_samples
from noap.linalg.types import BoolArray, Data, FloatArray, IntArray
from noap.linalg.vectors import norms

__all__ = ["Problem"]


@dataclass(frozen=True, eq=False, init=False, repr=False)
class Problem(Variants):
    r"""Find the k-sparse direction whose variance is largest after the worst perturbation of the data.

    .. math:: \max_{\|v\|_2 = 1,\ \|v\|_0 \le k}\ \min_{\|E\| \le \rho}\ \tfrac1n \|(X + E) v\|_2^2

    Parameters
    ----------
    X : array-like, DataFrame, SciPy sparse matrix or Dask array of shape (n, d)
        Samples in rows. Used as given: neither centred nor scaled; an UncentredWarning says so where most of X is its
        column means. float32 stays float32; values are computed in float64. Up to 256 MB X is copied, so that changing
        it later changes nothing here. A larger X is fingerprinted: once it was changed, `solve`, `verify` and every
        property that reads it raise InvalidProblem. It may lie in a file (``np.load(path, mmap_mode="r")``) and is then
        read in parts; a Dask array is read once, chunk by chunk, and if larger than that into a file.
    k : int
        How many features v may use.
    adversary : FeatureWise, SampleWise, SpectralNorm, EntryWise or NoAdversary, optional
        Who perturbs X, and by how much. NoAdversary where neither this nor `noise` is given: sparse PCA.
    noise : float, array of shape (d,), dict, Series or one-row DataFrame, optional
        Takes the place of `adversary`: FeatureWise, by the root mean square error of each feature, in the units of X,
        :math:`\rho = \mathrm{noise}\,\sqrt n`. A number for all features, or one for each, by position or by name.
    costs : array-like of shape (d,), optional
        What it costs to use each feature, in the units of the robust variance: the objective is the robust variance of
        v less the costs of the features that v uses, and using none is worth 0. For FeatureWise, SampleWise and
        NoAdversary.
    metric : array-like of shape (d,) or (d, d), optional
        B of :math:`v^\top B v = 1`, which takes the place of :math:`\|v\|_2 = 1`: positive definite, or its diagonal.
        Of a second data set, :func:`noap.metric_from_samples`. For FeatureWise and NoAdversary, without costs.
    feature_names : sequence of str, optional
        A name for every column; those of a DataFrame by default.
    include, exclude : list of int or str, optional
        Features that every direction must use, and features that none may use, by position or name. A demanded feature
        takes one of the k places and pays its cost, and may have weight 0. For methods "exact" and "relaxation".
    orthogonal_to : array-like of shape (m, d), optional
        Unit vectors V that v must be orthogonal to: :math:`\|Vv\|_2 \le 10^{-8}`, which is what bounds are about. For
        FeatureWise, SpectralNorm and NoAdversary, and methods "exact", "relaxation" and "ascent".

    Attributes
    ----------
    X : the samples, or None when built from a covariance
    n_samples, n_features, k : int
    adversary : Adversary
    noise : float or array
        The adversary's budget in units that do not depend on n.
    costs : array of shape (d,), or None
    metric : array of shape (d,) or (d, d), or None where B is the unit matrix
    feature_names : tuple of str, or None
    include, exclude : arrays of int
    orthogonal_to : array of shape (m, d), or None
    preparation : tuple of two arrays of shape (d,), or None
        Mean and scale with which the samples were made, where somebody has said so (`with_preparation`).

    Examples
    --------
    >>> import noap
    >>> problem = noap.Problem([[3.0, 0.0], [4.0, 1.0]], k=1, adversary=noap.FeatureWise(1.0))
    >>> problem.value([1.0, 0.0])
    8.0
    >>> noap.Problem([[3.0, 0.0], [4.0, 1.0]], k=1, noise=0.5).adversary
    FeatureWise(rho=0.7071067811865476)
    """

    X: Data | None
    n_samples: int
    n_features: int
    k: int
    adversary: Adversary
    costs: FloatArray | None
    metric: FloatArray | None
    feature_names: tuple[str, ...] | None
    include: IntArray
    exclude: IntArray
    orthogonal_to: FloatArray | None
    preparation: tuple[FloatArray, FloatArray] | None

    def __init__(
        self,
        X: Any,
        k: int,
        adversary: Adversary | None = None,
        *,
        noise: Any = None,
        costs: ArrayLike | None = None,
        metric: Any = None,
        feature_names: Sequence[str] | None = None,
        include: Any = None,
        exclude: Any = None,
        orthogonal_to: Any = None,
    ) -> None:
        given, own_names = as_samples(X)
        if not isinstance(X, Samples):  # those come from within, where somebody has decided
            warn_if_uncentred(given)
            warn_of_identifiers(X, given)
        n, d = int(given.shape[0]), int(given.shape[1])
        names = as_names(feature_names, d) or own_names
        chosen = adversary_of(adversary, noise, n, d, names)
        private = isinstance(X, PrivateSamples)
        data = read_only(given) if private else frozen(given)
        self._set(data, n, d, k, chosen, names, costs, metric, include, exclude, orthogonal_to)
        if not private and changes(data):
            self.__dict__["_fingerprint"] = fingerprint(data)

    @classmethod
    def from_covariance(
        cls,
        S: Any,
        *,
        n_samples: int,
        k: int,
        adversary: Adversary | None = None,
        noise: Any = None,
        costs: ArrayLike | None = None,
        metric: Any = None,
        feature_names: Sequence[str] | None = None,
        include: Any = None,
        exclude: Any = None,
        orthogonal_to: Any = None,
    ) -> "Problem":
        r"""Build the problem from :math:`S = X^\top X/n` alone: enough for FeatureWise, SpectralNorm, NoAdversary.

        Parameters
        ----------
        S : array-like of shape (d, d)
            Symmetric, to 1e-6 of its largest entry. Without an adversary (NoAdversary, or rho = 0) any symmetric matrix
            with a positive entry on its diagonal: the value is :math:`v^\top S v`, or 0 where that is negative. With
            one, positive semidefinite: to 1e-10 of its largest eigenvalue S is taken as it is. To the precision of its
            entries (1e-6, or what rounding to 1 to 6 decimals explains) it is raised: a warning says what was added to
            the diagonal, and `covariance`, values, bounds and certificates are those of the raised matrix. Beyond, S is
            refused.
        n_samples : int
            n: the budget rho counts in units of column norms of X, which are :math:`\sqrt{n S_{jj}}`.
        k, adversary, noise, costs, metric, feature_names, include, exclude, orthogonal_to : as for Problem

        Examples
        --------
        >>> import noap
        >>> noap.Problem.from_covariance(
        ...     [[12.5, 2.0], [2.0, 0.5]], n_samples=2, k=1, adversary=noap.FeatureWise(1.0)
        ... ).value([1.0, 0.0])
        8.0
        """
        if adversary is not None:
            require_covariance_suffices(adversary)
        attacked = has_one_for_each(noise) or noise not in (None, 0) or not (adversary is None or adversary.is_idle)
        if isinstance(n_samples, bool) or not isinstance(n_samples, (int, np.integer)) or not 1 <= n_samples < 2**53:
            raise InvalidProblem(f"n_samples must be a positive integer, got {n_samples!r}.")
        known = as_covariance(S, definite=attacked)
        names = as_names(feature_names, len(known.matrix)) or known.names
        chosen = adversary_of(adversary, noise, int(n_samples), len(known.matrix), names)
        return cls._of_symmetric(
            known._replace(names=names), int(n_samples), k, chosen, costs, metric, include, exclude, orthogonal_to
        )

    @classmethod
    def _of_symmetric(
        cls,
        known: Symmetric,
        n: int,
        k: Any,
        adversary: Any,
        costs: Any,
        metric: Any = None,
        include: Any = None,
        exclude: Any = None,
        orthogonal_to: Any = None,
    ) -> "Problem":
        problem = cls.__new__(cls)
        d = len(known.matrix)
        problem._set(None, n, d, k, adversary, known.names, costs, metric, include, exclude, orthogonal_to)
        # Written straight into the slots of the cached properties.
        problem.__dict__["covariance"] = known.matrix
        problem.__dict__["diagonal_shift"] = known.shift
        problem.__dict__["lift"] = known.shift if known.indefinite else 0.0
        return problem

    def __getstate__(self) -> dict[str, Any]:
        """Return what travels to another process: not a second copy of X."""
        return {name: known for name, known in self.__dict__.items() if name != "by_columns"}

    def _set(
        self,
        X: Data | None,
        n: int,
        d: int,
        k: Any,
        adversary: Any,
        names: Any,
        costs: Any,
        metric: Any,
        include: Any,
        exclude: Any,
        orthogonal_to: Any,
    ) -> None:
        sparsity = as_sparsity(k, d)
        given, form, directions = as_costs(costs, d), as_metric(metric, d), as_directions(orthogonal_to, d)
        require_fit(adversary, n, d, given, form, directions)
        demanded, forbidden = as_demands(include, exclude, sparsity, d, names)
        fields = {"X": X, "n_samples": n, "n_features": d, "k": sparsity, "adversary": adversary}
        self.__dict__.update(fields, costs=given, metric=form, feature_names=names)
        self.__dict__.update(include=demanded, exclude=forbidden, orthogonal_to=directions, preparation=None)

    def __repr__(self) -> str:
        source = "samples" if self.X is not None else "samples not kept" if self.forgotten else "covariance"
        terms = ("" if self.costs is None else ", costs") + ("" if self.metric is None else ", metric")
        terms += ("" if not len(self.include) else f", include={self.include.tolist()}") + (
            "" if not len(self.exclude) else f", exclude={self.exclude.tolist()}"
        )
        terms += "" if self.orthogonal_to is None else f", orthogonal to {len(self.orthogonal_to)}"
        return (
            f"Problem({source}, n_samples={self.n_samples}, n_features={self.n_features}, "
            f"k={self.k}, adversary={self.adversary!r}{terms})"
        )

    @property
    def noise(self) -> Any:
        """The budget of the adversary in units of noise: feature-wise rho/sqrt(n); an array where it has several."""
        return self.adversary.rho / self.adversary.noise_unit(self.n_samples)

    @property
    def per_feature(self) -> dict[str, FloatArray]:
        """The noise and the cost of each feature, where they have their own: the columns of a table."""
        columns: dict[str, FloatArray] = {}
        if not self.adversary.has_one_budget and self.adversary.key == "feature":
            columns["noise"] = self.noise
        if self.costs is not None:
            columns["cost"] = self.costs
        return columns

    @property
    def terms(self) -> str:
        """Who attacks, how strongly, and how many features there may be, as every printed result says it.

        Examples
        --------
        >>> import noap
        >>> noap.Problem([[3.0, 0.0], [4.0, 1.0]], k=1, noise=0.5).terms
        'FeatureWise, noise 0.5 (rho = 0.707107), k = 1 of 2'
        """
        strength = "" if self.adversary.is_idle else f", {self.adversary.strength_in_words(self.n_samples)}"
        further = [
            ("costs", self.costs is not None),
            ("a metric", self.metric is not None),
            ("include", len(self.include)),
            ("exclude", len(self.exclude)),
            ("orthogonal_to", self.orthogonal_to is not None),
        ]
        said = [name for name, given in further if given]
        beside = f", with {' and '.join(said)}" if said else ""
        return f"{type(self.adversary).__name__}{strength}, k = {self.k} of {self.n_features}{beside}"

    def to_dict(self) -> dict[str, Any]:
        """Return what is to be solved as JSON takes it: numbers, by feature, or a list of samples; infinity as "inf".

        Examples
        --------
        >>> import noap
        >>> noap.Problem([[3.0, 0.0], [4.0, 1.0]], k=1).to_dict()["adversary"]
        'NoAdversary'
        """
        names, adversary = self.names, self.adversary

        def by_name(numbers: Any) -> Any:
            if adversary.has_one_budget:
                return numbers
            listed = ["inf" if np.isinf(number) else number for number in numbers.tolist()]
            return dict(zip(names, listed, strict=True)) if adversary.key == "feature" else listed

        return {
            "n_samples": self.n_samples,
            "n_features": self.n_features,
            "k": self.k,
            "adversary": type(adversary).__name__,
            "rho": by_name(adversary.rho),
            "noise": by_name(self.noise),
            "costs": None if self.costs is None else dict(zip(names, self.costs.tolist(), strict=True)),
            **({} if self.metric is None else {"metric": True}),
        }

    @property
    def names(self) -> tuple[str, ...]:
        """A name for every feature: that of the data, or its position as text."""
        return self.feature_names or tuple(str(j) for j in range(self.n_features))

    @property
    def is_plain(self) -> bool:
        """Whether all features (or samples) have one budget, a number, no feature costs anything, and B = I."""
        return self.costs is None and self.metric is None and self.adversary.has_one_budget

    def require_no_demands(self, what: str) -> None:
        """Raise InvalidProblem, naming what takes neither `include` nor `exclude`, if the problem has one of them."""
        if len(self.include) or len(self.exclude):
            raise InvalidProblem(
                f"{what} takes neither include nor exclude; methods 'exact' and 'relaxation' do, for NoAdversary and "
                "FeatureWise without a metric."
            )

    def require_no_directions(self, what: str) -> None:
        """Raise InvalidProblem, naming what takes no `orthogonal_to`, if the problem has one."""
        if self.orthogonal_to is not None:
            raise InvalidProblem(f"{what} takes no orthogonal_to; methods 'exact', 'relaxation' and 'ascent' do.")

    def require_no_metric(self, what: str) -> None:
        """Raise InvalidProblem, naming what takes no metric, if the problem has one."""
        if self.metric is not None:
            raise InvalidProblem(f"{what} takes no metric; leave it out, or use noap.solve with 'exact'.")

    def require_covariance(self, what: str) -> None:
        """Raise InvalidProblem, naming what works on the d x d matrix, where that would take most of the memory."""
        d = self.n_features
        if self.X is not None and "covariance" not in self.__dict__ and covariance_is_too_large(d):
            raise InvalidProblem(
                f"{what} works on the covariance of all {d} features of X, which takes {8e-9 * d * d:.0f} GB and so "
                "too much of this machine's memory; use method 'exact' or 'ascent', which with more than 2,000 "
                "features do not form it, or keep fewer features."
            )

    def check_unchanged(self) -> None:
        """Raise InvalidProblem if X was changed since the problem was built; only a large or sparse X can be."""
        taken = self.__dict__.get("_fingerprint")
        if taken is not None and self.X is not None and fingerprint(self.X) != taken:
            raise InvalidProblem(
                "X was changed after the Problem was built from it; build a new Problem, or leave X as it is."
            )

    @cached_property
    def by_columns(self) -> Data:
        """X with columns that are found quickly; X itself where they are."""
        return by_columns(self.samples("by_columns"))

    @cached_property
    def covariance(self) -> FloatArray:
        r"""The matrix :math:`S = X^\top X/n` in float64, d x d; computed when first asked for."""
        self.require_covariance("Problem.covariance")
        covariance = inner_products.covariance(self)
        self.check_unchanged()
        return covariance

    def covariance_columns(self, features: IntArray) -> FloatArray:
        """Return the d x m columns of S that belong to the features; no d x d array is formed for it."""
        return inner_products.columns(self, features)

    def gram_block(self, features: IntArray) -> FloatArray:
        """Return the m x m block of `gram` on the features; no d x d array is formed for it."""
        return inner_products.block(self, features)

    @cached_property
    def diagonal_shift(self) -> float:
        """A c such that S + cI is positive semidefinite, proved: a few ulps where the given S is so to rounding.

        For problems built from a covariance, where it was found; X'X needs none.
        """
        return 0.0

    @cached_property
    def lift(self) -> float:
        """What turns an indefinite S (rho = 0) into a Gram matrix, 0 for any other problem.

        v'(S + cI)v = v'Sv + c for every unit v, so methods work on S + cI and take c off again.
        """
        return 0.0

    @property
    def gram(self) -> FloatArray:
        """S + cI with c = `lift`: the covariance, but for an indefinite S."""
        return self._lifted if self.lift else self.covariance

    @cached_property
    def _lifted(self) -> FloatArray:
        return inner_products.lifted(self)

    @cached_property
    def column_norms(self) -> FloatArray:
        r"""The norms :math:`\|a_j\|` of the d columns of X: the roots of n times the diagonal of `gram`."""
        column_norms = inner_products.lengths(self)
        self.check_unchanged()
        return column_norms

    @cached_property
    def row_top_k_norms(self) -> FloatArray:
        r"""Per sample :math:`\|\mathrm{top}_k(x_i)\|`, the largest score a k-sparse unit direction can give it."""
        row_top_k_norms = products.row_top_k_norms(self.samples("row_top_k_norms"), self.k)
        self.check_unchanged()
        return row_top_k_norms

    @cached_property
    def scale(self) -> float:
        r"""The largest variance of a feature, :math:`\max_j \|a_j\|^2/n`, plus `lift`: the unit of tolerances.

        Samples of infinite budget do not count: they are in no value, however large they are. With a metric it is the
        largest value of a single feature before the adversary.
        """
        if self.metric is not None:
            own = self.metric if self.metric.ndim == 1 else self.metric.diagonal()
            return float((self.column_norms**2 / own).max()) / self.n_samples
        trusted = np.asarray(self.adversary.sample_floor) < np.inf
        if trusted.all():
            return float(self.column_norms.max()) ** 2 / self.n_samples
        rest = self.samples("scale")[np.flatnonzero(trusted)]
        return float(products.column_norms(rest).max()) ** 2 / self.n_samples

    @cached_property
    def kept_features(self) -> BoolArray:
        """Mask of the features that can be non-zero in an optimum of positive value; no rounding decides it."""
        kept = screening.kept_features(self)
        kept.flags.writeable = False
        return kept

    @property
    def kept_samples(self) -> BoolArray:
        """Mask of the samples that can contribute to an optimum; no rounding decides it."""
        X = self.samples("kept_samples")
        return longer_samples(X, self.k, self.row_top_k_norms, self.adversary.sample_floor)

    @property
    def optimum_is_zero(self) -> bool:
        r"""Whether no direction is worth anything: :math:`\rho \ge \rho_{\max}`, X = 0, or all cost too much, exactly.

        Not known, and so False, for an adversary that noap has no theorem about.
        """
        return not len(self.include) and not len(self.exclude) and screening.optimum_is_zero(self)

    @property
    def rho_max(self) -> float:
        """The smallest float at which a budget of the adversary's kind makes the optimum 0; inf if none does.

        Of several budgets, the smallest factor for all of them. Costs do not count: less may do with them.
        """
        return screening.rho_max(self)

    def samples(self, what: str) -> Data:
        """Return X, or raise InvalidProblem naming what cannot be had from a covariance."""
        if self.X is None:
            why = (
                "which are not kept; fit with keep_data=True"
                if self.forgotten
                else "this problem was built from a covariance S"
            )
            raise InvalidProblem(f"{what} needs the samples X, {why}.")
        return self.X

    @property
    def forgotten(self) -> bool:
        """Whether there were samples once (`without_samples`)."""
        return "_forgotten" in self.__dict__

    def value(self, v: ArrayLike) -> float:
        r"""Return the objective at v: its robust variance, less what its features cost.

        Parameters
        ----------
        v : array of shape (d,)
            A unit vector (to 1e-9; in the metric, if there is one) with at most k non-zero entries; with costs also 0,
            which is worth 0.
        """
        return self.robust_variance(v) - self.cost(v)

    def cost(self, v: ArrayLike) -> float:
        """Return what the features that v uses cost, and those that are demanded."""
        if self.costs is None:
            return 0.0
        used = vector_of(v, self.n_features) != 0
        used[self.include] = True
        return float(self.costs[used].sum())

    @property
    def cost_of_demands(self) -> float:
        """What the demanded features cost, whatever else is chosen."""
        return 0.0 if self.costs is None else float(self.costs[self.include].sum())

    def robust_variance(self, v: ArrayLike) -> float:
        """Return the robust variance of v, by the closed form; it is at least 0, also where v'Sv is negative."""
        direction = vector_of(v, self.n_features)
        support = np.flatnonzero(direction)
        if support.size == 0 and (self.costs is not None or len(self.include) or self.orthogonal_to is not None):
            return 0.0
        length = float(norms(direction)) if self.metric is None else length_in(self.metric, direction)
        # Where B is close to singular v'Bv itself is known to rounding only.
        blurred = 0.0 if self.metric is None else rounding_of_length(self.metric, direction)
        if not abs(length - 1.0) <= 1e-9 + blurred:
            what = "unit length" if self.metric is None else "v'Bv = 1"
            raise InvalidProblem(f"v must have {what}, it has length {length:.12g}; normalise it.")
        taken = np.union1d(support, self.include).size
        if taken > self.k:
            and_demanded = "" if taken == support.size else f", with the demanded ones {taken}"
            raise InvalidProblem(f"v has {support.size} non-zero entries{and_demanded}, more than k = {self.k}.")
        if np.isin(support, self.exclude).any():
            raise InvalidProblem("v uses a feature that exclude names; leave it out of v.")
        if self.orthogonal_to is not None and not float(norms(self.orthogonal_to @ direction)) <= ORTHOGONAL * length:
            raise InvalidProblem(f"v must be orthogonal to the vectors of orthogonal_to, to {ORTHOGONAL:.0e}.")
        if not abs(length - 1.0) <= 1e-9:
            direction = direction / length
        if self.X is not None:
            return self.adversary.value(self.X, direction)
        assert isinstance(self.adversary, GramAdversary)  # from_covariance takes no other
        return self.adversary.value_from_covariance(self.covariance, self.n_samples, direction)
