r"""The paper's projected power method on the robust objective (Algorithm 2), as printed.

.. math:: v^{(t+1)} = \mathrm{Proj}_{V_k}\bigl(\nabla F(v^{(t)})\bigr), \qquad
   \nabla F(v) \propto \left(\|Xv\|_2 - \rho\|v\|_1\right)
                       \left(\tfrac{X^\top X v}{\|Xv\|_2} - \rho\,\mathrm{sgn}(v)\right)

It is not monotone: the projection forgets the length of the gradient. Where the first factor is negative the
printed gradient points backwards; F is even in v, so iterates are compared up to sign and that factor drops
out of the iteration.

As printed the loop computes :math:`v^{(t+1)}` for t = 1, ..., T and outputs :math:`v^{(T)}`: one projection is thrown
away, and T = 1000 makes 999 steps. Where the iterates cycle, the answer depends on T.
"""

from collections import deque
from dataclasses import dataclass

import numpy as np

from noap.errors import InvalidProblem
from noap.heuristics.batch import truncate
from noap.heuristics.oracle import Oracle
from noap.linalg.types import FloatArray
from noap.result import Limit
from noap.runtime.controls import Controls

__all__ = ["Iterate", "ppm"]

# Cycles of up to this length are looked for, and iterates this close up to sign (the paper's epsilon) are the same.
_LONGEST, _SAME = 50, 1e-6


@dataclass(frozen=True, eq=False)
class Iterate:
    """Where the iteration ended.

    Attributes
    ----------
    v : array of shape (d,)
    settled : bool
        Whether consecutive iterates came closer than the tolerance, or the gradient vanished.
    cycle : int or None
        The period in which the last iterates repeat, if they do.
    stopped : bool
        Whether time or Ctrl-C ended it before T.
    """

    v: FloatArray
    settled: bool
    cycle: int | None = None
    stopped: bool = False

    def message(self, iterations: int) -> str | None:
        """Return a sentence where T decides the answer.

        >>> Iterate(np.ones(1), False, cycle=2).message(1000)
        'PPM did not converge, cycle of length 2: v depends on iterations (here 1000) modulo 2.'
        """
        if self.settled or self.stopped:
            return None
        if self.cycle is None:
            return f"PPM did not converge within iterations = {iterations}."
        return (
            f"PPM did not converge, cycle of length {self.cycle}: v depends on iterations (here {iterations}) modulo "
            f"{self.cycle}."
        )


def ppm(
    oracle: Oracle,
    k: int,
    start: FloatArray,
    *,
    iterations: int,
    tolerance: float,
    iterate: str,
    controls: Controls | None = None,
) -> Iterate:
    """Return the iterate v^(T) as printed, or the best one, and how the iteration ended.

    Parameters
    ----------
    oracle : Oracle
    k : int
    start : array of shape (d,)
        A k-sparse unit vector. The paper starts from the vanilla sparse PCA answer.
    iterations : int
        The paper's T: the start is v^(1), so T - 1 steps are made.
    tolerance : float
        Stop when consecutive iterates are closer than this up to sign (the paper's epsilon, 1e-6).
    iterate : "last" or "best"
    controls : Controls, optional
        When its time is up, or on Ctrl-C, the iterate so far is the answer.
    """
    if iterate not in ("last", "best"):
        raise InvalidProblem(f"iterate must be 'last' or 'best', got {iterate!r}.")
    current = truncate(start[None, :], k)
    dense = current.dense(len(start))[0]
    best, best_distance = current, 0.0
    settled, stopped = False, False
    recent: deque[FloatArray] = deque([dense], maxlen=_LONGEST + 1)
    try:
        best_distance = float(oracle.distances(current)[0])
        for _ in range(iterations - 1):
            if controls is not None and controls.expired():
                stopped = True
                break
            step = oracle.adversary.gradient(oracle.loadings(current), dense[None, :])
            following = truncate(step, k)
            if not following.weights.any():
                settled = True
                break  # the gradient vanishes: the adversary cancels this vector
            moved = following.dense(len(start))[0]
            change = _apart(moved, dense)
            current, dense = following, moved
            recent.append(dense)
            distance = float(oracle.distances(current)[0])
            if distance > best_distance:
                best, best_distance = current, distance
            if change < tolerance:
                settled = True
                break
    except KeyboardInterrupt:
        if controls is None:
            raise
        controls.limit = Limit.INTERRUPTED
        stopped = True
    answer = best if iterate == "best" else current
    return Iterate(answer.first(len(start)), settled, _period(list(recent)), stopped)


def _apart(v: FloatArray, w: FloatArray) -> float:
    return float(min(np.linalg.norm(v - w), np.linalg.norm(v + w)))


def _period(recent: list[FloatArray]) -> int | None:
    """Return after how many steps the last iterate repeats an earlier one; None if it does not, or does not move."""
    *earlier, last = recent
    for steps, v in enumerate(reversed(earlier), start=1):
        if _apart(v, last) < _SAME:
            return steps if steps > 1 else None
    return None
