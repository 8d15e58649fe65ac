"""`noap report`: one HTML page about a file."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from noap.cli.components import joint_as_dict
from noap.cli.options import (
    PROBLEM,
    Components,
    DataFile,
    DataOptions,
    Deflation,
    Joint,
    Points,
    SearchOptions,
    option,
)
from noap.cli.problem import ProblemOptions
from noap.cli.run import LIMITED, Answer, OutputOptions, write_file
from noap.errors import InvalidProblem

if TYPE_CHECKING:
    from noap.report import Report

__all__ = ["report"]


@dataclass(frozen=True)
class _Output(OutputOptions):
    out: Annotated[Path, option("Write the page to this .html file.", "--out", "-o")] = Path("report.html")
    title: Annotated[str | None, option("What the page calls the data; the name of FILE if not given.")] = None

    def __post_init__(self) -> None:
        super().__post_init__()
        self.require_free(self.out, "--out", (".html", ".htm"))


def report(
    file: DataFile,
    data: DataOptions,
    asked: ProblemOptions,
    search: SearchOptions,
    output: _Output,
    k: Annotated[int, option("How many features a component may use.", "-k", panel=PROBLEM)] = 5,
    components: Components = None,
    joint: Joint = None,
    deflation: Deflation = "projection",
    points: Points = 33,
) -> int:
    """Write one HTML page that shows which features survive noise; it works offline.

    What survives is measured redundantly enough to outlast errors of that size; that does not make it true.
    The table has three components unless -c says otherwise, at the noise where the slider starts.

    noap report data.csv -k 5 -o report.html
    noap report data.parquet -k 8 --noise 0.3 --components 4 --joint
    noap report data.npy -k 5 --adversary sample --noise 0.5 --title "Sensors, March" --force
    noap report data.csv -k 5 --noise-file precision.csv
    """
    # Imported here: the estimator brings scikit-learn, which other commands do without.
    from noap.report import build_report

    asked.family()
    table = data.table(file)
    n, d = int(table.X.shape[0]), len(table.names)
    if components is not None and not 1 <= components <= d:
        raise InvalidProblem(f"--components must be from 1 to the number of features, {d}, got {components}.")
    strength = asked.for_names(table.names, data.reading)
    budget = strength.adversary(n, lambda: data.scales(table))
    if not budget.has_one_budget and budget.key != "feature":
        raise InvalidProblem("A report has one noise for all samples; leave out --noise-file and pass --noise.")
    made = build_report(
        table.samples,
        k,
        adversary=asked.adversary.value,
        noise=budget.rho / asked.kind.noise_unit(n),
        costs=strength.costs,
        n_components=components,
        deflation=deflation,
        joint="auto" if joint is None else joint,
        method=search.method,
        n_jobs=search.jobs,
        points=points,
        progress=output.progress,
        title=output.title if output.title is not None else file.name,
        **data.said,
        **search.limits,
    )
    write_file(output.out, "--out", lambda temporary: temporary.write_text(made.html(), encoding="utf-8"))
    results = [*made.path.results, *(one.result for one in made.components)]
    sentence = f"Report written to {output.out}; open it in a browser."
    answer = Answer(
        {"out": str(output.out), **_as_dict(made)},
        lambda console: console.print(sentence, markup=False, soft_wrap=True),
        code=LIMITED if any(result.limit is not None for result in results) else 0,
    )
    return output.finish(answer)


def _as_dict(made: "Report") -> dict[str, Any]:
    given = made.path.family.as_given.to_dict()
    return {
        "k": made.path.k,
        "noise": made.noise if made.own_noises is None else given["noise"],
        "costs": given["costs"],
        "points": len(made.path),
        "near_optimal": None if made.near is None else {"sets": len(made.near), "complete": made.near.complete},
        "joint": None if made.joint is None else joint_as_dict(made.joint),
        "components": [
            {
                "features": list(one.features),
                "loadings": list(one.loadings),
                **one.result.proved,
                "certificate": one.certificate,
                "explained_variance_ratio": one.explained,
            }
            for one in made.components
        ],
    }
