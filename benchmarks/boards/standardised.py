"""Real data, standardised, under feature-wise noise: proofs, vectors, the relaxation and general solvers."""

from collections.abc import Iterator, Sequence

import polars as pl

from benchmarks.board import Board, Setting
from benchmarks.data import of_covariance, standardised_sets
from benchmarks.instances import Instance
from benchmarks.peers import peers_for, solvers
from benchmarks.summary import ASCENT, EXACT, beaten, of, proofs, vectors, with_best
from benchmarks.summary import solvers as solved
from benchmarks.words import percent, seconds, share, span
from noap.experiments.formats import markdown

__all__ = ["STANDARDISED"]

# General solvers are tried at these (k, noise), on sets of at most so many features.
_SOLVED, _SOLVED_FEATURES = ((5, 0.3), (10, 0.5)), 60


def _instances(setting: Setting) -> Iterator[Instance]:
    for name, C in standardised_sets(setting):
        for k in (5, 10, 20):
            for noise in (0.3,) if setting.quick else (0.1, 0.3, 0.5, 0.7):
                if k <= len(C) and not (setting.quick and len(C) > 64):
                    label = f"{name} d={len(C)} k={k} noise={noise:g}"
                    options = {"solver_limit": 2.0 if setting.quick else 30.0}
                    yield of_covariance(label, C, k, noise, data=name, options=options)


def _methods(one: Instance) -> Sequence[str]:
    d = one.d or 0
    given = solvers() if (one.k, one.budget) in _SOLVED and d <= _SOLVED_FEATURES else []
    return [EXACT, ASCENT, "relaxation", *peers_for(d), *given]


def _show(frame: pl.DataFrame) -> str:
    ours = of(frame, EXACT)
    text = (
        f"{ours['data'].n_unique()} real data sets, standardised (correlations), {span(ours['d'])} features; noise "
        f"{span(ours['budget'])} of the standard deviation of each feature; k = {span(ours['k'])}. noap proves "
        f"{share(int(ours['proved'].sum()), ours.height)} to 1e-4.\n\n"
    )
    text += proofs(ours.rename({"budget": "noise"}), ["k", "noise"])
    text += "\n### By data set\n\n" + proofs(ours.rename({"data": "set"}), ["d", "set"])
    text += "\n### Vectors\n\n" + vectors(frame) + "\n### The relaxation alone\n\n" + _relaxation(frame)
    others = frame.filter(pl.col("bound").is_not_null() & ~pl.col("method").is_in([EXACT, "relaxation"]))
    return text + ("\n### General solvers\n\n" + solved(frame) if others.height else "")


def _relaxation(frame: pl.DataFrame) -> str:
    alone = of(with_best(frame), "relaxation")
    body = []
    for (k, noise), rows in alone.sort("k", "budget").group_by("k", "budget", maintain_order=True):
        gaps = (rows["bound"] / rows["best"] - 1).clip(lower_bound=0)
        times = [seconds(one) for one in (rows["cpu_s"].median(), rows["cpu_s"].max())]  # type: ignore[arg-type]
        body.append([k, f"{noise:g}", rows.height, percent(gaps.median()), percent(gaps.max()), *times])  # type: ignore[arg-type]
    lead = "How far its bound, without branching and in polynomial time, is above the best value known.\n\n"
    return lead + markdown(["k", "noise", "sets", "median gap", "largest gap", "median time", "slowest"], body)


STANDARDISED = Board(
    "standardised", "Real data, standardised, with noise in every feature", _show, _instances, _methods, beaten
)
