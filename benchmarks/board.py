"""A board: the instances of one kind, the methods that are asked of each, and what the page says of their table."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import polars as pl

from benchmarks.instances import Instance
from benchmarks.table import Row

__all__ = ["Board", "Setting"]


@dataclass(frozen=True)
class Setting:
    """What a run depends on beside its boards.

    Attributes
    ----------
    folder : Path or None
        Public matrices; what is not there is skipped.
    quick : bool
        A part of every board: minutes instead of hours.
    limit : float or None
        Seconds of an instance by the clock, instead of what the board asks.
    say : callable
        Takes a line that says where the run stands.
    skipped : list of str
        What was left out and why, one sentence each; boards add to it.
    """

    folder: Path | None = None
    quick: bool = False
    limit: float | None = None
    say: Callable[[str], None] = lambda line: None
    skipped: list[str] = field(default_factory=list)

    @property
    def stamp(self) -> Row:
        """What rows depend on, for the journal."""
        return {"quick": self.quick, "limit": self.limit, "data": self.folder is not None}


def _exact(one: Instance) -> Sequence[str]:
    return ("exact",)


@dataclass(frozen=True)
class Board:
    """One board.

    Attributes
    ----------
    name, title : str
    instances : callable
        Yields the instances of a setting.
    show : callable
        Markdown of the table.
    methods : callable
        What an instance is asked of: methods of noap, tasks, peers and solvers, by name.
    beaten : callable
        A sentence for every kind of place where a peer is better, or something stays open.
    rounds : int
        Counted rounds of what takes less than `patience` seconds, after one that is not counted.
    fresh : bool
        Whether every run is a process of its own, so that its memory is known.
    rows : callable, optional
        Measures by itself, for boards that are not made of instances.
    """

    name: str
    title: str
    show: Callable[[pl.DataFrame], str]
    instances: Callable[[Setting], Iterable[Instance]] = lambda setting: ()
    methods: Callable[[Instance], Sequence[str]] = _exact
    beaten: Callable[[pl.DataFrame], list[str]] = lambda frame: []
    rounds: int = 1
    patience: float = 1.5
    fresh: bool = False
    rows: Callable[[Setting], Iterable[tuple[str, Callable[[], list[Row]]]]] | None = None
