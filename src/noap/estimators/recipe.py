"""What a fit is asked for, from the parameters of the estimator: checked once, against the data."""

import sys
import warnings
from typing import Any

import numpy as np

from noap.adversaries.base import Adversary
from noap.data.arguments import as_jobs, as_seconds, as_share, as_sparsity
from noap.data.deflation import CONSTRAINED, DEFLATIONS
from noap.errors import InvalidProblem, NoapWarning
from noap.estimators.fitting import Recipe, how_many
from noap.estimators.together import chosen_together
from noap.linalg.types import FloatArray

__all__ = ["recipe_of"]

# The user's line: recipe_of, the private method that fits, and the public one lie between.
_USER = 4


def recipe_of(model: Any, n: int, d: int, adversary: Adversary, costs: FloatArray | None) -> Recipe:
    """Return what a RobustSparsePCA asks for of n samples of d features, against this adversary."""
    several = isinstance(model.k, (list, tuple, np.ndarray))
    if several and not len(model.k):
        raise InvalidProblem("k must be an integer, or one integer for each component, got none.")
    ks = tuple(as_sparsity(one, sys.maxsize) for one in (model.k if several else [model.k]))
    if (k := max(ks)) > d:
        warnings.warn(
            f"k = {k} is more than the {d} features of X; k = {d} is used, which is no sparsity.",
            NoapWarning,
            stacklevel=_USER,
        )
    asked = model.n_components
    if several:
        if not isinstance(asked, (int, np.integer)) or isinstance(asked, bool) or asked not in (1, len(ks)):
            raise InvalidProblem(
                f"k has one entry for each of {len(ks)} components, and n_components is {asked!r}; leave it out."
            )
        asked = len(ks)
    most, exactly, share = how_many(asked, n, d)
    if model.deflation not in DEFLATIONS:
        raise InvalidProblem(f"deflation must be one of {DEFLATIONS}, got {model.deflation!r}.")
    if model.deflation in CONSTRAINED:
        if model.method not in ("exact", "relaxation", "ascent"):
            raise InvalidProblem(
                f"deflation={model.deflation!r} needs method='exact', 'relaxation' or 'ascent', got {model.method!r}."
            )
        if model.k_share is not None:
            raise InvalidProblem(f"deflation={model.deflation!r} takes k as it is; leave out k_share.")
    if model.k_share is not None and model.method != "exact":
        raise InvalidProblem(f"k_share needs method='exact', which proves what is kept, got {model.method!r}.")
    jobs = as_jobs(model.n_jobs)
    recipe = Recipe(
        most,
        exactly,
        share,
        tuple(min(one, d) for one in ks),
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
        bool(model.keep_data),
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
