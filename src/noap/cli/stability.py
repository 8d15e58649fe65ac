"""`noap stability`: how often each feature of a file returns on resampled data."""

from dataclasses import dataclass
from typing import Annotated, Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table as Grid

import noap
from noap.cli.options import METHOD, PROBLEM, DataFile, DataOptions, SearchOptions, methods, option
from noap.cli.problem import ProblemOptions
from noap.cli.run import LIMITED, Answer, TableOptions
from noap.data.arguments import as_share
from noap.runtime.names import counted, listed

__all__ = ["stability"]

# More rows than this scroll off the screen; --out and --json hold all of them.
_MOST_ROWS = 25


@dataclass(frozen=True)
class _Search(SearchOptions):
    method: Annotated[
        str,
        option(
            "As of noap solve; ascent by default.",
            panel=METHOD,
            metavar="NAME",
            autocompletion=methods,
            show_default=False,
        ),
    ] = "ascent"


def stability(
    file: DataFile,
    data: DataOptions,
    asked: ProblemOptions,
    search: _Search,
    output: TableOptions,
    k: Annotated[int, option("How many features to keep.", "-k", panel=PROBLEM)] = 5,
    share: Annotated[float, option("Name the features in this share of the resamples.", panel=PROBLEM)] = 0.8,
    n_boot: Annotated[int, option("How many resamples.", panel=METHOD)] = 100,
) -> int:
    """Draw samples again, solve again, and count how often each feature returns.

    noap stability data.csv -k 5 --noise 0.2
    noap stability data.csv -k 5 --n-boot 500 --jobs 2 --out stability.csv --plot stability.png
    noap stability data.parquet -k 3 --adversary sample --noise 0.5 --json
    """
    as_share("--share", share)
    table = data.table(file)
    problem = asked.problem(table, data, k)
    found = noap.stability(
        problem,
        n_boot,
        method=search.method,
        n_jobs=search.jobs,
        progress=output.progress,
        **data.said,
        **search.limits,
    )
    document = {
        **found.result.problem.to_dict(),
        **data.said,
        "method": found.result.method,
        "resamples": len(found.values),
        "share": share,
        "stable": list(found.stable(share)),
        "support_frequency": found.support_frequency,
        "features": found.to_frame().to_dicts(),
    }
    code = LIMITED if len(found.values) < n_boot else 0
    return output.finish(
        Answer(document, lambda console: _print(found, share, console), found.to_frame, found.plot, code)
    )


def _print(found: "noap.Stability", share: float, console: Console) -> None:
    if found.result.value == 0:
        console.print("Nothing survives the adversary on the data themselves, and no feature beats another.")
    rows = [row for row in found.to_frame().to_dicts() if row["frequency"] > 0 or _chosen(found, row)]
    title = f"{counted(len(found.values), 'resample')}: {len(rows)} of {len(found.names)} features are ever selected"
    grid = Grid(title=title, title_justify="left")
    grid.add_column("feature")
    for column in ("returns in", "loading", "loadings, middle 90 %"):
        grid.add_column(column, justify="right")
    for row in rows[:_MOST_ROWS]:
        between = "" if row["low"] is None else f"{row['low']:+.3f} to {row['high']:+.3f}"
        loading = f"{row['loading']:+.4f}" if _chosen(found, row) else ""
        grid.add_row(escape(row["feature"]), f"{100 * row['frequency']:.0f} %", loading, between)
    console.print(grid)
    if len(rows) > _MOST_ROWS:
        console.print(f"... and {len(rows) - _MOST_ROWS} more; --out writes all of them.")
    stable = found.stable(share)
    console.print(
        f"In at least {100 * share:g} % of the resamples: {listed(stable, None) or 'no feature'}. "
        f"The same set as on the data themselves: in {100 * found.support_frequency:.0f} %.",
        markup=False,
        soft_wrap=True,
    )


def _chosen(found: "noap.Stability", row: dict[str, Any]) -> bool:
    """Return whether the data themselves select the feature of a row; where nothing is left they select none."""
    return bool(row["selected"]) and found.result.value > 0
