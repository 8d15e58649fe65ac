r"""The problem as the search sees it: a Gram matrix, a budget and an incumbent.

For an adversary that sees X only through |Xv|, with columns :math:`a_j` of :math:`X/\sqrt n` and budget
:math:`\rho/\sqrt n`,

.. math:: opt = \max_{\|u\| = 1} \max_{|S| \le k} \sum_{j \in S} f(|a_j^\top u|), \qquad f(s) = (s - \rho)_+^2 ,

and every inner product the search needs is an entry of :math:`A = X^\top X / n`.
"""

import math
from dataclasses import dataclass, field

import numpy as np

from noap.linalg.types import FloatArray, IntArray
from noap.problem import Problem

__all__ = ["GramInstance", "Incumbent"]


@dataclass(frozen=True)
class GramInstance:
    """The features that screening leaves.

    Attributes
    ----------
    A : array of shape (m, m), the Gram matrix of the live features
    rho : float, the budget over sqrt(n)
    k : int, at most m
    live : positions of the live features among all d
    norms : the norms of the live columns
    scale : the largest squared norm, the unit of absolute tolerances
    blur : how far rounding in A itself can move the optimum
    """

    A: FloatArray
    rho: float
    k: int
    live: IntArray
    norms: FloatArray
    scale: float
    blur: float

    @classmethod
    def of(cls, problem: Problem) -> "GramInstance":
        """Cut the live features out of the problem."""
        live = np.flatnonzero(problem.live_features)
        whole = len(live) == problem.n_features
        A = np.ascontiguousarray(problem.covariance if whole else problem.covariance[np.ix_(live, live)])
        A.flags.writeable = False  # always, so that the kernels are compiled for one type of array
        norms = np.sqrt(np.diag(A)) * (1 + 1e-15)
        scale = float(norms.max()) ** 2
        # |fl(a_i'a_j) - a_i'a_j| <= n eps |a_i||a_j| (1 + o(1)), so v'Av moves by at most k n eps scale for a
        # k-sparse unit v,
        # and (|Xv| - rho |v|_1)_+^2, whose derivative in |Xv|^2 is at most 1, by no more. A covariance is the
        # data itself.
        terms = 0 if problem.X is None else problem.n_samples + 2
        blur = 1.2e-16 * problem.k * terms * scale
        return cls(
            A, problem.adversary.rho / math.sqrt(problem.n_samples), min(problem.k, len(live)), live, norms, scale, blur
        )


@dataclass
class Incumbent:
    """The best vector so far, its distance and its loadings a_j'u, over the live features.

    `value` is the distance squared.
    """

    instance: GramInstance
    v: FloatArray
    g: FloatArray = field(init=False)
    value: float = field(init=False)

    def __post_init__(self) -> None:
        self.set(self.v)

    def set(self, v: FloatArray) -> None:
        """Replace the vector."""
        A = self.instance.A
        support = np.flatnonzero(v)
        pulled = A[:, support] @ v[support]
        energy = math.sqrt(max(float(pulled[support] @ v[support]), 0.0))
        distance = max(energy - self.instance.rho * float(np.abs(v[support]).sum()), 0.0)
        self.v, self.g, self.value = v, pulled / energy if energy > 0 else pulled, distance**2

    def target(self, gap: float) -> float:
        """Return the threshold that proves the gap: no pair may be worth more."""
        # A little less than asked, so that the reported bound, raised for rounding, still meets the gap. The
        # absolute part is within
        # what a result may be off and still count as optimal, 1e-12 scale.
        return self.value + max(0.9999 * gap * self.value, 0.8e-12 * self.instance.scale)
