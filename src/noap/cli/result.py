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

__all__ = ["as_document", "print_result"]


def print_result(result: "noap.Result", names: tuple[str, ...], console: Console) -> None:
    """Print the features with their loadings, the variances and what is proved."""
    problem = result.problem
    if result.value > 0:
        table = Table(title=f"{len(result.support)} of {problem.n_features} features", title_justify="left")
        table.add_column("feature")
        table.add_column("loading", justify="right")
        beside = problem.per_feature
        for title in beside:
            table.add_column(title, justify="right")
        for j in result.support[np.argsort(-np.abs(result.v[result.support]), kind="stable")]:
            table.add_row(escape(names[j]), f"{result.v[j]:+.4f}", *(f"{column[j]:.4g}" for column in beside.values()))
        console.print(table)
    else:
        console.print(_nothing(result), soft_wrap=True)
    console.print(f"adversary        {problem.terms}", markup=False, soft_wrap=True)
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


def _nothing(result: "noap.Result") -> str:
    if result.bound > 0:
        return "No direction that was found survives the adversary; whether one does is open."
    words = result.problem.adversary.strength_in_words(result.problem.n_samples)
    if result.problem.costs is not None:
        return f"Nothing is left: at {words} no feature is worth its cost."
    return f"Nothing survives: at {words} the adversary can cancel every direction, and no feature beats another."


def as_document(result: "noap.Result", data: DataOptions, names: tuple[str, ...] = ()) -> dict[str, Any]:
    """Return a result as JSON takes it, with the names of the file where the data came without."""
    document = {"noap": __version__, **result.to_dict(), **data.said}
    return document | ({"features": [names[j] for j in document["support"]]} if names else {})
