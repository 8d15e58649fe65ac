"""What the captions of the paper's two figures say."""

import json
from typing import TYPE_CHECKING

from noap.experiments.claims.claim import (
    Judgement,
    PaperClaim,
    Verdict,
    by_point,
    positive_points,
    ranges,
    verdict_of,
)

if TYPE_CHECKING:
    import polars

__all__ = ["CAPTIONS"]

# What the captions' words mean here. A cosine of 0.9 is "large", 0.1 "dropped", a gap of 1 % "close to 0".
HIGH, LOW, NEAR_ZERO = 0.9, 0.1, 0.01
_SHOWN = (0.0, 0.5, 1.0, 1.5, 2.5, 3.5)  # budgets whose numbers are quoted
LARGE = 1.5  # normalised budgets from here on are a "large" perturbation: the weak part is gone for certain
# Means that differ by less, relative to the larger one, are equal: solvers respect rows to 1e-6.
TIED = 1e-6
CONVERGED = 0.01  # two rates of support recovery that differ by less are the same


def _above(one: float, other: float) -> bool:
    """Return whether one number is larger by more than solvers' tolerances: two equal numbers are no win."""
    return one - other > TIED * max(abs(one), abs(other))


def _won(ours: list[float], theirs: list[float]) -> tuple[list[bool], str]:
    """Return where our number is strictly larger, and "x of y points (z tied)"."""
    pairs = list(zip(ours, theirs, strict=True))
    wins = [_above(one, other) for one, other in pairs]
    tied = sum(not _above(one, other) and not _above(other, one) for one, other in pairs)
    return wins, f"{sum(wins)} of {len(wins)} points{f' ({tied} tied)' if tied else ''}"


def _stages(table: "polars.DataFrame", method: str) -> tuple[list[bool], str]:
    """Return for each n whether the three stages come in their order, and where they are."""
    strong, weak = by_point(table, method, "cosine_strong"), by_point(table, method, "cosine_weak")
    outcomes, words = [], []
    for n in sorted({n for n, _ in strong}):
        budgets = [budget for m, budget in strong if m == n]
        both = [b for b in budgets if strong[n, b] >= HIGH and weak[n, b] >= HIGH]
        robust = [b for b in budgets if strong[n, b] >= HIGH and weak[n, b] <= LOW]
        lost = [b for b in budgets if strong[n, b] <= LOW and weak[n, b] <= LOW]
        ordered = bool(both and robust and lost) and max(both) < min(robust) and max(robust) < min(lost)
        outcomes.append(ordered)
        shown = ", ".join(f"{strong[n, b]:.2f}/{weak[n, b]:.2f} at {b:g}" for b in budgets if b in _SHOWN)
        words.append(
            f"n = {n}: both at rho-bar {ranges(both)}, strong alone at {ranges(robust)}, none at {ranges(lost)} "
            f"(strong/weak {shown})"
        )
    return outcomes, "; ".join(words)


def _three_stages(table: "polars.DataFrame") -> Judgement:
    outcomes, words = _stages(table, "exact")
    return Judgement(verdict_of(outcomes), f"Certified optimum of all features. {words}.")


def _three_stages_programs(table: "polars.DataFrame") -> Judgement:
    found = {method: _stages(table, method) for method in ("best", "MIP", "MIP-r")}
    outcomes = [outcome for outcomes, _ in found.values() for outcome in outcomes]
    return Judgement(verdict_of(outcomes), " ".join(f"{method}: {words}." for method, (_, words) in found.items()))


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
        verdict_of(small),
        f"Mean gap over {len(gaps)} points: {ranges(100 * gap for gap in gaps.values())} %; {sum(small)} of them at "
        f"most 1 %. The limit of {_limit(table, method)} s stopped {mine['limit_hit'].is_not_null().sum()} of "
        f"{mine['gap'].is_not_null().sum()} programs. However long they run, the solutions they have leave a mean gap "
        f"of at least {ranges(lasting)} %, above 1 % at {sum(gap > 1 for gap in lasting)} points: that is the N = 3.",
    )


def _limit(table: "polars.DataFrame", method: str) -> str:
    limits = table.filter(table["method"] == method)["time_limit"].drop_nulls().unique().to_list()
    return ", ".join(f"{limit:g}" for limit in limits) or "no"


