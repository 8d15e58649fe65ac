r"""What every adversary offers.

All of them are one bilinear form. The set :math:`\{Ev\}` an adversary can reach is convex with support
function :math:`\sigma(u, v)`, so the distance from :math:`Xv` to it is

.. math:: \max_{\|u\|_2 \le 1} u^\top X v - \sigma(u, v),

and *n* times the robust variance is that distance squared. An adversary is therefore its support
function; the two half-steps maximise the form in *u* and in *v* in turn, each in closed form.
"""

from abc import ABC, abstractmethod
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from noap.errors import InvalidProblem
from noap.linalg.products import scores
from noap.linalg.types import BoolArray, Data, FloatArray, IntArray, holds_truth, refuse_mask

__all__ = ["Adversary"]


class Adversary(ABC):
    """An uncertainty set of perturbations E of an n x d sample matrix X."""

    key: ClassVar[str] = ""
    """The word for it in the estimator and on the command line, which is also what it moves."""

    moves: ClassVar[str] = ""
    """What it moves, in a few words for a reader of tables: "The adversary moves every ..."."""

    gram_suffices: ClassVar[bool] = False
    """Whether X'X determines the robust variance. What a method may conclude from that, the method says itself."""

    rho: Any
    """The budget: a finite number, at least 0; or an array, one budget for every feature or for every sample."""

    @classmethod
    def with_budget(cls, rho: Any) -> "Adversary":
        """Return the adversary of budget rho; one that has no budget is the same for all of them."""
        made: Adversary = cls(rho)  # type: ignore[call-arg]  # every shipped class with a budget takes it so
        return made

    @classmethod
    def with_noise(cls, noise: Any, n: int) -> "Adversary":
        """Return the adversary of the given noise on n samples: a number, or one for each of what it moves."""
        refuse_mask(noise, "noise")
        if holds_truth(noise):
            raise InvalidProblem(f"noise must be a number, or one for each of what is moved, got {noise!r}.")
        strength = noise if isinstance(noise, (float, int)) else np.asarray(noise, dtype=np.float64)
        return cls.with_budget(strength * cls.noise_unit(n))

    @property
    def has_one_budget(self) -> bool:
        """Whether the budget is a number, the same for all that is moved."""
        return True

    @property
    def is_uniform(self) -> bool:
        """Whether all that is moved has the same budget, as a number or as an array of equal entries."""
        return self.has_one_budget or bool(np.all(self.rho == self.rho.flat[0]))

    @property
    def simplest(self) -> "Adversary":
        """The same adversary with a number for its budget where all budgets are equal and finite; otherwise itself."""
        if self.has_one_budget or not self.is_uniform or not np.isfinite(self.rho.flat[0]):
            return self
        return type(self).with_budget(float(self.rho.flat[0]))

    @property
    def is_idle(self) -> bool:
        """Whether there is no budget at all, so that the robust variance is the plain one."""
        return bool(self.rho == 0 if self.has_one_budget else not self.rho.any())

    @property
    def rho_in_words(self) -> str:
        """The budget as it stands in a sentence."""
        if self.has_one_budget:
            return f"rho = {self.rho:g}"
        return f"rho from {self.rho.min():g} to {self.rho.max():g}"

    def budgets(self, count: int) -> FloatArray:
        """Return the budgets of all features (or samples), of which there are `count`; a number is repeated."""
        if self.has_one_budget:
            return np.full(count, float(self.rho))
        if self.rho.shape != (count,):
            raise InvalidProblem(f"rho has {len(self.rho)} entries where {count} are needed; pass one for each.")
        budgets: FloatArray = self.rho
        return budgets

    def restricted_to(self, features: IntArray) -> "Adversary":
        """Return the adversary of these features alone; itself if it treats all alike.

        Heuristics ask with an m x k array, the features of m vectors, and then pass m x k arrays of weights and
        loadings to `distance`, `shrink` and `distance_from_energy`.
        """
        return self

    def restricted_to_samples(self, samples: IntArray) -> "Adversary":
        """Return the adversary of these samples alone; itself if it treats all alike."""
        return self

    def check_shape(self, n: int, d: int) -> None:
        """Raise InvalidProblem unless the budgets are as many as there are features, or samples, in n x d data."""
        return

    @classmethod
    def noise_unit(cls, n: int) -> float:
        """Return the budget rho of noise 1 on n samples: noise counts in units that do not depend on n."""
        return 1.0

    @classmethod
    def noise_in_words(cls, scaled: bool) -> str:
        """Return what noise means, in one sentence; `scaled`: for data of standard deviation 1."""
        return "Noise is the budget of the adversary."

    def strength_in_words(self, n: int) -> str:
        """Return how strong it is on n samples, in both units: users type either."""
        unit = self.noise_unit(n)
        if self.has_one_budget:
            return f"noise {self.rho / unit:g} ({self.rho_in_words})"
        return f"noise from {self.rho.min() / unit:g} to {self.rho.max() / unit:g} ({self.rho_in_words})"

    @abstractmethod
    def norm(self, E: ArrayLike) -> float:
        """Return the norm of E that the budget bounds."""

    @abstractmethod
    def support_function(self, u: FloatArray, v: FloatArray) -> float:
        r"""Return :math:`\sigma(u, v) = \max_{\|E\| \le \rho} u^\top E v`."""

    @abstractmethod
    def distance(self, scores: FloatArray, v: FloatArray) -> FloatArray:
        r"""Return :math:`\min_{\|E\| \le \rho} \|(X+E)v\|_2` from the scores Xv; batched over rows.

        Parameters
        ----------
        scores : array of shape (m, n)
        v : array of shape (m, d) or (m, k)
            The vectors themselves, or their non-zero entries.

        Returns
        -------
        array of shape (m,)
        """

    @abstractmethod
    def attack(self, X: Data, v: ArrayLike) -> FloatArray:
        """Return a perturbation E (n x d) of norm at most rho that attains the inner minimum at v."""

    @abstractmethod
    def rho_max(self, X: Data, k: int) -> float:
        """Return the smallest budget that makes every k-sparse direction worthless; of several, the smallest factor."""

    @abstractmethod
    def respond(self, scores: FloatArray) -> FloatArray:
        """Half-step in u: the unit u that maximises the form for given scores Xv; batched over rows.

        A row that the adversary can cancel altogether comes back as zero.
        """

    def respond_to(self, scores: FloatArray, v: FloatArray) -> FloatArray:
        """Half-step in u where the vectors are known too: the same as `respond`, unless sigma asks for more than |v|_2.

        Parameters
        ----------
        scores : array of shape (m, n)
        v : array of shape (m, d) or (m, k)
            The vectors themselves, or their non-zero entries.
        """
        return self.respond(scores)

    def lessened(self, loadings: FloatArray, u: FloatArray) -> FloatArray:
        """Return loadings X'u less what sigma costs at u, unless `shrink` can do so without it; batched over rows.

        Loadings that `shrink` and `gradient` take are those that this returns.
        """
        return loadings

    @abstractmethod
    def shrink(self, loadings: FloatArray) -> FloatArray:
        """Half-step in v before truncation: what the loadings X'u are worth to the form.

        The exact maximiser over k-sparse unit v is the normalised top k of the result. Ascent calls it on the loadings
        of a few features as well, after `restricted_to`: it acts entry by entry. With one budget for all it acts alike
        on all of them and keeps the order of magnitudes.
        """

    def gradient(self, loadings: FloatArray, v: FloatArray) -> FloatArray:
        """Return the direction of the gradient of the closed form at unit v, from the loadings X'u."""
        return loadings

    @abstractmethod
    def rescaled(self, factor: float) -> "Adversary":
        """Return the adversary that does to factor X what this one does to X."""

    @property
    def feature_floor(self) -> "float | FloatArray":
        """A feature whose column is no longer than this is zero in every optimum of positive value; 0 for none."""
        return 0.0

    @property
    def sample_floor(self) -> "float | FloatArray":
        """A sample whose k largest entries are no longer than this adds nothing to any value; 0 for none."""
        return 0.0

    def kept_features(self, column_norms: FloatArray) -> BoolArray:
        """Mask of the features that can be non-zero in an optimum; as good as the norms of the columns are."""
        return column_norms > self.feature_floor

    def kept_samples(self, row_top_k_norms: FloatArray) -> BoolArray:
        """Mask of the samples that can contribute to an optimum; as good as the norms of their top k entries are."""
        return row_top_k_norms > self.sample_floor

    def project(self, X: Data, v: ArrayLike) -> FloatArray:
        r"""Return :math:`\mathrm{Proj}_{\mathcal F(v)}(Xv)`, the reachable point nearest to Xv (Proposition 1).

        :math:`\mathcal F(v)` is the set of all :math:`Ev` with :math:`\|E\| \le \rho`, and n times the robust variance
        is the squared distance of :math:`Xv` from it: equation (2) of the paper. The point is :math:`-E v` for the
        attack E.

        Parameters
        ----------
        X : array of shape (n, d)
        v : array of shape (d,)
            Used as given.

        Returns
        -------
        array of shape (n,)

        Examples
        --------
        >>> import noap
        >>> noap.FeatureWise(1.0).project([[3.0, 0.0], [4.0, 1.0]], [1.0, 0.0])
        array([0.6, 0.8])
        >>> noap.SampleWise(3.5).project([[3.0, 0.0], [4.0, 1.0]], [1.0, 0.0])
        array([3. , 3.5])
        """
        data = samples_of(X)
        direction = vector_of(v, data.shape[1])
        self.check_shape(*data.shape)
        support = np.flatnonzero(direction)
        part = data[:, support]
        # 0.0 - : a point that is not moved is 0, not -0.
        moved: FloatArray = 0.0 - self.restricted_to(support).attack(part, direction[support]) @ direction[support]
        return moved

    def value(self, X: Data, v: ArrayLike) -> float:
        r"""Return the robust variance :math:`\min_{\|E\| \le \rho} \frac1n \|(X+E)v\|_2^2`.

        Parameters
        ----------
        X : array of shape (n, d)
        v : array of shape (d,)
            Used as given: neither normalised nor truncated. v = 0 gives 0.
        """
        data = samples_of(X)
        direction = vector_of(v, data.shape[1])
        away = self.distance(scores(data, direction)[None, :], direction[None, :])[0]
        return float(away) ** 2 / int(data.shape[0])


