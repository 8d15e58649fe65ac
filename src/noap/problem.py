"""The problem: data, sparsity, adversary. Validated once, frozen ever after."""

import copy
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from noap.adversaries.base import Adversary, GramAdversary, vector_of
from noap.data import screening
from noap.data.centring import warn_if_uncentred
from noap.data.identifiers import warn_of_identifiers
from noap.data.requirements import require_covariance_suffices, require_fit
from noap.data.validation import Samples, Symmetric, as_costs, as_covariance, as_names, as_samples, as_sparsity
from noap.errors import InvalidProblem
from noap.linalg import products
from noap.linalg.frozen import changes, fingerprint, frozen
from noap.linalg.mapped import by_columns
from noap.linalg.screening import longer_samples
from noap.linalg.types import BoolArray, Data, FloatArray, IntArray
from noap.linalg.vectors import norms

__all__ = ["Problem"]


@dataclass(frozen=True, eq=False, init=False, repr=False)
class Problem:
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
    adversary : FeatureWise, SampleWise or NoAdversary
    costs : array-like of shape (d,), optional
        What it costs to use each feature, in the units of the robust variance: the objective is the robust variance of
        v less the costs of the features that v uses, and using none is worth 0. For FeatureWise and NoAdversary.
    feature_names : sequence of str, optional
        A name for every column; those of a DataFrame by default.

    Attributes
    ----------
    X : the samples, or None when built from a covariance
    n_samples, n_features, k : int
    adversary : Adversary
    costs : array of shape (d,), or None
    feature_names : tuple of str, or None

    Examples
    --------
    >>> import noap
    >>> problem = noap.Problem([[3.0, 0.0], [4.0, 1.0]], k=1, adversary=noap.FeatureWise(1.0))
    >>> problem.value([1.0, 0.0])
    8.0
    """

    X: Data | None
    n_samples: int
    n_features: int
    k: int
    adversary: Adversary
    costs: FloatArray | None
    feature_names: tuple[str, ...] | None

    def __init__(
        self,
        X: Any,
        k: int,
        adversary: Adversary,
        *,
        costs: ArrayLike | None = None,
        feature_names: Sequence[str] | None = None,
    ) -> None:
        given, own_names = as_samples(X)
        if not isinstance(X, Samples):  # those come from within, where somebody has decided
            warn_if_uncentred(given)
            warn_of_identifiers(X, given)
        data = frozen(given)
        n, d = int(data.shape[0]), int(data.shape[1])
        self._set(data, n, d, k, adversary, as_names(feature_names, d) or own_names, costs)
        if changes(data):
            self.__dict__["_fingerprint"] = fingerprint(data)

    @classmethod
    def from_covariance(
        cls,
        S: Any,
        *,
        n_samples: int,
        k: int,
        adversary: Adversary,
        costs: ArrayLike | None = None,
        feature_names: Sequence[str] | None = None,
    ) -> "Problem":
        r"""Build the problem from :math:`S = X^\top X/n` alone: enough for FeatureWise and NoAdversary.

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
        k, adversary, costs, feature_names : as for Problem

        Examples
        --------
        >>> import noap
        >>> noap.Problem.from_covariance(
        ...     [[12.5, 2.0], [2.0, 0.5]], n_samples=2, k=1, adversary=noap.FeatureWise(1.0)
        ... ).value([1.0, 0.0])
        8.0
        """
        require_covariance_suffices(adversary)
        if isinstance(n_samples, bool) or not isinstance(n_samples, (int, np.integer)) or not 1 <= n_samples < 2**53:
            raise InvalidProblem(f"n_samples must be a positive integer, got {n_samples!r}.")
        known = as_covariance(S, definite=not adversary.is_idle)
        names = as_names(feature_names, len(known.matrix)) or known.names
        return cls._of_symmetric(known._replace(names=names), int(n_samples), k, adversary, costs)

    @classmethod
    def _of_symmetric(cls, known: Symmetric, n: int, k: Any, adversary: Any, costs: Any) -> "Problem":
        problem = cls.__new__(cls)
        problem._set(None, n, len(known.matrix), k, adversary, known.names, costs)
        # Written straight into the slots of the cached properties.
        problem.__dict__["covariance"] = known.matrix
        problem.__dict__["diagonal_shift"] = known.shift
        problem.__dict__["lift"] = known.shift if known.indefinite else 0.0
        return problem

    def with_adversary(self, adversary: Adversary) -> "Problem":
        """Return the same data and sparsity against another adversary; what is known of the data is shared.

        Examples
        --------
        >>> import noap
        >>> problem = noap.Problem([[3.0, 0.0], [4.0, 1.0]], k=1, adversary=noap.NoAdversary())
        >>> problem.with_adversary(noap.FeatureWise(1.0)).value([1.0, 0.0])
        8.0
        """
        if self.X is None:
            require_covariance_suffices(adversary)
            if self.lift and not adversary.is_idle:
                raise InvalidProblem(
                    "S must be positive semidefinite for an adversary with a budget; build the problem from S with it."
                )
        require_fit(adversary, self.n_samples, self.n_features, self.costs)
        changed = self._changed(adversary=adversary)
        for name in ("kept_features", "scale"):  # the properties that depend on the adversary
            changed.__dict__.pop(name, None)
        return changed

    def with_costs(self, costs: ArrayLike | None) -> "Problem":
        """Return the same data, sparsity and adversary with other costs, or none; what is known is shared.

        Examples
        --------
        >>> import noap
        >>> problem = noap.Problem([[3.0, 0.0], [4.0, 1.0]], k=1, adversary=noap.NoAdversary())
        >>> problem.with_costs([2.5, 0.0]).value([1.0, 0.0])
        10.0
        """
        given = as_costs(costs, self.n_features)
        require_fit(self.adversary, self.n_samples, self.n_features, given)
        changed = self._changed(costs=given)
        changed.__dict__.pop("kept_features", None)
        return changed

    def with_sparsity(self, k: int) -> "Problem":
        """Return the same data and adversary with another k; what is known of the data is shared.

        Examples
        --------
        >>> import noap
        >>> noap.Problem([[3.0, 0.0], [4.0, 1.0]], k=1, adversary=noap.NoAdversary()).with_sparsity(2).k
        2
        """
        changed = self._changed(k=as_sparsity(k, self.n_features))
        changed.__dict__.pop("row_top_k_norms", None)  # the one property that depends on k
        return changed

    def restricted(self, features: IntArray, k: int | None = None) -> "Problem":
        """Return the problem on the chosen features alone, with their budgets and costs.

        Parameters
        ----------
        features : array of int
        k : int, optional
            By default that of this problem, or the number of features if that is smaller.

        Examples
        --------
        >>> import noap
        >>> problem = noap.Problem([[3.0, 0.0, 1.0]], k=2, adversary=noap.NoAdversary(), feature_names=("a", "b", "c"))
        >>> problem.restricted([2, 0]).feature_names
        ('c', 'a')
        """
        features = np.asarray(features, dtype=np.intp)
        k = min(self.k, len(features)) if k is None else k
        names = None if self.feature_names is None else tuple(self.feature_names[j] for j in features)
        adversary = self.adversary.restricted_to(features)
        costs = None if self.costs is None else self.costs[features]
        if self.X is not None:
            return Problem(Samples(self.X[:, features], names), k, adversary, costs=costs)
        block = self.covariance[np.ix_(features, features)]
        block.flags.writeable = False
        # No eigenvalue of a block lies below the smallest of the whole.
        known = Symmetric(block, names, self.diagonal_shift, self.lift > 0)
        return Problem._of_symmetric(known, self.n_samples, k, adversary, costs)

    def _changed(self, **fields: Any) -> "Problem":
        changed = copy.copy(self)
        changed.__dict__.update(self.__dict__ | fields)  # nobody else can: it is frozen
        return changed

    def __getstate__(self) -> dict[str, Any]:
        """Return what travels to another process: not a second copy of X."""
        return {name: known for name, known in self.__dict__.items() if name != "by_columns"}

    def _set(self, X: Data | None, n: int, d: int, k: Any, adversary: Any, names: Any, costs: Any) -> None:
        given = as_costs(costs, d)
        require_fit(adversary, n, d, given)
        fields = {"X": X, "n_samples": n, "n_features": d, "k": as_sparsity(k, d), "adversary": adversary}
        self.__dict__.update(fields, costs=given, feature_names=names)

    def __repr__(self) -> str:
        source = "samples" if self.X is not None else "covariance"
        return (
            f"Problem({source}, n_samples={self.n_samples}, n_features={self.n_features}, "
            f"k={self.k}, adversary={self.adversary!r}{'' if self.costs is None else ', costs'})"
        )

    @property
    def is_plain(self) -> bool:
        """Whether all features (or samples) have one budget, a number, and no feature costs anything."""
        return self.costs is None and self.adversary.has_one_budget

    def require_plain(self, what: str) -> None:
        """Raise InvalidProblem, naming what takes nothing else, unless the problem is plain."""
        if not self.adversary.has_one_budget:
            raise InvalidProblem(f"{what} takes one rho for all; pass a number, or use method 'ascent'.")
        if self.costs is not None:
            raise InvalidProblem(f"{what} takes no costs; leave them out, or use method 'ascent'.")

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
        covariance: FloatArray = products.gram(self.X) / self.n_samples
        covariance.flags.writeable = False
        self.check_unchanged()
        return covariance

    def covariance_columns(self, features: IntArray) -> FloatArray:
        """Return the d x m columns of S that belong to the features; no d x d array is formed for it."""
        if "covariance" in self.__dict__ or self.X is None:
            return self.covariance[:, features]
        product: FloatArray = self.X.T @ products.columns(self.X, features) / self.n_samples
        return product

    def gram_block(self, features: IntArray) -> FloatArray:
        """Return the m x m block of `gram` on the features; no d x d array is formed for it."""
        if len(features) == self.n_features:
            return self.gram
        if "covariance" in self.__dict__ or self.X is None:
            block: FloatArray = self.gram[np.ix_(features, features)]
            return block
        return products.gram(self.X[:, features]) / self.n_samples

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
        lifted = self.covariance + self.lift * np.eye(self.n_features)
        lifted.flags.writeable = False
        return lifted

    @cached_property
    def column_norms(self) -> FloatArray:
        r"""The norms :math:`\|a_j\|` of the d columns of X: the roots of n times the diagonal of `gram`."""
        if self.X is None:
            squares = np.maximum(np.diag(self.covariance) + self.lift, 0.0)
            from_diagonal: FloatArray = np.sqrt(self.n_samples * squares)
            return from_diagonal
        column_norms = products.column_norms(self.X)
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

        Samples of infinite budget do not count: they are in no value, however large they are.
        """
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
        return screening.optimum_is_zero(self)

    @property
    def rho_max(self) -> float:
        """The smallest float at which a budget of the adversary's kind makes the optimum 0; inf if none does.

        Of several budgets, the smallest factor for all of them. Costs do not count: less may do with them.
        """
        return screening.rho_max(self)

    def samples(self, what: str) -> Data:
        """Return X, or raise InvalidProblem naming what cannot be had from a covariance."""
        if self.X is None:
            raise InvalidProblem(f"{what} needs the samples X, this problem was built from a covariance S.")
        return self.X

    def value(self, v: ArrayLike) -> float:
        r"""Return the objective at v: its robust variance, less what its features cost.

        Parameters
        ----------
        v : array of shape (d,)
            A unit vector (to 1e-9) with at most k non-zero entries; with costs also 0, which is worth 0.
        """
        return self.robust_variance(v) - self.cost(v)

    def cost(self, v: ArrayLike) -> float:
        """Return what the features that v uses cost."""
        return 0.0 if self.costs is None else float(self.costs[vector_of(v, self.n_features) != 0].sum())

    def robust_variance(self, v: ArrayLike) -> float:
        """Return the robust variance of v, by the closed form; it is at least 0, also where v'Sv is negative."""
        direction = vector_of(v, self.n_features)
        support = np.flatnonzero(direction)
        if support.size == 0 and self.costs is not None:
            return 0.0
        length = float(norms(direction))
        if not abs(length - 1.0) <= 1e-9:
            raise InvalidProblem(f"v must have unit length, it has length {length:.12g}; normalise it.")
        if support.size > self.k:
            raise InvalidProblem(f"v has {support.size} non-zero entries, more than k = {self.k}.")
        if self.X is not None:
            return self.adversary.value(self.X, direction)
        assert isinstance(self.adversary, GramAdversary)  # from_covariance takes no other
        return self.adversary.value_from_covariance(self.covariance, self.n_samples, direction)
