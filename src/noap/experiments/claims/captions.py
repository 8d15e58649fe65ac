"""Check the captions of the paper's two figures, and its words on the submatrix of Algorithm 1."""

import functools
import json
from typing import TYPE_CHECKING, Any

import numpy as np

import noap
from noap import theory
from noap.experiments.claims.claim import Judgement, Verdict, by_point, claim, positive_points, ranges, wins
from noap.heuristics.truncated_power import truncated_leading_eigenvector, truncated_power

if TYPE_CHECKING:
    import polars

__all__ = ["CAPTIONS", "supports_found"]

# What the captions' words mean here. A cosine of 0.9 is "large", 0.1 "dropped", a gap of 1 % "close to 0".
HIGH, LOW, NEAR_ZERO = 0.9, 0.1, 0.01
LARGE = 1.5  # normalised budgets from here on are a "large" perturbation: the weak part is gone for certain
CONVERGED = 0.01  # two rates of support recovery that differ by less are the same
LIKELY, DRAWS = 0.95, 100  # the share of draws that "with high probability" asks for
REDUCED_DIM, ITERATIONS = 15, 100  # of Algorithm 1
_SHOWN = (0.0, 0.5, 1.0, 1.5, 2.5, 3.5)  # budgets whose numbers are quoted

_FIGURE_1, _FIGURE_2, _ALGORITHM_1 = (
    "caption of the first figure",
    "caption of the second figure",
    "Appendix C, Algorithm 1",
)
_COUNTED = "points (n, rho-bar) whose optimum is positive in half of the draws or more; a tie is no win"


@claim(
    "three stages",
    f"Theorem 5 and {_FIGURE_1}",
    "As rho-bar grows, first both parts are recovered (cosines >= 0.9), then the strong part alone (weak <= 0.1), "
    "then nothing (both <= 0.1).",
    of="figures",
)
def _three_stages(table: "polars.DataFrame") -> Judgement:
    outcomes, words = _stages(table, "exact")
    return Judgement(Verdict.of(outcomes), f"Certified optimum of all features. {words}.")


@claim(
    "three stages of the programs",
    _FIGURE_1,
    "The same stages show in the solutions of MIP, of MIP-r and of the best of the three methods.",
    of="figures",
)
def _three_stages_programs(table: "polars.DataFrame") -> Judgement:
    found = {method: _stages(table, method) for method in ("best", "MIP", "MIP-r")}
    outcomes = [outcome for outcomes, _ in found.values() for outcome in outcomes]
    return Judgement(Verdict.of(outcomes), " ".join(f"{method}: {words}." for method, (_, words) in found.items()))


def _stages(table: "polars.DataFrame", method: str) -> tuple[list[bool], str]:
    """Return for each n whether the three stages come in their order, and where they are."""
    strong, weak = by_point(table, method, "cosine_strong"), by_point(table, method, "cosine_weak")
    outcomes, words = [], []
    for n in sorted({n for n, _ in strong}):
        budgets = [budget for m, budget in strong if m == n]
        both = [b for b in budgets if strong[n, b] >= HIGH and weak[n, b] >= HIGH]
        robust = [b for b in budgets if strong[n, b] >= HIGH and weak[n, b] <= LOW]
        lost = [b for b in budgets if strong[n, b] <= LOW and weak[n, b] <= LOW]
        outcomes.append(bool(both and robust and lost) and max(both) < min(robust) and max(robust) < min(lost))
        shown = ", ".join(f"{strong[n, b]:.2f}/{weak[n, b]:.2f} at {b:g}" for b in budgets if b in _SHOWN)
        words.append(
            f"n = {n}: both at rho-bar {ranges(both)}, strong alone at {ranges(robust)}, none at {ranges(lost)} "
            f"(strong/weak {shown})"
        )
    return outcomes, "; ".join(words)


@claim(
    "MIP gap near 0, as printed",
    _FIGURE_2,
    "On the 15 chosen features the gap of MIP is close to 0 (at most 1 %).",
    of="figures",
)
def _gap_printed(table: "polars.DataFrame") -> Judgement:
    return _gap_near_zero(table, "MIP")


