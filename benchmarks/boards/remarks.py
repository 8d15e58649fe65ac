"""Small measurements behind single sentences and tables of the pages; an instance is called "REMARK: CASE"."""

from collections.abc import Iterator, Sequence

import numpy as np
import polars as pl

from benchmarks.board import Board, Setting
from benchmarks.data import bundled, modules
from benchmarks.instances import Instance
from benchmarks.summary import proofs

__all__ = ["REMARKS"]


def _standardised(name: str) -> np.ndarray:
    X = bundled()[name]
    return np.asarray((X - X.mean(axis=0)) / X.std(axis=0))


def _noisy(remark: str, case: str, X: np.ndarray, k: int, noise: float, **more: object) -> Instance:
    adversary = "FeatureWise" if noise else "NoAdversary"
    rho = noise * float(np.sqrt(len(X)))
    return Instance(f"{remark}: {case}", X, k, rho, adversary, remark, noise, **more)  # type: ignore[arg-type]


def _finishes() -> Iterator[Instance]:
    noises = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6)
    for name, ks, some in (
        ("wine", range(1, 14), noises), ("breast cancer", (5, 10, 30), noises), ("digits", (5,), noises),
        ("digits", (10,), (0.3,)),
    ):  # fmt: skip
        X = _standardised(name)
        for k in ks:
            for noise in some:
                yield _noisy("finishes", f"{name}, k={k}, noise={noise:g}", X, k, noise)
    for name, k, noise in (
        ("wine", 13, 0.3), ("digits", 10, 0.3), ("breast cancer", 30, 0.3), ("breast cancer", 30, 0.1),
        ("breast cancer", 30, 0.4), ("digits", 20, 0.1),
    ):  # fmt: skip
        case = f"{name}, levels=1 to {k}, noise={noise:g}"
        yield _noisy("paths", case, _standardised(name), k, noise, task="k_path", limit=300.0)


def _unbranched() -> Iterator[Instance]:
    for name in ("wine", "breast cancer"):
        X = _standardised(name)
        for k in (3, 5, 10):
            for noise in (0.0, 0.18, 0.36, 0.54, 0.72, 0.9):
                yield _noisy("unbranched", f"{name}, k={k}, noise={noise:g}", X, k, noise)


def _terms() -> Iterator[Instance]:
    X, rng = modules(100, 10_000), np.random.default_rng(1)
    d = X.shape[1]
    between, costs = rng.uniform(0.1, 0.5, d), rng.uniform(0.0, 2.0, d)
    unsure = np.where(rng.random(d) < 0.3, np.inf, 0.3)
    for noise, cost, own, own_costs in (
        ("0.3", "none", np.full(d, 0.3), None),
        ("0.3 or infinite", "none", unsure, None),
        ("0.1 to 0.5", "none", between, None),
        ("0.01 to 2", "none", 10.0 ** rng.uniform(-2.0, np.log10(2.0), d), None),
        ("0.1 to 0.5", "0.05", between, np.full(d, 0.05)),
        ("0.3", "0 to 2", np.full(d, 0.3), costs),
        ("0.4 or 0", "none", np.where(rng.random(d) < 1e-3, 0.0, 0.4), None),
    ):
        rho = own * np.sqrt(len(X))
        name = f"terms: noise={noise}, costs={cost}"
        yield Instance(name, X, 6, rho, data="terms", costs=own_costs, limit=120.0)


def _instances(setting: Setting) -> Iterator[Instance]:
    for some in (_finishes, _unbranched) if setting.quick else (_finishes, _unbranched, _terms):
        yield from some()


def _methods(one: Instance) -> Sequence[str]:
    return ["relaxation"] if one.data == "unbranched" else ["exact"]


def _show(frame: pl.DataFrame) -> str:
    return "Behind single sentences and tables of the pages.\n\n" + proofs(frame.rename({"data": "remark"}), ["remark"])


REMARKS = Board("remarks", "Remarks", _show, _instances, _methods)
