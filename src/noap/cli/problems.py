"""The problem that a command is about, made from the table and its options, and what every JSON document says of it."""

from typing import Any

from noap.cli.budget import AdversaryName
from noap.cli.data import Table
from noap.cli.metric import MetricOf
from noap.cli.single_features import SingleFeatures, strength_as_json
from noap.problem import Problem

__all__ = ["problem_as_json", "problem_of"]


def problem_of(
    table: Table,
    single: SingleFeatures,
    k: int,
    adversary: AdversaryName,
    noise: float | None,
    rho: float | None,
    *,
    center: bool,
    scale: bool,
    metric: MetricOf | None = None,
) -> Problem:
    """Return the problem of the standardised table; `single` tells what is known of single features."""
    n = int(table.X.shape[0])
    faced = single.adversary(adversary, noise, rho, n, lambda: table.scales(center, scale))
    form = None if metric is None else metric(center, scale)
    made = Problem(table.standardised(center, scale), k=k, adversary=faced, costs=single.costs, metric=form)
    return made.with_preparation(*table.preparation(center, scale))


def problem_as_json(problem: Problem, names: tuple[str, ...], *, center: bool, scale: bool) -> dict[str, Any]:
    """Return what was solved as JSON takes it.

    `center` and `scale` say what was done to the data first: `noap attack` does it again.
    """
    return {
        "n_samples": problem.n_samples,
        "n_features": problem.n_features,
        "k": problem.k,
        "adversary": type(problem.adversary).__name__,
        **strength_as_json(problem, names),
        "center": center,
        "scale": scale,
        **({} if problem.metric is None else {"metric": True}),
    }
