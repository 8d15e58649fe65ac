"""One line of progress: incumbent, bound, gap, nodes."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from noap.mip.backends.base import Progress
from noap.runtime.line import Part

__all__ = ["Watch", "progress_line", "watching"]

Watch = Callable[[Progress], None]


def progress_line(state: Progress, value_of: Callable[[float], float], value: float) -> str:
    """Return the line for a solver's state, in the units of the problem.

    Parameters
    ----------
    state : Progress
    value_of : callable
        From the model's objective to a robust variance.
    value : float
        Robust variance of the best direction known.

    Examples
    --------
    >>> progress_line(Progress(1.0, 1.5, 7), lambda objective: 2 * objective, 2.0)
    'value 2, bound 3, gap 50.00%, 7 nodes'
    """
    if state.bound is None:
        return f"value {value:.6g}, no bound yet, {state.nodes} nodes"
    bound = value_of(state.bound)
    gap = f"{(bound - value) / value:.2%}" if value > 0 else "unknown"
    return f"value {value:.6g}, bound {bound:.6g}, gap {gap}, {state.nodes} nodes"


@contextmanager
def watching(progress: bool, value_of: Callable[[float], float], value: float, what: str) -> Iterator[Watch | None]:
    """Yield a callback that shows the solver's state, or None when nobody watches."""
    if not progress:
        yield None
        return
    with Part(wanted=True) as part:

        def show(state: Progress) -> None:
            if part.line is not None and part.line.due():
                part.say(f"{what}: {progress_line(state, value_of, value)}")

        yield show
