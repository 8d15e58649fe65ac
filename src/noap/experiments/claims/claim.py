"""What a claim is, what a judgement is, and the few numbers that most claims ask of a table."""

import enum
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import polars

__all__ = ["Judgement", "PaperClaim", "Point", "Tables", "Verdict", "by_point", "ranges", "verdict_of"]

Tables = Mapping[str, "polars.DataFrame"]
Point = tuple[int, float]


class Verdict(enum.Enum):
    """What the evidence says."""

    HOLDS = "holds"
    FAILS = "does not hold"
    DEPENDS = "depends"
    UNKNOWN = "not enough data"


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
        What it says, with the numbers that make it checkable.
    experiment : str
        Whose table the check reads.
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

    found = (
        table.filter((pl.col("method") == "exact") & (pl.col("budget") >= at_least))
        .group_by("n", "budget")
        .agg((pl.col("value") > 0).mean())
        .sort("n", "budget")
    )
    return [(int(n), float(budget)) for n, budget, share in found.iter_rows() if share >= 0.5]


def verdict_of(outcomes: Iterable[bool]) -> Verdict:
    """Return holds if all are true, does not hold if none is, depends otherwise, unknown if there are none.

    Examples
    --------
    >>> verdict_of([True, True]).value, verdict_of([True, False]).value, verdict_of([False]).value
    ('holds', 'depends', 'does not hold')
    """
    known = list(outcomes)
    if not known:
        return Verdict.UNKNOWN
    if all(known):
        return Verdict.HOLDS
    return Verdict.DEPENDS if any(known) else Verdict.FAILS


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
