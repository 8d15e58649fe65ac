"""What a fitted set of components does with samples: scores, what is left of them, their density."""

from typing import Any

import numpy as np
from sklearn.utils._set_output import _get_output_config
from sklearn.utils.validation import check_array, check_is_fitted

from noap.data.deflation import span_of
from noap.errors import InvalidProblem
from noap.estimators.inputs import checked_samples, fill, missing_counts, names_in
from noap.estimators.span_model import SpanModel
from noap.estimators.strength import Frame, Strength, kind_of, strength_of, widened
from noap.linalg.types import Data, FloatArray, IntArray
from noap.runtime.frames import shaped

__all__ = ["ProjectionMixin", "in_order_of_use"]


def in_order_of_use(components: FloatArray) -> IntArray:
    """Return the features that components use: those of the first by size, then what the second adds, and so on.

    >>> in_order_of_use(np.array([[0.6, 0.0, 0.8, 0.0], [1.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 1.0]]))
    array([2, 0, 3])
    """
    used = np.flatnonzero(components.any(axis=0))
    first = np.argmax(components[:, used] != 0, axis=0)
    order: IntArray = used[np.lexsort((-np.abs(components[first, used]), first))]
    return order


class ProjectionMixin:
    """Methods of an estimator that has `components_`, `mean_`, `scale_`, `noise_` and the model of their span.

    `transform` is not among them: scikit-learn's `set_output` wraps what the class itself defines.
    """

    adversary: Any
    deflation: str
    missing: str
    components_: FloatArray
    joint_result_: Any
    mean_: FloatArray
    scale_: FloatArray
    noise_: Any
    noise_units: str
    fill_values_: FloatArray
    _fill_spread: FloatArray
    _given_noise: Any
    _span_model: SpanModel

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

    @property
    def features_(self) -> tuple[Any, ...]:
        """Per component the features that it uses, the largest loading first: names, or positions without any."""
        check_is_fitted(self, "components_")
        names = names_in(self)
        used = [np.argsort(-np.abs(v), kind="stable")[: np.count_nonzero(v)] for v in self.components_]
        return tuple(one if names is None else np.array(names, dtype=object)[one] for one in used)

    def get_support(self, indices: bool = False) -> Any:
        """Return the features that some component uses, as scikit-learn's selectors do.

        Parameters
        ----------
        indices : bool
            Return positions in place of a mask of shape (d,).
        """
        check_is_fitted(self, "components_")
        mask = self.components_.any(axis=0)
        return np.flatnonzero(mask) if indices else mask

    def loadings_frame(self, library: str | None = None) -> Any:
        """Return the loadings as a table with one row for each feature that a component uses.

        Parameters
        ----------
        library : "polars" or "pandas", optional
            By default what `set_output(transform=...)` has chosen, otherwise polars.

        Returns
        -------
        DataFrame
            Columns feature (its name, or "feature 3"), component 1, component 2, ...: 0 where a component does not use
            it. The features of the first component come first, the largest on top, then what the second adds.
        """
        import polars

        check_is_fitted(self, "components_")
        names, used = names_in(self), in_order_of_use(self.components_)
        shown = [f"feature {j}" if names is None else names[j] for j in used]
        columns = {f"component {c}": row[used] for c, row in enumerate(self.components_, start=1)}
        if library is None:
            chosen = _get_output_config("transform", self)["dense"]
            library = "polars" if chosen == "default" else chosen
        return shaped(polars.DataFrame({"feature": polars.Series(shown, dtype=polars.String)} | columns), True, library)

    def robust_variance(self, X: Any, noise: Any = None) -> FloatArray:
        """Return the variance that the adversary leaves of every component on the samples X, shape (n, d).

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d)
            Centred and scaled by what `fit` learned, then deflated as in `fit`, if it was.
        noise : float, array, dict, Series or DataFrame, optional
            Another strength of the adversary, as for the estimator; that of `fit` by default. The feature-wise budget
            is noise sqrt(n) for the n of these samples. What is filled in among them adds to it as in `fit`.

        Returns
        -------
        array of shape (n_components,)
        """
        taken = self._checked_like_fit(X)
        data, C = self._filled_like_fit(taken), self.components_
        adversary = self._strength(taken, noise).adversary
        adversary.check_shape(*data.shape)
        left = np.array([self._deflated(C[:c], v) for c, v in enumerate(C)])
        away = adversary.distance(self._scores(data, left.T).T, C)
        variances: FloatArray = away**2 / int(data.shape[0])
        return variances

    def score(self, X: Any, y: Any = None) -> float:
        """Return the robust variance of the samples X, shape (n, d), summed over the components.

        On the data of `fit` it is the sum of `robust_variance_`. Models of different `noise` face different
        adversaries: compare them by `robust_variance(X, noise=...)` at one noise, or by `score_samples`, which knows
        no adversary.
        """
        return float(self.robust_variance(X).sum())

    def score_samples(self, X: Any) -> FloatArray:
        """Return the log-likelihood of every sample of X, shape (n, d), under the model of :meth:`get_covariance`.

        As in `sklearn.decomposition.PCA`; low where a sample is unlike those of `fit`. No adversary is in it, and
        `score` is not its mean.
        """
        data = self._taken(X)
        scores = self._scores(data, self._span_model.Q)
        density: FloatArray = self._span_model.log_density(scores, self._squares(data)) - np.log(self.scale_).sum()
        return density

    def get_covariance(self) -> FloatArray:
        r"""Return the covariance of the model, shape (d, d), in the units of X.

        :math:`Q C Q^\top + \sigma^2 (I - QQ^\top)` with Q an orthonormal basis of the span of the components, C the
        covariance of the standardised data on it and :math:`\sigma^2` their mean variance off it, `noise_variance_`;
        times the scales. Components are not rotated: only their span matters here. For the leading principal components
        this is the probabilistic PCA of `sklearn.decomposition.PCA`, divided by n.
        """
        check_is_fitted(self, "components_")
        return self._span_model.covariance() * np.outer(self.scale_, self.scale_)

    def get_precision(self) -> FloatArray:
        """Return the inverse of :meth:`get_covariance`, shape (d, d); the pseudo-inverse where that is singular."""
        return np.linalg.pinv(self.get_covariance(), hermitian=True)

    def _strength(self, taken: Data, noise: Any) -> Strength:
        """Return the adversary on samples that are not filled yet, of this noise or of that of fit."""
        kind, n = kind_of(self.adversary), int(taken.shape[0])
        if noise is None:
            given = Strength(kind.with_noise(self._given_noise, n), self._given_noise)
        else:
            frame = Frame(n, names_in(self), self.scale_)
            given = strength_of(kind.key, noise, None, frame, self.noise_units)
        if not hasattr(self, "fill_values_"):
            return given
        return widened(given, np.sqrt(missing_counts(taken)) * self._fill_spread / self.scale_, n)

    def _taken(self, X: Any) -> Data:
        """Return X checked against the data of fit, what is missing filled as it was there."""
        return self._filled_like_fit(self._checked_like_fit(X))

    def _filled_like_fit(self, data: Data) -> Data:
        values = getattr(self, "fill_values_", None)
        return data if values is None else fill(data, values)

    def _checked_like_fit(self, X: Any) -> Data:
        check_is_fitted(self, "components_")
        values = getattr(self, "fill_values_", None)
        # A stream or a covariance has learned nothing to fill in.
        missing = "error" if values is None and self.missing == "impute" else self.missing
        return checked_samples(self, X, reset=False, missing=missing)

    def _scores(self, data: Data, directions: FloatArray) -> FloatArray:
        """Return Z times the directions (columns), Z the centred and scaled samples; a sparse X is not filled."""
        if isinstance(data, np.ndarray):
            dense: FloatArray = ((data - self.mean_) / self.scale_) @ directions
            return dense
        scores: FloatArray = data @ (directions / self.scale_[:, None]) - (self.mean_ / self.scale_) @ directions
        return scores

    def _squares(self, data: Data) -> FloatArray:
        """Return the squared lengths of the centred and scaled samples."""
        if isinstance(data, np.ndarray):
            Z = (data - self.mean_) / self.scale_
            lengths: FloatArray = np.einsum("ij,ij->i", Z, Z)
            return lengths
        scaled, offset = data.copy(), self.mean_ / self.scale_
        scaled.data = scaled.data / self.scale_[scaled.indices]
        squares: FloatArray = scaled.multiply(scaled).sum(axis=1) - 2 * (scaled @ offset) + offset @ offset
        return squares

    def _deflated(self, before: FloatArray, v: FloatArray) -> FloatArray:
        """Return w with Zw = (what the components before leave of Z) v."""
        if self.deflation == "disjoint" or self.joint_result_ is not None or not len(before):
            return v
        Q = span_of(before)
        return v - Q @ (Q.T @ v)