class GramAdversary(Adversary):
    """An adversary whose damage depends on X only through |Xv|."""

    gram_suffices = True

    @abstractmethod
    def rescaled(self, factor: float) -> "GramAdversary":
        """Return the adversary that does to factor X what this one does to X."""

    @abstractmethod
    def distance_from_energy(self, energy: FloatArray, v: FloatArray) -> FloatArray:
        """Return the distance from the norms |Xv| (one per row of v)."""

    def value_from_covariance(self, S: FloatArray, n: int, v: FloatArray) -> float:
        """Return the robust variance of v from S = X'X/n; v'Sv counts as 0 where it is negative."""
        support = np.flatnonzero(v)
        weights, own = v[support], self.restricted_to(support)
        assert isinstance(own, GramAdversary)
        energy = np.sqrt(n * max(float(weights @ S[np.ix_(support, support)] @ weights), 0.0))
        return float(own.distance_from_energy(np.array([energy]), weights[None, :])[0]) ** 2 / n


def samples_of(X: Any) -> Data:
    """Return X as it is if it has a shape, as a float64 array otherwise; a masked array is refused."""
    refuse_mask(X)
    return X if hasattr(X, "shape") else np.asarray(X, dtype=np.float64)


def vector_of(v: ArrayLike, d: int) -> FloatArray:
    """Return v as a float64 vector of length d, or raise InvalidProblem."""
    refuse_mask(v, "v")
    try:
        given = np.asarray(v)
        if given.dtype.kind == "c":
            raise TypeError
        direction = given.astype(np.float64)
    except (TypeError, ValueError):
        raise InvalidProblem("v must be a vector of real numbers.") from None
    if direction.shape != (d,):
        raise InvalidProblem(f"v has shape {direction.shape}, but X has {d} features; pass a vector of length {d}.")
    return direction
