"""What a fit is asked for, from the parameters of the estimator: checked once, against the data."""

import sys
import warnings
from typing import Any

import numpy as np

from noap.adversaries.base import Adversary
from noap.data.arguments import as_jobs, as_seconds, as_share, as_sparsity
from noap.data.deflation import DEFLATIONS
from noap.errors import InvalidProblem, NoapWarning
from noap.estimators.fitting import Recipe, how_many
from noap.estimators.together import chosen_together
from noap.linalg.types import FloatArray

__all__ = ["recipe_of"]

# The user's line: recipe_of, the private method that fits, and the public one lie between.
_USER = 4


def recipe_of(model: Any, n: int, d: int, adversary: Adversary, costs: FloatArray | None) -> Recipe:
    """Return what a RobustSparsePCA asks for of n samples of d features, against this adversary."""
    k = as_sparsity(model.k, sys.maxsize)
    if k > d:
        warnings.warn(
            f"k = {k} is more than the {d} features of X; k = {d} is used, which is no sparsity.",
            NoapWarning,
            stacklevel=_USER,
        )
    most, exactly, share = how_many(model.n_components, n, d)
    if model.deflation not in DEFLATIONS:
        raise InvalidProblem(f"deflation must be one of {DEFLATIONS}, got {model.deflation!r}.")
    if model.k_share is not None and model.method != "exact":
        raise InvalidProblem(f"k_share needs method='exact', which proves what is kept, got {model.method!r}.")
    jobs = as_jobs(model.n_jobs)
    recipe = Recipe(
        most,
        exactly,
        share,
        min(k, d),
        None if model.k_share is None else as_share("k_share", model.k_share),
        adversary,
        costs,
        model.method,
        model.deflation,
        model.gap,
        as_seconds(model.time_limit),
        _seed(model.random_state),
        dict(model.options or {}),
        jobs,
        bool(model.verbose),
    )
    return chosen_together(recipe, model.joint, d)


def _seed(random_state: Any) -> int | None:
    """Return one seed for all components."""
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(2**31 - 1))
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**32))
    seed: int | None = random_state
    return seed
