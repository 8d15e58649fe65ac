"""Several components of one file: those of the estimator, each on what deflation leaves of the data."""

import json
import math
from typing import Any

import numpy as np
from rich.console import Console
from rich.markup import escape
from rich.table import Table

import noap
from noap._version import __version__
from noap.cli.budget import AdversaryName
from noap.cli.show import as_dict, columns_beside
from noap.errors import InvalidProblem
from noap.linalg.types import Data
from noap.problem import Problem
from noap.runtime.names import counted

__all__ = ["as_json", "fitted", "print_components"]


def fitted(
    problem: Problem, adversary: AdversaryName, components: int, deflation: str, **settings: Any
) -> "noap.RobustSparsePCA":
    """Return the estimator, fitted to the data of the problem, which are centred and scaled already.

    Parameters
    ----------
    problem : Problem
        Of the first component.
    adversary : AdversaryName
    components : int
    deflation : "projection" or "disjoint"
    **settings
        Those of the estimator.
    """
    d = problem.n_features
    if not 1 <= components <= d:
        raise InvalidProblem(f"-c must be from 1 to the number of features, {d}, got {components}.")
    model = noap.RobustSparsePCA(
        n_components=components,
        k=problem.k,
        adversary=adversary.value,
        rho=problem.adversary.rho,
        costs=problem.costs,
        deflation=deflation,
        center=False,
        scale=False,
        **settings,
    )
    # As frames, so that messages have names; what is sparse came without.
    if problem.X is None:
        return model.fit_covariance(_named(problem.covariance, problem), problem.n_samples)
    return model.fit(_named(problem.X, problem))


def _named(entries: Data, problem: Problem) -> Any:
    if problem.feature_names is None or not isinstance(entries, np.ndarray):
        return entries
    import polars

    return polars.DataFrame(entries, schema=list(problem.feature_names))


def print_components(model: "noap.RobustSparsePCA", names: tuple[str, ...], console: Console) -> None:
    """Print the loadings side by side, the variances, and what is proved about each component."""
    from noap.estimators.projecting import in_order_of_use

    results = model.results_
    # A direction that is worth nothing is no answer.
    components = model.components_ * (model.robust_variance_ > 0)[:, None]
    used = in_order_of_use(components)
    grid = Table(
        title=f"{counted(len(results), 'component')}, {len(used)} of {len(names)} features", title_justify="left"
    )
    grid.add_column("feature")
    beside = columns_beside(results[0].problem)
    for title in beside:
        grid.add_column(title, justify="right")
    for c in range(len(results)):
        grid.add_column(f"component {c + 1}", justify="right")
    for j in used:
        loadings = (f"{row[j]:+.4f}" if row[j] else "" for row in components)
        grid.add_row(escape(names[j]), *(f"{column[j]:.4g}" for column in beside.values()), *loadings)
    grid.add_section()
    bounds = [f"{result.bound:.6g}" if math.isfinite(result.bound) else "none" for result in results]
    empty = [""] * len(beside)
    grid.add_row("robust variance", *empty, *(f"{variance:.6g}" for variance in model.robust_variance_))
    if model.costs_ is not None:
        grid.add_row("less its costs", *empty, *(f"{result.value:.6g}" for result in results))
    grid.add_row("proved bound", *empty, *bounds)
    grid.add_row("plain variance", *empty, *(f"{result.plain_variance:.6g}" for result in results))
    grid.add_row("explained (adjusted)", *empty, *(f"{share:.1%}" for share in model.explained_variance_ratio_))
    console.print(grid)
    console.print(
        f"Each component after the first is that of the data which deflation ({model.deflation}) leaves, and so are "
        "its variances and its bound; explained is the adjusted variance as a share of the total, with what components "
        "share counted once.",
        soft_wrap=True,
    )
    for c, result in enumerate(results, start=1):
        console.print(f"component {c}: {result.method}, {result.claim}", markup=False, soft_wrap=True)
        for message in result.messages:
            if "that deflation=" not in message:  # said of all of them above
                console.print(f"component {c}: {message}", markup=False, soft_wrap=True)
        if result.limit is not None:
            console.print(f"component {c} was stopped early ({result.limit.value}).")


def as_json(model: "noap.RobustSparsePCA", names: tuple[str, ...], *, center: bool, scale: bool) -> str:
    """Return the components as a JSON document, each as `noap solve` writes one."""
    return json.dumps(
        {
            "noap": __version__,
            "deflation": model.deflation,
            "explained_variance_ratio": model.explained_variance_ratio_.tolist(),
            "components": [as_dict(result, names, center=center, scale=scale) for result in model.results_],
        },
        indent=2,
    )
