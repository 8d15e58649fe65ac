"""Exact rational arithmetic: the judge of what the checker rounds."""

import math
from fractions import Fraction

import numpy as np

from noap.checker.feature_wise.data import GramData

U = Fraction(1, 2**53)


def exact(matrix):
    return [[Fraction(float(x)) for x in row] for row in np.atleast_2d(matrix)]


def dot(a, b):
    return sum(x * y for x, y in zip(a, b, strict=True))


def root_below(x):
    """A rational at or below the root, to 36 digits."""
    bits = 120
    return Fraction(math.isqrt((x.numerator << (2 * bits)) // x.denominator), 1 << bits)


def float_below(x):
    """The largest float below x."""
    y = float(x)
    return y if Fraction(y) < x else math.nextafter(y, -math.inf)


def float_above(x):
    """The smallest float at or above x."""
    y = float(x)
    return y if Fraction(y) >= x else math.nextafter(y, math.inf)


def positive_semidefinite(A):
    """Exact elimination with diagonal pivots."""
    A = [row[:] for row in A]
    left = list(range(len(A)))
    while left:
        j = max(left, key=lambda i: A[i][i])
        if A[j][j] < 0:
            return False
        if A[j][j] == 0:
            return all(A[i][i] >= 0 for i in left) and all(A[i][e] == 0 for i in left for e in left if i != e)
        left.remove(j)
        for f in left:
            x = A[f][j] / A[j][j]
            for e in left:
                A[f][e] -= x * A[j][e]
    return True


# -- whole certificates -----------------------------------------------------------------------------------------------


def known(problem):
    """GramData and the exact columns of X/sqrt(n) in its units; n is a square."""
    data = GramData.of(problem)
    root = math.isqrt(problem.n_samples)
    assert root * root == problem.n_samples
    unit = Fraction(root) * Fraction(2) ** data.exponent
    return data, [[x / unit for x in column] for column in exact(problem.X.T)]
