"""Do one trial: draw the data, run the method, measure its vector against the truth. A pure function of the Trial."""

import datetime
import functools
import json
import math
import multiprocessing
import re
import signal
import threading
import time
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np

import noap
from noap import metrics
from noap.adversaries import BY_KEY
from noap.errors import NoapWarning
from noap.experiments.environment import environment
from noap.experiments.spec import Method, SpikedModel, Trial, canonical
from noap.linalg.types import FloatArray, IntArray
from noap.linalg.vectors import orient
from noap.mip.run import KEPT_START, chosen_features, widened
from noap.problem import Problem
from noap.result import Limit, Result
from noap.theory import SpikedWishart, population_value, spiked_wishart

__all__ = ["MEASURED", "TIMED", "Finding", "FinishedTrial", "find", "perform"]

# Columns that the definition decides, and columns that differ from run to run.
MEASURED = (
    "rho", "value", "population", "bound", "bound_proof", "scope", "limit_hit", "nodes", "solver_gap",
    "formulation_error", "solution", "cycle", "size", "cosine", "cosine_strong", "cosine_weak", "recovery",
    "recovery_strong", "recovery_weak", "support", "loadings",
)  # fmt: skip
TIMED = ("seconds", "finished")


@dataclass(frozen=True)
class FinishedTrial:
    """A finished trial: its key, its columns, and where it was run."""

    key: str
    columns: dict[str, Any]
    environment: str


def perform(trial: Trial) -> FinishedTrial | None:
    """Run the trial; return None if Ctrl-C stopped it halfway.

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
    columns = _columns(trial, draw, finding, problem)
    columns["seconds"] = seconds
    columns["finished"] = datetime.datetime.now(datetime.UTC).isoformat(timespec="milliseconds")
    return FinishedTrial(trial.key, columns, canonical(environment()))


@functools.lru_cache(maxsize=4)
def _draw(model: SpikedModel, n: int, seed: int) -> SpikedWishart:
    return spiked_wishart(n, model.d, model.k, model.lam, k1=model.k1, c=model.c, random_state=seed)


@dataclass(frozen=True, eq=False)
class Finding:
    """The answer of a method, as the experiments mean it.

    Attributes
    ----------
    v : array of shape (d,) or None
        Unit vector of the method's own; 0 where it has no direction to offer, because the optimum is 0 or a printed
        program prefers v = 0; None where a program has found no solution.
    bound : float
        Upper bound on the optimum over `scope`, inf if there is none.
    proof : "rigorous", "solver" or None
    scope : array of int or None
        The features that the bound is about; None for all of them.
    result : Result
        What noap.solve returned: of vanilla, the certified optimum without an adversary.
    solution : "own", "start", "zero", "none" or None
        Of a printed program that was run: whether its best solution is its own, the start that it was given, v = 0, or
        missing.
    """

    v: FloatArray | None
    bound: float
    proof: str | None
    scope: IntArray | None
    result: Result
    solution: str | None

    @property
    def cycle(self) -> int | None:
        """The length of the cycle in which PPM ended."""
        found = re.search(r"cycle of length (\d+)", " ".join(self.result.messages))
        return None if found is None else int(found.group(1))


def find(problem: Problem, method: Method, seed: int) -> Finding:
    """Run the method on the problem through `noap.solve`.

    Where the budget reaches rho_max the optimum is 0 and all directions have the same value: the methods that look for
    an optimum then have none to offer. PPM and vanilla never look, and are measured as they are. The vector of a
    program as printed is its own solution, not the best vector known.
    """
    settings = method.settings
    scope = chosen_features(problem, settings.pop("reduced_dim", None))
    part = problem if scope is None else problem.restricted(scope)
    limits: dict[str, Any] = {"gap": method.gap, "time_limit": method.time_limit, "random_state": seed}
    with warnings.catch_warnings():
        # Optima of 0 and programs whose solution is v = 0 are part of the experiment, and recorded.
        warnings.simplefilter("ignore", NoapWarning)
        if method.solver == "vanilla":
            # The direction of the projected power method; its bound is the certified optimum without an adversary.
            direction: FloatArray | None = np.asarray(noap.solve(part, method="spca").v)
            part = Problem.from_covariance(
                part.covariance, n_samples=part.n_samples, k=part.k, adversary=noap.NoAdversary()
            )
            result = noap.solve(part, **limits)
        else:
            result = noap.solve(part, method=method.solver, **limits, **settings)
            direction = np.asarray(result.v)
    if result.limit is Limit.INTERRUPTED:
        raise KeyboardInterrupt
    solution = None
    if part.optimum_is_zero:
        direction = direction if method.solver == "ppm" else np.zeros(part.n_features)
    elif settings.get("as_printed", False):
        direction, solution = result.program_v, _whose(result)
    if direction is not None:
        direction = widened(direction, scope, problem.n_features)
    proves = method.solver != "ppm"  # it never looks, even where the optimum is known to be 0
    return Finding(
        direction,
        result.bound if proves else math.inf,
        result.bound_proof if proves else None,
        scope,
        result,
        solution,
    )


def _whose(result: Result) -> str:
    if result.program_v is None:
        return "none"
    if not result.program_v.any():
        return "zero"
    return "start" if KEPT_START in result.messages else "own"


def _columns(trial: Trial, draw: SpikedWishart, finding: Finding, problem: Problem) -> dict[str, Any]:
    result = finding.result
    columns: dict[str, Any] = dict.fromkeys(MEASURED) | {
        "rho": trial.rho,
        "bound": _finite(finding.bound),
        "bound_proof": finding.proof,
        "scope": None if finding.scope is None else json.dumps(finding.scope.tolist()),
        "limit_hit": None if result.limit is None else result.limit.value,
        "nodes": result.nodes,
        "solver_gap": _finite(result.solver_gap),
        "formulation_error": _finite(result.formulation_error),
        "solution": finding.solution,
        "cycle": finding.cycle,
    }
    if finding.v is None:
        return columns  # nothing is measured about a vector that is missing: an empty cell is not a 0
    v = orient(finding.v.copy())
    support = np.flatnonzero(v)
    columns |= {
        "value": problem.value(finding.v) if len(support) else 0.0,
        "population": population_value(v, draw, adversary=trial.adversary, rho=trial.rho, n=trial.n),
        "size": len(support),
        "support": json.dumps(support.tolist()),
        "loadings": json.dumps(v[support].tolist()),
    }
    for name, part in {"": None, "_strong": draw.strong, "_weak": draw.weak}.items():
        # A truth without strong and weak features leaves those columns empty.
        if part is None or len(part) > 0:
            columns[f"cosine{name}"] = metrics.cosine(v, draw.v, part)
            columns[f"recovery{name}"] = metrics.support_recovery(v, draw.support, part)
    return columns


def _finite(number: float | None) -> float | None:
    return None if number is None or not math.isfinite(number) else float(number)


def _leave_interrupts_to_the_parent() -> None:
    """Ignore Ctrl-C in a worker process: the parent lets the trials in flight finish."""
    if multiprocessing.parent_process() is None or threading.current_thread() is not threading.main_thread():
        return
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:  # a runner in a child process has its own
        signal.signal(signal.SIGINT, signal.SIG_IGN)
