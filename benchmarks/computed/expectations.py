"""The table "What to expect" of the README."""

import math
import re

from benchmarks.computed.further import FURTHER, FURTHER_SOURCES
from benchmarks.computed.reading import from_results, results, span, times
from noap.measuring.tables import markdown

__all__ = ["expectations"]


def field(rows, name):
    """Return the different values of name=value in the instances' labels, as they come."""
    found = [re.search(rf"(?:^| ){name}=(\S+)", row["instance"]) for row in rows]
    return list(dict.fromkeys(match[1] for match in found if match))


def all_certified(rows, gap, certificates):
    """Whether all are optimal at the gap, with a certificate that verifies; the words for it."""
    assert all(row["status"] == "optimal" and float(row["gap"]) <= gap for row in rows)
    words = f"all certified to 1e-{round(-math.log10(gap))}"
    if certificates is None:
        return words
    accepted = {row["instance"]: row["accepted"] for row in results(certificates)}
    assert all(accepted[row["instance"]].lower() == "true" for row in rows)
    return f"{words}, every certificate verifies"


def grid():
    rows = [row for row in results("exact-grid") if row["instance"].endswith(" gap=1e-06")]
    zero = [row for row in rows if float(row["value"]) == 0]
    rest = [row for row in rows if float(row["value"]) > 0]
    assert {row["nodes"] for row in zero} == {"0"}
    assert min(int(row["nodes"]) for row in rest) >= 1
    assert len(rows) == len(field(rows, "n")) * len(field(rows, "seed")) * len(field(rows, "rho-bar"))
    return (
        f"the paper's grid at full d = 100: k = 5, n = {' and '.join(field(rows, 'n'))}, "
        f"{len(field(rows, 'seed'))} draws, {len(field(rows, 'rho-bar'))} budgets, {len(rows)} instances",
        f"{all_certified(rows, 1e-6, 'certificate-grid')}; {len(zero)} have optimum 0 and need no node, "
        f"the other {len(rest)}: {times(rest)}",
    )


def program():
    rows = [
        row for row in results("mip") if (row["table"], row["method"], row["form"]) == ("main", "mip", "as printed")
    ]
    proved = {row["instance"]: float(row["value"]) for row in results("exact-grid")}
    over = {}
    for row in rows:
        assert row["limit"] == "time"
        assert 60 <= float(row["seconds"]) < 61
        # The value is the optimum of the whole problem, of the same draw.
        optimum = proved[f"n=500 seed=0 rho-bar={float(row['rho_bar']):g} gap=1e-06"]
        assert abs(float(row["value"]) - optimum) <= 1e-5 * optimum
        over.setdefault(row["backend"], []).append(float(row["bound"]) / optimum)
    assert {row["features"] for row in rows} == {"15"}
    budgets = {row["rho_bar"] for row in rows}
    assert all(len(ratios) == len(budgets) for ratios in over.values())
    names = {"gurobi": "Gurobi", "scip": "SCIP", "highs": "HiGHS"}
    each = [f"{names[key]} {span(f'{x:.2g}' for x in over[key])}" for key in names]
    return (
        f"one draw of it, n = 500, {len(budgets)} budgets, by the paper's program as printed, on 15 of the 100 "
        "features",
        f"after 60 s its bound for those 15, in units of the optimum: {', '.join(each)}",
    )


def vanilla():
    rows = results("exact-vanilla")
    matrices = {row["instance"].rsplit(" d=", 1)[0] for row in rows}
    return (
        f"sparse PCA (rho = 0) of {len(matrices)} public matrices, d = {span(field(rows, 'd'))}, "
        f"k = {span(field(rows, 'k'))}: {len(rows)} pairs",
        f"{all_certified(rows, 1e-6, 'certificate-vanilla')}; {times(rows)}",
    )


def large():
    rows = results("exact-large")
    return (
        f"strong/weak, one draw each: n = {field(rows, 'n')[0]}, d = {span(field(rows, 'd'))}, "
        f"k = {' and '.join(field(rows, 'k'))}, {len(field(rows, 'rho-bar'))} budgets, {len(rows)} instances",
        f"{all_certified(rows, 1e-4, None)}; {times(rows)}",
    )


def sample_wise():
    every = results("exact-sample_wise")
    rows = [row for row in every if "seed=" in row["instance"]]
    return (
        f"sample-wise adversary, d = 100, k = 5, n = {' and '.join(field(rows, 'n'))}, rho {span(field(rows, 'rho'))}, "
        f"{len(field(rows, 'seed'))} draws: {len(rows)} instances",
        f"{all_certified(rows, 1e-4, 'certificate-sample_wise')}; {times(rows)}",
    )


def sample_wise_larger():
    rows = [row for row in results("exact-sample_wise") if "seed=" not in row["instance"]]
    done = [row for row in rows if row["status"] == "optimal"]
    left = [float(row["gap"]) for row in rows if row["status"] != "optimal"]
    assert all(row["limit"] == "time" for row in rows if row["status"] != "optimal")
    assert len(left) == 1
    return (
        f"sample-wise, one draw each, d up to {max(map(int, field(rows, 'd')))} or k = 10: {len(rows)} instances",
        f"{len(done)} certified to 1e-4, {times(done)}; the other has a gap of {100 * left[0]:.2g} % after 60 s",
    )


@from_results(
    "exact-grid", "certificate-grid", "mip", "exact-vanilla", "certificate-vanilla", "exact-large", "exact-sample_wise",
    "certificate-sample_wise", *FURTHER_SOURCES,
)  # fmt: skip
def expectations() -> str:
    """Return the table: problems, and what became of them."""
    rows = [row() for row in (grid, program, vanilla, large, sample_wise, sample_wise_larger, *FURTHER)]
    return markdown(["problem", "result"], rows)