def _tightest(table: "polars.DataFrame", ours: str, others: tuple[str, ...]) -> Judgement:
    gaps = {method: by_point(table, method, "gap") for method in (ours, *others)}
    points = [point for point in positive_points(table) if all(point in found for found in gaps.values())]
    won = {other: _won([gaps[other][p] for p in points], [gaps[ours][p] for p in points]) for other in others}
    words = ", ".join(f"tighter than {other} at {count}" for other, (_, count) in won.items())
    return Judgement(
        verdict_of(all(wins) for wins in zip(*(wins for wins, _ in won.values()), strict=True)),
        f"{ours} with {_limit(table, ours)} s each, mean gaps: {words}. Counted: {_COUNTED}.",
    )


def _best_objective(table: "polars.DataFrame") -> Judgement:
    values = {method: by_point(table, method, "value") for method in ("MIP", "MIP-r", "PPM", "exact")}
    points = [p for p in positive_points(table, LARGE) if all(p in found for found in values.values())]
    won = {o: _won([values["MIP"][p] for p in points], [values[o][p] for p in points]) for o in ("MIP-r", "PPM")}
    share = {p: values["MIP"][p] / values["exact"][p] for p in points}
    words = ", ".join(f"above {other} at {count}" for other, (_, count) in won.items())
    verdict = verdict_of(all(wins) for wins in zip(*(wins for wins, _ in won.values()), strict=True))
    large = table.filter((table["method"] == "MIP") & (table["budget"] >= LARGE))
    if verdict is Verdict.HOLDS and (large["solution"] == "start").any():
        verdict = Verdict.DEPENDS  # on where MIP starts: these vectors are ascent's
    return Judgement(
        verdict,
        f"rho-bar >= {LARGE}, mean robust variances: MIP {words}. Counted: {_COUNTED}. Its vectors are worth "
        f"{ranges(100 * s for s in share.values())} % of the optimum of all features, which exact reaches everywhere. "
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


def _ppm_support(table: "polars.DataFrame") -> Judgement:
    outcomes, words = [], []
    for part in ("strong", "weak"):
        rates = {method: by_point(table, method, f"recovery_{part}") for method in ("PPM", "MIP", "MIP-r")}
        shared = [p for p in positive_points(table) if all(p in found for found in rates.values())]
        wins, count = _won([rates["PPM"][p] for p in shared], [max(rates["MIP"][p], rates["MIP-r"][p]) for p in shared])
        outcomes += wins
        words.append(f"{part}: above both programs' at {count}")
    return Judgement(verdict_of(outcomes), "; ".join(words) + f". Counted: {_COUNTED}. {_ppm_worth(table)}")


def _ppm_converges(table: "polars.DataFrame") -> Judgement:
    """Compare the iterates v^(T) and v^(T + 1) of PPM."""
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
        verdict_of(move <= CONVERGED for move in moves),
        f"{len(cycles)} of {mine.height} runs ended in a cycle{f' ({lengths})' if lengths else ''}. Mean support "
        f"recovered at T = 1000 and 1001, where they differ most: {'; '.join(words)}.",
    )


def _ppm_worth(table: "polars.DataFrame") -> str:
    values, points = by_point(table, "PPM", "value"), positive_points(table, LARGE)
    optima = by_point(table, "exact", "value")
    shares = [values[p] / optima[p] for p in points if p in values]
    return f"At rho-bar >= {LARGE} those vectors are worth {ranges(100 * share for share in shares)} % of the optimum."


def _ppm_keeps(table: "polars.DataFrame") -> Judgement:
    supports = {
        method: {
            (n, seed, budget): json.loads(support)
            for n, seed, budget, support in table.filter(table["method"] == method)
            .select("n", "seed", "budget", "support")
            .iter_rows()
        }
        for method in ("PPM", "vanilla")
    }
    kept: dict[float, list[bool]] = {}
    for (n, seed, budget), support in supports["PPM"].items():
        kept.setdefault(budget, []).append(support == supports["vanilla"].get((n, seed, budget)))
    large = {budget: sum(same) / len(same) for budget, same in sorted(kept.items()) if budget >= LARGE}
    words = ", ".join(f"{100 * share:.0f} % at {budget:g}" for budget, share in large.items())
    return Judgement(
        verdict_of(share >= HIGH for share in large.values()), f"Final support equal to the start's: {words}."
    )


def _restriction(table: "polars.DataFrame") -> Judgement:
    whole = _values(table, "exact")
    part = _values(table, "exact-15")
    shared = [key for key in whole if key in part and whole[key] > 0]
    losses = [1.0 - part[key] / whole[key] for key in shared]
    lost = [loss for loss in losses if loss > 1e-3]
    return Judgement(
        verdict_of(loss <= 1e-3 for loss in losses),
        f"The optimum over the chosen features falls short of that of all features by more than 0.1 % in {len(lost)} "
        f"of {len(losses)} instances, by up to {100 * max(losses, default=0.0):.3g} %.",
    )


