"""Define a claim, a judgement, and the few numbers that most claims ask of a table."""

import enum
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import polars

__all__ = ["Judgement", "PaperClaim", "Tables", "Verdict", "by_point", "claim", "positive_points", "ranges", "wins"]

Tables = Mapping[str, "polars.DataFrame"]
Point = tuple[int, float]

# Means that differ by less, relative to the larger one, are equal: solvers respect rows to 1e-6.
_TIED = 1e-6


class Verdict(enum.Enum):
    """The verdict on a claim."""

    HOLDS = "holds"
    FAILS = "does not hold"
    DEPENDS = "depends"
    UNKNOWN = "not enough data"

    @classmethod
    def of(cls, outcomes: Iterable[bool]) -> "Verdict":
        """Return holds if all are true, does not hold if none is, depends otherwise, unknown if there are none.

        Examples
        --------
        >>> Verdict.of([True, True]).value, Verdict.of([True, False]).value, Verdict.of([False]).value
        ('holds', 'depends', 'does not hold')
        """
        known = list(outcomes)
        if not known:
            return cls.UNKNOWN
        if all(known):
            return cls.HOLDS
        return cls.DEPENDS if any(known) else cls.FAILS


@dataclass(frozen=True)
class Judgement:
    """A verdict and the numbers behind it, in one or two sentences."""

    verdict: Verdict
    evidence: str


@dataclass(frozen=True)
class PaperClaim:
    """A statement of the paper and the function that checks it.

    Attributes
    ----------
    name : str
    source : str
        Where the paper says it.
    statement : str
        The statement, with the numbers that make it checkable.
    experiment : str
        The experiment whose table the check reads.
    check : callable
        From that table to a Judgement.
    """

    name: str
    source: str
    statement: str
    experiment: str
    check: Callable[["polars.DataFrame"], Judgement]

    def judged(self, tables: Tables) -> Judgement:
        """Return the judgement, or that there is not enough data."""
        table = tables.get(self.experiment)
        if table is None or table.height == 0:
            return Judgement(Verdict.UNKNOWN, f"Experiment {self.experiment!r} has no finished trials.")
        return self.check(table)


def claim(
    name: str, source: str, statement: str, *, of: str
) -> Callable[[Callable[["polars.DataFrame"], Judgement]], PaperClaim]:
    """Make a function that judges the table of experiment `of` a claim with this name, source and statement."""
    return lambda check: PaperClaim(name, source, statement, of, check)


def by_point(table: "polars.DataFrame", method: str, column: str) -> dict[Point, float]:
    """Return the mean of a column over the trials of a method, per (n, budget); points without data are missing."""
    import polars as pl

    found = (
        table.filter((pl.col("method") == method) & pl.col(column).is_not_null())
        .group_by("n", "budget")
        .agg(pl.col(column).cast(pl.Float64).mean())
        .sort("n", "budget")
    )
    return {(int(n), float(budget)): float(mean) for n, budget, mean in found.iter_rows()}


def positive_points(table: "polars.DataFrame", at_least: float = 0.0) -> list[Point]:
    """Return the (n, budget) from `at_least` on at which the optimum is positive in at least half of the trials."""
    import polars as pl

    exact = table.with_columns(positive=pl.col("value") > 0)
    return [p for p, share in by_point(exact, "exact", "positive").items() if p[1] >= at_least and share >= 0.5]


def wins(ours: Iterable[float], theirs: Iterable[float]) -> tuple[list[bool], str]:
    """Return where our number is larger by more than solvers' tolerances, and "x of y points (z tied)"."""
    signs = [0 if abs(a - b) <= _TIED * max(abs(a), abs(b)) else a - b for a, b in zip(ours, theirs, strict=True)]
    won, tied = [sign > 0 for sign in signs], signs.count(0)
    return won, f"{sum(won)} of {len(won)} points{f' ({tied} tied)' if tied else ''}"


def ranges(numbers: Iterable[float]) -> str:
    """Return the smallest and largest of some numbers as text, "none" if there are none.

    Examples
    --------
    >>> ranges([0.5, 2.0, 1.0]), ranges([])
    ('0.5 to 2', 'none')
    """
    known = sorted(numbers)
    if not known:
        return "none"
    first, last = f"{known[0]:.4g}", f"{known[-1]:.4g}"
    return first if first == last else f"{first} to {last}"
