"""Do one trial: draw the data, run the method, measure its vector against the truth. A pure function of the Trial."""

import datetime
import functools
import json
import math
import multiprocessing
import signal
import threading
import time
from dataclasses import dataclass
from typing import Any

import numpy as np

import noap
from noap import metrics
from noap.adversaries import BY_KEY
from noap.experiments.environment import environment
from noap.experiments.methods import Finding, find
from noap.experiments.spec import SpikedModel, Trial, canonical
from noap.linalg.vectors import orient
from noap.theory import SpikedWishart, population_value, spiked_wishart

__all__ = ["MEASURED", "TIMED", "FinishedTrial", "perform"]

# Columns that the definition decides, and columns that differ from run to run.
MEASURED = (
    "rho",
    "value",
    "population",
    "bound",
    "bound_proof",
    "scope",
    "limit_hit",
    "nodes",
    "solver_gap",
    "formulation_error",
    "solution",
    "cycle",
    "size",
    "cosine",
    "cosine_strong",
    "cosine_weak",
    "recovery",
    "recovery_strong",
    "recovery_weak",
    "support",
    "loadings",
)
TIMED = ("seconds", "finished")


@dataclass(frozen=True)
class FinishedTrial:
    """A finished trial: its key, its columns, and where it was run."""

    key: str
    columns: dict[str, Any]
    environment: str


def perform(trial: Trial) -> FinishedTrial | None:
    """Run the trial; None if Ctrl-C stopped it halfway, for half a trial is none.

    Examples
    --------
    >>> from noap.experiments import Method, SpikedModel, Trial
    >>> trial = Trial("feature", SpikedModel(8, 2, 3.0), n=50, seed=0, budget=0.5, method=Method("exact", "exact"))
    >>> perform(trial).columns["limit_hit"] is None
    True
    """
    _leave_interrupts_to_the_parent()
    try:
        draw = _draw(trial.model, trial.n, trial.seed)
        adversary = BY_KEY[trial.adversary].with_budget(trial.rho)
        problem = noap.Problem(draw.X, k=trial.model.k, adversary=adversary)
        started = time.perf_counter()
        finding = find(problem, trial.method, trial.seed)
        seconds = time.perf_counter() - started
    except KeyboardInterrupt:
        return None
    value = None if finding.v is None else problem.value(finding.v) if finding.v.any() else 0.0
    columns = _columns(trial, draw, finding, value)
    columns["seconds"] = seconds
    columns["finished"] = datetime.datetime.now(datetime.UTC).isoformat(timespec="milliseconds")
    return FinishedTrial(trial.key, columns, canonical(environment()))


@functools.lru_cache(maxsize=4)
def _draw(model: SpikedModel, n: int, seed: int) -> SpikedWishart:
    return spiked_wishart(n, model.d, model.k, model.lam, k1=model.k1, c=model.c, random_state=seed)


def _columns(trial: Trial, draw: SpikedWishart, finding: Finding, value: float | None) -> dict[str, Any]:
    # Where there is no vector nothing about it is measured: an empty cell is not a 0.
    v = None if finding.v is None else orient(finding.v.copy())
    support = None if v is None else np.flatnonzero(v)
    parts = {"": None, "_strong": draw.strong, "_weak": draw.weak}
    columns: dict[str, Any] = {
        "rho": trial.rho,
        "value": value,
        "population": None
        if v is None
        else population_value(v, draw, adversary=trial.adversary, rho=trial.rho, n=trial.n),
        "bound": _finite(finding.bound),
        "bound_proof": finding.proof,
        "scope": None if finding.scope is None else json.dumps(finding.scope.tolist()),
        "limit_hit": finding.limit,
        "nodes": finding.nodes,
        "solver_gap": _finite(finding.solver_gap),
        "formulation_error": _finite(finding.formulation_error),
        "solution": finding.solution,
        "cycle": finding.cycle,
        "size": None if support is None else len(support),
        "support": None if support is None else json.dumps(support.tolist()),
        "loadings": None if v is None else json.dumps(v[support].tolist()),
    }
    for name, part in parts.items():
        # A truth without strong and weak features has no such columns to fill.
        columns[f"cosine{name}"] = columns[f"recovery{name}"] = None
        if v is not None and (part is None or len(part) > 0):
            columns[f"cosine{name}"] = metrics.angle(v, draw.v, part)
            columns[f"recovery{name}"] = metrics.support_recovery(v, draw.support, part)
    return columns


def _finite(number: float | None) -> float | None:
    return None if number is None or not math.isfinite(number) else float(number)


def _leave_interrupts_to_the_parent() -> None:
    """In a worker process Ctrl-C is the parent's to handle: it lets the trials in flight finish."""
    if multiprocessing.parent_process() is None or threading.current_thread() is not threading.main_thread():
        return
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:  # a runner in a child process has its own
        signal.signal(signal.SIGINT, signal.SIG_IGN)
