"""What the committed reproduction of the paper says: its size, its gaps, and the printed programs with 1800 s."""

import csv
from statistics import median

from benchmarks.boards.programs import parts
from benchmarks.computed.reading import duration, from_results, paragraph, percent, results
from benchmarks.versions import ROOT
from benchmarks.words import more
from noap.experiments.formats import markdown

__all__ = ["gaps", "half_an_hour", "this_run"]

_TRIALS = "docs/reproduction/trials.csv"
_COLUMNS = ("MIP", "MIP-r", "vanilla", "MIP corrected", "MIP-r corrected", "exact")


def _trials() -> list[dict[str, str]]:
    with open(ROOT / _TRIALS, encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def this_run() -> str:
    """Return how many trials there are, what they took, and how fast the exact method was."""
    rows = _trials()
    seconds = {row["key"]: float(row["seconds"]) for row in rows if row["key"]}
    programs = [row for row in rows if row["method"] in ("MIP", "MIP-r") and row["solution"]]
    stopped = sum(bool(row["limit_hit"]) for row in programs)
    limits = ", ".join(sorted({f"{float(row['time_limit']):g} s" for row in programs}))
    certified = [row for row in rows if row["experiment"] == "figures" and row["method"] == "exact"]
    exact = [float(row["seconds"]) for row in certified]
    # Where the optimum is 0 there is no gap, and the bound is 0.
    proved = sum(float(row["gap"]) <= 1.0001e-4 if row["gap"] else float(row["bound"]) == 0.0 for row in certified)
    draws = len({row["seed"] for row in rows if row["experiment"] == "figures"})
    kept = sum(row["solution"] == "start" for row in programs)
    return paragraph(
        f"{len(seconds)} trials, {duration(sum(seconds.values()) / 60).replace(' s', ' minutes')} of work on one core. "
        f"{draws} draws per point of the figures; {len(programs)} printed programs with {limits} each (wall clock), of "
        f"which {stopped} ran into it and {kept} ended with the start that ascent gave them. The exact method proves "
        f"{proved} of the {len(exact)} instances of the figures' grid at full d to 1e-4, in {duration(sum(exact))} "
        f"together, the longest in {duration(max(exact))}."
    )


this_run.sources = (_TRIALS,)  # type: ignore[attr-defined]


def gaps() -> str:
    """Return the median gaps of the bounds at n = 500, by budget."""
    rows = [row for row in _trials() if row["experiment"] == "figures" and row["n"] == "500"]
    body = []
    for budget in sorted({float(row["budget"]) for row in rows}):
        here = [row for row in rows if float(row["budget"]) == budget]
        optima = [float(row["value"]) for row in here if row["method"] == "exact"]
        if median(optima) == 0:
            continue
        cells = []
        for method in _COLUMNS:
            known = [float(row["gap"]) for row in here if row["method"] == method and row["gap"]]
            cells.append(percent(median(known)) if known else "-")
        body.append([f"{budget:g}", f"{median(optima):.3f}", *cells])
    return markdown(["$\\bar\\rho$, n = 500", "optimum", *_COLUMNS], body)


gaps.sources = (_TRIALS,)  # type: ignore[attr-defined]


@from_results("programs")
def half_an_hour() -> str:
    """Return the table of printed programs with the paper's limit."""
    body, rows = [], [row for row in results("programs") if " long: " in row["instance"]]
    optima = {row["budget"]: row["value"] for row in rows if row["method"] == "exact"}
    for row in rows:
        if row["method"] != "exact":
            optimum, own = optima[row["budget"]], more(row, "own_value")
            said = f"{100 * own / optimum:.4g} %" if own else "no solution found"
            left = percent(more(row, "solver_gap")) if more(row, "solver_gap") is not None else "-"
            which = f"feature-wise, n = {row['n']}, {row['budget']:g}"
            gap = percent(row["bound"] / optimum - 1)
            body.append([which, parts(row)[2], said, gap, left, duration(row["wall_s"])])
    return markdown(["instance", "solver", "own solution, of the optimum", "gap", "solver gap", "time"], body)
