"""Many features in a component: k = 20 to 100 without an adversary, on matrices and on few samples."""

from collections.abc import Iterator, Sequence

import polars as pl

from benchmarks.board import Board, Setting
from benchmarks.data import moments, of_covariance
from benchmarks.instances import Instance
from benchmarks.peers import peers_for
from benchmarks.summary import ASCENT, EXACT, beaten, every, of, proofs, vectors

__all__ = ["LARGE_K"]


def _instances(setting: Setting) -> Iterator[Instance]:
    for name, M in moments(setting):
        for k in (20,) if setting.quick else (20, 30, 50, 100):
            if k < len(M.T) and not (setting.quick and len(M.T) > 64):
                yield of_covariance(f"{name} d={len(M.T)} k={k}", M, k, data=name, gap=1e-6)


def _methods(one: Instance) -> Sequence[str]:
    return [EXACT, ASCENT, *(peer for peer in peers_for(one.d or 0) if one.covariance and peer == "abess")]


def _show(frame: pl.DataFrame) -> str:
    ours = of(frame, EXACT)
    return (
        f"Real matrices at rho = 0, d up to {ours['d'].max()} (samples where they are few), to 1e-6, 60 s of the "
        "clock.\n\n" + proofs(ours, ["k"]) + "\n### Vectors\n\n" + vectors(frame) + "\n### Every pair\n\n" + every(ours)
    )


LARGE_K = Board("large_k", "Many features in a component", _show, _instances, _methods, beaten)
