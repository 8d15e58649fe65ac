"""Rows of "What to expect" that come from the boards of `noap bench`."""

from collections.abc import Callable
from statistics import median

from benchmarks.computed.reading import Row, board, duration, percent, span, times, true

__all__ = ["FURTHER", "FURTHER_SOURCES"]

OURS = "noap exact"


def certified(rows: list[Row], gap: str) -> str:
    """Return how many are proved, what that took, and what the others are left with."""
    done = [row for row in rows if true(row["proved"])]
    left = [float(row["gap"]) for row in rows if not true(row["proved"])]
    assert all(true(row["verified"]) for row in rows)
    words = f"{'all' if not left else len(done)} certified to {gap}, every certificate verifies; {times(done, 'cpu_s')}"
    if left:
        words += f"; the other {len(left)} are left with {span(f'{100 * one:.2g}' for one in left)} % after "
        words += f"{float(rows[0]['limit']):g} s"
    return words


def standardised() -> tuple[str, str]:
    rows = board("standardised", method=OURS)
    sets = {row["set"] for row in rows}
    return (
        f"{len(sets)} real data sets, standardised, d = {span(row['d'] for row in rows)}, noise "
        f"{span(row['noise'] for row in rows)} in every feature, k = {span(row['k'] for row in rows)}: "
        f"{len(rows)} problems",
        certified(rows, "1e-4"),
    )


def large_k() -> tuple[str, str]:
    rows = board("large_k", method=OURS)
    return (
        f"k = {span(row['k'] for row in rows)} without an adversary, d = {span(row['d'] for row in rows)}: "
        f"{len(rows)} pairs",
        certified(rows, "1e-6"),
    )


def features() -> tuple[str, str]:
    rows = board("features")
    done = [row for row in rows if float(row["gap"]) <= 1e-4]
    assert all(true(row["verified"]) for row in rows)
    # Where making the data took more memory than the search, nobody knows what that took.
    seen = [row for row in done if float(row["MB"]) > 0]
    largest = max(seen, key=lambda row: (int(row["d"]), float(row["exact s"])))
    left = [float(row["gap"]) for row in rows if float(row["gap"]) > 1e-4]
    rest = f"; the others are left with up to {percent(max(left))}" if left else ""
    megabytes = span([f"{float(largest['MB']):.2g}"])
    return (
        f"many features: d = {span(row['d'] for row in rows)}, n = {span(row['n'] for row in rows)}, noise 0 and 0.3: "
        f"{len(rows)} problems",
        f"{'all' if not left else len(done)} certified to 1e-4, every certificate verifies; d = {int(largest['d']):,} "
        f"in {duration(float(largest['exact s']))} of CPU time and {megabytes} MB beside X{rest}",
    )


def joint() -> tuple[str, str]:
    rows = [row for row in board("joint") if row["name"] != "snp500"]
    done = [row for row in rows if row["status"] == "optimal"]
    left = [float(row["gap"]) for row in rows if row["status"] != "optimal"]
    together = " and ".join(sorted({row["r"] for row in rows}))
    lost = [1 - float(row["one_by_one"]) / float(row["value"]) for row in rows]
    assert all(true(row["verified"]) for row in rows)
    rest = f", the other {len(left)} left with up to {percent(max(left))}" if left else ""
    return (
        f"{together} components at once, k = {span(row['k'] for row in rows)}, noise 0 and 0.3, "
        f"d = {span(row['d'] for row in rows)}: {len(rows)} problems",
        f"{'all' if not left else len(done)} certified together to 1e-4, median "
        f"{duration(median(float(row['cpu_s']) for row in done))}{rest}; one component after the other loses up to "
        f"{percent(max(lost))}",
    )


def relaxation() -> tuple[str, str]:
    rows = board("relaxation", method="relaxation")
    gaps = [float(row["gap"]) for row in rows]
    return (
        f"the relaxation alone, without branching, on {len(rows)} of the standardised problems",
        f"its bound is within {percent(median(gaps))} of the best value in the median, {percent(max(gaps))} at most; "
        f"{times(rows, 'cpu_s')}",
    )


def cold_start() -> tuple[str, str]:
    (row,) = board("cold_start", what="first solve, feature-wise")
    return (
        "the first solve after an installation, wine data",
        f"{duration(float(row['cold_cpu_s']))} of CPU time, for compiling; {duration(float(row['warm_cpu_s']))} from "
        "then on, most of it imports",
    )


FURTHER: tuple[Callable[[], tuple[str, str]], ...] = (
    standardised, large_k, features, joint, relaxation, cold_start,
)  # fmt: skip
FURTHER_SOURCES = tuple(f"boards/{row.__name__}" for row in FURTHER)