@claim(
    "MIP gap near 0, corrected",
    "our formulation",
    "With the valid rows of docs/mip.md the gap of MIP on the 15 chosen features is at most 1 %.",
    of="figures",
)
def _gap_corrected(table: "polars.DataFrame") -> Judgement:
    return _gap_near_zero(table, "MIP corrected")


def _gap_near_zero(table: "polars.DataFrame", method: str) -> Judgement:
    where = positive_points(table)
    gaps = {point: gap for point, gap in by_point(table, method, "gap").items() if point in where}
    small = [gap <= NEAR_ZERO for gap in gaps.values()]
    mine = table.filter(table["method"] == method)
    # The solver's own solution is a value of its model: however long it runs, its bound cannot fall below that.
    known = mine.with_columns(floor=(1.0 + mine["gap"]) / (1.0 + mine["solver_gap"]) - 1.0)
    floors = {point: floor for point, floor in by_point(known, method, "floor").items() if point in where}
    lasting = [100 * max(floor, 0.0) for floor in floors.values()]
    return Judgement(
        Verdict.of(small),
        f"Mean gap over {len(gaps)} points: {ranges(100 * gap for gap in gaps.values())} %; {sum(small)} of them at "
        f"most 1 %. The limit of {_limit(table, method)} s stopped {mine['limit_hit'].is_not_null().sum()} of "
        f"{mine['gap'].is_not_null().sum()} programs. However long they run, the solutions they have leave a mean gap "
        f"of at least {ranges(lasting)} %, above 1 % at {sum(gap > 1 for gap in lasting)} points: that is the N = 3.",
    )


def _limit(table: "polars.DataFrame", method: str) -> str:
    limits = table.filter(table["method"] == method)["time_limit"].drop_nulls().unique().to_list()
    return ", ".join(f"{limit:g}" for limit in limits) or "no"


@claim(
    "MIP is the tightest bound",
    _FIGURE_2,
    "The gap of MIP is smaller than those of MIP-r and of vanilla sparse PCA.",
    of="figures",
)
def _tightest_printed(table: "polars.DataFrame") -> Judgement:
    return _tightest(table, "MIP", ("MIP-r", "vanilla"))


@claim(
    "MIP is the tightest bound, corrected",
    "our formulation",
    "With the valid rows the gap of MIP is smaller than those of MIP-r (with them) and of vanilla sparse PCA.",
    of="figures",
)
def _tightest_corrected(table: "polars.DataFrame") -> Judgement:
    return _tightest(table, "MIP corrected", ("MIP-r corrected", "vanilla"))


def _tightest(table: "polars.DataFrame", ours: str, others: tuple[str, ...]) -> Judgement:
    gaps = {method: by_point(table, method, "gap") for method in (ours, *others)}
    points = [point for point in positive_points(table) if all(point in found for found in gaps.values())]
    won = {other: wins([gaps[other][p] for p in points], [gaps[ours][p] for p in points]) for other in others}
    words = ", ".join(f"tighter than {other} at {count}" for other, (_, count) in won.items())
    return Judgement(
        Verdict.of(all(every) for every in zip(*(one for one, _ in won.values()), strict=True)),
        f"{ours} with {_limit(table, ours)} s each, mean gaps: {words}. Counted: {_COUNTED}.",
    )


@claim(
    "MIP finds the best objective",
    _FIGURE_2,
    f"When the perturbation is large (rho-bar >= {LARGE}) the vectors of MIP have a larger robust variance than "
    "those of MIP-r and of PPM.",
    of="figures",
)
def _best_objective(table: "polars.DataFrame") -> Judgement:
    values = {method: by_point(table, method, "value") for method in ("MIP", "MIP-r", "PPM", "exact")}
    points = [p for p in positive_points(table, LARGE) if all(p in found for found in values.values())]
    mine = [values["MIP"][p] for p in points]
    won = {other: wins(mine, [values[other][p] for p in points]) for other in ("MIP-r", "PPM")}
    shares = [100 * value / values["exact"][p] for value, p in zip(mine, points, strict=True)]
    words = ", ".join(f"above {other} at {count}" for other, (_, count) in won.items())
    verdict = Verdict.of(all(every) for every in zip(*(one for one, _ in won.values()), strict=True))
    large = table.filter((table["method"] == "MIP") & (table["budget"] >= LARGE))
    if verdict is Verdict.HOLDS and (large["solution"] == "start").any():
        verdict = Verdict.DEPENDS  # on where MIP starts: these vectors are ascent's
    return Judgement(
        verdict,
        f"rho-bar >= {LARGE}, mean robust variances: MIP {words}. Counted: {_COUNTED}. Its vectors are worth "
        f"{ranges(shares)} % of the optimum of all features, which exact reaches everywhere. "
        + " ".join(_solutions(table, method) for method in ("MIP", "MIP-r")),
    )


