"""Robust variance by chance: the same features with every column shuffled by itself, which breaks all correlations."""

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np

from noap.adversaries.base import Adversary
from noap.data.validation import as_samples
from noap.errors import NoapWarning
from noap.linalg.types import FloatArray
from noap.problem import Problem
from noap.runtime.interrupts import noticing_interrupts
from noap.runtime.tasks import finished, seeds
from noap.solving import NOTHING_LEFT, solve

__all__ = ["PermutationNull", "permutation_null"]

# Values that agree to this share are equal to rounding: a single feature has the same variance in any order.
_SAME = 1e-9


@dataclass(frozen=True, eq=False)
class PermutationNull:
    r"""Robust variances of the data and of shuffled data, over budgets and numbers of features.

    Attributes
    ----------
    values : array of shape (r, m)
        Of the data, for r adversaries and m values of k.
    nulls : array of shape (p, r, m)
        Of p shuffled copies.
    complete : bool
        False if Ctrl-C ended it early.
    """

    values: FloatArray
    nulls: FloatArray
    complete: bool = True

    @property
    def shares(self) -> FloatArray:
        """The share of the robust variance that chance does not explain: 1 - mean of the nulls/value; 0 for value 0.

        Standard deviations of the nulls are no unit for it: with enough noise the best component of shuffled data is a
        single feature, whose variance is the same in any order.
        """
        shares = 1.0 - self.nulls.mean(axis=0) / np.where(self.values > 0, self.values, 1.0)
        beyond: FloatArray = np.where((self.values > 0) & (np.abs(shares) > _SAME), shares, 0.0)
        return beyond

    @property
    def errors(self) -> FloatArray:
        """The standard deviation of the nulls/value: the error of the shares of a single shuffled copy."""
        errors: FloatArray = self.nulls.std(axis=0, ddof=1) / np.where(self.values > 0, self.values, 1.0)
        return errors

    @property
    def p_values(self) -> FloatArray:
        """The share of copies, the data counted among them, whose value is as large as that of the data."""
        reached = self.nulls >= self.values * (1 - _SAME)
        shares: FloatArray = (1 + reached.sum(axis=0)) / (1 + len(self.nulls))
        return shares


def permutation_null(
    X: FloatArray,
    ks: list[int],
    adversaries: list[Adversary],
    *,
    n_permutations: int,
    costs: FloatArray | None = None,
    method: str = "ascent",
    random_state: Any = None,
    n_jobs: int | None = None,
    progress: bool = False,
) -> PermutationNull:
    """Compare the data with copies in which every column is shuffled by itself.

    Shuffling keeps the variance of every feature and breaks the correlations between them. Witten, Tibshirani and
    Hastie (2009) choose the sparsity of a component by it.

    The options are those of :func:`noap.solve`, for the data and the copies alike; at least two copies are made. On
    Ctrl-C the comparison with the copies so far comes back, if these are two at least.
    """
    drawn = seeds(random_state, n_permutations)
    tasks: list[_Copy] = [_Copy(X, None, ks, adversaries, costs, method)]
    tasks += [_Copy(X, seed, ks, adversaries, costs, method) for seed in drawn]
    answers, cut = finished(_values, tasks, n_jobs=n_jobs, what="shuffled copy", progress=progress)
    if len(answers) < 3:
        raise KeyboardInterrupt
    return PermutationNull(answers[0], np.array(answers[1:]), not cut)


@dataclass(frozen=True)
class _Copy:
    X: FloatArray
    seed: np.random.SeedSequence | None
    ks: list[int]
    adversaries: list[Adversary]
    costs: FloatArray | None
    method: str


def _values(task: _Copy) -> FloatArray:
    """Return the robust variances of the data (no seed) or of one shuffled copy."""
    X = task.X
    if task.seed is not None:
        X = np.random.default_rng(task.seed).permuted(X, axis=0)
    # as_samples keeps Problem from warning of data that are not centred.
    problem = Problem(as_samples(X), task.ks[0], task.adversaries[0], costs=task.costs)
    values = np.zeros((len(task.adversaries), len(task.ks)))
    with noticing_interrupts() as interrupts, warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=NOTHING_LEFT, category=NoapWarning)
        for i, adversary in enumerate(task.adversaries):
            for j, k in enumerate(task.ks):
                values[i, j] = solve(problem.with_sparsity(k).with_adversary(adversary), task.method).value
                interrupts.check()
    return values
