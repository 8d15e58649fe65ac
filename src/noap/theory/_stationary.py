"""Every maximiser of ``sqrt(1 + lam <v,t>^2) - r |v|_1`` over unit v, for a truth t > 0.

One parameter is enough. (t and v are nonnegative by flipping signs; v lives on the k largest entries of t by
exchange.)

1. *No feature outside the truth* (Lemma 1). Split v into a part of norm b on the truth and one of norm sqrt(1 - b^2)
   outside. The objective is convex in b, so b is 0 or 1, and one feature of the truth beats any vector outside.
2. *Soft threshold.* At a maximum with two or more features the multiplier of |v|_2 = 1 is positive, or zero with v
   constant: else the second-order condition fails. So v is proportional to ``(t - tau)_+`` with
   ``tau = r sqrt(1 + lam a^2)/(lam a)``, ``a = <v,t>``; a zero entry with t_i > tau would have a positive
   derivative. What is left is one feature, best where t is largest.
3. *One maximum per segment.* So tau is stationary at the budget ``g(tau) = lam tau a/sqrt(1 + lam a^2)``, and along
   the family the objective rises where g < r and falls where g > r: maxima are the upward crossings of g
   through r. Between two neighbouring values of t, g rises and then may fall, once: `Segment.slack`.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from noap.theory._checks import Floats


@dataclass(frozen=True, eq=False)
class Segment:
    """The family ``v(tau) = (active - tau)/|active - tau|_2`` for ``low <= tau <= high = min(active)``.

    `active` holds the entries of the truth above `low`, not all equal: equal entries give a constant v.
    """

    active: Floats
    low: float
    high: float
    lam: float

    def vector(self, tau: float) -> Floats:
        """Return v(tau), a unit vector."""
        w = np.maximum(self.active - tau, 0.0)
        return np.asarray(w / np.linalg.norm(w))

    def cosine(self, tau: float) -> float:
        """Return ``a = <v(tau), t>``."""
        return float(self.vector(tau) @ self.active)

    def budget(self, tau: float) -> float:
        """Return ``g(tau)``, the r at which v(tau) is stationary."""
        a = self.cosine(tau)
        return self.lam * tau * a / math.sqrt(1.0 + self.lam * a * a)

    def slack(self, tau: float) -> float:
        """Return ``<w,t>(|w|^2 + lam <w,t>^2) - tau^2 m sum (t - mean t)^2``, ``w = t - tau``: the sign of g'.

        From ``g'/g = 1/tau + (a'/a)/(1 + lam a^2)`` and ``a'/a = -tau (m |t|^2 - |t|_1^2)/(<w,t> |w|^2)``. The first
        term falls with tau and the subtracted one rises, so the sign changes at most once.
        """
        w = self.active - tau
        wt, ww = float(w @ self.active), float(w @ w)
        spread = float(np.sum((self.active - self.active.mean()) ** 2)) * self.active.size
        return wt * (ww + self.lam * wt * wt) - tau * tau * spread

    def rising_end(self) -> float:
        """Return the tau up to which g rises: only there is a stationary point a maximum."""
        if self.slack(self.high) >= 0.0:
            return self.high
        if self.slack(self.low) <= 0.0:
            return self.low
        return _root(self.slack, self.low, self.high)

    def maximum(self, r: float) -> float | None:
        """Return the tau of this segment's only local maximum at r, or None."""
        end = self.rising_end()
        if not self.budget(self.low) <= r <= self.budget(end):
            return None
        return _root(lambda tau: self.budget(tau) - r, self.low, end)

    def meets(self, cosine: float, l1: float) -> float:
        """Return the r at which a rival with this cosine and a smaller l1 norm draws level with the best v(tau).

        Along rising g the lead over the rival falls (its derivative is ``-g' (|v|_1 - l1)``): one root.
        """

        def lead(tau: float) -> float:
            r, norm = self.budget(tau), float(self.vector(tau).sum())
            return gain(self.cosine(tau), norm, self.lam, r) - gain(cosine, l1, self.lam, r)

        end = self.rising_end()
        return self.budget(end if lead(end) >= 0.0 else _root(lead, self.low, end))


def gain(cosine: float, l1: float, lam: float, r: float) -> float:
    """Return ``sqrt(1 + lam a^2) - r |v|_1 - 1`` without cancellation, so that a weak spike keeps its digits."""
    x = lam * cosine * cosine
    return x / (1.0 + math.sqrt(1.0 + x)) - r * l1


def segments(entries: Floats, lam: float) -> list[Segment]:
    """Return the segments for descending positive `entries`, from all active to the two largest values."""
    levels = np.unique(entries).tolist()  # ascending
    # Above the last but one level all active entries are equal: a constant vector, which `maximiser` adds.
    return [
        Segment(entries[entries >= high], low, high, lam)
        for low, high in zip([0.0, *levels[:-2]], levels[:-1], strict=False)
    ]


def maximiser(entries: Floats, family: list[Segment], lam: float, r: float) -> tuple[Floats, float]:
    """Return the best unit vector on descending positive `entries` and its value; ties go to the larger support."""
    candidates = []
    for segment in family:
        tau = segment.maximum(r)
        # The end of the segment is a candidate too: rounding may lose a root that lies on it.
        candidates += [segment.vector(t) for t in (tau, segment.high) if t is not None]
    top = (entries == entries[0]).astype(np.float64)
    candidates += [top / np.linalg.norm(top), np.ones(1)]
    gains = [gain(float(v @ entries[: v.size]), float(v.sum()), lam, r) for v in candidates]
    best = int(np.argmax(gains))  # the first of equals
    v = np.zeros(entries.size)
    v[: candidates[best].size] = candidates[best]
    return v, 1.0 + gains[best]


def _root(f: Callable[[float], float], low: float, high: float) -> float:
    from scipy.optimize import brentq  # here, so that importing noap does not import scipy

    return float(brentq(f, low, high, xtol=1e-18, rtol=8.9e-16))
