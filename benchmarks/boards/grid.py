"""The paper's grid: the strong/weak model, d = 100, k = 5, at growing budgets, to 1e-4 and 1e-6."""

from collections.abc import Iterator, Sequence

import numpy as np
import polars as pl

from benchmarks.board import Board, Setting
from benchmarks.data import strong_weak
from benchmarks.instances import Instance
from benchmarks.peers import peers_for
from benchmarks.summary import ASCENT, EXACT, beaten, of, proofs, vectors, with_best
from benchmarks.words import label, percent
from noap.experiments.formats import markdown

__all__ = ["GRID", "normalised"]

_SEEDS, _VECTOR_SEEDS, _VECTOR_BUDGET = 10, 5, 3.0


def normalised(name: str, X: np.ndarray, k: int, budget: float, **more: object) -> Instance:
    """Return the feature-wise instance of samples at rho = budget sqrt(n/k)."""
    rho = float(budget * np.sqrt(len(X) / k))
    return Instance(name, X, k, rho, budget=float(budget), **more)  # type: ignore[arg-type]


def _instances(setting: Setting) -> Iterator[Instance]:
    for gap in (1e-4, 1e-6):
        for n in (100, 500):
            for seed in range(2 if setting.quick else _SEEDS):
                X = strong_weak(n, 100, 5, seed)
                for budget in np.arange(0, 4.6, 0.5):
                    name = f"n={n} seed={seed} rho-bar={budget:g} gap={gap:g}"
                    yield normalised(name, X, 5, budget, gap=gap, seed=seed, data=f"n={n}")


def _methods(one: Instance) -> Sequence[str]:
    looked = one.gap == 1e-6 and (one.seed or 0) < _VECTOR_SEEDS and (one.budget or 0.0) <= _VECTOR_BUDGET
    return [EXACT, ASCENT, "ppm", *peers_for(100)] if looked else [EXACT]


def _show(frame: pl.DataFrame) -> str:
    text = (
        "Strong/weak model, n = 100 and 500, d = 100, k = 5, lambda = 3, k1 = 2, c = 0.8; rho-bar = rho sqrt(k/n). "
        "Peers do not know the adversary: their vector of rho = 0 is scored under every budget, as it is returned and "
        "with weights that are chosen anew on its support.\n\n"
    )
    text += proofs(of(frame, EXACT), ["n", "asked"]) + "\n### Vectors\n\n" + vectors(frame)
    losses = with_best(frame).filter(pl.col("bound").is_null())
    methods = losses["method"].unique(maintain_order=True).to_list()
    body = []
    for (n, budget), rows in losses.group_by("n", "budget", maintain_order=True):
        most = {name: mine["value_loss"].to_numpy().max() for (name,), mine in rows.group_by("method")}
        body.append([n, f"{budget:g}", *(percent(most.get(one)) for one in methods)])
    head = ["n", "rho-bar", *map(label, methods)]
    return text + "\n### Largest loss after re-solving, by budget\n\n" + markdown(head, sorted(body, key=_order))


def _order(cells: list[object]) -> tuple[int, float]:
    return int(str(cells[0])), float(str(cells[1]))


GRID = Board("grid", "The paper's grid", _show, _instances, _methods, beaten, rounds=3)
