"""A board: rows that a run measures, and what a page says about them. Rows are all that connects the two."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl

from noap.bench.journal import Journal
from noap.bench.sources import Matrix
from noap.bench.spec import BenchSpec

__all__ = ["Board", "BoardRow", "Setting"]

BoardRow = dict[str, Any]


@dataclass(frozen=True, eq=False)
class Setting:
    """What a board runs on.

    Attributes
    ----------
    spec : BenchSpec
    matrices : list of Matrix
    folder : Path or None
        The folder of matrices, for what else it holds.
    say : callable
        Takes a line that says where the run stands.
    against : Path or None
        Sources of another version of noap, for before and after.
    skipped : list of str
        What was left out and why, one sentence each; boards add to it.
    journal : Journal
        What is measured already.
    """

    spec: BenchSpec
    matrices: list[Matrix]
    folder: Path | None
    say: Callable[[str], None]
    against: Path | None = None
    skipped: list[str] = field(default_factory=list)
    journal: Journal = field(default_factory=lambda: Journal(None, {}))

    def once(self, key: tuple[object, ...], measure: Callable[[], Iterable[BoardRow]]) -> list[BoardRow]:
        """Return the rows of one instance, measured now or in the run that was stopped before this one."""
        return self.journal.once(key, measure, self.skipped)


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
    run: Callable[[Setting], Iterable[BoardRow]]
    show: Callable[[pl.DataFrame], str]
    beaten: Callable[[pl.DataFrame], list[str]]
