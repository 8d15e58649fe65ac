"""A board: rows that a run measures, and what a page says about them. Rows are all that connects the two."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from noap.bench.sources import Matrix
from noap.bench.spec import Spec

__all__ = ["Board", "Row", "Setting", "markdown", "percent", "seconds", "share"]

Row = dict[str, Any]


@dataclass(frozen=True, eq=False)
class Setting:
    """What a board runs on.

    Attributes
    ----------
    spec : Spec
    matrices : list of Matrix
    folder : Path or None
        The folder of matrices, for what else it holds.
    say : callable
        Takes a line that says where the run stands.
    against : Path or None
        Sources of another version of noap, for before and after.
    skipped : list of str
        What was left out and why, one sentence each; boards add to it.
    """

    spec: Spec
    matrices: list[Matrix]
    folder: Path | None
    say: Callable[[str], None]
    against: Path | None = None
    skipped: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Board:
    """One board.

    Attributes
    ----------
    name : str
        Of its results file.
    title : str
    run : callable
        Measures; yields rows that all have the same columns.
    show : callable
        Markdown of the rows.
    beaten : callable
        One sentence for every kind of place where a peer is better than noap.
    """

    name: str
    title: str
    run: Callable[[Setting], Iterable[Row]]
    show: Callable[[pl.DataFrame], str]
    beaten: Callable[[pl.DataFrame], list[str]]


def markdown(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Return a Markdown table."""
    lines = ["| " + " | ".join(columns) + " |", "|" + "---|" * len(columns)]
    lines += ["| " + " | ".join(_cell(entry) for entry in row) + " |" for row in rows]
    return "\n".join(lines) + "\n"


def _cell(entry: object) -> str:
    if entry is None:
        return ""
    if isinstance(entry, bool):
        return "yes" if entry else "no"
    return f"{entry:.4g}" if isinstance(entry, float) else str(entry).replace("|", "\\|")


def percent(part: float | None) -> str:
    """Return a loss or gap as a percentage; a dash where there is none."""
    if part is None or not np.isfinite(part):
        return "-"
    if part < 5e-7:
        return "0"
    return f"{100 * part:.2g} %" if part < 0.1 else f"{100 * part:.0f} %"


def seconds(amount: float | None) -> str:
    """Return seconds in the unit that suits them."""
    if amount is None or not np.isfinite(amount):
        return "-"
    if amount < 1.0:
        return f"{1e3 * amount:.3g} ms"
    return f"{amount:.3g} s"


def share(count: int, total: int) -> str:
    """Return "3 of 7"."""
    return f"{count} of {total}"
