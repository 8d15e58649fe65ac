"""Problems that differ from a given one in one thing: what is known of the data is shared."""

import copy
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from noap.data.arguments import as_costs, as_sparsity
from noap.data.chosen import as_demands, as_directions
from noap.data.metric import as_metric, block
from noap.data.requirements import require_covariance_suffices, require_fit
from noap.data.validation import Samples, Symmetric
from noap.errors import InvalidProblem
from noap.linalg.memory import MANY_FEATURES
from noap.linalg.types import IntArray

if TYPE_CHECKING:
    from noap.adversaries.base import Adversary
    from noap.problem import Problem

__all__ = ["Variants"]


class Variants:
    """What a Problem offers to make another one of itself."""

    def with_adversary(self: Any, adversary: "Adversary") -> "Problem":
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
        require_fit(adversary, self.n_samples, self.n_features, self.costs, self.metric, self.orthogonal_to)
        changed: Problem = self._changed(adversary=adversary)
        for name in ("kept_features", "scale"):  # the properties that depend on the adversary
            changed.__dict__.pop(name, None)
        return changed

    def with_costs(self: Any, costs: ArrayLike | None) -> "Problem":
        """Return the same data, sparsity and adversary with other costs, or none; what is known is shared.

        Examples
        --------
        >>> import noap
        >>> problem = noap.Problem([[3.0, 0.0], [4.0, 1.0]], k=1, adversary=noap.NoAdversary())
        >>> problem.with_costs([2.5, 0.0]).value([1.0, 0.0])
        10.0
        """
        given = as_costs(costs, self.n_features)
        require_fit(self.adversary, self.n_samples, self.n_features, given, self.metric)
        changed: Problem = self._changed(costs=given)
        changed.__dict__.pop("kept_features", None)
        return changed

    def with_metric(self: Any, metric: Any) -> "Problem":
        """Return the same data, sparsity and adversary with another metric, or none; what is known is shared.

        Examples
        --------
        >>> import noap
        >>> problem = noap.Problem([[3.0, 0.0], [4.0, 1.0]], k=1, adversary=noap.NoAdversary())
        >>> problem.with_metric([4.0, 1.0]).value([0.5, 0.0])
        3.125
        """
        given = as_metric(metric, self.n_features)
        require_fit(self.adversary, self.n_samples, self.n_features, self.costs, given, self.orthogonal_to)
        changed: Problem = self._changed(metric=given)
        changed.__dict__.pop("scale", None)
        return changed

    def with_orthogonality(self: Any, directions: ArrayLike | None) -> "Problem":
        """Return the same problem for v orthogonal to these unit vectors (rows), or to none; what is known is shared.

        Examples
        --------
        >>> import noap
        >>> problem = noap.Problem([[3.0, 0.0], [4.0, 1.0]], k=2, adversary=noap.NoAdversary())
        >>> round(noap.solve(problem.with_orthogonality([[0.6, 0.8]])).value, 4)
        6.26
        """
        given = as_directions(directions, self.n_features)
        require_fit(self.adversary, self.n_samples, self.n_features, self.costs, self.metric, given)
        changed: Problem = self._changed(orthogonal_to=given)
        return changed

    def with_sparsity(self: Any, k: int) -> "Problem":
        """Return the same data and adversary with another k; what is known of the data is shared.

        Examples
        --------
        >>> import noap
        >>> noap.Problem([[3.0, 0.0], [4.0, 1.0]], k=1, adversary=noap.NoAdversary()).with_sparsity(2).k
        2
        """
        sparsity = as_sparsity(k, self.n_features)
        as_demands(self.include, self.exclude, sparsity, self.n_features, self.feature_names)
        changed: Problem = self._changed(k=sparsity)
        changed.__dict__.pop("row_top_k_norms", None)  # the one property that depends on k
        return changed

    def without_samples(self: Any) -> "Problem":
        """Return the problem without its samples: their covariance stays, where features are not too many for it.

        Examples
        --------
        >>> import noap
        >>> problem = noap.Problem([[3.0, 0.0], [4.0, 1.0]], k=1, adversary=noap.FeatureWise(1.0)).without_samples()
        >>> problem.X, round(problem.value([1.0, 0.0]), 12)
        (None, 8.0)
        """
        if self.X is None:
            same: Problem = self
            return same
        _ = self.scale, self.column_norms
        if self.adversary.gram_suffices and self.n_features <= MANY_FEATURES:
            _ = self.covariance
        changed: Problem = self._changed(X=None, _forgotten=True)
        for name in ("by_columns", "row_top_k_norms", "_fingerprint"):
            changed.__dict__.pop(name, None)
        return changed

    def with_preparation(self: Any, mean: ArrayLike, scale: ArrayLike) -> "Problem":
        """Return the same problem, which knows how its samples were made: (x - mean)/scale of those in a file.

        A certificate names them, so that others can check it with that file.

        Parameters
        ----------
        mean, scale : array-like of shape (d,)
            An infinite scale makes a column 0.

        Examples
        --------
        >>> import noap
        >>> problem = noap.Problem([[-1.0, 1.0], [1.0, -1.0]], k=1, adversary=noap.NoAdversary())
        >>> problem.with_preparation([2.0, 3.0], [1.0, 2.0]).preparation[0]
        array([2., 3.])
        """
        given = tuple(np.array(one, dtype=np.float64) for one in (mean, scale))
        for name, one in zip(("mean", "scale"), given, strict=True):
            if one.shape != (self.n_features,) or np.isnan(one).any():
                raise InvalidProblem(f"{name} must be one number for each of the {self.n_features} features.")
        changed: Problem = self._changed(preparation=given)
        return changed

    def restricted(self: Any, features: IntArray, k: int | None = None) -> "Problem":
        """Return the problem on the chosen features alone, with their budgets, costs and metric.

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
        self.require_no_demands("Problem.restricted")
        self.require_no_directions("Problem.restricted")
        k = min(self.k, len(features)) if k is None else k
        names = None if self.feature_names is None else tuple(self.feature_names[j] for j in features)
        adversary = self.adversary.restricted_to(features)
        costs = None if self.costs is None else self.costs[features]
        metric = block(self.metric, features)
        if self.X is not None:
            made: Problem = type(self)(Samples(self.X[:, features], names), k, adversary, costs=costs, metric=metric)
            return made
        S = self.covariance[np.ix_(features, features)]
        S.flags.writeable = False
        # No eigenvalue of a block lies below the smallest of the whole.
        known = Symmetric(S, names, self.diagonal_shift, self.lift > 0)
        made = self._of_symmetric(known, self.n_samples, k, adversary, costs, metric)
        return made

    def _changed(self: Any, **fields: Any) -> "Problem":
        changed: Problem = copy.copy(self)
        changed.__dict__.update(self.__dict__ | fields)  # nobody else can: it is frozen
        return changed
