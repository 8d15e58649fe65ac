"""Scale a problem to the units of the model: leading eigenvalue 1, features and samples that cannot matter left out."""

import math
from dataclasses import dataclass

import numpy as np

from noap.adversaries import FeatureWise, NoAdversary, SampleWise, require_served
from noap.errors import InvalidProblem
from noap.linalg import products
from noap.linalg.types import FloatArray, IntArray
from noap.linalg.vectors import unit as unit_vector
from noap.problem import Problem

__all__ = ["SERVES", "Instance", "instance_of", "require_program"]

# The adversaries that have a program (docs/mip.md).
SERVES = (FeatureWise, SampleWise, NoAdversary)


@dataclass(frozen=True, eq=False)
class Instance:
    r"""Data that a formulation needs of a problem, divided by the leading eigenvalue `unit` of the covariance.

    Attributes
    ----------
    kind : "none", "feature" or "sample"
        The key of the adversary; "none" also where it has no budget.
    features : array of int, shape (d,)
        The features of the model, as positions in the problem.
    k, n : int
        Sparsity, at most d; number of samples.
    rho : float or array
        Budget in model units: :math:`\rho/\sqrt{n\,\text{unit}}` feature-wise, :math:`\rho/\sqrt{\text{unit}}`
        sample-wise; one for each feature, shape (d,), or each sample, shape (m,), where they have their own. An
        infinite budget becomes the least one that wipes the feature out, which is as good.
    unit : float
        Values of the model times `unit` are values of the problem.
    eigenvalues, eigenvectors : arrays of shape (d,) and (d, d)
        Of the scaled covariance, largest first; eigenvector j is column j. The first eigenvalue is 1.
    deviations : array of shape (d,)
        Square roots of the diagonal of the scaled covariance.
    samples : array of shape (m, d) or None
        Sample-wise: the samples that count, divided by sqrt(unit).
    incumbent : array of shape (d,) or None
        A feasible direction whose value the cuts may use.
    value : float
        Its value in model units; 0 without an incumbent.
    costs : array of shape (d,) or None
        Costs of the features, in model units.
    """

    kind: str
    features: IntArray
    k: int
    n: int
    rho: float | FloatArray
    unit: float
    eigenvalues: FloatArray
    eigenvectors: FloatArray
    deviations: FloatArray
    samples: FloatArray | None
    incumbent: FloatArray | None
    value: float
    costs: FloatArray | None = None

    @property
    def least_rho(self) -> float:
        """The smallest budget, which holds for every feature or sample."""
        return float(np.min(self.rho))

    @property
    def d(self) -> int:
        """Number of features of the model."""
        return len(self.features)

    def expand(self, v: FloatArray, n_features: int) -> FloatArray:
        """Return v as a direction of the problem."""
        whole = np.zeros(n_features)
        whole[self.features] = v
        return whole


def require_program(problem: Problem) -> None:
    """Raise InvalidProblem if the adversary has no mixed-integer program."""
    require_served(problem.adversary, SERVES, "The mixed-integer program")
    if problem.costs is not None and type(problem.adversary) is SampleWise and not problem.adversary.is_idle:
        raise InvalidProblem(
            "The mixed-integer program takes no costs where the adversary moves samples; use method='exact'."
        )


def instance_of(problem: Problem, *, screen: bool, incumbent: FloatArray | None = None) -> Instance:
    """Scale the problem and, if `screen`, drop the features and samples that no optimum uses.

    Parameters
    ----------
    problem : Problem
        Its optimum must be positive.
    screen : bool
        Feature-wise a feature with |a_j| <= rho is zero in every optimum; sample-wise a sample with
        |top_k(x_i)| <= rho contributes nothing to any value, so it may leave both the covariance and the loss.
    incumbent : array of shape (n_features,), optional
        A unit k-sparse direction of the problem.
    """
    if problem.lift:
        raise InvalidProblem(
            "The mixed-integer programs need a positive semidefinite covariance S; use method='exact', which takes any."
        )
    kind = _kind(problem, screen)
    features = np.flatnonzero(problem.kept_features) if screen else np.arange(problem.n_features)
    part = problem if len(features) == problem.n_features else problem.restricted(features)
    n = problem.n_samples
    samples = None
    covariance, rho = part.covariance, part.adversary.rho
    if kind == "sample":
        samples = np.concatenate(list(products.row_blocks(part.samples("The sample-wise program"))))
        if np.ndim(rho):
            # No unit direction lifts a score above the length of its sample.
            rho = np.minimum(rho, np.linalg.norm(samples, axis=1))
        if screen:
            counting = part.row_top_k_norms > part.adversary.rho
            samples, rho = samples[counting], rho[counting] if np.ndim(rho) else rho
            covariance = samples.T @ samples / n
    eigenvalues, eigenvectors = np.linalg.eigh(covariance)
    unit = float(eigenvalues[-1])
    if not unit > 0:
        raise InvalidProblem("The covariance is zero, there is nothing to maximise; pass data that varies.")
    if kind == NoAdversary.key:
        rho = 0.0
    elif kind != "sample" and np.ndim(rho):
        # A feature whose budget is the length of its column is worth nothing already.
        rho = np.minimum(rho, part.column_norms * (1 + 1e-12))
    known = None if incumbent is None else _on(incumbent, features)
    size = math.sqrt(unit if kind == "sample" else n * unit)
    return Instance(
        kind=kind,
        features=features,
        k=part.k,
        n=n,
        rho=rho / size,
        unit=unit,
        # Rounding may leave eigenvalues of a semidefinite matrix slightly negative.
        eigenvalues=np.maximum(eigenvalues[::-1] / unit, 0.0),
        eigenvectors=eigenvectors[:, ::-1],
        deviations=np.sqrt(np.maximum(np.diag(covariance), 0.0) / unit),
        samples=None if samples is None else samples / math.sqrt(unit),
        incumbent=known,
        value=0.0 if known is None else max(part.value(known), 0.0) / unit,
        costs=None if part.costs is None else part.costs / unit,
    )


def _on(v: FloatArray, features: IntArray) -> FloatArray | None:
    """Return v on the features alone, of unit length; None if nothing of it is left."""
    part = unit_vector(v[features])
    return part if part.any() else None


def _kind(problem: Problem, simplify: bool) -> str:
    require_program(problem)
    return NoAdversary.key if simplify and problem.adversary.is_idle else problem.adversary.key
