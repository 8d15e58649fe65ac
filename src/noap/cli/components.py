"""Several components of one file: those of the estimator, chosen together or each on what deflation leaves."""

import math
import warnings
from typing import Any

import numpy as np
from rich.console import Console
from rich.markup import escape
from rich.table import Table

import noap
from noap.cli.options import AdversaryName, DataOptions
from noap.cli.result import as_document
from noap.data.deflation import CONSTRAINED
from noap.errors import InvalidProblem, ScaleWarning
from noap.linalg.types import Data
from noap.runtime.names import counted

_SCOPE = (
    "Each component after the first is that of the data which deflation ({}) leaves, and so are its variances and its "
    "bound.",
    "Each component after the first is the best direction that is {} to those before it, and its bound is about all of "
    "these, to 1e-08.",
)

__all__ = ["as_dict", "fitted", "joint_as_dict", "print_components"]

_EXPLAINED = (
    "Explained is the adjusted variance as a share of the total, with what components share counted once; by the span: "
    "what this component and those before it give back of the data together."
)


def fitted(
    problem: "noap.Problem",
    adversary: AdversaryName,
    components: int,
    sizes: int | list[int],
    deflation: str,
    joint: bool | None = None,
    **settings: Any,
) -> "noap.RobustSparsePCA":
    """Return the estimator, fitted to the data of the problem, which are centred and scaled already.

    Parameters
    ----------
    problem : Problem
        Of the first component.
    adversary : AdversaryName
    components : int
    sizes : int or list of int
        How many features each may use.
    deflation : "projection", "disjoint", "orthogonal" or "uncorrelated"
    joint : bool or None
        Whether components are chosen together; None where that is for the estimator to decide.
    **settings
        Those of the estimator.
    """
    d = problem.n_features
    if not 1 <= components <= d:
        raise InvalidProblem(f"-c must be from 1 to the number of features, {d}, got {components}.")
    model = noap.RobustSparsePCA(
        n_components=components,
        k=sizes,
        adversary=adversary.value,
        rho=problem.adversary.rho,
        costs=problem.costs,
        deflation=deflation,
        joint="auto" if joint is None else joint,
        center=False,
        scale=False,
        keep_data=True,
        **settings,
    )
    # As frames, so that messages have names; what is sparse came without.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ScaleWarning)  # --no-scale was asked for in words
        if problem.X is None:
            return model.fit_covariance(_named(problem.covariance, problem), problem.n_samples)
        return model.fit(_named(problem.X, problem))


def _named(entries: Data, problem: "noap.Problem") -> Any:
    if problem.feature_names is None or not isinstance(entries, np.ndarray):
        return entries
    import polars

    return polars.DataFrame(entries, schema=list(problem.feature_names))


def print_components(model: "noap.RobustSparsePCA", names: tuple[str, ...], console: Console) -> None:
    """Print the loadings side by side, the variances, and what is proved about each component."""
    from noap.estimators.projecting import in_order_of_use

    results, joint = model.results_, model.joint_result_
    # A direction that is worth nothing is no answer.
    components = model.components_ * (model.robust_variance_ > 0)[:, None]
    used = in_order_of_use(components)
    how = " chosen together" if joint is not None else ""
    grid = Table(
        title=f"{counted(len(results), 'component')}{how}, {len(used)} of {len(names)} features", title_justify="left"
    )
    grid.add_column("feature")
    beside = results[0].problem.per_feature
    for title in beside:
        grid.add_column(title, justify="right")
    for c in range(len(results)):
        grid.add_column(f"component {c + 1}", justify="right")
    if joint is not None:
        grid.add_column("together", justify="right")
    for j in used:
        loadings = (f"{row[j]:+.4f}" if row[j] else "" for row in components)
        grid.add_row(escape(names[j]), *(f"{column[j]:.4g}" for column in beside.values()), *loadings)
    grid.add_section()
    bounds = [f"{result.bound:.6g}" if math.isfinite(result.bound) else "none" for result in results]
    empty = [""] * len(beside)

    def row(title: str, cells: list[str], together: str = "") -> None:
        grid.add_row(title, *empty, *cells, *([] if joint is None else [together]))

    row("robust variance", [f"{one:.6g}" for one in model.robust_variance_], f"{model.robust_variance_.sum():.6g}")
    if model.costs_ is not None:
        row("less its costs", [f"{one.value:.6g}" for one in results], f"{sum(one.value for one in results):.6g}")
    row("proved bound", bounds, "" if joint is None else f"{joint.bound:.6g}")
    row("plain variance", [f"{result.plain_variance:.6g}" for result in results])
    shares = model.explained_variance_ratio_
    row("explained (adjusted)", [f"{share:.1%}" for share in shares], f"{shares.sum():.1%}")
    spans = model.span_variance_ratio_
    row("explained by the span", [f"{share:.1%}" for share in spans], f"{spans[-1]:.1%}")
    console.print(grid)
    console.print(f"Adversary: {results[0].problem.terms}.", markup=False, soft_wrap=True)
    if joint is not None:
        console.print(
            "No two components use the same feature. The bound of one is what it can be worth at most while the others "
            f"stay, the last bound what any {len(joint.ks)} such components can be worth together. {_EXPLAINED}",
            soft_wrap=True,
        )
        console.print(f"together, {joint.claim}", markup=False, soft_wrap=True)
        if joint.limit is not None:
            console.print(joint.limit.sentence)
    else:
        console.print(
            f"{_SCOPE[model.deflation in CONSTRAINED].format(model.deflation)} {_EXPLAINED}",
            soft_wrap=True,
        )
    for c, result in enumerate(results, start=1):
        if joint is None:
            console.print(f"component {c}: {result.method}, {result.claim}", markup=False, soft_wrap=True)
        for message in filter(None, (*result.messages, result.note)):
            if not message.startswith(
                ("Value and bound are those", "The bound is about all directions")
            ):  # said of all of them above
                console.print(f"component {c}: {message}", markup=False, soft_wrap=True)
        if joint is None and result.limit is not None:
            console.print(f"component {c} was stopped early ({result.limit.value}).")


def as_dict(model: "noap.RobustSparsePCA", names: tuple[str, ...], data: DataOptions) -> dict[str, Any]:
    """Return the components as JSON takes them, each as `noap solve` writes one."""
    joint = model.joint_result_
    return {
        "deflation": model.deflation if joint is None else None,
        "joint": None if joint is None else {**joint_as_dict(joint), "claim": joint.claim, "seconds": joint.seconds},
        "explained_variance_ratio": model.explained_variance_ratio_.tolist(),
        "span_variance_ratio": model.span_variance_ratio_.tolist(),
        "components": [as_document(result, data, names) for result in model.results_],
    }


def joint_as_dict(joint: "noap.JointResult") -> dict[str, Any]:
    """Return what is proved of components that were chosen together."""
    return {
        "value": joint.value,
        "bound": joint.bound,
        "gap": joint.gap if math.isfinite(joint.gap) else None,
        "status": joint.status.value,
        "limit": None if joint.limit is None else joint.limit.value,
    }
