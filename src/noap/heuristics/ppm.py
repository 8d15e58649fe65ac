r"""The paper's projected power method on the robust objective (Algorithm 2), as printed.

.. math:: v^{(t+1)} = \mathrm{Proj}_{V_k}\bigl(\nabla F(v^{(t)})\bigr), \qquad
   \nabla F(v) \propto \left(\|Xv\|_2 - \rho\|v\|_1\right)
                       \left(\tfrac{X^\top X v}{\|Xv\|_2} - \rho\,\mathrm{sgn}(v)\right)

It is not monotone: the projection forgets the length of the gradient. Where the first factor is negative the
printed gradient points backwards; F is even in v, so iterates are compared up to sign and that factor drops
out of the iteration.
"""

import numpy as np

from noap.errors import InvalidProblem
from noap.heuristics.batch import truncate
from noap.heuristics.oracle import Oracle
from noap.linalg.types import FloatArray
from noap.result import Limit
from noap.runtime.controls import Controls

__all__ = ["ppm"]


def ppm(
    oracle: Oracle,
    k: int,
    start: FloatArray,
    *,
    iterations: int,
    tolerance: float,
    iterate: str,
    controls: Controls | None = None,
) -> FloatArray:
    """Return the last (as printed) or the best iterate.

    Parameters
    ----------
    oracle : Oracle
    k : int
    start : array of shape (d,)
        A k-sparse unit vector. The paper starts from the vanilla sparse PCA answer.
    iterations : int
        The paper's T.
    tolerance : float
        Stop when consecutive iterates are closer than this up to sign (the paper's epsilon, 1e-6).
    iterate : "last" or "best"
    controls : Controls, optional
        When its time is up, or on Ctrl-C, the iterate so far is the answer.
    """
    if iterate not in ("last", "best"):
        raise InvalidProblem(f"iterate must be 'last' or 'best', got {iterate!r}.")
    current = truncate(start[None, :], k)
    dense = current.dense(len(start))
    best, best_distance = current, 0.0
    try:
        best_distance = float(oracle.distances(current)[0])
        for _ in range(iterations):
            if controls is not None and controls.expired():
                break
            step = oracle.adversary.gradient(oracle.loadings(current), dense)
            following = truncate(step, k)
            if not following.weights.any():
                break  # the gradient vanishes: the adversary cancels this vector
            moved = following.dense(len(start))
            change = min(np.linalg.norm(moved - dense), np.linalg.norm(moved + dense))
            current, dense = following, moved
            distance = float(oracle.distances(current)[0])
            if distance > best_distance:
                best, best_distance = current, distance
            if change < tolerance:
                break
    except KeyboardInterrupt:
        if controls is None:
            raise
        controls.limit = Limit.INTERRUPTED
    answer = best if iterate == "best" else current
    return answer.first(len(start))
