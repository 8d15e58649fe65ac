"""What a user must hear about a fit: limits that stopped it, and where the adversary leaves nothing."""

import warnings
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from noap.data.centring import outside
from noap.data.deflation import CONSTRAINED
from noap.errors import GapWarning, NoapWarning
from noap.estimators.fitting import Component, Fitted
from noap.joint import JointResult
from noap.result import Status
from noap.runtime.digits import percent_up
from noap.runtime.names import counted, listed
from noap.solving import why_not_closed

__all__ = ["UnprovedWarning", "warn_of"]


# scikit-learn ships no types, so its classes are Any to mypy.
class UnprovedWarning(GapWarning, ConvergenceWarning):  # type: ignore[misc]
    """A fit that proved less than was asked for: a GapWarning of noap, and what scikit-learn calls it."""


def warn_of(model: Any, fitted: Fitted) -> None:
    """Warn of what stopped the fit of a RobustSparsePCA, once for all components, and of what came to nothing."""
    if fitted.joint is not None:
        _warn_together(model, fitted, fitted.joint)
        return
    open_ones = [(c, one) for c, one in enumerate(fitted.components, 1) if one.limit is not None or one.misses_gap]
    # A heuristic is asked for no gap.
    kind = UnprovedWarning if any(one.misses_gap for _, one in open_ones) else ConvergenceWarning
    if fitted.interrupted:
        _warn(_interrupted(model, open_ones), kind)
    elif open_ones:
        _warn(_stopped(model, open_ones), kind)
    elif fitted.out_of_time:
        _warn(
            f"The time limit of {model.time_limit:g} s for the whole fit ended it after {len(fitted.components)} "
            "components, and there are more; raise time_limit, or ask for a number of components.",
            ConvergenceWarning,
        )
    _warn_of_nothing(model)
    share, explained = model.n_components, float(model.span_variance_ratio_[-1])
    if isinstance(share, float) and explained < share and not (fitted.interrupted or fitted.out_of_time):
        _warn(
            f"n_components = {share:g} asks for more of the variance than all {len(fitted.components)} components "
            f"that are left any explain, {explained:.3g}; use a smaller noise, or a larger k.",
            NoapWarning,
        )


def _warn_together(model: Any, fitted: Fitted, joint: JointResult) -> None:
    left = f"a joint gap of {percent_up(joint.gap)}" if np.isfinite(joint.gap) else "nothing proved"
    found = f"{counted(len(joint.components), 'component')} chosen together"
    if fitted.interrupted:
        _warn(f"Interrupted: the model holds {found}, with {left}; fit again for the rest.", UnprovedWarning)
    elif joint.limit is not None:
        _warn(
            f"The time limit of {model.time_limit:g} s for the whole fit left {found} with {left} where "
            f"{percent_up(model.gap)} was asked for; raise time_limit, or ask for a larger gap, a smaller k or fewer "
            "components.",
            UnprovedWarning,
        )
    elif joint.status is not Status.OPTIMAL:
        _warn(
            f"The fit has {found} with {left} where {percent_up(model.gap)} was asked for: {why_not_closed(None)}.",
            UnprovedWarning,
        )
    if not joint.components:
        _warn_of_nothing(model)
    elif len(joint.components) < len(joint.ks):
        why = "the adversary cancels the rest" if model.costs_ is None else "no other features are worth their costs"
        _warn(
            f"Of the {len(joint.ks)} components asked for {len(joint.components)} are worth anything: no feature is "
            f"left, or {why}; ask for fewer components, or use a smaller noise (or rho).",
            NoapWarning,
        )


def _warn_of_nothing(model: Any) -> None:
    lost = np.flatnonzero(model.robust_variance_ == 0)
    if not lost.size:
        return
    why, remedy = "The adversary cancels every direction", "use a smaller noise (or rho)"
    if model.costs_ is not None:
        why, remedy = "No feature is worth its cost", f"{remedy}, lower costs"
    elif model.deflation in CONSTRAINED and lost[0] > 0:
        why, remedy = f"No {model.deflation} direction is worth anything", f"use a larger k, {remedy[4:]}"
    _warn(
        f"{why} for component {lost[0] + 1} and robust_variance_ is 0 there; {remedy}, or fewer components.",
        NoapWarning,
    )


def _interrupted(model: Any, open_ones: list[tuple[int, Component]]) -> str:
    asked = model.n_components
    of = f" of the {asked} asked for" if isinstance(asked, (int, np.integer)) else ""
    last = f", component {open_ones[-1][0]} with {_gap(open_ones[-1][1])}" if open_ones else ""
    return (
        f"Interrupted: the model holds the {model.n_components_} components found so far{of}{last}; fit again for the "
        "rest."
    )


def _stopped(model: Any, open_ones: list[tuple[int, Component]]) -> str:
    """Name the component that is furthest from proved, and what to do."""
    c, one = max(open_ones, key=lambda pair: pair[1].result.gap)
    names = one.result.problem.feature_names
    support = one.result.support
    features = f" ({listed([names[j] for j in support], None)})" if names is not None and len(support) <= 10 else ""
    short = f"component {c}{features} with {_gap(one)} where {percent_up(model.gap)} was asked for"
    if one.limit is None:
        reason = why_not_closed(None, one.result.messages, one.result.method)
        return f"{len(open_ones)} of {model.n_components_} components are left unproved, {short}: {reason}."
    limit = one.limit.value
    if limit == "time":
        limit = f"time limit of {model.time_limit:g} s for the whole fit"
        remedy = "raise time_limit, or ask for a larger gap or a smaller k"
    else:
        limit = f"limit on {limit}"
        remedy = "raise that option, or ask for a larger gap or a smaller k"
    return f"The {limit} left {len(open_ones)} of {model.n_components_} components unproved, {short}; {remedy}."


def _gap(one: Component) -> str:
    gap = one.result.gap
    return f"a gap of {percent_up(gap)}" if np.isfinite(gap) else "nothing proved"


def _warn(sentence: str, category: type[Warning]) -> None:
    warnings.warn(sentence, category, stacklevel=outside())
