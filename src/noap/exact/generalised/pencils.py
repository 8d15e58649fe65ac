"""The optimum of a pencil, of which a direction may use only so many features of each group."""

import numpy as np

from noap.data.pencil import Pencil
from noap.exact.generalised.robust import RobustSearch
from noap.exact.outcome import SearchOutcome
from noap.exact.prove import prove
from noap.heuristics.generalised.ascent import metric_ascent
from noap.linalg.types import FloatArray
from noap.runtime.controls import Controls, Stopped
from noap.runtime.limits import Limit, Limits

__all__ = ["best_in_groups"]


def best_in_groups(pencil: Pencil, controls: Controls, *, exact: bool = True, less: float = 0.0) -> SearchOutcome:
    """Ascend, then prove if asked to; the bound is infinite otherwise. Directions are in the units of the problem.

    The gap of the controls is one of the value less a number, which is what counts where the form was shifted by so
    many times the metric.
    """
    assert pencil.groups is not None
    w: FloatArray = np.eye(1, len(pencil.B))[0]
    check = controls.within(0.3)
    try:
        for better in metric_ascent(pencil, controls.rng, check):
            w = better
            check()
    except Stopped:
        pass
    except KeyboardInterrupt:
        controls.limit = Limit.INTERRUPTED
    if not exact or controls.limit is Limit.INTERRUPTED:
        return SearchOutcome(pencil.outside(w), np.inf, 0, controls.limit)
    worth = pencil.worth(w)
    if less > 0:
        controls.gap *= max(worth - less, 1e-3 * worth) / worth
    return RobustSearch(pencil, controls, Limits(), w / pencil.length(w), prove).run()
