"""`noap near-optimal`: every set of features of a file that comes close to the best one."""

from pathlib import Path
from typing import Annotated, Any

import numpy as np
from rich.console import Console
from rich.markup import escape
from rich.table import Table as Grid

import noap
from noap.cli.options import METHOD, PROBLEM, DataFile, DataOptions, Seed, TimeLimit, option
from noap.cli.problem import ProblemOptions
from noap.cli.run import LIMITED, Answer, TableOptions
from noap.runtime.names import counted, listed

__all__ = ["near_optimal"]

# More rows than this scroll off the screen, more names do not fit a line; --out and --json hold all of them.
_MOST_ROWS, _MOST_NAMES = 25, 8


def near_optimal(
    file: DataFile,
    data: DataOptions,
    asked: ProblemOptions,
    output: TableOptions,
    k: Annotated[int, option("How many features to keep.", "-k", panel=PROBLEM)] = 5,
    within: Annotated[float, option("How far from the best, as a share of it.", panel=PROBLEM)] = 0.01,
    limit: Annotated[
        int | None, option("Stop after this many sets; the list is then not complete.", panel=METHOD)
    ] = None,
    time_limit: TimeLimit = None,
    seed: Seed = 0,
    certificate: Annotated[Path | None, option("Write the proof of completeness to this file.")] = None,
) -> int:
    """List every set of features that comes close to the best one, and say whether the list is complete.

    Without an adversary, or against features.

    noap near-optimal data.csv -k 5 --noise 0.2
    noap near-optimal data.csv -k 5 --within 0.05 --limit 100 --out near.csv
    noap near-optimal data.parquet -k 8 --adversary none --time-limit 60 --json
    noap near-optimal data.csv -k 5 --certificate list.noap
    """
    output.require_free(certificate, "--certificate")
    table = data.table(file)
    problem = asked.problem(table, data, k)
    near = noap.near_optimal(problem, within, limit, time_limit=time_limit, random_state=seed, progress=output.progress)
    if certificate is not None and near.certificate is not None:
        near.certificate.save(certificate)

    def say(console: Console) -> None:
        _print(near, table.names, console)
        if certificate is not None:
            written = f"The proof is in {certificate}, for noap verify."
            none = "--certificate: a list that is not complete has no proof; none is written."
            console.print(none if near.certificate is None else written, markup=False, soft_wrap=True)

    stopped = near.limit is not None or (limit is not None and not near.complete)
    document = {**problem.to_dict(), **data.said, **_as_dict(near, table.names)}
    return output.finish(Answer(document, say, near.to_frame, near.plot, LIMITED if stopped else 0))


def _print(near: "noap.NearOptimal", names: tuple[str, ...], console: Console) -> None:
    if not len(near):
        console.print("Nothing survives the adversary: the optimum is 0, and no feature beats another.")
        return
    # Not as a title, which would be broken where the table is narrow.
    console.print(f"{counted(len(near), 'set')} of features within {100 * near.within:g} % of the best")
    grid = Grid()
    grid.add_column("robust variance", justify="right")
    grid.add_column("of the best", justify="right")
    grid.add_column("features")
    first = set(near.supports[0].tolist())
    for value, support in list(zip(near.values.tolist(), near.supports, strict=True))[:_MOST_ROWS]:
        own = set(support.tolist())
        gone, come = ([names[j] for j in sorted(part)] for part in (first - own, own - first))
        if own == first:
            said = listed([names[j] for j in sorted(own)], None)
        else:
            said = f"{listed(come, None) or 'nothing'} instead of {listed(gone, None) or 'nothing'}"
        grid.add_row(f"{value:.6g}", f"{100 * value / near.values[0]:.2f} %", escape(said))
    console.print(grid)
    if len(near) > _MOST_ROWS:
        console.print(f"... and {len(near) - _MOST_ROWS} more; --out writes all of them.")
    core = [names[j] for j in near.core]
    some = [f"{names[j]} ({near.counts[j]})" for j in np.argsort(-near.counts, kind="stable") if j not in near.core]
    some = some[: int(np.count_nonzero(near.counts)) - len(core)]
    if len(near) > 1:
        console.print(f"In all of them: {listed(core, None) or 'no feature'}.", markup=False, soft_wrap=True)
        console.print(f"In some of them: {listed(some, _MOST_NAMES)}.", markup=False, soft_wrap=True)
    console.print(_completeness(near), soft_wrap=True)


def _completeness(near: "noap.NearOptimal") -> str:
    if near.complete:
        return f"Complete: the search proves that no other set is worth more than {near.threshold:.6g}."
    why = f" {near.limit.sentence}" if near.limit is not None else ""
    return f"Not complete: there may be other sets worth more than {near.threshold:.6g}, better ones among them.{why}"


def _as_dict(near: "noap.NearOptimal", names: tuple[str, ...]) -> dict[str, Any]:
    return {
        "within": near.within,
        "threshold": near.threshold,
        "complete": near.complete,
        "bound": None if near.certificate is None else near.certificate.bound,
        "limit": None if near.limit is None else near.limit.value,
        "core": [names[j] for j in near.core],
        "counts": {names[j]: int(near.counts[j]) for j in np.flatnonzero(near.counts)},
        "supports": [
            {
                "value": value,
                "robust_variance": near.problem.robust_variance(v),
                "features": [names[j] for j in support],
                "loadings": v[support].tolist(),
            }
            for value, support, v in zip(near.values.tolist(), near.supports, near.vectors, strict=True)
        ],
        "nodes": near.nodes,
        "seconds": near.seconds,
    }