def _solutions(table: "polars.DataFrame", method: str) -> str:
    """Return whose vectors a printed program's are, over all programs that were run."""
    mine = table.filter((table["method"] == method) & table["solution"].is_not_null())["solution"].to_list()
    kinds = {
        "own": "the program's own",
        "start": "the start that ascent gave it",
        "zero": "v = 0",
        "none": "no solution found",
    }
    counts = [f"{mine.count(kind)} {words}" for kind, words in kinds.items() if kind in mine]
    return f"Whose solutions these are, of {len(mine)} programs {method}: {', '.join(counts)}." if mine else ""


@claim(
    "PPM recovers most of the support",
    _FIGURE_2,
    "Strong and weak recovery rates of PPM are above those of MIP and MIP-r.",
    of="figures",
)
def _ppm_support(table: "polars.DataFrame") -> Judgement:
    outcomes, words = [], []
    for part in ("strong", "weak"):
        rates = {method: by_point(table, method, f"recovery_{part}") for method in ("PPM", "MIP", "MIP-r")}
        shared = [p for p in positive_points(table) if all(p in found for found in rates.values())]
        won, count = wins([rates["PPM"][p] for p in shared], [max(rates["MIP"][p], rates["MIP-r"][p]) for p in shared])
        outcomes += won
        words.append(f"{part}: above both programs' at {count}")
    values, optima = by_point(table, "PPM", "value"), by_point(table, "exact", "value")
    shares = [100 * values[p] / optima[p] for p in positive_points(table, LARGE) if p in values]
    return Judgement(
        Verdict.of(outcomes),
        f"{'; '.join(words)}. Counted: {_COUNTED}. At rho-bar >= {LARGE} those vectors are worth {ranges(shares)} % of "
        "the optimum.",
    )


@claim(
    "PPM does not depend on T",
    "Algorithm 2",
    f"The mean support that PPM recovers at T = 1000 and at T = 1001 differs by at most {CONVERGED:g} everywhere.",
    of="figures",
)
def _ppm_converges(table: "polars.DataFrame") -> Judgement:
    mine = table.filter(table["method"] == "PPM")
    cycles = mine["cycle"].drop_nulls().to_list()
    lengths = ", ".join(f"{cycles.count(length)} of length {length}" for length in sorted(set(cycles)))
    moves, words = [], []
    for part in ("strong", "weak"):
        one, other = (by_point(table, label, f"recovery_{part}") for label in ("PPM", "PPM, T + 1"))
        apart = {p: abs(one[p] - other[p]) for p in one if p in other}
        moves += list(apart.values())
        if apart:
            n, budget = max(apart, key=lambda p: apart[p])
            words.append(
                f"{part} {one[n, budget]:.2f} and {other[n, budget]:.2f} at n = {n}, rho-bar {budget:g}"
                if apart[n, budget] > 0
                else f"{part} the same everywhere"
            )
    return Judgement(
        Verdict.of(move <= CONVERGED for move in moves),
        f"{len(cycles)} of {mine.height} runs ended in a cycle{f' ({lengths})' if lengths else ''}. Mean support "
        f"recovered at T = 1000 and 1001, where they differ most: {'; '.join(words)}.",
    )


@claim(
    "PPM keeps its support",
    _FIGURE_2,
    "At large rho the final support of PPM is that of its start, the vanilla answer (in 9 of 10 trials or more).",
    of="figures",
)
def _ppm_keeps(table: "polars.DataFrame") -> Judgement:
    start, kept = _by_trial(table, "vanilla", "support"), dict[float, list[bool]]()
    for (n, seed, budget), support in _by_trial(table, "PPM", "support").items():
        same = json.loads(support) == json.loads(start.get((n, seed, budget), "null"))
        kept.setdefault(budget, []).append(same)
    large = {budget: sum(same) / len(same) for budget, same in sorted(kept.items()) if budget >= LARGE}
    words = ", ".join(f"{100 * share:.0f} % at {budget:g}" for budget, share in large.items())
    return Judgement(
        Verdict.of(share >= HIGH for share in large.values()), f"Final support equal to the start's: {words}."
    )


