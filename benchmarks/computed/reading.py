"""Results as rows, and the words for their figures."""

import csv
import textwrap
from collections.abc import Callable, Iterable
from statistics import median
from typing import TypeVar

from benchmarks import RESULTS

__all__ = ["board", "duration", "from_results", "paragraph", "percent", "results", "span", "times", "true"]

F = TypeVar("F", bound=Callable[[], str])
Row = dict[str, str]


def from_results(*names: str) -> Callable[[F], F]:
    """Note the tables that a function reads; `boards/x` is one of `noap bench`."""

    def noted(function: F) -> F:
        function.sources = tuple(f"benchmarks/results/{name}.csv" for name in names)  # type: ignore[attr-defined]
        return function

    return noted


def results(name: str) -> list[Row]:
    """Return the rows of a table."""
    with open(RESULTS / f"{name}.csv", encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def board(name: str, /, **wanted: str) -> list[Row]:
    """Return the rows of a board's table that have the given entries."""
    return [row for row in results(f"boards/{name}") if all(row[key] == entry for key, entry in wanted.items())]


def true(entry: str) -> bool:
    """Return what an entry says that is yes or no."""
    return entry.lower() == "true"


def span(values: Iterable[str | float]) -> str:
    """Return "1 to 3", or "1" if there is nothing else."""
    numbers = sorted(set(map(float, values)))
    ends = [f"{one:,.0f}" if one >= 10_000 else f"{one:g}" for one in (numbers[0], numbers[-1])]
    return ends[0] if len(numbers) == 1 else " to ".join(ends)


def duration(seconds: float) -> str:
    """Return two digits, in milliseconds below a tenth of a second."""
    return f"{float(f'{1e3 * seconds:.2g}'):g} ms" if seconds < 0.1 else f"{float(f'{seconds:.2g}'):g} s"


def percent(part: float) -> str:
    """Return two digits of a share."""
    return f"{float(f'{100 * part:.2g}'):g} %"


def times(rows: list[Row], column: str = "seconds") -> str:
    """Return median and longest time; `column` may be empty where only the clock was read."""
    taken = [float(row[column] or row["seconds"]) for row in rows]
    return f"median {duration(median(taken))}, slowest {duration(max(taken))}"


def paragraph(text: str, indent: str = "") -> str:
    """Return the text in lines that are short enough."""
    # A number and its % stay together.
    lines = textwrap.fill(
        text.replace(" %", "~%"), 118, subsequent_indent=indent, break_on_hyphens=False, break_long_words=False
    )
    return lines.replace("~%", " %")
