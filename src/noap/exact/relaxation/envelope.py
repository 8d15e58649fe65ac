r"""From lines above phi to a bound on the optimum.

Every line :math:`c + \mu t` with :math:`v^\top A v \le c + \mu \|v\|_1^2` for k-sparse unit v bounds the distance at
:math:`t = \|v\|_1^2` by :math:`h(t) = \sqrt{c + \mu t} - \rho\sqrt t`. h falls up to some t and rises after it, so
on an interval it is largest at an end. The interval [1, k] is cut where the lines cross, and each piece takes its
lowest line. Where features have weights in the l1 norm, the interval has other ends.
"""

import itertools
import math
from typing import NamedTuple

__all__ = ["Line", "bound_of", "useful"]


class Line(NamedTuple):
    """v'Av is at most c + mu |v|_1^2."""

    c: float
    mu: float


def _cuts(lines: list[Line], k: float, least: float) -> list[float]:
    """Return the ends, and where the lower envelope of the lines has its corners between them, in order."""
    cuts = {least, float(k)}
    for i, one in enumerate(lines):
        for other in lines[:i]:
            if one.mu != other.mu:
                t = (other.c - one.c) / (one.mu - other.mu)
                if least < t < k:
                    cuts.add(t)
    return sorted(cuts)


def bound_of(lines: list[Line], rho: float, k: float, least: float = 1.0) -> tuple[float, float]:
    """Return a bound on every distance squared for t from `least` to k, rounded up, and the t at which it is reached.

    Examples
    --------
    >>> bound, t = bound_of([Line(4.0, 0.0), Line(0.0, 3.0)], 0.5, 2)
    >>> round(bound, 6), round(t, 6)
    (2.023932, 1.333333)
    """
    cuts = _cuts(lines, k, least)
    worst, at = 0.0, least
    for left, right in itertools.pairwise(cuts) if len(cuts) > 1 else [(least, least)]:
        middle = 0.5 * (left + right)
        line = min(lines, key=lambda one: one.c + one.mu * middle)
        for t in (left, right):
            distance = math.sqrt((line.c + line.mu * t) * (1 + 4e-16)) * (1 + 4e-16) - rho * math.sqrt(t) * (1 - 4e-16)
            if distance > worst:
                worst, at = distance, t
    return worst * worst * (1 + 4e-16), at


def useful(lines: list[Line], k: float, least: float = 1.0) -> list[int]:
    """Return the positions of the lines that the envelope uses for t from `least` to k."""
    cuts = _cuts(lines, k, least)
    middles = [0.5 * (left + right) for left, right in itertools.pairwise(cuts)] or [least]
    return sorted({min(range(len(lines)), key=lambda i: lines[i].c + lines[i].mu * t) for t in middles})
