"""The paper's MIP as printed, with the time that the paper gave it: 1800 s, one thread, on every solver.

One draw of the strong/weak model (d = 100, k = 5, lambda = 3, k1 = 2, c = 0.8), cut to 15 features by Algorithm 1,
N = 3 pieces: feature-wise with n = 500 and rho-bar = 1, sample-wise with n = 100 and rho = 1. Run
``python -m benchmarks.printed`` (half an hour per program); it resumes where it stopped, ``--backend`` chooses solvers,
``--seconds`` another limit, and ``--render`` rewrites the report from the table alone.
"""

import argparse
import math
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, fields

import noap
from benchmarks import RESULTS
from noap.bench.sources import strong_weak
from noap.measuring.environment import described, environment
from noap.measuring.tables import append_row, markdown, percent, read_table
from noap.mip import list_backends

TABLE, REPORT = RESULTS / "printed.csv", RESULTS / "printed.md"
D, K, SEED, PIECES, REDUCED, SECONDS = 100, 5, 0, 3, 15, 1800.0
# The sample-wise program has rows for every sample; with n = 100 it fits Gurobi's free licence, too.
INSTANCES = (("feature-wise", 500, 1.0), ("sample-wise", 100, 1.0))


@dataclass(frozen=True)
class Case:
    """One program on one solver; the budget is normalised feature-wise."""

    adversary: str
    n: int
    budget: float
    backend: str
    time_limit: float


@dataclass(frozen=True)
class MeasuredCase:
    """A case and what came out of it; `optimum` is that of the 15 features, proved by the exact method."""

    adversary: str
    n: int
    budget: float
    backend: str
    time_limit: float
    optimum: float
    own_value: float | None
    bound: float
    solver_gap: float | None
    seconds: float
    nodes: int
    limit: str | None
    says: str
    where: str


def cases(seconds: float, backends: Sequence[str]) -> Iterator[Case]:
    for adversary, n, budget in INSTANCES:
        yield from (Case(adversary, n, budget, backend, seconds) for backend in backends)


def run(case: Case) -> MeasuredCase:
    where = described(environment())  # before half an hour in which somebody may commit
    rho = case.budget * math.sqrt(case.n / K) if case.adversary == "feature-wise" else case.budget
    kind = noap.FeatureWise if case.adversary == "feature-wise" else noap.SampleWise
    problem = noap.Problem(strong_weak(case.n, D, K, SEED), k=K, adversary=kind(rho))
    part = problem.restricted(noap.screen_submatrix(problem.covariance, K, REDUCED))
    optimum = noap.solve(part, time_limit=60.0)
    result = noap.solve(
        part, "mip", as_printed=True, pieces=PIECES, backend=case.backend, time_limit=case.time_limit, random_state=0
    )
    return MeasuredCase(
        **asdict(case),
        optimum=optimum.value,
        own_value=None if result.program_v is None else part.value(result.program_v),
        bound=result.bound,
        solver_gap=result.solver_gap,
        seconds=result.seconds,
        nodes=result.nodes,
        limit=None if result.limit is None else result.limit.value,
        says=" ".join(result.messages),
        where=where,
    )


def read() -> list[MeasuredCase]:
    if not TABLE.exists():
        return []
    kinds = {field.name: float for field in fields(MeasuredCase) if "float" in str(field.type)}
    return [MeasuredCase(**row) for row in read_table(TABLE, kinds | {"limit": str, "says": str}).iter_rows(named=True)]


def render(rows: Sequence[MeasuredCase]) -> str:
    body = [
        [
            row.adversary, row.n, f"{row.budget:g}", row.backend, f"{row.optimum:.4f}",
            "none" if row.own_value is None else f"{row.own_value:.4f}", f"{row.bound:.4f}",
            percent(row.bound / row.optimum - 1), percent(row.solver_gap), f"{row.seconds:.0f}", row.nodes,
            row.limit or "none",
        ]
        for row in rows
    ]  # fmt: skip
    columns = [
        "adversary", "n", "budget", "solver", "optimum", "own solution", "bound", "gap", "solver gap", "s", "nodes",
        "limit",
    ]  # fmt: skip
    words = [f"- {row.adversary}, {row.backend}: {row.says}" for row in rows if row.says]
    places = [f"- {place}." for place in dict.fromkeys(row.where for row in rows)]
    parts = [
        "# The paper's MIP as printed, 1800 s",
        f"Strong/weak spiked Wishart model, d = {D}, k = {K}, lambda = 3, k1 = 2, c = 0.8, random_state = {SEED}, cut "
        f"to {REDUCED} features by Algorithm 1, N = {PIECES} pieces, one thread. The budget is rho-bar feature-wise "
        "and rho sample-wise. *optimum*: of these features, by the exact method. *own solution*: the robust variance "
        "of the program's best solution; the solver starts from ascent's direction. *gap*: (bound - optimum)/optimum. "
        "*solver gap*: what the solver left open on its own model; the rest of the gap is the model's.",
        markdown(columns, body),
        "\n".join(words),
        "Measured on:",
        "\n".join(places),
    ]
    return "\n\n".join(part.strip() for part in parts if part) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--render", action="store_true", help="rewrite the report from the table, run nothing")
    parser.add_argument("--backend", action="append", help="these solvers only; all that are installed by default")
    parser.add_argument("--seconds", type=float, default=SECONDS, help="limit of every program")
    asked = parser.parse_args()
    backends = asked.backend or [info.name for info in list_backends() if info.installed]
    known = {tuple(asdict(row).values())[: len(fields(Case))] for row in read()}
    for case in () if asked.render else cases(asked.seconds, backends):
        if tuple(asdict(case).values()) not in known:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", noap.errors.NoapWarning)
                row = run(case)
            append_row(asdict(row), TABLE)
            print(f"{case}: bound {row.bound:.4f}, optimum {row.optimum:.4f}, {row.seconds:.0f} s", flush=True)
            REPORT.write_text(render(read()), encoding="utf-8")
    REPORT.write_text(render(read()), encoding="utf-8")


if __name__ == "__main__":
    main()
