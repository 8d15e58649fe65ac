"""What another exact method published of itself: context for a board, never measured here.

The tables of Li and Xie (INFORMS Journal on Computing, repository 2022.0372), if they lie in the folder of matrices:
times to optimality on pitprops, and what four relaxations leave open on larger sets, with 3600 s each.
"""

import csv
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

__all__ = ["SOURCE", "PublishedRun", "published_runs"]

SOURCE = "Li and Xie, INFORMS Journal on Computing, repository 2022.0372"
_FOLDER = "informsjoc_results"
# The tables name their sets by the number of features.
_SETS = {13: "pitprops", 64: "digits", 79: "eisen1", 118: "eisen2", 500: "colon"}
_EXACT, _RELAXATIONS = ("table2.csv",), ("table6.csv", "table7.csv")


@dataclass(frozen=True)
class PublishedRun:
    """One method on one pair: gap 0 where it proved the optimum, None where its time ran out without a bound."""

    matrix: str
    d: int
    k: int
    method: str
    seconds: float
    gap: float | None


def published_runs(folder: Path | None) -> Iterator[PublishedRun]:
    """Yield every run of the tables that are there."""
    for names, exact in ((_EXACT, True), (_RELAXATIONS, False)):
        for name in names:
            place = None if folder is None else folder / _FOLDER / name
            if place is not None and place.exists():
                with place.open(newline="", encoding="utf-8") as file:
                    yield from _runs(list(csv.reader(file)), exact)


def _runs(lines: list[list[str]], exact: bool) -> Iterator[PublishedRun]:
    """Yield the runs of a table with columns (number, n, s), then (value or gap, time) of every method."""
    head = lines[0]
    for line in lines[1:]:
        if not line[1] or int(float(line[1])) not in _SETS:
            continue
        d, k = int(float(line[1])), int(float(line[2]))
        for at in range(3, len(head), 2):
            method = head[at + 1].removesuffix("time").removesuffix("_")
            gap = 0.0 if exact else None if line[at] == "-" else max(float(line[at]) / 100, 0.0)
            yield PublishedRun(_SETS[d], d, k, method, float(line[at + 1]), gap)
