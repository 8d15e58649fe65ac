"""Sentences and tables of single pages."""

from statistics import median

from benchmarks.boards.joint import PUBLISHED, STOCKS
from benchmarks.computed.reading import (
    certified,
    digits,
    duration,
    field,
    from_results,
    listed,
    paragraph,
    percent,
    results,
    rounded,
    spent,
)  # fmt: skip
from benchmarks.summary import ASCENT, EXACT
from benchmarks.table import Row
from benchmarks.words import more, span
from noap.experiments.formats import markdown

__all__ = [
    "entries", "finishes", "growth", "metric", "packed", "path_times", "paths", "public", "relaxed", "sample_wise",
    "stocks", "terms", "together", "unbranched", "wide",
]  # fmt: skip

_SIZES = {"wine": (178, 13), "breast cancer": (569, 30), "digits": (1797, 61)}


def _case(row: Row) -> str:
    """Return the data of a remark."""
    return str(row["instance"]).split(": ")[1].split(", ")[0]


@from_results("remarks")
def finishes() -> str:
    """Return the table of what finishes within seconds."""
    groups: dict[tuple[str, bool], list[Row]] = {}
    for row in results("remarks", data="finishes"):
        assert row["proved"]
        groups.setdefault((_case(row), _case(row) == "digits" and row["k"] == 10), []).append(row)
    body = []
    for (name, _), rows in groups.items():
        noise, slowest = span(row["budget"] for row in rows), max(map(spent, rows))
        body.append([name, _SIZES[name][1], listed(row["k"] for row in rows), noise, rounded(slowest)])
    for row in results("remarks", data="paths"):
        assert row["proved"]
        name = _case(row)
        levels, noise = field(row, "levels"), f"{row['budget']:g}"
        body.append([f"{name}, whole path over k", _SIZES[name][1], levels, noise, rounded(spent(row))])
    body.sort(key=lambda cells: (list(_SIZES).index(str(cells[0]).split(",")[0]), "path" in str(cells[0])))
    return markdown(["data", "features", "k", "noise", "to a gap of 1e-4"], body)


@from_results("remarks")
def paths() -> str:
    """Return the table of whole paths over k at noise 0.3."""
    body = []
    for row in results("remarks", data="paths", budget=0.3):
        n, d = _SIZES[_case(row)]
        slowest = f"{100 * more(row, 'slowest_three'):.0f} %"
        body.append([f"{_case(row)}, {n} x {d}", field(row, "levels"), digits(spent(row)), slowest])
    return markdown(["data", "levels", "seconds of processor time", "share of the slowest three levels"], body)


@from_results("path")
def path_times() -> str:
    """Return what a path takes, in units of its budgets one by one."""
    said = []
    for row in results("path", method="path", seed=None):
        (apart,) = results("path", method="one by one", instance=row["instance"])
        assert row["proved"]
        assert apart["proved"]
        said.append(f"{row['data']} (d = {row['d']}) {row['cpu_s'] / apart['cpu_s']:.2f}")
    return paragraph(
        "Measured, 50 budgets from 0 to 0.99 of $\\rho_{\\max}$, k = 5, every point proved to 1e-4, CPU time as a "
        f"share of 50 separate solves: {'; '.join(said)}."
    )


@from_results("sample_wise")
def wide() -> str:
    """Return the table of many features against samples."""
    body = []
    for row in results("sample_wise", data="wide"):
        taken = digits(spent(row)) if row["proved"] else f"{percent(row['gap'])} left after {digits(spent(row))}"
        check = f"{row['verify_s']:.1g}"
        body.append([row["n"], row["d"], row["k"], f"{row['budget']:g}", taken, row["nodes"], check])
    return markdown(["n", "d", "k", "$\\rho$", "seconds", "nodes", "seconds to check"], body)


@from_results("sample_wise")
def sample_wise() -> str:
    """Return the table by n and rho."""
    groups: dict[tuple[int, float], list[Row]] = {}
    for row in results("sample_wise", method=EXACT):
        if row["seed"] is not None:
            groups.setdefault((row["n"], row["budget"]), []).append(row)
    body = []
    for (n, rho), rows in groups.items():
        taken, closed = list(map(spent, rows)), sum(row["proved"] for row in rows)
        nodes = max(row["nodes"] for row in rows)
        body.append([n, f"{rho:g}", f"{closed} of {len(rows)}", f"{median(taken):.2f}", f"{max(taken):.2f}", nodes])
    return markdown(["n", "$\\rho$", "closed", "median seconds", "most seconds", "most nodes"], body)


