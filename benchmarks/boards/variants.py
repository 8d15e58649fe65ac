"""Around the paper's grid: general truth, k = 10, a fine grid of budgets, kinds that resist, many features."""

from collections.abc import Iterator

import numpy as np
import polars as pl

from benchmarks.board import Board, Setting
from benchmarks.boards.grid import normalised
from benchmarks.data import strong_weak
from benchmarks.instances import Instance
from benchmarks.summary import beaten, proofs
from noap.theory import spiked_wishart

__all__ = ["VARIANTS"]


def _instances(setting: Setting) -> Iterator[Instance]:
    for n in (100, 500):
        for seed in range(1 if setting.quick else 5):
            draws = {
                "general": (spiked_wishart(n, 100, 5, 3.0, random_state=seed).X, 5, np.arange(0, 4.1, 0.5)),
                "k=10": (strong_weak(n, 100, 10, seed), 10, np.arange(0, 4.1, 0.5)),
                "fine": (strong_weak(n, 100, 5, seed), 5, np.arange(1.25, 2.51, 0.125)),
            }
            for kind, (X, k, budgets) in draws.items():
                for budget in budgets:
                    name = f"{kind} n={n} seed={seed} rho-bar={budget:g}"
                    yield normalised(name, X, k, budget, seed=seed, data=kind)
    rng = np.random.default_rng(0)
    noise = rng.standard_normal((500, 100))
    blocks = np.kron(np.eye(10), np.full((10, 10), 0.5)) + 0.5 * np.eye(100)
    tied = rng.standard_normal((500, 100)) @ np.linalg.cholesky(blocks).T
    weak = strong_weak(500, 500, 10, 0, lam=1.0)
    for budget in (0.25, 0.0):
        yield normalised(f"pure noise n=500 d=100 k=5 rho-bar={budget:g}", noise, 5, budget, data="hard")
    yield normalised("lambda=1 n=d=500 k=10 rho-bar=1", weak, 10, 1.0, data="hard")
    rho = 0.5 * float(np.median(np.linalg.norm(tied, axis=0)))
    yield Instance("ten equal blocks k=10 rho=0.5 median", tied, 10, rho, data="hard")
    for d, k in () if setting.quick else ((1000, 10), (2000, 10), (2000, 20), (5000, 10), (5000, 20)):
        X = strong_weak(1000, d, k, 0)
        for budget in (0, 0.5, 1, 2):
            yield normalised(f"n=1000 d={d} k={k} rho-bar={budget:g}", X, k, budget, data="large")


def _show(frame: pl.DataFrame) -> str:
    return (
        "To 1e-4, d = 100 but for the last two: a general sparse truth; strong/weak with k = 10, and with a fine grid "
        "of budgets where supports change; hard: pure noise, a weak spike with d = 500, ten blocks that are equally "
        "good; large: strong/weak with 1,000 to 5,000 features, n = 1,000, k = 10 and 20.\n\n"
        + proofs(frame.rename({"data": "kind"}), ["kind"])
    )


VARIANTS = Board("variants", "Variants of the paper's model", _show, _instances, beaten=beaten)
