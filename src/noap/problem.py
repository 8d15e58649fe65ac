"""The problem: data, sparsity, adversary. Validated once, frozen ever after."""

import copy
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from noap.adversaries import ENERGY_LESS_L1, FeatureWise, NoAdversary, SampleWise, require_served, serves
from noap.adversaries.base import Adversary, GramAdversary, vector_of
from noap.data.centring import warn_if_uncentred
from noap.data.validation import Samples, Symmetric, as_covariance, as_names, as_samples, as_sparsity
from noap.errors import InvalidProblem
from noap.linalg import products
from noap.linalg.exact_norms import covariance_exceeds, smallest_budget, unsure
from noap.linalg.frozen import changes, fingerprint, frozen
from noap.linalg.screening import longer_columns, longer_samples
from noap.linalg.types import BoolArray, Data, FloatArray, IntArray
from noap.linalg.vectors import norms

__all__ = ["Problem"]

# The adversaries whose optimum a covariance determines, and those whose screening is a theorem.
FROM_COVARIANCE_SERVES = ENERGY_LESS_L1
ZERO_SERVES = (FeatureWise, SampleWise, NoAdversary)


@dataclass(frozen=True, eq=False, init=False, repr=False)
class Problem:
    r"""Find the k-sparse direction whose variance is largest after the worst perturbation of the data.

    .. math:: \max_{\|v\|_2 = 1,\ \|v\|_0 \le k}\ \min_{\|E\| \le \rho}\ \tfrac1n \|(X + E) v\|_2^2

    Parameters
    ----------
    X : array-like, DataFrame or SciPy sparse matrix of shape (n, d)
        Samples in rows. Used as given: neither centred nor scaled; an UncentredWarning says so where most of X is its
        column means. float32 stays float32; values are computed in float64. Up to 256 MB X is copied, so that changing
        it later changes nothing here. A larger X is fingerprinted: once it was changed, `solve`, `verify` and every
        property that reads it raise InvalidProblem.
    k : int
        How many features v may use.
    adversary : FeatureWise, SampleWise or NoAdversary
    feature_names : sequence of str, optional
        A name for every column; those of a DataFrame by default.

    Attributes
    ----------
    X : the samples, or None when built from a covariance
    n_samples, n_features, k : int
    adversary : Adversary
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
    feature_names: tuple[str, ...] | None

    def __init__(self, X: Any, k: int, adversary: Adversary, *, feature_names: Sequence[str] | None = None) -> None:
        given, own_names = as_samples(X)
        if not isinstance(X, Samples):  # those come from within, where somebody has decided
            warn_if_uncentred(given)
        data = frozen(given)
        n, d = int(data.shape[0]), int(data.shape[1])
        self._set(data, n, d, k, adversary, as_names(feature_names, d) or own_names)
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
        k, adversary, feature_names : as for Problem

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
        known = as_covariance(S, definite=adversary.rho > 0)
        names = as_names(feature_names, len(known.matrix)) or known.names
        return cls._of_symmetric(known._replace(names=names), n_samples=int(n_samples), k=k, adversary=adversary)

    @classmethod
    def _of_symmetric(cls, known: Symmetric, *, n_samples: int, k: Any, adversary: Any) -> "Problem":
        problem = cls.__new__(cls)
        problem._set(None, n_samples, len(known.matrix), k, adversary, known.names)
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
            if self.lift and adversary.rho > 0:
                raise InvalidProblem(
                    "S must be positive semidefinite for an adversary with a budget; build the problem from S with it."
                )
        changed = self._changed(adversary=_checked(adversary))
        changed.__dict__.pop("kept_features", None)  # the one property that depends on the adversary
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
        """Return the problem on the chosen features alone; the budget stays what it is.

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
        if self.X is not None:
            return Problem(Samples(self.X[:, features], names), k, self.adversary)
        block = self.covariance[np.ix_(features, features)]
        block.flags.writeable = False
        # No eigenvalue of a block lies below the smallest of the whole.
        known = Symmetric(block, names, self.diagonal_shift, self.lift > 0)
        return Problem._of_symmetric(known, n_samples=self.n_samples, k=k, adversary=self.adversary)

    def _changed(self, **fields: Any) -> "Problem":
        changed = copy.copy(self)
        _assign(changed, fields)
        return changed

    def _set(self, X: Data | None, n: int, d: int, k: Any, adversary: Any, names: tuple[str, ...] | None) -> None:
        k, adversary = as_sparsity(k, d), _checked(adversary)
        _assign(self, {"X": X, "n_samples": n, "n_features": d, "k": k, "adversary": adversary, "feature_names": names})

    def __repr__(self) -> str:
        source = "samples" if self.X is not None else "covariance"
        return (
            f"Problem({source}, n_samples={self.n_samples}, n_features={self.n_features}, "
            f"k={self.k}, adversary={self.adversary!r})"
        )

    def check_unchanged(self) -> None:
        """Raise InvalidProblem if X was changed since the problem was built; only a large or sparse X can be."""
        taken = self.__dict__.get("_fingerprint")
        if taken is not None and self.X is not None and fingerprint(self.X) != taken:
            raise InvalidProblem(
                "X was changed after the Problem was built from it; build a new Problem, or leave X as it is."
            )

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
        r"""The largest variance of a feature, :math:`\max_j \|a_j\|^2/n`, plus `lift`: the unit of tolerances."""
        return float(self.column_norms.max()) ** 2 / self.n_samples

    @cached_property
    def kept_features(self) -> BoolArray:
        """Mask of the features that can be non-zero in an optimum of positive value; no rounding decides it."""
        floor = self.adversary.feature_floor
        if self.X is not None:
            kept = longer_columns(self.X, self.column_norms, floor)
        else:
            kept = self.column_norms > floor
            near = unsure(self.column_norms, floor, 1)
            if near.any():
                kept[near] = covariance_exceeds(np.diag(self.covariance)[near], self.n_samples, floor)
        kept.flags.writeable = False
        return kept

    @property
    def kept_samples(self) -> BoolArray:
        """Mask of the samples that can contribute to an optimum; no rounding decides it."""
        X = self.samples("kept_samples")
        return longer_samples(X, self.k, self.row_top_k_norms, self.adversary.sample_floor)

    @property
    def optimum_is_zero(self) -> bool:
        r"""Whether the adversary can cancel every direction: :math:`\rho \ge \rho_{\max}`, or X = 0, exactly.

        Not known, and so False, for an adversary that noap has no theorem about.
        """
        if not serves(ZERO_SERVES, self.adversary):
            return False
        if self.X is None:
            if not self.lift and self.kept_features.any():
                return False  # one feature is enough; no need to look at every entry
            return not covariance_exceeds(self._largest_entry, self.n_samples, self.adversary.feature_floor)[0]
        if not self.kept_features.any():
            return True
        return not self.adversary.gram_suffices and not self.kept_samples.any()

    @property
    def rho_max(self) -> float:
        """The smallest float at which a budget of the adversary's kind makes the optimum 0; inf if none does."""
        if self.X is not None:
            return self.adversary.rho_max(self.X, self.k)
        if isinstance(self.adversary, NoAdversary):
            return math.inf
        entry = self._largest_entry
        near = math.sqrt(self.n_samples * float(entry[0]))
        return smallest_budget(lambda rho: bool(covariance_exceeds(entry, self.n_samples, rho)[0]), near)

    @property
    def _largest_entry(self) -> FloatArray:
        """The largest |S_ij|: v'Sv is at most that times |v|_1^2, whether S is positive semidefinite or not."""
        entries = np.diag(self.covariance) if self.k == 1 else np.abs(self.covariance)
        return np.array([max(float(entries.max()), 0.0)])

    def samples(self, what: str) -> Data:
        """Return X, or raise InvalidProblem naming what cannot be had from a covariance."""
        if self.X is None:
            raise InvalidProblem(f"{what} needs the samples X, this problem was built from a covariance S.")
        return self.X

    def value(self, v: ArrayLike) -> float:
        r"""Return the robust variance of v, by the adversary's closed form.

        Parameters
        ----------
        v : array of shape (d,)
            A unit vector (to 1e-9) with at most k non-zero entries.

        Returns
        -------
        float
            At least 0, also where :math:`v^\top S v` of an indefinite S is negative.
        """
        direction = vector_of(v, self.n_features)
        length = float(norms(direction))
        if not abs(length - 1.0) <= 1e-9:
            raise InvalidProblem(f"v must have unit length, it has length {length:.12g}; normalise it.")
        support = np.flatnonzero(direction)
        if support.size > self.k:
            raise InvalidProblem(f"v has {support.size} non-zero entries, more than k = {self.k}.")
        if self.X is not None:
            return self.adversary.value(self.X, direction)
        assert isinstance(self.adversary, GramAdversary)  # from_covariance takes no other
        weights = direction[support]
        variance = float(weights @ self.covariance[np.ix_(support, support)] @ weights)
        energy = np.sqrt(self.n_samples * max(variance, 0.0))
        away = self.adversary.distance_from_energy(np.array([energy]), weights[None, :])[0]
        return float(away) ** 2 / self.n_samples


def _checked(adversary: Any) -> Adversary:
    if not isinstance(adversary, Adversary):
        raise InvalidProblem(f"adversary must be FeatureWise, SampleWise or NoAdversary, got {adversary!r}.")
    return adversary


def require_covariance_suffices(adversary: Any) -> None:
    """Raise InvalidProblem if the adversary needs the samples themselves, or is unknown."""
    if type(_checked(adversary)) is SampleWise:
        raise InvalidProblem(
            f"adversary {type(adversary).__name__} moves samples one by one, so a covariance S is not "
            "enough; build Problem from the samples X."
        )
    require_served(adversary, FROM_COVARIANCE_SERVES, "Problem.from_covariance", "build Problem from the samples X")


def _assign(problem: Problem, fields: dict[str, Any]) -> None:
    """Set fields of a problem that is being made; nobody can later."""
    for name, entry in fields.items():
        object.__setattr__(problem, name, entry)
