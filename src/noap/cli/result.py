"""What a result looks like on a terminal and in a JSON document."""

import math
from typing import Any

import numpy as np
from rich.console import Console
from rich.markup import escape
from rich.table import Table

import noap
from noap._version import __version__
from noap.cli.options import DataOptions
from noap.cli.problem import problem_as_json
from noap.linalg.types import FloatArray, IntArray

__all__ = ["as_dict", "columns_beside", "finite", "print_result", "proved", "support_of"]


def print_result(result: "noap.Result", names: tuple[str, ...], console: Console) -> None:
    """Print the features with their loadings, the variances and what is proved."""
    problem = result.problem
    if result.value > 0:
        table = Table(title=f"{len(result.support)} of {problem.n_features} features", title_justify="left")
        table.add_column("feature")
        table.add_column("loading", justify="right")
        beside = columns_beside(problem)
        for title in beside:
            table.add_column(title, justify="right")
        for j in result.support[np.argsort(-np.abs(result.v[result.support]), kind="stable")]:
            table.add_row(escape(names[j]), f"{result.v[j]:+.4f}", *(f"{column[j]:.4g}" for column in beside.values()))
        console.print(table)
    else:
        console.print(_nothing(result), soft_wrap=True)
    console.print(f"robust variance  {result.robust_variance:.6g}")
    if problem.costs is not None:
        console.print(f"less its costs   {result.value:.6g}")
    if result.value > 0:
        console.print(f"plain variance   {result.plain_variance:.6g}")
    if math.isfinite(result.bound):
        console.print(f"proved bound     {result.bound:.6g}")
    if result.restricted_bound is not None:
        console.print(f"restricted bound {result.restricted_bound:.6g}")
    console.print(f"{result.method}, {result.claim}", markup=False, soft_wrap=True)
    for message in filter(None, (*result.messages, result.note)):
        console.print(message, markup=False, soft_wrap=True)
    if result.limit is not None:
        console.print(result.limit.sentence)


def as_dict(result: "noap.Result", names: tuple[str, ...], data: DataOptions) -> dict[str, Any]:
    """Return the result as JSON takes it; what is not proved or not finite is None.

    A direction that is worth nothing is no answer: then there are no features.
    """
    support = support_of(result)
    return {
        "noap": __version__,
        "method": result.method,
        **problem_as_json(result.problem, names, data),
        "support": support.tolist(),
        "features": [names[j] for j in support],
        "loadings": result.v[support].tolist(),
        **proved(result),
        "plain_variance": result.plain_variance if result.value > 0 else None,
        "bound_proof": result.bound_proof,
        "restricted_bound": finite(result.restricted_bound),
        "restricted_to": None if result.restricted_to is None else result.restricted_to.tolist(),
        "solver_gap": finite(result.solver_gap),
        "formulation_error": finite(result.formulation_error),
        "nodes": result.nodes,
        "claim": result.claim,
        "seconds": result.seconds,
        "messages": list(result.messages),
        "note": result.note,
    }


def proved(result: "noap.Result") -> dict[str, Any]:
    """Return what was found, what is proved and what ended it."""
    return {
        "robust_variance": result.robust_variance,
        "objective": result.value,
        "bound": finite(result.bound),
        "gap": finite(result.gap),
        "status": result.status.value,
        "limit": None if result.limit is None else result.limit.value,
    }


def columns_beside(problem: "noap.Problem") -> dict[str, FloatArray]:
    """Return what stands beside loadings, by title: noise and cost, where features have their own."""
    beside = {}
    if not problem.adversary.has_one_budget and problem.adversary.key == "feature":
        beside["noise"] = problem.adversary.rho / problem.adversary.noise_unit(problem.n_samples)
    if problem.costs is not None:
        beside["cost"] = problem.costs
    return beside


def support_of(result: "noap.Result") -> IntArray:
    """Return the features of a result; none where it is worth nothing, for then no feature is better than another."""
    return result.support if result.value > 0 else result.support[:0]


def _nothing(result: "noap.Result") -> str:
    if result.bound > 0:
        return "No direction that was found survives the adversary; whether one does is open."
    words = result.problem.adversary.strength_in_words(result.problem.n_samples)
    if result.problem.costs is not None:
        return f"Nothing is left: at {words} no feature is worth its cost."
    return f"Nothing survives: at {words} the adversary can cancel every direction, and no feature beats another."


def finite(number: float | None) -> float | None:
    """Return a number as JSON takes it: None for what is not finite."""
    return number if number is not None and math.isfinite(number) else None