@claim(
    "15 features are enough",
    _ALGORITHM_1,
    "The optimum over the 15 chosen features is that of the whole problem (to 0.1 %).",
    of="figures",
)
def _restriction(table: "polars.DataFrame") -> Judgement:
    whole, part = _by_trial(table, "exact", "value"), _by_trial(table, "exact-15", "value")
    losses = [1.0 - part[key] / whole[key] for key in whole if key in part and whole[key] > 0]
    lost = [loss for loss in losses if loss > 1e-3]
    return Judgement(
        Verdict.of(loss <= 1e-3 for loss in losses),
        f"The optimum over the chosen features falls short of that of all features by more than 0.1 % in {len(lost)} "
        f"of {len(losses)} instances, by up to {100 * max(losses, default=0.0):.3g} %.",
    )


@claim(
    "the programs bound the problem",
    "Section 3.3, primal-dual gap",
    "The programs' bounds are upper bounds of the problem, not of the 15 chosen features alone.",
    of="figures",
)
def _bounds_the_whole(table: "polars.DataFrame") -> Judgement:
    optima = _by_trial(table, "exact", "value")
    words, outcomes = [], []
    for method in ("MIP", "MIP-r", "MIP corrected", "MIP-r corrected"):
        bounds = _by_trial(table.filter(table["bound"].is_not_null()), method, "bound")
        over = [bound >= optima[t] * (1.0 - 1e-9) for t, bound in bounds.items() if optima.get(t, 0.0) > 0]
        outcomes += over
        words.append(f"{method} lies below it in {len(over) - sum(over)} of {len(over)}")
    return Judgement(Verdict.of(outcomes), f"Against the certified optimum of all features, {'; '.join(words)}.")


def _by_trial(table: "polars.DataFrame", method: str, column: str) -> dict[tuple[int, int, float], Any]:
    """Return a column of a method by (n, seed, budget)."""
    rows = table.filter(table["method"] == method).select("n", "seed", "budget", column)
    return {(n, seed, budget): entry for n, seed, budget, entry in rows.iter_rows()}


@claim(
    "the reduced set includes the true support",
    _ALGORITHM_1,
    f"With high probability (in {LIKELY:.0%} of draws) every feature of the truth is among the {REDUCED_DIM} kept.",
    of="figures",
)
def _includes_the_truth(table: "polars.DataFrame") -> Judgement:
    return _likely(table, 0, "the truth is among the features kept")


@claim(
    "the power method finds the true support",
    _ALGORITHM_1,
    f"With high probability (in {LIKELY:.0%} of draws) the support of the projected power method is the true one.",
    of="figures",
)
def _finds_the_truth(table: "polars.DataFrame") -> Judgement:
    return _likely(table, 1, "the support found is the true one")


def _likely(table: "polars.DataFrame", which: int, what: str) -> Judgement:
    """Count on draws of its own, for the truth of the figures and for a general one."""
    d, k, lam, k1, c = (table[name][0] for name in ("d", "k", "lam", "k1", "c"))
    counts = {
        f"{name}, n = {n}": supports_found(n, d, k, lam, *parts)[which]
        for name, parts in (("strong and weak part", (k1, c)), ("general truth", ()))
        for n in sorted(table["n"].unique().to_list())
    }
    words = "; ".join(f"{setting}: {count}" for setting, count in counts.items())
    return Judgement(
        Verdict.of(count >= LIKELY * DRAWS for count in counts.values()), f"Of {DRAWS} draws each, {what} in {words}."
    )


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


CAPTIONS = (
    _three_stages,
    _three_stages_programs,
    _gap_printed,
    _gap_corrected,
    _tightest_printed,
    _tightest_corrected,
    _best_objective,
    _ppm_support,
    _ppm_converges,
    _ppm_keeps,
    _restriction,
    _bounds_the_whole,
    _includes_the_truth,
    _finds_the_truth,
)
