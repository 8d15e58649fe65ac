"""Gurobi through gurobipy, an optional extra. Its pip licence is limited in size, and more so with quadratic rows."""

from functools import cache
from typing import Any

import numpy as np

from noap.errors import BackendNotAvailable
from noap.mip.backends.base import Capabilities, Progress, Settings, SolverOutcome, Stop
from noap.mip.model import Model

__all__ = ["Gurobi", "is_size_limited"]

# What the licence inside the pip package allows, measured: with quadratic rows far fewer variables.
_FREE_COLUMNS, _FREE_ROWS, _FREE_QUADRATIC_COLUMNS = 2000, 2000, 200
_TOO_LARGE = 10010


class Gurobi:
    """A backend with ordered sets and cones; a commercial licence lifts the size limit."""

    name = "gurobi"
    capabilities = Capabilities(sos2=True, quadratic=True)

    def reject(self, model: Model) -> str | None:
        """Return a sentence when the model is larger than the pip licence allows."""
        allowed = _FREE_COLUMNS if model.is_linear else _FREE_QUADRATIC_COLUMNS
        rows = len(model.rows) + len(model.squares) + len(model.cones)
        if (model.width <= allowed and rows <= _FREE_ROWS) or not is_size_limited():
            return None
        return (
            f"Gurobi's pip licence takes {_FREE_COLUMNS} variables and rows ({_FREE_QUADRATIC_COLUMNS} variables with "
            f"quadratic rows) and this model has {model.width} and {rows}; install a full licence, lower reduced_dim "
            "or pieces, or use backend='scip'."
        )

    def solve(self, model: Model, settings: Settings) -> SolverOutcome:
        """Solve the model; gurobipy stops at Ctrl-C by itself and keeps what it has."""
        import gurobipy

        with _environment(gurobipy, settings) as env, gurobipy.Model("noap", env=env) as gurobi:
            columns = _write(gurobipy, gurobi, model)
            callback = None if settings.watch is None else _watcher(gurobipy, settings)
            try:
                gurobi.optimize(callback)
            except gurobipy.GurobiError as error:
                if error.errno == _TOO_LARGE:
                    raise BackendNotAvailable(self.reject(model) or str(error)) from None
                raise
            return _read(gurobipy, gurobi, columns, model)


@cache
def is_size_limited() -> bool:
    """Return whether only the pip package's own licence is there: tried once, on the smallest model it refuses."""
    import gurobipy

    with _environment(gurobipy, Settings()) as env, gurobipy.Model(env=env) as gurobi:
        x = gurobi.addVars(_FREE_QUADRATIC_COLUMNS + 1)
        gurobi.addQConstr(x[0] * x[0] <= 1.0)
        try:
            gurobi.optimize()
        except gurobipy.GurobiError as error:
            if error.errno == _TOO_LARGE:
                return True
            raise
    return False


def _environment(gurobipy: Any, settings: Settings) -> Any:
    try:
        env = gurobipy.Env(empty=True)
        env.setParam("OutputFlag", 0)
        env.setParam("LogToConsole", 0)
        env.start()
    except gurobipy.GurobiError as error:
        raise BackendNotAvailable(f"Gurobi is installed but not licensed ({error}); use backend='scip'.") from None
    env.setParam("MIPGap", settings.gap)
    env.setParam("MIPGapAbs", 0.0)
    env.setParam("Threads", settings.threads)
    env.setParam("Seed", settings.seed)
    if settings.look_harder:
        env.setParam("Heuristics", 0.2)  # share of the time; by default 0.05
    # Tighter than the default 1e-6, so that the margin of the reported bound covers what is left.
    env.setParam("FeasibilityTol", 1e-8)
    env.setParam("OptimalityTol", 1e-8)
    if settings.time_limit is not None:
        env.setParam("TimeLimit", max(settings.time_limit, 1e-3))
    if settings.node_limit is not None:
        env.setParam("NodeLimit", settings.node_limit)
    return env


