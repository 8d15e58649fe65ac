"""What became faster where profiles showed the time to go."""

from statistics import median

from benchmarks.computed.reading import Row, from_results, paragraph, results, span, true

__all__ = ["faster"]


def _ratios(rows: list[Row]) -> str:
    found = [float(row["ratio"]) for row in rows]
    return f"{span(f'{one:.2g}' for one in found)} times as fast ({len(rows)} problems, median {median(found):.2g})"


@from_results("inefficiencies")
def faster() -> str:
    """Return one paragraph with the ratios of each kind of problem."""
    rows = results("inefficiencies")
    assert all(true(row["same_value"]) for row in rows)
    kinds = {kind: [row for row in rows if row["kind"] == kind] for kind in dict.fromkeys(row["kind"] for row in rows)}
    pairs, relaxed, trees = kinds["some hundred features"], kinds["relaxation"], kinds["trees"]
    same = sum(row["before_nodes"] == row["after_nodes"] for row in trees)
    return paragraph(
        "Measured beside the version before, in turns (`python -m benchmarks.inefficiencies`): these modules with 500 "
        f"to 2,000 features and noise are {_ratios(pairs)}; the relaxation, which computes only the eigenvectors that "
        f"it needs, on standardised real data {_ratios(relaxed)}; trees on such data, whose bounds over the same slabs "
        f"share what they have in common, {_ratios(trees)}, {same} of them with exactly as many nodes."
    )
