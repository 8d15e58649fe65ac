"""How good the bound of the relaxation is in practice."""

from statistics import median

from benchmarks.computed.reading import board, from_results, paragraph, percent, results, span, times

__all__ = ["closing", "relaxed"]


@from_results("frontier-standardised")
def closing() -> str:
    """Return what closes of the problems that an earlier version, with trees of pairs alone, left open."""
    rows = results("frontier-standardised")
    left = [row for row in rows if row["status before"] != "optimal"]
    closed = [row for row in left if row["status after"] == "optimal"]
    gaps = [f"{100 * float(row['gap before']):.2g}" for row in left]
    return paragraph(
        f"Measured, standardised real data, to a gap of 1e-4: of {len(rows)} problems an earlier version, with trees "
        f"of pairs alone, left {len(left)} open after a minute, with {span(gaps)} %; with the relaxation beside them "
        f"{'all' if len(closed) == len(left) else len(closed)} of these close, {times(closed, 'seconds after')}."
    )


@from_results("boards/relaxation", "boards/standardised")
def relaxed() -> str:
    """Return one paragraph."""
    alone = board("relaxation", method="relaxation")
    root = board("relaxation", method="first node")
    groups: dict[tuple[str, str], list[float]] = {}
    nodes: dict[tuple[str, str], list[float]] = {}
    for rows, into in ((alone, groups), (root, nodes)):
        for row in rows:
            into.setdefault((row["k"], row["noise"]), []).append(float(row["gap"]))
    worst = max(median(gaps) for gaps in groups.values())
    text = (
        f"In practice the bound is far better: on {len(alone)} problems with {len({row['set'] for row in alone})} "
        f"standardised real data sets, noise {span(row['noise'] for row in alone)}, k = "
        f"{span(row['k'] for row in alone)}, the relaxation without branching is within {percent(worst)} of the best "
        f"value known in the median for every k and noise, and within {percent(max(float(r['gap']) for r in alone))} "
        f"always; the first node of the trees is within {span(f'{100 * median(g):.2g}' for g in nodes.values())} % in "
        "the median, by k and noise"
    )
    solvers = [row for row in board("standardised") if "MIP" in row["method"] and row["bound"]]
    gaps = [max(float(row["gap"]), 0.0) for row in solvers if "valid row" in row["method"] and row["gap"] != "inf"]
    if gaps:
        text += f"; the strengthened mixed-integer program leaves {percent(median(gaps))} in the median of those it had"
    return paragraph(f"{text} (board (n) of [the benchmarks](benchmarks.md)).")