def _write(gurobipy: Any, gurobi: Any, model: Model) -> list[Any]:
    kinds = np.where(model.integer, gurobipy.GRB.INTEGER, gurobipy.GRB.CONTINUOUS)
    added = gurobi.addMVar(
        model.width, lb=model.lower, ub=model.upper, obj=model.objective, vtype=kinds, name=list(model.names)
    )
    gurobi.ModelSense = gurobipy.GRB.MAXIMIZE
    columns: list[Any] = added.tolist()
    for row in model.rows:
        form = gurobipy.LinExpr(row.coefficients.tolist(), [columns[j] for j in row.columns])
        if row.lower == row.upper:
            gurobi.addLConstr(form, gurobipy.GRB.EQUAL, row.upper)
            continue
        if np.isfinite(row.upper):
            gurobi.addLConstr(form, gurobipy.GRB.LESS_EQUAL, row.upper)
        if np.isfinite(row.lower):
            gurobi.addLConstr(form, gurobipy.GRB.GREATER_EQUAL, row.lower)
    for square in model.squares:
        linear = gurobipy.LinExpr(square.coefficients.tolist(), [columns[j] for j in square.columns])
        squared = [columns[j] for j in square.squared]
        curved = gurobipy.QuadExpr(linear)
        curved.addTerms(square.weights.tolist(), squared, squared)
        gurobi.addQConstr(curved, gurobipy.GRB.LESS_EQUAL, square.upper)
    for cone in model.cones:
        x = columns[cone.squared]
        gurobi.addQConstr(x * x <= columns[cone.over] * columns[cone.switch])
    for group in model.sets:
        members = [columns[j] for j in group.columns]
        gurobi.addSOS(gurobipy.GRB.SOS_TYPE2, members, group.positions.tolist())
    if model.start is not None:
        gurobi.update()
        gurobi.setAttr("Start", columns, model.start.tolist())
    return columns


def _watcher(gurobipy: Any, settings: Settings) -> Any:
    assert settings.watch is not None
    watch = settings.watch
    codes = gurobipy.GRB.Callback

    def report(gurobi: Any, where: int) -> None:
        if where == codes.MIP:
            best, bound = gurobi.cbGet(codes.MIP_OBJBST), gurobi.cbGet(codes.MIP_OBJBND)
            nodes = int(gurobi.cbGet(codes.MIP_NODCNT))
            watch(Progress(best if abs(best) < 1e99 else None, bound if abs(bound) < 1e99 else None, nodes))

    return report


def _read(gurobipy: Any, gurobi: Any, columns: list[Any], model: Model) -> SolverOutcome:
    codes = gurobipy.GRB
    stop = {
        codes.OPTIMAL: Stop.OPTIMAL,
        codes.INFEASIBLE: Stop.INFEASIBLE,
        codes.INF_OR_UNBD: Stop.INFEASIBLE,
        codes.TIME_LIMIT: Stop.TIME,
        codes.NODE_LIMIT: Stop.NODES,
        codes.ITERATION_LIMIT: Stop.NODES,
        codes.MEM_LIMIT: Stop.MEMORY,
        codes.INTERRUPTED: Stop.INTERRUPTED,
    }.get(gurobi.Status, Stop.FAILED)
    nodes = int(gurobi.NodeCount) if gurobi.IsMIP else 0
    if stop is Stop.INFEASIBLE:
        return SolverOutcome(stop, -np.inf, None, None, nodes)
    x = np.array(gurobi.getAttr("X", columns)) if gurobi.SolCount else None
    if gurobi.IsMIP:
        bound = float(gurobi.ObjBound)
        bound = bound if abs(bound) < 1e99 else np.inf
    else:
        bound = float(gurobi.ObjVal) if stop is Stop.OPTIMAL else np.inf
    return SolverOutcome(stop, bound, x, None if x is None else model.value(x), nodes)
