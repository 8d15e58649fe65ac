"""Robust variance on samples that the components were not found on."""

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone

from noap.adversaries.budgets import scaled
from noap.estimators.choice import Choice, smallest_within_error
from noap.linalg.types import Data, FloatArray, IntArray
from noap.runtime.interrupts import noticing_interrupts
from noap.runtime.tasks import finished

__all__ = ["choose_by_held_out"]


def choose_by_held_out(
    estimator: Any,
    X: Data,
    ks: list[int],
    noises: list[float],
    at_noise: float,
    splits: list[tuple[IntArray, IntArray]],
    own: FloatArray | None = None,
    *,
    n_jobs: int | None,
    progress: bool,
) -> tuple[Choice, bool]:
    """Fit every pair on the training samples of each split, and take what is left of it on the others.

    Parameters
    ----------
    estimator : RobustSparsePCA
        What is fitted, with each k and noise in turn.
    X : array of shape (n, d)
    ks, noises : lists, rising
    at_noise : float
        The noise that the held-out samples face, the same for all pairs: scores at different noises cannot be compared.
    splits : list of pairs of int arrays
    own : array of shape (d,), optional
        The noises of the features, which all others multiply, where they have their own.
    n_jobs, progress

    Returns
    -------
    Choice, and whether every pair was tried
    """
    tasks = [
        _Fold(estimator, X, train, test, ks, _noise(noise, own), _noise(at_noise, own))
        for noise in noises
        for train, test in splits
    ]
    answers, cut = finished(_scored, tasks, n_jobs=n_jobs, what="fold", progress=progress)
    scores = np.full((len(noises), len(splits), len(ks)), np.nan)
    for number, answer in enumerate(answers):
        scores[number // len(splits), number % len(splits)] = answer
    done = ~np.isnan(scores).any(axis=(1, 2))
    # A noise that lacks folds is compared with others that have them only if there are no others.
    if done.any():
        scores[~done] = np.nan
    folds = (~np.isnan(scores[:, :, 0])).sum(axis=1)
    means, errors = np.full((len(noises), len(ks)), np.nan), np.zeros((len(noises), len(ks)))
    for row in np.flatnonzero(folds):
        known = scores[row][~np.isnan(scores[row, :, 0])]
        means[row] = known.mean(axis=0)
        errors[row] = known.std(axis=0, ddof=1) / np.sqrt(len(known)) if len(known) > 1 else 0.0
    place = smallest_within_error(means, errors)
    reason = (
        f"the fewest features within one standard error of the best robust variance at noise {at_noise:g} on held-out "
        f"samples, {np.nanmax(means):.4g}"
    )
    return Choice("held-out", np.array(noises), np.array(ks), means, errors, place, reason, at_noise=at_noise), not cut


@dataclass(frozen=True)
class _Fold:
    estimator: Any
    X: Data
    train: IntArray
    test: IntArray
    ks: list[int]
    noise: Any
    at_noise: Any


def _noise(noise: float, own: FloatArray | None) -> Any:
    return noise if own is None else scaled(own, noise)


def _scored(task: _Fold) -> FloatArray:
    """Return the robust variance on the held-out samples for every k, less what the features cost."""
    scores = []
    with noticing_interrupts() as interrupts, warnings.catch_warnings():
        # Pairs that come to nothing, or are not proved, are compared by what they are worth.
        warnings.simplefilter("ignore")
        for k in task.ks:
            model = clone(task.estimator).set_params(k=k, noise=task.noise, rho=None)
            model.fit(task.X[task.train])
            interrupts.check()
            left = float(model.robust_variance(task.X[task.test], noise=task.at_noise).sum())
            scores.append(
                left if model.costs_ is None else left - float(((model.components_ != 0) @ model.costs_).sum())
            )
    return np.array(scores)
