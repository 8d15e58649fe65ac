"""HiGHS through highspy: linear rows and integers only; sets and squares are lowered for it."""

import math
from typing import Any

import numpy as np

from noap.mip.backends.base import Capabilities, Progress, Settings, SolverOutcome, Stop
from noap.mip.model import Model

__all__ = ["Highs"]

# Share of the effort on heuristics when they are to look harder; by default it is 0.05.
_MORE_EFFORT = 0.2


class Highs:
    """A backend without ordered sets and without quadratic rows."""

    name = "highs"
    capabilities = Capabilities(sos2=False, quadratic=False)

    def reject(self, model: Model) -> str | None:
        """Return None: HiGHS has no size limit."""
        return None

    def solve(self, model: Model, settings: Settings) -> SolverOutcome:
        """Solve a linear model; highspy runs it on a thread of its own so that Ctrl-C can stop it."""
        import highspy

        highs: Any = highspy.Highs()  # type: ignore[no-untyped-call]  # partly typed package
        highs.silent()
        highs.setOptionValue("mip_rel_gap", settings.gap)
        highs.setOptionValue("mip_abs_gap", 0.0)
        highs.setOptionValue("threads", settings.threads)
        highs.setOptionValue("random_seed", settings.seed)
        if settings.look_harder:
            highs.setOptionValue("mip_heuristic_effort", _MORE_EFFORT)
        # Tighter than the default 1e-6, so that the margin of the reported bound covers what is left.
        highs.setOptionValue("mip_feasibility_tolerance", 1e-7)
        highs.setOptionValue("primal_feasibility_tolerance", 1e-8)
        if settings.time_limit is not None:
            highs.setOptionValue("time_limit", max(settings.time_limit, 1e-3))
        if settings.node_limit is not None:
            highs.setOptionValue("mip_max_nodes", settings.node_limit)
        highs.passModel(_written(highspy, model))
        if model.start is not None:
            first = highspy.HighsSolution()
            first.col_value = model.start.astype(np.float64)
            highs.setSolution(first)
        if settings.watch is not None:
            _watch(highs, settings)
        interrupted = False
        highs.HandleKeyboardInterrupt = True
        try:
            highs.solve()
        except KeyboardInterrupt:
            interrupted = True
        return _read(highspy, highs, model, interrupted)


def _written(highspy: Any, model: Model) -> Any:
    lp = highspy.HighsLp()
    lp.num_col_ = model.width
    lp.num_row_ = len(model.rows)
    lp.sense_ = highspy.ObjSense.kMaximize
    lp.col_cost_ = model.objective
    lp.col_lower_, lp.col_upper_ = model.lower, model.upper
    lp.row_lower_ = np.array([row.lower for row in model.rows])
    lp.row_upper_ = np.array([row.upper for row in model.rows])
    lp.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
    lp.a_matrix_.start_ = np.concatenate([[0], np.cumsum([len(row.columns) for row in model.rows])])
    lp.a_matrix_.index_ = np.concatenate([row.columns for row in model.rows])
    lp.a_matrix_.value_ = np.concatenate([row.coefficients for row in model.rows])
    if model.integer.any():
        kinds = (highspy.HighsVarType.kContinuous, highspy.HighsVarType.kInteger)
        lp.integrality_ = [kinds[int(whole)] for whole in model.integer]
    return lp


def _watch(highs: Any, settings: Settings) -> None:
    assert settings.watch is not None
    watch = settings.watch

    def report(event: Any) -> None:
        data = event.data_out
        best, bound = data.mip_primal_bound, data.mip_dual_bound
        best, bound = (number if math.isfinite(number) else None for number in (best, bound))
        watch(Progress(best, bound, int(data.mip_node_count)))

    # The logging callback is silent together with the log; this one is called all along.
    highs.cbMipInterrupt.subscribe(report)


def _read(highspy: Any, highs: Any, model: Model, interrupted: bool) -> SolverOutcome:
    status = highs.getModelStatus()
    kinds = highspy.HighsModelStatus
    stop = {
        kinds.kOptimal: Stop.OPTIMAL,
        kinds.kInfeasible: Stop.INFEASIBLE,
        kinds.kUnboundedOrInfeasible: Stop.INFEASIBLE,
        kinds.kTimeLimit: Stop.TIME,
        kinds.kIterationLimit: Stop.NODES,
        kinds.kSolutionLimit: Stop.NODES,
        kinds.kInterrupt: Stop.INTERRUPTED,
        kinds.kMemoryLimit: Stop.MEMORY,
    }.get(status, Stop.FAILED)
    if interrupted:
        stop = Stop.INTERRUPTED
    info = highs.getInfo()
    nodes = max(int(info.mip_node_count), 0)
    if stop is Stop.INFEASIBLE:
        return SolverOutcome(stop, -np.inf, None, None, nodes)
    whole = bool(model.integer.any())
    solution = highs.getSolution()
    x = np.array(solution.col_value) if solution.value_valid else None
    objective = None if x is None else model.value(x)
    if whole:
        bound = float(info.mip_dual_bound)
        bound = bound if math.isfinite(bound) and abs(bound) < 1e100 else math.inf
    else:
        bound = objective if stop is Stop.OPTIMAL and objective is not None else math.inf
    return SolverOutcome(stop, bound, x, objective, nodes)
