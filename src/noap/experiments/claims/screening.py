"""What Appendix C says of Algorithm 1, checked on draws of its own: a claim about supports needs no solver."""

import functools
from typing import TYPE_CHECKING

import numpy as np

import noap
from noap import theory
from noap.experiments.claims.claim import Judgement, PaperClaim, verdict_of
from noap.heuristics.truncated_power import truncated_leading_eigenvector, truncated_power

if TYPE_CHECKING:
    import polars

__all__ = ["SCREENING", "supports_found"]

DRAWS = 100
LIKELY = 0.95  # the share of draws that "with high probability" asks for
REDUCED_DIM, ITERATIONS = 15, 100


@functools.lru_cache(maxsize=16)
def supports_found(
    n: int, d: int, k: int, lam: float, k1: int | None = None, c: float | None = None, draws: int = DRAWS
) -> tuple[int, int]:
    """Return in how many draws Algorithm 1 keeps every feature of the truth, and its power method finds just those.

    Seeds are 0, 1, ...; a general truth without `k1` and `c`.

    Examples
    --------
    >>> supports_found(500, 100, 5, 3.0, 2, 0.8, draws=3)
    (3, 3)
    """
    kept = found = 0
    for seed in range(draws):
        draw = theory.spiked_wishart(n, d, k, lam, k1=k1, c=c, random_state=seed)
        S = draw.X.T @ draw.X / n
        chosen = noap.screen_submatrix(S, k, min(REDUCED_DIM, d), iterations=ITERATIONS)
        target = truncated_power(S, k, truncated_leading_eigenvector(S, k), ITERATIONS)
        kept += set(draw.support.tolist()) <= set(chosen.tolist())
        found += np.array_equal(np.flatnonzero(target), draw.support)
    return kept, found


def _counts(table: "polars.DataFrame") -> dict[str, tuple[int, int]]:
    d, k, lam, k1, c = (table[name][0] for name in ("d", "k", "lam", "k1", "c"))
    return {
        f"{name}, n = {n}": supports_found(n, d, k, lam, *parts)
        for name, parts in (("strong and weak part", (k1, c)), ("general truth", ()))
        for n in sorted(table["n"].unique().to_list())
    }


def _judged(table: "polars.DataFrame", which: int, what: str) -> Judgement:
    counts = {setting: pair[which] for setting, pair in _counts(table).items()}
    words = "; ".join(f"{setting}: {count}" for setting, count in counts.items())
    return Judgement(
        verdict_of(count >= LIKELY * DRAWS for count in counts.values()), f"Of {DRAWS} draws each, {what} in {words}."
    )


_SOURCE = "Appendix C, Algorithm 1"
SCREENING = (
    PaperClaim(
        "the reduced set includes the true support",
        _SOURCE,
        f"With high probability (in {LIKELY:.0%} of draws) every feature of the truth is among the {REDUCED_DIM} kept.",
        "figures",
        lambda table: _judged(table, 0, "the truth is among the features kept"),
    ),
    PaperClaim(
        "the power method finds the true support",
        _SOURCE,
        f"With high probability (in {LIKELY:.0%} of draws) the support of the projected power method is the true one.",
        "figures",
        lambda table: _judged(table, 1, "the support found is the true one"),
    ),
)
