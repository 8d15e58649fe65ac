"""SCIP on the problem as a modeller would first write it: no chords, one nonconvex row.

A yardstick for the benchmarks, not a method: the paper's programs and the exact method replace it.
"""

import math
import time
from dataclasses import dataclass

import numpy as np

from noap.linalg.types import FloatArray

__all__ = ["Direct", "solve_directly"]


@dataclass(frozen=True, eq=False)
class Direct:
    """The solver's vector (None if it found none), its bound on the robust variance, nodes and seconds."""

    v: FloatArray | None
    bound: float
    nodes: int
    seconds: float
    optimal: bool


def solve_directly(S: FloatArray, k: int, rho: float, *, seconds: float, gap: float = 1e-4) -> Direct:
    r"""Maximise the distance that a feature-wise adversary leaves, with branch and bound on the nonconvex row.

    .. math:: \max\ e - \rho \sum_j y_j \quad\text{s.t.}\quad e^2 \le v^\top S v,\
              \|v\|_2 = 1,\ |v_j| \le y_j \le z_j,\ \sum_j z_j \le k,\ z \in \{0, 1\}^d

    At rho = 0 the objective is e^2 itself, one linear variable. Products of entries are used because SCIP closed a
    small problem with them that it left open with products of eigenvectors.

    Parameters
    ----------
    S : array of shape (d, d)
        Covariance.
    k : int
    rho : float
        Budget in units of X/sqrt(n); 0 for vanilla sparse PCA.
    seconds, gap : float
        Limits handed to the solver.
    """
    from pyscipopt import Model, quicksum

    started = time.perf_counter()
    unit = float(np.linalg.eigvalsh(S)[-1])
    A, d = S / unit, len(S)
    scip = Model("direct")
    scip.hideOutput()
    scip.setParam("limits/gap", gap)
    scip.setParam("limits/time", max(seconds, 1e-3))
    scip.setParam("parallel/maxnthreads", 1)
    scip.setParam("lp/threads", 1)
    v = [scip.addVar(f"v{j}", lb=-1.0, ub=1.0) for j in range(d)]
    y = [scip.addVar(f"y{j}", lb=0.0, ub=1.0) for j in range(d)]
    z = [scip.addVar(f"z{j}", vtype="B") for j in range(d)]
    e = scip.addVar("e", lb=0.0, ub=1.0)
    for j in range(d):
        scip.addCons(v[j] <= y[j])
        scip.addCons(-v[j] <= y[j])
        scip.addCons(y[j] <= z[j])
    scip.addCons(quicksum(z) <= k)
    scip.addCons(quicksum(x * x for x in v) == 1.0)
    energy = quicksum(float(A[i, j]) * (1 if i == j else 2) * v[i] * v[j] for i in range(d) for j in range(i, d))
    scip.addCons(e * e <= energy if rho > 0 else e <= energy)
    scip.setObjective(e - rho / math.sqrt(unit) * quicksum(y) if rho > 0 else e, "maximize")
    scip.optimize()
    bound = min(max(float(scip.getDualbound()), 0.0), 1.0)
    found = None
    if scip.getNSols():
        best = scip.getBestSol()
        found = np.array([scip.getSolVal(best, x) * (scip.getSolVal(best, b) > 0.5) for x, b in zip(v, z, strict=True)])
    return Direct(
        found,
        (bound**2 if rho > 0 else bound) * unit,
        int(scip.getNTotalNodes()),
        time.perf_counter() - started,
        scip.getStatus() in ("optimal", "gaplimit"),
    )
