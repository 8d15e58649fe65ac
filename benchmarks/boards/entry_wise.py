"""The entry-wise adversary on the strong/weak model, at budgets that leave given shares of the variance."""

from collections.abc import Iterator, Sequence

import numpy as np
import polars as pl

import noap
from benchmarks.board import Board, Setting
from benchmarks.data import strong_weak
from benchmarks.instances import Instance
from benchmarks.summary import EXACT, of, proofs

__all__ = ["ENTRY_WISE"]

_SHARES, _SEEDS = (0.9, 0.7, 0.5, 0.3, 0.1), 10


def _instances(setting: Setting) -> Iterator[Instance]:
    for seed in range(2 if setting.quick else _SEEDS):
        X = strong_weak(100, 100, 5, seed)
        for share in _SHARES:
            delta = _leaving(share, X)
            name, left = f"seed={seed} delta={delta:g}", f"{share:.0%} left"
            yield Instance(name, X, 5, delta, "EntryWise", left, delta, seed=seed)


def _leaving(share: float, X: np.ndarray) -> float:
    """Return the delta that leaves a share of the plain variance, as ascent has it, to three digits."""
    plain = noap.solve(noap.Problem(X, 5), "ascent").value
    low, high = 0.0, float(np.abs(X).max())
    for _ in range(12):
        middle = 0.5 * (low + high)
        left = noap.solve(noap.Problem(X, 5, noap.EntryWise(middle)), "ascent").value
        low, high = (middle, high) if left > share * plain else (low, middle)
    return float(f"{low:.3g}")


def _methods(one: Instance) -> Sequence[str]:
    return [EXACT]


def _show(frame: pl.DataFrame) -> str:
    return (
        "Strong/weak model, n = 100, d = 100, k = 5, by the share of the plain variance that is left, to 1e-4.\n\n"
        + (proofs(of(frame, EXACT).rename({"data": "share"}), ["share"]))
    )


ENTRY_WISE = Board("entry_wise", "The entry-wise adversary", _show, _instances, _methods)
