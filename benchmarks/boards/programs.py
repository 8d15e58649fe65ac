"""The paper's mixed-integer programs, as printed, strengthened, adaptive, without a row; on every solver there is.

An instance is called "METHOD KIND: rho-bar, form, solver".
"""

from collections.abc import Iterator, Sequence

import polars as pl

import noap
from benchmarks.board import Board, Setting
from benchmarks.boards.grid import normalised
from benchmarks.data import strong_weak
from benchmarks.instances import Instance
from benchmarks.words import percent, seconds
from noap.experiments.formats import markdown
from noap.mip import Cuts, list_backends

__all__ = ["PROGRAMS", "parts"]

_RHO_BARS, _SAMPLE_RHOS = (0.0, 0.5, 1.0, 1.5, 2.0, 3.0), (0.5, 1.0, 2.0)
_FORMS: dict[str, dict[str, object]] = {
    "as printed": {"as_printed": True}, "strengthened": {}, "adaptive": {"breakpoints": "adaptive"},
}  # fmt: skip


def _instances(setting: Setting) -> Iterator[Instance]:
    X = strong_weak(500, 100, 5, 0)
    backends = [info.name for info in list_backends(licences=True) if info.installed and info.licence != "none"]
    cuts = [f"without {name}" for name in Cuts.names()]
    cases = [("main", method, form, solver) for method in ("mip", "mip-r") for form in _FORMS for solver in backends]
    cases += [("cuts", "mip", form, "scip") for form in cuts]
    cases += [("whole", method, "strengthened", "scip") for method in ("mip", "mip-r")]
    cases += [("sample-wise", method, "strengthened", "scip") for method in ("mip", "mip-r")]
    for kind, method, form, solver in cases:
        options = {"backend": solver, "pieces": 3, **_FORMS.get(form, {"without": form.split()[-1]})}
        options |= ({"reduced_dim": 15} if kind != "whole" else {}) | ({"rank": 3} if method == "mip-r" else {})
        sample_wise = kind == "sample-wise"
        for budget in (1.0,) if setting.quick else _SAMPLE_RHOS if sample_wise else _RHO_BARS:
            name = f"{method} {kind}: {budget:g}, {form}, {solver}"
            known = {"data": method, "limit": 3.0 if setting.quick else 60.0, "options": options}
            if sample_wise:
                yield Instance(name, X, 5, budget, "SampleWise", budget=budget, **known)  # type: ignore[arg-type]
            else:
                yield normalised(name, X, 5, budget, **known)

    if not setting.quick:  # with the time that the paper gave it, beside the optimum
        Y = X[:, noap.screen_submatrix(X.T @ X / len(X), 5, 15)]
        yield normalised("exact long: 1, exact, noap", Y, 5, 1.0, data="exact")
        for solver in backends:
            options = {"backend": solver, "pieces": 3, "as_printed": True}
            name = f"mip long: 1, as printed, {solver}"
            yield normalised(name, Y, 5, 1.0, data="mip", limit=1800.0, options=options)


def _methods(one: Instance) -> Sequence[str]:
    return [one.data]


def parts(row: dict[str, object]) -> tuple[str, str, str]:
    """Return kind, form and solver of a row."""
    kind, rest = str(row["instance"]).removeprefix(f"{row['method']} ").split(": ")
    return kind, *rest.split(", ")[1:]  # type: ignore[return-value]


def _show(frame: pl.DataFrame) -> str:
    text = (
        "Strong/weak model, n = 500, d = 100, k = 5, one draw, cut to 15 features by the paper's Algorithm 1 (*whole*: "
        "all 100), N = 3 pieces, r = 3, one thread, 60 s (*long*: 1800). By budget: the gap of the bound, for "
        "the chosen features, against the value of the vector found (what the solver left open and what the "
        "formulation cannot see, together), and seconds; *cuts* are the strengthened program without one kind of row.\n"
    )
    rows = [(*parts(row), row) for row in frame.iter_rows(named=True) if row["method"] != "exact"]
    for title, wanted in (("Feature-wise, by rho-bar", False), ("Sample-wise, by rho", True)):
        some = [one for one in rows if (one[0] == "sample-wise") is wanted]
        budgets = sorted({row["budget"] for *_, row in some})
        lines: dict[tuple[str, ...], dict[float, str]] = {}
        for kind, form, solver, row in some:
            cell = f"{percent(max(row['gap'], 0.0))}, {seconds(row['wall_s'])}"
            lines.setdefault((row["method"], kind, form, solver), {})[row["budget"]] = cell
        if lines:
            body = [[*key, *(cells.get(one, "") for one in budgets)] for key, cells in lines.items()]
            head = ["program", "kind", "form", "solver", *(f"{one:g}" for one in budgets)]
            text += f"\n### {title}\n\n" + markdown(head, body)
    return text


PROGRAMS = Board("programs", "The paper's programs: formulations and solvers", _show, _instances, _methods, rounds=0)
