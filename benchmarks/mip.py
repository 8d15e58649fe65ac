"""The paper's setting for its mixed-integer programs: as printed against strengthened, on every solver.

One draw of the strong/weak model (n = 500, d = 100, k = 5, lambda = 3, k1 = 2, c = 0.8), cut to 15 features by
Algorithm 1, N = 3 pieces, r = 3, one thread. Run ``python -m benchmarks.mip``; it resumes where it stopped, and
``--render`` rewrites the report from the table alone.
"""

import argparse
import csv
import importlib.metadata
import math
import os
import platform
import subprocess
import time
import warnings
from collections.abc import Iterator
from dataclasses import asdict, dataclass, fields
from pathlib import Path

import noap
from noap._controls import Controls
from noap.mip import Cuts, list_backends, run_mip, run_mip_r

RESULTS = Path(__file__).parent / "results"
TABLE, REPORT = RESULTS / "mip.csv", RESULTS / "mip.md"
N, D, K, LAM, K1, C, SEED = 500, 100, 5, 3.0, 2, 0.8, 0
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
class Row:
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
    limit: str


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


def run(case: Case) -> Row:
    model = noap.theory.spiked_wishart(N, D, K, LAM, k1=K1, c=C, random_state=SEED)
    feature_wise = noap.FeatureWise(case.rho_bar * math.sqrt(N / K))
    adversary = noap.SampleWise(case.rho_bar) if case.table.startswith("sample") else feature_wise
    problem = noap.Problem(model.X, k=K, adversary=adversary)
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
    return Row(
        **asdict(case),
        value=result.value,
        bound=bound,
        solver_gap=solver_gap,
        model_gap=bound / (1.0 + solver_gap) / result.value - 1.0,
        formulation_term=math.nan if result.formulation_error is None else result.formulation_error,
        total_gap=bound / result.value - 1.0,
        seconds=result.seconds,
        nodes=result.nodes,
        limit="" if result.limit is None else result.limit.value,
    )


def read() -> list[Row]:
    if not TABLE.exists():
        return []
    kinds = {field.name: field.type for field in fields(Row)}
    with TABLE.open(newline="") as stream:
        return [Row(**{name: kinds[name](entry) for name, entry in line.items()}) for line in csv.DictReader(stream)]


def append(row: Row) -> None:
    fresh = not TABLE.exists()
    with TABLE.open("a", newline="") as stream:
        writer = csv.DictWriter(stream, [field.name for field in fields(Row)], lineterminator="\n")
        if fresh:
            writer.writeheader()
        writer.writerow({name: f"{x:.6g}" if isinstance(x, float) else x for name, x in asdict(row).items()})


def render(rows: list[Row]) -> str:
    parts = [
        "# The paper's mixed-integer programs, as printed and strengthened",
        f"Strong/weak spiked Wishart model, n = {N}, d = {D}, k = {K}, lambda = {LAM:g}, k1 = {K1}, c = {C}, "
        f"random_state = {SEED}, feature-wise adversary, rho = rho-bar sqrt(n/k). Cut to {REDUCED} features by "
        f"Algorithm 1 unless said otherwise, N = {PIECES} pieces, r = {RANK}, {SECONDS:g} s, one thread.",
        machine(),
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
            "Total gap, seconds, nodes.\n\n| method | switch off | |\n|---|---|---|\n"
            + "\n".join(f"| {row.method} | {row.form.split()[1]} | {_brief(row)} |" for row in found),
        ]
    return "\n\n".join(parts) + "\n"


def table(rows: list[Row]) -> str:
    lines = [
        "| rho-bar | solver | value | bound | solver gap | model gap | a-priori term | total gap | s | nodes | limit |",
        "|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    for row in rows:
        # A model gap needs a solution of the model at least as good as the value.
        own = row.model_gap if row.model_gap > -1e-6 else math.nan
        gaps = f"{_percent(row.solver_gap)} | {_percent(own)} | {row.formulation_term:.3g} | {row.total_gap:.2%}"
        lines.append(
            f"| {row.rho_bar:g} | {row.backend} | {row.value:.4f} | {row.bound:.4f} | {gaps} | {row.seconds:.1f} | "
            f"{row.nodes} | {row.limit} |"
        )
    return "\n".join(lines)


def effects(rows: list[Row]) -> str:
    """Seconds and total gap per switch; the first line has all of them on."""
    base = {row.rho_bar: row for row in rows if (row.table, row.method, row.form, row.backend) == _BASE}
    lines = ["| switch off | " + " | ".join(f"rho-bar {rho:g}" for rho in RHO_BARS) + " |", "|---" * 7 + "|"]
    lines.append("| none | " + " | ".join(_brief(base.get(rho)) for rho in RHO_BARS) + " |")
    for form in leave_one_out():
        found = {row.rho_bar: row for row in rows if (row.table, row.form) == ("cuts", form)}
        lines.append(f"| {form.split()[1]} | " + " | ".join(_brief(found.get(rho)) for rho in RHO_BARS) + " |")
    return "Total gap, seconds, nodes.\n\n" + "\n".join(lines)


_BASE = ("main", "mip", "strengthened", "scip")


def _brief(row: Row | None) -> str:
    return "" if row is None else f"{row.total_gap:.2%}, {row.seconds:.1f} s, {row.nodes}"


def _percent(share: float) -> str:
    return f"{share:.2%}" if math.isfinite(share) else "-"


def machine() -> str:
    model = platform.processor() or platform.machine()
    info = Path("/proc/cpuinfo")
    if info.exists():
        names = [
            line.split(":", 1)[1].strip() for line in info.read_text().splitlines() if line.startswith("model name")
        ]
        model = names[0] if names else model
    packages = ("pyscipopt", "highspy", "gurobipy", "numpy")
    versions = ", ".join(f"{name} {importlib.metadata.version(name)}" for name in packages if _installed(name))
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=False)
    return (
        f"{model}, {os.cpu_count()} cores shared with other work; Python {platform.python_version()}, {versions}; "
        f"noap {noap.__version__}, commit {commit.stdout.strip() or 'unknown'} and later; "
        f"{time.strftime('%Y-%m-%d')}."
    )


def _installed(name: str) -> bool:
    try:
        importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return False
    return True


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--render", action="store_true", help="rewrite the report from the table, run nothing")
    arguments = parser.parse_args()
    RESULTS.mkdir(exist_ok=True)
    known = {
        tuple(asdict(row)[name] for name in ("table", "method", "form", "backend", "features", "rho_bar"))
        for row in read()
    }
    for case in () if arguments.render else cases():
        if tuple(asdict(case).values()) not in known:
            row = run(case)
            append(row)
            print(f"{case}: bound {row.bound:.4f}, value {row.value:.4f}, {row.seconds:.1f} s", flush=True)
            REPORT.write_text(render(read()))
    REPORT.write_text(render(read()))


if __name__ == "__main__":
    main()
