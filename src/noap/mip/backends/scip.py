"""SCIP through PySCIPOpt: ordered sets and convex quadratic rows natively."""

import locale
from pathlib import Path
from typing import Any

import numpy as np

from noap.linalg.types import FloatArray
from noap.mip.backends.base import Capabilities, Progress, Settings, SolverOutcome, Stop
from noap.mip.model import Model

__all__ = ["Scip", "save"]

_STOPS = {
    "optimal": Stop.OPTIMAL,
    "gaplimit": Stop.OPTIMAL,
    "infeasible": Stop.INFEASIBLE,
    "timelimit": Stop.TIME,
    "nodelimit": Stop.NODES,
    "totalnodelimit": Stop.NODES,
    "memlimit": Stop.MEMORY,
    "userinterrupt": Stop.INTERRUPTED,
}


class Scip:
    """The default backend."""

    name = "scip"
    capabilities = Capabilities(sos2=True, quadratic=True)

    def reject(self, model: Model) -> str | None:
        """Return None: SCIP has no size limit."""
        return None

    def solve(self, model: Model, settings: Settings) -> SolverOutcome:
        """Solve the model; Ctrl-C is caught by SCIP itself, which then returns what it has."""
        from pyscipopt import Model as ScipModel

        scip = ScipModel("noap")
        scip.hideOutput()
        _set_limits(scip, settings)
        columns = _write(scip, model)
        if model.start is not None:
            _add_start(scip, columns, model.start)
        if settings.watch is not None:
            _watch(scip, settings)
        scip.optimize()
        return _read(scip, columns, model)


def save(model: Model, path: Path) -> None:
    """Write a model to a file, in the format of its suffix."""
    from pyscipopt import Model as ScipModel

    scip = ScipModel("noap")
    scip.hideOutput()
    _write(scip, model)
    given = locale.setlocale(locale.LC_NUMERIC)
    locale.setlocale(locale.LC_NUMERIC, "C")  # PySCIPOpt puts back no other one that works everywhere
    try:
        scip.writeProblem(str(path), verbose=False)
    finally:
        locale.setlocale(locale.LC_NUMERIC, given)


def _set_limits(scip: Any, settings: Settings) -> None:
    scip.setParam("misc/catchctrlc", True)
    scip.setParam("limits/gap", settings.gap)
    scip.setParam("parallel/maxnthreads", settings.threads)
    scip.setParam("lp/threads", settings.threads)
    scip.setParam("randomization/randomseedshift", settings.seed)
    if settings.look_harder:
        # The package re-exports it without listing it.
        from pyscipopt import SCIP_PARAMSETTING  # type: ignore[attr-defined]

        scip.setHeuristics(SCIP_PARAMSETTING.AGGRESSIVE)
    if settings.time_limit is not None:
        scip.setParam("limits/time", max(settings.time_limit, 1e-3))
    if settings.node_limit is not None:
        scip.setParam("limits/totalnodes", settings.node_limit)


def _write(scip: Any, model: Model) -> list[Any]:
    from pyscipopt import quicksum

    columns = [
        scip.addVar(
            name,
            vtype=("B" if (low, high) == (0.0, 1.0) else "I") if whole else "C",
            lb=None if np.isneginf(low) else float(low),
            ub=None if np.isposinf(high) else float(high),
            obj=float(cost),
        )
        for name, low, high, whole, cost in zip(
            model.names, model.lower, model.upper, model.integer, model.objective, strict=True
        )
    ]
    scip.setMaximize()
    for row in model.rows:
        form = quicksum(float(c) * columns[j] for j, c in zip(row.columns, row.coefficients, strict=True))
        if row.lower == row.upper:
            scip.addCons(form == row.lower, name=row.name)
        elif np.isneginf(row.lower):
            scip.addCons(form <= row.upper, name=row.name)
        elif np.isposinf(row.upper):
            scip.addCons(form >= row.lower, name=row.name)
        else:
            scip.addCons((form <= row.upper) >= row.lower, name=row.name)
    for square in model.squares:
        curved = quicksum(
            float(c) * columns[j] * columns[j] for j, c in zip(square.squared, square.weights, strict=True)
        )
        form = quicksum(float(c) * columns[j] for j, c in zip(square.columns, square.coefficients, strict=True))
        scip.addCons(curved + form <= square.upper, name=square.name)
    for cone in model.cones:
        x, over, switch = columns[cone.squared], columns[cone.over], columns[cone.switch]
        scip.addCons(x * x <= over * switch, name=cone.name)
    for group in model.sets:
        scip.addConsSOS2(
            [columns[j] for j in group.columns], weights=list(map(float, group.positions)), name=group.name
        )
    return columns


def _add_start(scip: Any, columns: list[Any], start: FloatArray) -> None:
    solution = scip.createSol()
    for column, entry in zip(columns, start, strict=True):
        scip.setSolVal(solution, column, float(entry))
    scip.addSol(solution)


def _watch(scip: Any, settings: Settings) -> None:
    # The package re-exports it without listing it.
    from pyscipopt import SCIP_EVENTTYPE  # type: ignore[attr-defined]

    assert settings.watch is not None
    watch = settings.watch

    def report(model: Any, event: Any) -> None:
        best = float(model.getPrimalbound()) if model.getNSols() else None
        bound = float(model.getDualbound())
        watch(Progress(best, None if model.isInfinity(abs(bound)) else bound, int(model.getNTotalNodes())))

    scip.attachEventHandlerCallback(report, [SCIP_EVENTTYPE.NODESOLVED, SCIP_EVENTTYPE.BESTSOLFOUND], name="noap")


def _read(scip: Any, columns: list[Any], model: Model) -> SolverOutcome:
    stop = _STOPS.get(scip.getStatus(), Stop.FAILED)
    nodes = int(scip.getNTotalNodes())
    if stop is Stop.INFEASIBLE:
        return SolverOutcome(stop, -np.inf, None, None, nodes)
    bound = float(scip.getDualbound())
    bound = np.inf if scip.isInfinity(abs(bound)) else bound
    if not scip.getNSols():
        return SolverOutcome(stop, bound, None, None, nodes)
    solution = scip.getBestSol()
    x = np.array([scip.getSolVal(solution, column) for column in columns])
    return SolverOutcome(stop, bound, x, model.value(x), nodes)
