"""Measure the population path of the model like an experiment: the limit of the curves as n grows."""

from dataclasses import dataclass

import numpy as np

from noap import metrics, theory
from noap.errors import InvalidProblem
from noap.experiments.spec import SpikedModel
from noap.linalg.types import FloatArray, IntArray

__all__ = ["Population", "guaranteed_cosines", "population_of"]


@dataclass(frozen=True, eq=False)
class Population:
    """Exact population optima of the feature-wise problem over normalised budgets (Theorem 5).

    Attributes
    ----------
    budgets : array of shape (m,)
    cosine_strong, cosine_weak, recovery_strong, recovery_weak, values, sizes : arrays of shape (m,)
        Zero where the value is zero: nothing is selected.
    thresholds : (weak part ends, one feature is left, nothing is left), normalised
    """

    budgets: FloatArray
    cosine_strong: FloatArray
    cosine_weak: FloatArray
    recovery_strong: FloatArray
    recovery_weak: FloatArray
    values: FloatArray
    sizes: FloatArray
    thresholds: tuple[float, float, float]


def population_of(model: SpikedModel, largest: float) -> Population:
    """Return the population path of a strong/weak model for normalised budgets from 0 to `largest`.

    Examples
    --------
    >>> path = population_of(SpikedModel(100, 5, 3.0, k1=2, c=0.8), 4.5)
    >>> [round(threshold, 3) for threshold in path.thresholds]
    [0.84, 1.947, 3.317]
    """
    if model.k1 is None or model.c is None:
        raise InvalidProblem("model must have k1 and c: the stages are those of a strong and a weak part.")
    truth = theory.strong_weak_truth(model.k, model.k1, model.c)
    strong, weak = np.arange(model.k1), np.arange(model.k1, model.k)
    budgets = np.linspace(0.0, largest, 400)
    # With n = k budgets are normalised already, and nothing else depends on n.
    path = theory.population_path(theory.Spike(truth, model.lam), budgets, n=model.k)
    vectors = np.where((path.values > 0)[:, None], path.vectors, 0.0)

    def cosine(part: IntArray) -> FloatArray:
        return np.array([metrics.cosine(v, truth, part) for v in vectors])

    def recovery(part: IntArray) -> FloatArray:
        return np.array([metrics.support_recovery(v, np.arange(model.k), part) for v in vectors])

    stages = theory.stage_thresholds(model.lam, model.k, model.k1, model.c, n=model.k)
    return Population(
        budgets=budgets,
        cosine_strong=cosine(strong),
        cosine_weak=cosine(weak),
        recovery_strong=recovery(strong),
        recovery_weak=recovery(weak),
        values=path.values,
        sizes=np.count_nonzero(vectors, axis=1).astype(np.float64),
        thresholds=stages.normalised,
    )


def guaranteed_cosines(model: SpikedModel, largest: float) -> tuple[FloatArray, FloatArray]:
    """Return normalised budgets and the cosine that Theorem 4, corrected, guarantees the population optimum there.

    Examples
    --------
    >>> budgets, cosines = guaranteed_cosines(SpikedModel(100, 5, 3.0), 1.0)
    >>> bool((np.diff(budgets) > 0).all() and (np.diff(cosines) < 0).all())
    True
    """
    deltas = np.linspace(1e-6, 1.0 - 1e-6, 2000)
    budgets = np.array([theory.recovery_condition(model.lam, model.k, delta, n=model.k) for delta in deltas])
    keep = budgets <= largest
    return budgets[keep], 1.0 - deltas[keep]
