"""How good the bound of the relaxation is in practice."""

from statistics import median

from benchmarks.computed.reading import board, from_results, paragraph, percent, span

__all__ = ["relaxed"]


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
    if solvers:
        gaps = [max(float(row["gap"]), 0.0) for row in solvers if "valid row" in row["method"] and row["gap"] != "inf"]
        text += f"; the strengthened mixed-integer program leaves {percent(median(gaps))} in the median of those it had"
    return paragraph(f"{text} (board (n) of [the benchmarks](benchmarks.md)).")
