"""The paper's setting for its mixed-integer programs: as printed against strengthened, on every solver.

One draw of the strong/weak model (n = 500, d = 100, k = 5, lambda = 3, k1 = 2, c = 0.8), cut to 15 features by
Algorithm 1, N = 3 pieces, r = 3, one thread. Run ``python -m benchmarks.mip``; it resumes where it stopped, and
``--render`` rewrites the report from the table alone.
"""

import argparse
import math
import warnings
from collections.abc import Iterator
from dataclasses import asdict, dataclass, fields

import noap
from benchmarks import RESULTS
from noap.bench.sources import strong_weak
from noap.measuring.environment import described, environment
from noap.measuring.tables import append_row, markdown, read_table
from noap.mip import Cuts, list_backends, run_mip, run_mip_r
from noap.runtime.controls import Controls

TABLE, REPORT = RESULTS / "mip.csv", RESULTS / "mip.md"
N, D, K, SEED = 500, 100, 5, 0
RHO_BARS = (0.0, 0.5, 1.0, 1.5, 2.0, 3.0)
SAMPLE_RHOS = (0.5, 1.0, 2.0)  # the budget itself: sample-wise there is nothing to normalise
SECONDS, PIECES, RANK, REDUCED = 60.0, 3, 3, 15
SAMPLE_FORMS = [("mip", f"without {name}") for name in Cuts.names() if name not in ("l1", "norm_pieces", "xi_sum")]
SAMPLE_FORMS.append(("mip-r", "without norm_pieces"))


@dataclass(frozen=True)
class Case:
    """One run: which table it belongs to, and what is solved how."""

    table: str
    method: str
    form: str
    backend: str
    features: int
    rho_bar: float


@dataclass(frozen=True)
class MeasuredCase:
    """A case and what came out of it; gaps are relative to the value."""

    table: str
    method: str
    form: str
    backend: str
    features: int
    rho_bar: float
    value: float
    bound: float
    solver_gap: float
    model_gap: float
    formulation_term: float
    total_gap: float
    seconds: float
    nodes: int
    limit: str | None


def cases() -> Iterator[Case]:
    backends = [info.name for info in list_backends() if info.installed]
    for method in ("mip", "mip-r"):
        for form in ("strengthened", "adaptive"):
            yield from (Case("main", method, form, backend, REDUCED, rho) for backend in backends for rho in RHO_BARS)
    yield from (Case("main", "mip", "as printed", backend, REDUCED, rho) for backend in backends for rho in RHO_BARS)
    yield from (Case("cuts", "mip", form, "scip", REDUCED, rho) for form in leave_one_out() for rho in RHO_BARS)
    for method in ("mip", "mip-r"):
        yield from (Case("whole", method, "strengthened", "scip", D, rho) for rho in RHO_BARS)
    for method in ("mip", "mip-r"):
        yield from (Case("sample-wise", method, "strengthened", "scip", REDUCED, rho) for rho in SAMPLE_RHOS)
    for method, form in SAMPLE_FORMS:
        yield Case("sample-wise cuts", method, form, "scip", REDUCED, SAMPLE_RHOS[1])
    yield from (Case("main", "mip-r", "as printed", backend, REDUCED, rho) for backend in backends for rho in RHO_BARS)


def leave_one_out() -> list[str]:
    return [f"without {name}" for name in Cuts.names()]