def _bounds_the_whole(table: "polars.DataFrame") -> Judgement:
    optima = _values(table, "exact")
    words, outcomes = [], []
    for method in ("MIP", "MIP-r", "MIP corrected", "MIP-r corrected"):
        rows = table.filter((table["method"] == method) & table["bound"].is_not_null())
        over = [
            bound >= optima[n, seed, budget] * (1.0 - 1e-9)
            for n, seed, budget, bound in rows.select("n", "seed", "budget", "bound").iter_rows()
            if optima.get((n, seed, budget), 0.0) > 0
        ]
        outcomes += over
        words.append(f"{method} lies below it in {len(over) - sum(over)} of {len(over)}")
    return Judgement(verdict_of(outcomes), f"Against the certified optimum of all features, {'; '.join(words)}.")


def _values(table: "polars.DataFrame", method: str) -> dict[tuple[int, int, float], float]:
    rows = table.filter(table["method"] == method).select("n", "seed", "budget", "value")
    return {(n, seed, budget): value for n, seed, budget, value in rows.iter_rows()}


_COUNTED = "points (n, rho-bar) whose optimum is positive in half of the draws or more; a tie is no win"
_ONE, _TWO = "caption of the first figure", "caption of the second figure"
CAPTIONS = (
    PaperClaim(
        "three stages",
        f"Theorem 5 and {_ONE}",
        "As rho-bar grows, first both parts are recovered (cosines >= 0.9), then the strong part alone (weak <= 0.1), "
        "then nothing (both <= 0.1).",
        "figures",
        _three_stages,
    ),
    PaperClaim(
        "three stages of the programs",
        _ONE,
        "The same stages show in the solutions of MIP, of MIP-r and of the best of the three methods.",
        "figures",
        _three_stages_programs,
    ),
    PaperClaim(
        "MIP gap near 0, as printed",
        _TWO,
        "On the 15 chosen features the gap of MIP is close to 0 (at most 1 %).",
        "figures",
        lambda table: _gap_near_zero(table, "MIP"),
    ),
    PaperClaim(
        "MIP gap near 0, corrected",
        "our formulation",
        "With the valid rows of docs/mip.md the gap of MIP on the 15 chosen features is at most 1 %.",
        "figures",
        lambda table: _gap_near_zero(table, "MIP corrected"),
    ),
    PaperClaim(
        "MIP is the tightest bound",
        _TWO,
        "The gap of MIP is smaller than those of MIP-r and of vanilla sparse PCA.",
        "figures",
        lambda table: _tightest(table, "MIP", ("MIP-r", "vanilla")),
    ),
    PaperClaim(
        "MIP is the tightest bound, corrected",
        "our formulation",
        "With the valid rows the gap of MIP is smaller than those of MIP-r (with them) and of vanilla sparse PCA.",
        "figures",
        lambda table: _tightest(table, "MIP corrected", ("MIP-r corrected", "vanilla")),
    ),
    PaperClaim(
        "MIP finds the best objective",
        _TWO,
        f"When the perturbation is large (rho-bar >= {LARGE}) the vectors of MIP have a larger robust variance than "
        "those of MIP-r and of PPM.",
        "figures",
        _best_objective,
    ),
    PaperClaim(
        "PPM recovers most of the support",
        _TWO,
        "Strong and weak recovery rates of PPM are above those of MIP and MIP-r.",
        "figures",
        _ppm_support,
    ),
    PaperClaim(
        "PPM does not depend on T",
        "Algorithm 2",
        f"The mean support that PPM recovers at T = 1000 and at T = 1001 differs by at most {CONVERGED:g} everywhere.",
        "figures",
        _ppm_converges,
    ),
    PaperClaim(
        "PPM keeps its support",
        _TWO,
        "At large rho the final support of PPM is that of its start, the vanilla answer (in 9 of 10 trials or more).",
        "figures",
        _ppm_keeps,
    ),
    PaperClaim(
        "15 features are enough",
        "Appendix C, Algorithm 1",
        "The optimum over the 15 chosen features is that of the whole problem (to 0.1 %).",
        "figures",
        _restriction,
    ),
    PaperClaim(
        "the programs bound the problem",
        "Section 3.3, primal-dual gap",
        "The programs' bounds are upper bounds of the problem, not of the 15 chosen features alone.",
        "figures",
        _bounds_the_whole,
    ),
)
