"""`noap solve`: one component of one file, or several."""

import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

import noap
from noap.cli.components import as_dict as components_as_dict
from noap.cli.components import fitted, print_components
from noap.cli.metric import read_metric, require_metric_fits
from noap.cli.options import (
    DATA,
    METHOD,
    PROBLEM,
    PROGRAM,
    Components,
    DataOptions,
    Deflation,
    Joint,
    MetricFile,
    MetricRidge,
    SearchOptions,
    option,
)
from noap.cli.problem import ProblemOptions, is_streamed, streamed_problem
from noap.cli.result import as_document, print_result
from noap.cli.run import LIMITED, Answer, OutputOptions, write_table
from noap.errors import InvalidProblem
from noap.problem import Problem

__all__ = ["solve"]


@dataclass(frozen=True)
class _Problem(ProblemOptions):
    metric: MetricFile = None
    metric_ridge: MetricRidge = None

    def of_file(self, file: Path, data: DataOptions, k: int) -> tuple[Problem, tuple[str, ...]]:
        """Return the problem of the table in FILE, and the names of its features."""
        table = data.table(file)
        form = None if self.metric is None else read_metric(self.metric, self.metric_ridge, table, data.reading)
        return self.problem(table, data, k, form), table.names

    @property
    def flags(self) -> list[str]:
        """What `noap verify` has to be told as well."""
        said = {
            "--noise-file": self.noise_file,
            "--cost-file": self.cost_file,
            "--noise-units": self.noise_units,
            "--metric": self.metric,
            "--metric-ridge": self.metric_ridge,
        }
        return [word for name, given in said.items() if given is not None for word in (name, str(given))]


@dataclass(frozen=True)
class _Search(SearchOptions):
    jobs: Annotated[int | None, option("Many features: threads that share the work; -1 for all.", panel=METHOD)] = None
    node_limit: Annotated[int | None, option("exact: stop after this many nodes.", panel=METHOD)] = None
    memory_limit: Annotated[float | None, option("exact: megabytes for search and proof.", panel=METHOD)] = None
    backend: Annotated[
        str | None, option("Solver: scip (default), highs or gurobi.", panel=PROGRAM, metavar="NAME")
    ] = None
    pieces: Annotated[int | None, option("Chords on each side of 0, the paper's N.", panel=PROGRAM)] = None
    rank: Annotated[int | None, option("mip-r: leading directions modelled, the paper's r.", panel=PROGRAM)] = None
    reduced_dim: Annotated[int | None, option("Solve on this many features, chosen by Algorithm 1.", panel=PROGRAM)] = (
        None
    )
    as_printed: Annotated[bool, option("The paper's program to the letter.", "--as-printed", panel=PROGRAM)] = False

    @property
    def options(self) -> dict[str, Any]:
        """What was asked for beyond the limits: a method refuses options that are not its own."""
        asked = {
            "backend": self.backend,
            "pieces": self.pieces,
            "rank": self.rank,
            "reduced_dim": self.reduced_dim,
            "as_printed": self.as_printed or None,
            "node_limit": self.node_limit,
            "memory_limit": self.memory_limit,
            "n_jobs": self.jobs,
        }
        return {name: given for name, given in asked.items() if given is not None}


@dataclass(frozen=True)
class _Output(OutputOptions):
    out: Annotated[Path | None, option("Write the result to this file: JSON, or a .csv.")] = None
    certificate: Annotated[Path | None, option("Write the proof to this file, for noap verify.")] = None

    def __post_init__(self) -> None:
        super().__post_init__()
        self.require_free(self.out, "--out")
        self.require_free(self.certificate, "--certificate")


