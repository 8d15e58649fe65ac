"""The sample-wise adversary on the strong/weak model: d = 100, k = 5, then k = 10 and larger d."""

from collections.abc import Iterator, Sequence

import polars as pl

from benchmarks.board import Board, Setting
from benchmarks.data import strong_weak
from benchmarks.instances import Instance
from benchmarks.peers import peers_for
from benchmarks.summary import ASCENT, EXACT, beaten, of, proofs, vectors

__all__ = ["SAMPLE_WISE", "WIDE"]

_RHOS, _VECTOR_RHOS, _VECTOR_SEEDS = (0.1, 0.25, 0.5, 1, 1.5, 2, 3), (0.1, 0.5, 1), 5
# Larger ones: n, d, k, rho and seconds.
WIDE = (
    (500, 500, 5, 2.0, 60), (500, 1000, 5, 2.0, 60), (1000, 500, 5, 2.0, 60), (1000, 1000, 10, 0.5, 60),
    (200, 2000, 5, 2.0, 240), (1000, 1000, 10, 2.0, 120),
)  # fmt: skip


def _instances(setting: Setting) -> Iterator[Instance]:
    for n in (100, 500):
        for seed in range(2 if setting.quick else 10):
            X = strong_weak(n, 100, 5, seed)
            for rho in _RHOS:
                yield _one(f"n={n} seed={seed} rho={rho:g}", X, 5, rho, seed=seed)
    for n, d, k in () if setting.quick else ((500, 100, 10), (500, 500, 5), (500, 1000, 5)):
        X = strong_weak(n, d, k, 0)
        for rho in (0.1, 0.5, 1, 2):
            yield _one(f"n={n} d={d} k={k} rho={rho:g}", X, k, rho, data="larger")
    for n, d, k, rho, limit in () if setting.quick else WIDE:
        yield _one(f"wide n={n} d={d} k={k} rho={rho:g}", strong_weak(n, d, k, 0), k, rho, data="wide", limit=limit)


def _one(name: str, X: object, k: int, rho: float, **more: object) -> Instance:
    return Instance(name, X, k, float(rho), "SampleWise", budget=float(rho), **more)  # type: ignore[arg-type]


def _methods(one: Instance) -> Sequence[str]:
    looked = one.seed in range(_VECTOR_SEEDS) and one.cells["n"] == 100 and one.budget in _VECTOR_RHOS
    return [EXACT, ASCENT, "ppm", *peers_for(100)] if looked else [EXACT]


def _show(frame: pl.DataFrame) -> str:
    return (
        "Strong/weak model against the sample-wise adversary, to 1e-4.\n\n"
        + proofs(of(frame, EXACT), ["n", "d", "k"])
        + "\n### Vectors\n\nn = 100, d = 100, k = 5.\n\n"
        + vectors(frame)
    )


SAMPLE_WISE = Board("sample_wise", "The sample-wise adversary", _show, _instances, _methods, beaten)