@from_results("entry_wise")
def entries() -> str:
    """Return the table by the share of the variance that single entries leave."""
    groups: dict[str, list[Row]] = {}
    for row in results("entry_wise", method=EXACT):
        groups.setdefault(row["data"], []).append(row)
    body = []
    for share, rows in groups.items():
        deltas, taken = [row["budget"] for row in rows], list(map(spent, rows))
        closed, gaps = sum(row["proved"] for row in rows), sorted(row["gap"] for row in rows if not row["proved"])
        left = ", ".join(percent(gap) for gap in gaps) or "-"
        span = f"{min(deltas):g} to {max(deltas):g}"
        body.append([share, span, f"{closed} of {len(rows)}", left, f"{median(taken):.2f}", f"{max(taken):.2f}"])
    return markdown(["variance", "`delta`", "closed", "gaps of the others", "median seconds", "most seconds"], body)


@from_results("remarks")
def unbranched() -> str:
    """Return what the relaxation leaves on a path."""
    rows = results("remarks", data="unbranched")
    gaps = [row["gap"] for row in rows]
    return paragraph(
        f"On standardised wine and breast cancer data, k = {listed(row['k'] for row in rows)}, "
        f"{len({row['budget'] for row in rows})} noises from 0 to 0.9, the relaxation leaves at most "
        f"{percent(max(gaps))}, and more than 1e-4 at {sum(one > 1e-4 for one in gaps)} of {len(rows)} points."
    )


@from_results("standardised")
def relaxed() -> str:
    """Return how good the bound of the relaxation is in practice."""
    alone = results("standardised", method="relaxation")
    groups: dict[tuple[int, float], list[float]] = {}
    for row in alone:
        groups.setdefault((row["k"], row["budget"]), []).append(row["gap"])
    text = (
        f"In practice the bound is far better: on {len(alone)} problems with {len({row['data'] for row in alone})} "
        f"standardised real data sets, noise {span(row['budget'] for row in alone)}, k = "
        f"{span(row['k'] for row in alone)}, the relaxation without branching is within "
        f"{percent(max(map(median, groups.values())))} of the best value known in the median for every k and noise, "
        f"and within {percent(max(row['gap'] for row in alone))} always"
    )
    given = results("standardised", method="SCIP, MIP with every valid row")
    gaps = [max(row["gap"], 0.0) for row in given if row["gap"] != float("inf")]
    text += f"; the strengthened mixed-integer program leaves {percent(median(gaps))} in the median of those it had"
    return paragraph(f"{text} ([the benchmarks](benchmarks.md)).")


@from_results("metric")
def metric() -> str:
    """Return what is proved of discriminants, and how long that takes."""
    rows = results("metric", method=EXACT)
    sets = " and ".join(dict.fromkeys(row["data"] for row in rows))
    return paragraph(
        f"Discriminants of {sets}, k = {listed(row['k'] for row in rows)}, without noise and with it, {len(rows)} "
        f"problems: {certified(rows, '1e-4')}."
    )


@from_results("joint")
def packed() -> str:
    """Return how many packings are proved, what the others are left with, and what one by one loses."""
    small = [row for row in results("joint") if row["data"] not in (STOCKS, "modules")]
    assert all(row["verified"] for row in small)
    every, robust = ([row for row in small if (row["budget"] > 0) is noisy] for noisy in (False, True))
    lines, lost = [], {}
    for k in sorted({row["k"] for row in every}):
        rows = [row for row in every if row["k"] == k]
        proved, left = [row for row in rows if row["proved"]], sorted(r["gap"] for r in rows if not r["proved"])
        rest = f"; the others are left with {percent(left[0])} to {percent(left[-1])}" if left else ""
        quick = sum(row["cpu_s"] < 0.5 for row in proved)
        said = f"- k = {k}: {len(proved)} of {len(rows)} proved to 1e-4, {quick} of them in less than half a second of "
        lines.append(paragraph(f"{said}CPU time{rest}.", "  "))
        lost[k] = [max(1.0 - more(row, "one_by_one") / row["value"], 0.0) for row in rows]
    losses = [loss for some in lost.values() for loss in some]
    most = " and ".join(f"{percent(max(some))} at k = {k}" for k, some in lost.items())
    text = (
        f"One component after the other loses up to {most}, where the first component takes features that all others "
        f"need; on {sum(loss < 0.005 for loss in losses)} of {len(losses)} less than 0.5 %. Against feature-wise noise "
        f"of 0.3, correlations of {len({row['data'] for row in robust})} of these sets, "
        f"{sum(row['proved'] for row in robust)} of {len(robust)} are proved."
    )
    return "\n".join([*lines, "", paragraph(text)])


