"""Several components at once beside one after the other, on one matrix: the row that board and study share."""

import time

import numpy as np

import noap
from noap.bench.board import BoardRow
from noap.bench.instances import problem_of
from noap.linalg.types import FloatArray
from noap.problem import Problem

__all__ = ["GAP", "PUBLISHED", "measured", "one_by_one"]

GAP = 1e-4
# Seconds for a single component at most: its vector is there long before its proof.
_SINGLE = 10.0
# S&P 500, r = 4: msPCA and nsprcomp by k, as published: shares of the trace, of orthogonal rather than disjoint ones.
PUBLISHED = {
    5: (0.0347, 0.0417), 10: (0.0639, 0.0660), 20: (0.0930, 0.0986), 25: (0.0953, 0.1083), 30: (0.1113, 0.1025),
    35: (0.1142, 0.1051),
}  # fmt: skip


def one_by_one(problem: Problem, r: int, limit: float) -> float:
    """Return what components are worth that are taken one after the other, each from the features that are left."""
    total, left = 0.0, np.arange(problem.n_features)
    for _ in range(r):
        if len(left) == 0 or (rest := problem.restricted(left)).optimum_is_zero:
            break
        found = noap.solve(rest, gap=GAP, time_limit=limit)
        total, left = total + found.value, np.delete(left, found.support)
    return total


def measured(name: str, S: FloatArray, r: int, k: int, noise: float, limit: float) -> BoardRow:
    """Return value, bound and times of r components of k features at once, and the value one by one.

    The limit is of the clock; `cpu_s` is of the process.
    """
    problem = problem_of(S, k, noise)
    started = time.process_time()
    joint = noap.solve_components(problem, r, gap=GAP, time_limit=limit)
    taken = time.process_time() - started
    checked = None if joint.certificate is None else noap.verify(problem, joint.certificate)
    return {
        "name": name, "d": len(S), "r": r, "k": k, "noise": noise, "value": joint.value, "bound": joint.bound,
        "gap": joint.gap, "status": joint.status.value,
        "one_by_one": one_by_one(problem, r, min(0.25 * limit, _SINGLE)),
        "trace": float(np.trace(S)), "cpu_s": taken, "wall_s": joint.seconds, "columns": joint.columns,
        "pricings": joint.pricings, "nodes": joint.nodes, "branches": joint.branches,
        "verified": checked is not None and checked.ok, "verify_s": None if checked is None else checked.seconds,
        "removed": 0 if joint.certificate is None else len(joint.certificate.removed),
    }  # fmt: skip
