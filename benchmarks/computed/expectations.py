"""The table "What to expect" of the README, and what docs/open.md lists."""

from benchmarks.computed.reading import (
    certified,
    digits,
    duration,
    from_results,
    paragraph,
    percent,
    results,
    times,
)  # fmt: skip
from benchmarks.table import Row
from benchmarks.words import span
from noap.experiments.formats import markdown

__all__ = ["expectations", "open_instances"]

_EXACT = "exact"
# Boards whose runs of the exact method docs/open.md counts.
_COUNTED = ("vanilla", "grid", "standardised", "large_k", "many", "variants", "sample_wise")


def _of(rows: list[Row], column: str) -> str:
    return span(row[column] for row in rows)


def _grid() -> tuple[str, str]:
    rows = results("grid", method=_EXACT, asked=1e-6)
    zero, rest = ([row for row in rows if (row["value"] > 0) is positive] for positive in (False, True))
    assert {row["nodes"] for row in zero} == {0}
    assert min(row["nodes"] for row in rest) >= 1
    ns, seeds, budgets = (len({row[name] for row in rows}) for name in ("n", "seed", "budget"))
    assert len(rows) == ns * seeds * budgets
    return (
        f"the paper's grid at full d = 100: k = 5, n = 100 and 500, {seeds} draws, {budgets} budgets, {len(rows)} "
        "instances",
        f"{certified(rows, '1e-6').split(';')[0]}; {len(zero)} have optimum 0 and need no node, the other {len(rest)}: "
        f"{times(rest)}",
    )


def _sample_wise() -> tuple[str, str]:
    rows = results("sample_wise", method=_EXACT)
    return (
        f"sample-wise adversary, d = {_of(rows, 'd')}, k = {_of(rows, 'k')}, n = {_of(rows, 'n')}, rho "
        f"{_of(rows, 'budget')}: {len(rows)} problems",
        certified(rows, "1e-4", checked=False),
    )


def _standardised() -> tuple[str, str]:
    rows = results("standardised", method=_EXACT)
    return (
        f"{len({row['data'] for row in rows})} real data sets, standardised, d = {_of(rows, 'd')}, noise "
        f"{_of(rows, 'budget')} in every feature, k = {_of(rows, 'k')}: {len(rows)} problems",
        certified(rows, "1e-4"),
    )


def _large_k() -> tuple[str, str]:
    rows = results("large_k", method=_EXACT)
    about = f"k = {_of(rows, 'k')} without an adversary, d = {_of(rows, 'd')}: {len(rows)} pairs"
    return about, certified(rows, "1e-6")


def _many() -> tuple[str, str]:
    rows = results("many", method=_EXACT)
    done, left = [row for row in rows if row["proved"]], [row["gap"] for row in rows if not row["proved"]]
    assert all(row["verified"] for row in rows)
    # Where making the data took more memory than the search, nobody knows what that took.
    largest = max((row for row in done if row["memory_mb"] > 0), key=lambda row: (row["d"], row["cpu_s"]))
    return (
        f"many features: d = {_of(rows, 'd')}, n = {_of(rows, 'n')}, noise 0 and 0.3: {len(rows)} problems",
        f"{len(done) if left else 'all'} certified to 1e-4, every certificate verifies; d = {largest['d']:,} in "
        f"{duration(largest['cpu_s'])} of CPU time and {digits(largest['memory_mb'])} MB beside X"
        f"{f'; the others are left with up to {percent(max(left))}' if left else ''}",
    )


@from_results("grid", "sample_wise", "standardised", "large_k", "many")
def expectations() -> str:
    """Return the table: problems, and what became of them."""
    every = (_grid, _standardised, _large_k, _many, _sample_wise)
    return markdown(["problem", "result"], [row() for row in every])


@from_results(*_COUNTED)
def open_instances() -> str:
    """Return how many runs of the exact method are proved to the gap asked for, and the table of the others."""
    every = [row for name in _COUNTED for row in results(name, method=_EXACT)]
    left = sorted((row for row in every if not row["proved"]), key=lambda row: -row["gap"])
    limits = span({row["limit_s"] for row in left})
    text = paragraph(
        f"The tables in [benchmarks/results](../benchmarks/results) have {len(every)} runs of the exact method for "
        f"single components. {len(left)} of them were not proved to the gap they asked for within {limits} seconds, on "
        "one of two cores that other work used as well. Each has a bound that holds, and a certificate of it; what is "
        "left open is the gap:"
    )
    body = []
    for row in left:
        adversary = {"SampleWise": "sample-wise", "FeatureWise": "feature-wise"}.get(row["adversary"], "none")
        gap, limit = f"{100 * row['gap']:.1f} %", f"{row['limit_s']:g} s"
        body.append([adversary, f"`{row['instance']}`", gap, limit, f"{row['nodes']:,}", f"`{row['board']}`"])
    table = markdown(["adversary", "instance", "gap left", "after", "nodes", "table"], body).rstrip()
    counts = []
    for name in _COUNTED:
        mine = [row["proved"] for row in every if row["board"] == name]
        counts.append(f"`{name}` {sum(mine)} of {len(mine)}")
    return "\n".join([text, "", table, "", paragraph(f"Closed, by table: {', '.join(counts)}.")])
