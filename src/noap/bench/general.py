"""General solvers on one problem: the paper's program as printed and strengthened, and SCIP's nonconvex model."""

import math
import time
from collections.abc import Iterator
from functools import partial

import noap
from noap.bench.board import BoardRow
from noap.bench.scoring import score
from noap.experiments.methods import find
from noap.experiments.spec import Method
from noap.measuring.timing import timed
from noap.metrics import gap as relative_gap
from noap.mip import list_backends
from noap.mip.backends.scip_direct import solve_directly
from noap.problem import Problem

__all__ = ["DIRECT", "NAMES", "general_solvers"]

DIRECT = "SCIP, nonconvex model"
NAMES = {"scip": "SCIP", "highs": "HiGHS", "gurobi": "Gurobi"}


def general_solvers(problem: Problem, limit: float, gap: float, skipped: list[str]) -> Iterator[BoardRow]:
    """Yield what every solver that is here finds and proves within the limit, to its own tolerances."""
    rho = getattr(problem.adversary, "rho", 0.0) / math.sqrt(problem.n_samples)
    started = time.process_time()
    direct = solve_directly(problem.covariance, problem.k, rho, seconds=limit, gap=gap)
    times = direct.seconds, time.process_time() - started
    value = 0.0 if direct.v is None or not direct.v.any() else score(problem, direct.v).resolved
    yield _row(DIRECT, value, direct.bound, times, direct.nodes, limit, gap)
    for info in list_backends(licences=True):
        if not info.installed or info.licence == "none":
            continue
        forms = {"paper's MIP": {"as_printed": True, "pieces": 3}}
        if info.name == "scip":
            forms["MIP with every valid row"] = {}
        for form, options in forms.items():
            name = f"{NAMES.get(info.name, info.name)}, {form}"
            method = Method("", "mip", {"backend": info.name, **options}, gap=gap, time_limit=limit)
            started = time.process_time()
            try:
                spent, finding = timed(partial(find, problem, method, 0))
            except noap.errors.BackendNotAvailable:
                skipped.append(f"{name}: its licence does not allow programs of {problem.n_features} features.")
                continue
            times = spent, time.process_time() - started
            value = 0.0 if finding.v is None or not finding.v.any() else score(problem, finding.v).resolved
            yield _row(name, value, finding.bound, times, finding.nodes, limit, gap)


def _row(
    name: str, value: float, bound: float, times: tuple[float, float], nodes: int, limit: float, gap: float
) -> BoardRow:
    left = relative_gap(value, bound) if value > 0 else math.inf
    return {
        "method": name, "value": value, "bound": bound, "gap": left, "proved": left <= gap * 1.01, "seconds": times[0],
        "cpu_s": times[1], "nodes": nodes, "verified": None, "verify_s": None, "limit": limit,
    }  # fmt: skip