@from_results("joint")
def stocks() -> str:
    """Return the shares of the trace on S&P 500, beside the published ones."""
    rows = results("joint", data=STOCKS)
    assert all(row["verified"] for row in rows)
    assert [row["k"] for row in rows] == list(PUBLISHED)

    def share(value: float) -> str:
        return f"{value:.4f}".lstrip("0")

    body = []
    for row in rows:
        found, bound, alone = (
            share(x / more(row, "trace")) for x in (row["value"], row["bound"], more(row, "one_by_one"))
        )
        body.append([row["k"], found, bound, percent(row["gap"]), alone, *map(share, PUBLISHED[row["k"]])])
    taken = list(map(spent, rows))
    return (
        paragraph(
            f"S&P 500, 423 features, r = 4, {rows[0]['limit_s']:g} seconds by the clock, of which a process had "
            f"{digits(min(taken))} to {digits(max(taken))}, as shares of the trace, beside what was published for "
            "orthogonal rather than disjoint components:"
        )
        + "\n\n"
        + markdown(["k", "found", "bound", "gap", "one by one", "msPCA", "nsprcomp"], body)
        + f"\nAll six are within {percent(max(row['gap'] for row in rows))}."
    )


@from_results("joint")
def together() -> str:
    """Return what several components of many features take."""
    said = []
    for row in results("joint", data="modules"):
        done = "is proved to 1e-4 in" if row["proved"] else f"leaves {percent(row['gap'])} after"
        said.append(f"with {row['d']:,} features it {done} {rounded(spent(row))} of CPU time")
    return paragraph(
        f"Simulated modules, 200 samples, three components of five features and noise 0.3: {'; '.join(said)}."
    )


def _most(rows: list[Row], column: str, unit: str) -> str:
    """Return the largest entry; nothing where making the data took more memory."""
    most = max(row[column] for row in rows)
    return f"{digits(most)} {unit}" if most > 0 else "-"


@from_results("many")
def growth() -> str:
    """Return a line for each size of simulated modules, and how good ascent is on all that is certified."""
    every = results("many", method=EXACT)
    ascents = {row["instance"]: row for row in results("many", method=ASCENT)}
    sizes: dict[tuple[int, int], list[Row]] = {}
    for row in every:
        if row["data"] == "modules":
            sizes.setdefault((row["n"], row["d"]), []).append(row)
    body = []
    for (n, d), rows in sorted(sizes.items()):
        assert all(row["verified"] and row["proved"] for row in rows)
        exact = {row["budget"]: f"{digits(row['cpu_s'])} s" for row in rows}
        first = [ascents[row["instance"]] for row in rows]
        body.append([
            f"{n:,}", f"{d:,}", _most(first, "cpu_s", "s"), exact.get(0.0, "-"), exact.get(0.3, "-"),
            _most(rows, "verify_s", "s"), _most(rows, "memory_mb", "MB"),
        ])  # fmt: skip
    table = markdown(["n", "d", "ascent", "exact, noise 0", "noise 0.3", "verify", "memory"], body)
    certified = [row for row in every if row["proved"]]
    assert all(ascents[row["instance"]]["value"] >= row["value"] * (1 - 1e-12) for row in certified)
    share = max(ascents[row["instance"]]["cpu_s"] * 100 / row["n"] for row in every
                if row["data"] == "modules" and row["d"] == 10_000)  # fmt: skip
    return f"{table}\n" + paragraph(
        f"In all {len(certified)} certified lines of the table, those below among them, ascent found the optimum, to "
        f"1e-12; 10,000 features take it {digits(share)} s for every 100 samples at most. A dash: making the data "
        "took more memory."
    )


def _range(rows: list[Row], column: str) -> str:
    low, high = (digits(end(row[column] for row in rows)) for end in (min, max))
    return f"{low} to {high} s" if low != high else f"{low} s"


@from_results("many")
def public() -> str:
    """Return the table of public matrices with many features, and what is open."""
    rows = [row for row in results("many", method=EXACT) if row["data"] != "modules"]
    assert all(row["verified"] for row in rows)
    groups: dict[tuple[str, int, int], list[Row]] = {}
    for row in rows:
        if row["proved"]:
            groups.setdefault((row["data"], row["n"], row["d"]), []).append(row)
    body = [
        [name, f"{n:,} x {d:,}", listed(row["k"] for row in some), _range(some, "cpu_s"), _range(some, "verify_s"),
         _most(some, "memory_mb", "MB")]
        for (name, n, d), some in groups.items()
    ]  # fmt: skip
    text = "Public matrices, noise 0 and 0.3, to 1e-4 and every certificate checked:\n\n"
    text += markdown(["data", "n x d", "k", "exact", "verify", "memory"], body)
    left = [
        f"{row['data']}, k = {row['k']}, noise {row['budget']:g}: {percent(row['gap'])} left after "
        f"{digits(row['cpu_s'])} CPU seconds"
        for row in rows
        if not row["proved"]
    ]
    return text + ("\n" + paragraph(f"Open: {'; '.join(left)}.") if left else "")


@from_results("remarks")
def terms() -> str:
    """Return what budgets and costs of single features take with many features."""
    body = []
    for row in results("remarks", data="terms"):
        left = "" if row["proved"] else f" ({percent(row['gap'])} left)"
        taken, check = duration(spent(row)) + left, duration(row["verify_s"])
        body.append([field(row, "noise"), field(row, "costs"), taken, check])
    return markdown(["noise", "costs", "exact", "verify"], body)