def solve(
    file: Annotated[
        Path,
        typer.Argument(metavar="FILE", help="CSV, TSV, Parquet, Excel, NPY, NPZ; a folder or pattern."),
    ],
    data: DataOptions,
    asked: _Problem,
    search: _Search,
    output: _Output,
    stream: Annotated[bool, option("Read in batches and keep X'X alone.", "--stream", panel=DATA)] = False,
    k: Annotated[str, option("Features to keep; 5,3,3 for three.", "-k", panel=PROBLEM, metavar="<int>")] = "5",
    components: Components = None,
    joint: Joint = None,
    deflation: Deflation = "projection",
) -> int:
    """Find a robust sparse component of a table, or several.

    FILE and the tables of --noise-file, --cost-file and --metric are described in docs/command-line.md.

    noap solve data.csv -k 5 --noise 0.2 --certificate proof.noap
    noap solve data.csv -k 5 -c 3 --joint --drop species --index id
    noap solve data.csv -k 5 --method mip --backend highs --time-limit 60
    noap solve 'data/*.parquet' -k 5 --noise-file precision.csv --noise-units data
    """
    ks = _sizes(k)
    components = len(ks) if components is None else components
    streamed = is_streamed(file, stream)
    _require_consistent(search, ks, components, joint, deflation, proof=output.certificate is not None)
    require_metric_fits(asked.metric, asked.metric_ridge, streamed=streamed, components=components)
    if streamed:
        problem, names = streamed_problem(file, data, asked, max(ks))
    else:
        problem, names = asked.of_file(file, data, max(ks))
    if components != 1:
        # A proof that is to be written has to be one.
        model = fitted(
            problem,
            asked.adversary,
            components,
            ks[0] if len(ks) == 1 else list(ks),
            deflation,
            joint=True if output.certificate is not None else joint,
            method=search.method,
            options=search.options | {"progress": output.progress},
            **search.limits,
        )
        results, proved = model.results_, model.joint_result_
        document = components_as_dict(model, names, data)
    else:
        found = _solved(problem, search, output.progress)
        results, proved = (found,), found
        document = as_document(found, data)
    if output.certificate is not None:
        if proved is None or proved.certificate is None:
            raise InvalidProblem(
                "--certificate: the search stopped without a proof that could be written; raise --memory-limit."
            )
        proved.certificate.save(output.certificate)

    def say(console: Any) -> None:
        if components == 1:
            print_result(results[0], names, console)
        else:
            print_components(model, names, console)

    def frame() -> Any:
        from noap.joint.result import components_frame

        return components_frame(results)

    answer = Answer(document, say, frame, code=LIMITED if any(one.limit is not None for one in results) else 0)
    if output.out is not None:
        write_table(output.out, answer.text, frame)
    code = output.finish(answer, output.out)
    if output.certificate is not None and not output.json:
        words = shlex.join(["noap", "verify", str(output.certificate), str(file), *asked.flags])
        check = " ".join(filter(None, (words, data.reading.flags)))
        typer.echo(f"The proof is in {output.certificate}; check it with: {check}")
    return code


def _solved(problem: Problem, search: _Search, progress: bool) -> "noap.Result":
    """Return the one component, with ties given to the lowest index."""
    from noap.ties import break_ties

    found = noap.solve(problem, method=search.method, progress=progress, **search.limits, **search.options)
    # In a metric two features that tie need not be of the same length.
    return found if problem.metric is not None else break_ties(found)[0]


def _sizes(given: str) -> tuple[int, ...]:
    """Return how many features are asked for, one number or one for each component."""
    try:
        return tuple(int(one) for one in given.split(","))
    except ValueError:
        raise InvalidProblem(
            f"-k must be an integer, or one for each component such as 5,3,3, got {given!r}."
        ) from None


def _require_consistent(
    search: _Search,
    ks: tuple[int, ...],
    components: int,
    joint: bool | None,
    deflation: str,
    *,
    proof: bool,
) -> None:
    """Raise InvalidProblem, with one sentence, where options do not go together."""
    several, method = components != 1, search.method
    alone = joint is False or (joint is None and deflation != "disjoint")
    for wrong, sentence in (
        (
            len(ks) not in (1, components),
            f"-k has {len(ks)} entries, and -c says {components} components; leave out -c.",
        ),
        (
            proof and method not in ("exact", "relaxation"),
            f"--certificate needs --method exact or relaxation: {method!r} proves nothing about the whole problem.",
        ),
        (
            proof and several and alone,
            "--certificate holds one proof: that of one component (-c 1), or of components chosen together; add "
            "--joint, or leave out -c.",
        ),
        (joint and not several, "--joint chooses several components together; say how many with -c."),
    ):
        if wrong:
            raise InvalidProblem(sentence)