def run(case: Case) -> MeasuredCase:
    feature_wise = noap.FeatureWise(case.rho_bar * math.sqrt(N / K))
    adversary = noap.SampleWise(case.rho_bar) if case.table.startswith("sample") else feature_wise
    problem = noap.Problem(strong_weak(N, D, K, SEED), k=K, adversary=adversary)
    options: dict[str, object] = {"backend": case.backend, "pieces": PIECES}
    if case.features < D:
        options["reduced_dim"] = case.features
    if case.form == "as printed":
        options["as_printed"] = True
    elif case.form == "adaptive":
        options["breakpoints"] = "adaptive"
    elif case.form.startswith("without "):
        options["cuts"] = Cuts().without(case.form.removeprefix("without "))
    controls = Controls.checked(1e-4, SECONDS, 0, False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", noap.errors.NoapWarning)  # v = 0 of the printed MIP-r is expected here
        if case.method == "mip":
            result = run_mip(problem, controls, **options)
        else:
            result = run_mip_r(problem, controls, rank=RANK, **options)
    bound = result.bound if result.restricted_bound is None else result.restricted_bound
    solver_gap = math.nan if result.solver_gap is None else result.solver_gap
    return MeasuredCase(
        **asdict(case),
        value=result.value,
        bound=bound,
        solver_gap=solver_gap,
        model_gap=bound / (1.0 + solver_gap) / result.value - 1.0,
        formulation_term=math.nan if result.formulation_error is None else result.formulation_error,
        total_gap=bound / result.value - 1.0,
        seconds=result.seconds,
        nodes=result.nodes,
        limit=None if result.limit is None else result.limit.value,
    )


def read() -> list[MeasuredCase]:
    if not TABLE.exists():
        return []
    # Where no solver found a solution of its own, a gap is "nan" in every row.
    kinds = {field.name: float for field in fields(MeasuredCase) if field.type is float} | {"limit": str}
    return [MeasuredCase(**row) for row in read_table(TABLE, kinds).iter_rows(named=True)]


def render(rows: list[MeasuredCase], measured_on: str) -> str:
    parts = [
        "# The paper's mixed-integer programs, as printed and strengthened",
        f"Strong/weak spiked Wishart model, n = {N}, d = {D}, k = {K}, lambda = 3, k1 = 2, c = 0.8, "
        f"random_state = {SEED}, feature-wise adversary, rho = rho-bar sqrt(n/k). Cut to {REDUCED} features by "
        f"Algorithm 1 unless said otherwise, N = {PIECES} pieces, r = {RANK}, {SECONDS:g} s, one thread.",
        measured_on,
        "*solver gap*: what the solver left open on its own model. *model gap*: how far the model's best known "
        "solution lies above the value, the formulation's own error as measured. *a-priori term*: what the theorem "
        "allows for it, in units of the value. *total gap*: (bound - value)/value. The bounds are the solver's, for "
        "the chosen features only. A dash: within the time the solver found no solution of its own to compare with.",
    ]
    for method in ("mip", "mip-r"):
        for form in ("as printed", "strengthened", "adaptive"):
            chosen = [row for row in rows if (row.table, row.method, row.form) == ("main", method, form)]
            if chosen:
                parts += [f"## {method}, {form}", table(sorted(chosen, key=lambda row: (row.rho_bar, row.backend)))]
    for method in ("mip", "mip-r"):
        whole = [row for row in rows if (row.table, row.method) == ("whole", method)]
        if whole:
            parts += [f"## {method}, strengthened, all {D} features: bounds of the whole problem", table(whole)]
    if any(row.table == "cuts" for row in rows):
        parts += ["## Effect of each cut: SCIP, strengthened, one switch off", effects(rows)]
    for method in ("mip", "mip-r"):
        found = [row for row in rows if (row.table, row.method) == ("sample-wise", method)]
        if found:
            parts += [f"## {method}, sample-wise, strengthened (the first column is rho itself)", table(found)]
    found = [row for row in rows if row.table == "sample-wise cuts"]
    if found:
        parts += [
            f"## Effect of each cut, sample-wise, rho = {SAMPLE_RHOS[1]:g}: SCIP, one switch off",
            "Total gap, seconds, nodes.",
            markdown(["method", "switch off", ""], [[row.method, row.form.split()[1], _brief(row)] for row in found]),
        ]
    return "\n\n".join(part.strip() for part in parts) + "\n"


def table(rows: list[MeasuredCase]) -> str:
    body = []
    for row in rows:
        # A model gap needs a solution of the model at least as good as the value.
        own = row.model_gap if row.model_gap > -1e-6 else math.nan
        body.append([
            f"{row.rho_bar:g}", row.backend, f"{row.value:.4f}", f"{row.bound:.4f}", _percent(row.solver_gap),
            _percent(own), f"{row.formulation_term:.3g}", f"{row.total_gap:.2%}", f"{row.seconds:.1f}", row.nodes,
            row.limit,
        ])  # fmt: skip
    columns = [
        "rho-bar", "solver", "value", "bound", "solver gap", "model gap", "a-priori term", "total gap", "s", "nodes",
        "limit",
    ]  # fmt: skip
    return markdown(columns, body)


def effects(rows: list[MeasuredCase]) -> str:
    """Seconds and total gap per switch; the first line has all of them on."""
    base = {row.rho_bar: row for row in rows if (row.table, row.method, row.form, row.backend) == _BASE}
    body = [["none", *(_brief(base.get(rho)) for rho in RHO_BARS)]]
    for form in leave_one_out():
        found = {row.rho_bar: row for row in rows if (row.table, row.form) == ("cuts", form)}
        body.append([form.split()[1], *(_brief(found.get(rho)) for rho in RHO_BARS)])
    return "Total gap, seconds, nodes.\n\n" + markdown(["switch off", *(f"rho-bar {rho:g}" for rho in RHO_BARS)], body)


_BASE = ("main", "mip", "strengthened", "scip")


def _brief(row: MeasuredCase | None) -> str:
    return "" if row is None else f"{row.total_gap:.2%}, {row.seconds:.1f} s, {row.nodes}"


def _percent(share: float) -> str:
    return f"{share:.2%}" if math.isfinite(share) else "-"


def measured_on() -> str:
    """Return where the table was begun: a report that is there keeps its words, whoever adds to it or renders it."""
    if TABLE.exists() and REPORT.exists():
        return REPORT.read_text(encoding="utf-8").split("\n\n")[2]
    return f"{described(environment())} and later; other work shares the machine."


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--render", action="store_true", help="rewrite the report from the table, run nothing")
    arguments = parser.parse_args()
    known = {tuple(asdict(row).values())[: len(fields(Case))] for row in read()}
    where = measured_on()
    for case in () if arguments.render else cases():
        if tuple(asdict(case).values()) not in known:
            row = run(case)
            append_row(asdict(row), TABLE)
            print(f"{case}: bound {row.bound:.4f}, value {row.value:.4f}, {row.seconds:.1f} s", flush=True)
            REPORT.write_text(render(read(), where), encoding="utf-8")
    REPORT.write_text(render(read(), where), encoding="utf-8")


if __name__ == "__main__":
    main()
