"""Ctrl-C inside a grid search or a cross-validation of scikit-learn: the rest of it ends too, with the best so far.

A fit answers Ctrl-C with what it has, so the search that called it hears nothing and would go on to its next candidate.
Fits that come later in the same call therefore fail at once; scikit-learn gives them the score nan, which no choice
falls on, and fits the best candidate again.
"""

import sys
from types import FrameType

from noap.errors import NoapError

__all__ = ["end_search", "require_search_goes_on"]

_PACKAGE = "sklearn.model_selection"
_ONE_FIT = "_fit_and_score"  # what scikit-learn's searches and cross-validations call for each candidate and fold

# The call of scikit-learn that was interrupted. It is kept alive until the next fit, so that no other call can be
# taken for it.
_ended: FrameType | None = None


def end_search() -> None:
    """Note that the search or cross-validation that called for this fit, if any, was interrupted."""
    global _ended
    calls = _calls()
    _ended = calls[-1] if calls and _is_one_of_many(calls) else None


def require_search_goes_on() -> None:
    """Raise NoapError if the search or cross-validation that calls for this fit was interrupted before."""
    global _ended
    if _ended is None:
        return
    calls = _calls()
    if _ended not in calls:
        _ended = None
    elif _is_one_of_many(calls):
        raise NoapError("The search was interrupted before this fit; its results so far stand.")


def _calls() -> list[FrameType]:
    """Return the calls inside scikit-learn's model selection that lead here, innermost first."""
    found, frame = [], sys._getframe(1)
    while frame is not None:
        if str(frame.f_globals.get("__name__")).startswith(_PACKAGE):
            found.append(frame)
        frame = frame.f_back  # type: ignore[assignment]
    return found


def _is_one_of_many(calls: list[FrameType]) -> bool:
    """Whether this is a fit of one candidate on one fold, and not the last one of the best candidate."""
    return any(call.f_code.co_name == _ONE_FIT for call in calls)
