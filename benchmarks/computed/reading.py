"""Results as rows, and the words for their figures."""

import re
import textwrap
from collections.abc import Callable, Iterable
from statistics import median
from typing import Any, TypeVar

from benchmarks import RESULTS
from benchmarks.table import Row, read

__all__ = [
    "certified", "digits", "duration", "field", "from_results", "listed", "paragraph", "percent", "results", "rounded",
    "times",
]  # fmt: skip

F = TypeVar("F", bound=Callable[[], str])


def from_results(*names: str) -> Callable[[F], F]:
    """Note the tables that a function reads."""

    def noted(function: F) -> F:
        function.sources = tuple(f"benchmarks/results/{name}.csv" for name in names)  # type: ignore[attr-defined]
        return function

    return noted


def results(name: str, /, **wanted: Any) -> list[Row]:
    """Return the rows of a table that have the given entries."""
    rows = read(RESULTS / f"{name}.csv").to_dicts()
    return [row for row in rows if all(row[key] == entry for key, entry in wanted.items())]


def field(row: Row, name: str) -> str:
    """Return what the name of an instance says after `name=`."""
    match = re.search(rf"(?:^|[ ,]){name}=([^,]+?)(?:,| \w+=|$)", row["instance"])
    assert match is not None, f"{row['instance']} has no {name}"
    return match[1]


def digits(number: float) -> str:
    """Return two digits."""
    return f"{float(f'{number:.2g}'):g}"


def duration(seconds: float) -> str:
    """Return two digits, in milliseconds below a tenth of a second."""
    return f"{digits(1e3 * seconds)} ms" if seconds < 0.1 else f"{digits(seconds)} s"


def rounded(seconds: float) -> str:
    """Return seconds as people say them: "under 1 s", "5 s"."""
    return "under 1 s" if seconds < 1.0 else f"{digits(seconds)} s"


def percent(part: float) -> str:
    """Return two digits of a share."""
    return f"{digits(100 * part)} %"


def spent(row: Row) -> float:
    """Return CPU seconds, or those of the clock where nothing else was read."""
    return float(row["wall_s"] if row["cpu_s"] is None else row["cpu_s"])


def times(rows: list[Row]) -> str:
    """Return median and longest time."""
    taken = [spent(row) for row in rows]
    return f"median {duration(median(taken))}, slowest {duration(max(taken))}"


def certified(rows: list[Row], gap: str, checked: bool = True) -> str:
    """Return how many are proved, what that took, and what the others are left with."""
    done, left = [row for row in rows if row["proved"]], [row["gap"] for row in rows if not row["proved"]]
    assert all(row["gap"] <= float(gap) * (1 + 1e-6) for row in done)
    assert not checked or all(row["verified"] for row in rows)
    words = f"{len(done) if left else 'all'} certified to {gap}{', every certificate verifies' if checked else ''}"
    if left:
        ends = " to ".join(dict.fromkeys(f"{100 * one:.2g}" for one in (min(left), max(left))))
        who = f"the other {len(left)} are" if len(left) > 1 else "the other is"
        return f"{words}; {times(done)}; {who} left with {ends} % at the limit of time"
    return f"{words}; {times(done)}"


def listed(values: Iterable[str | float]) -> str:
    """Return "5", "1 to 3" where every whole number is there, or "5, 10, 30"."""
    numbers = sorted({float(one) for one in values})
    words = [f"{one:g}" for one in numbers]
    whole = numbers == list(range(int(numbers[0]), int(numbers[0]) + len(numbers)))
    return f"{words[0]} to {words[-1]}" if whole and len(words) > 2 else ", ".join(words)


def paragraph(text: str, indent: str = "") -> str:
    """Return the text in lines that are short enough."""
    # A number and its % stay together.
    lines = textwrap.fill(
        text.replace(" %", "~%"), 118, subsequent_indent=indent, break_on_hyphens=False, break_long_words=False
    )
    return lines.replace("~%", " %")
