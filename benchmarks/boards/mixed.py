"""Mixed budgets: real data, standardised, of which some features are exact and the others have noise."""

from collections.abc import Iterator

import numpy as np
import polars as pl

from benchmarks.board import Board, Setting
from benchmarks.data import of_covariance, standardised_sets
from benchmarks.instances import Instance
from benchmarks.summary import beaten, proofs

__all__ = ["MIXED"]

_SEED, _EQUAL, _UNEQUAL = 1, 0.3, (0.1, 0.7)


def _instances(setting: Setting) -> Iterator[Instance]:
    for name, C in standardised_sets(setting):
        d = len(C)
        for k in (5, 10):
            for share in (0.15, 0.4, 0.7):
                # The same draws for every k: which features are exact, then what the others have.
                rng = np.random.default_rng(_SEED)
                exact, unequal = rng.random(d) < share, rng.uniform(*_UNEQUAL, d)
                for kind, noise in (("equal", np.full(d, _EQUAL)), ("unequal", unequal)):
                    if k <= d and not (setting.quick and d > 64):
                        rho = np.where(exact, 0.0, noise)
                        label = f"{name} d={d} k={k} exact={share:g} {kind}"
                        known = {"rho": rho, "adversary": "FeatureWise", "budget": share, "seed": _SEED, "data": kind}
                        yield of_covariance(label, C, k, **known)


def _show(frame: pl.DataFrame) -> str:
    names = {"budget": "share of exact features", "data": "noise of the others"}
    return (
        "Real data, standardised, to 1e-4. Each feature is exact (budget 0) with the probability in the first column; "
        f"the others have noise {_EQUAL:g}, or noise drawn from {_UNEQUAL[0]:g} to {_UNEQUAL[1]:g} (seed {_SEED}, the "
        "same draws for each k).\n\n" + proofs(frame.rename(names), [*names.values(), "k"])
    )


MIXED = Board("mixed", "Exact and noisy features together", _show, _instances, beaten=beaten)
