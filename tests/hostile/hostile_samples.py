"""Hostile cases in which every sample has its own budget, and what a direction is worth there, in rational numbers."""

import math
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
from hostile_cases import Case, case
from hostile_terms import one_budget

import noap

_SEED = 20_261_117


@dataclass(frozen=True)
class SamplesCase(Case):
    """A case with budgets of the samples."""

    rhos: np.ndarray | None = None

    def __str__(self):
        return f"{super().__str__()}, rhos={self.rhos.tolist()}"

    def problem(self):
        return noap.Problem(self.given(), k=self.k, adversary=noap.SampleWise(self.rhos))

    def worth(self, v):
        """Rationals (lower, upper) around the worth of the direction of v."""
        places = np.flatnonzero(v)
        w = [Fraction(float(v[j])) for j in places]
        square = sum((x * x for x in w), Fraction(0))
        low = _root_below(square)
        high = low * (1 + Fraction(1, 2**240))
        lower = upper = Fraction(0)
        for row, rho in zip(self.X, self.rhos, strict=True):
            if math.isfinite(rho):
                score = abs(sum((Fraction(float(row[j])) * x for j, x in zip(places, w, strict=True)), Fraction(0)))
                lower += max(score - Fraction(float(rho)) * high, Fraction(0)) ** 2
                upper += max(score - Fraction(float(rho)) * low, Fraction(0)) ** 2
        return lower / (self.n * square), upper / (self.n * square)

    def directions(self):
        """Directions that may be good: features, the largest entries of samples, and what ascent makes of them."""
        d, unit = self.X.shape[1], float(np.abs(self.X).max())
        Y, rho = self.X / unit, self.rhos / unit
        starts = [*np.eye(d), *(_cut(y, self.k) for y in Y if _cut(y, self.k).any())]
        rng = np.random.default_rng(self.number)
        starts += [_cut(y, self.k) for y in rng.standard_normal((30, d))]
        for start in starts:
            v = _unit(start)
            yield v
            for _ in range(60):
                s = Y @ v
                moved = _cut((np.sign(s) * np.maximum(np.abs(s) - rho, 0.0)) @ Y, self.k)
                if not moved.any():
                    break
                v = _unit(moved)
            yield v


def samples_case(number):
    """The case of that number, always the same."""
    given = case(number)
    while given.X is None or not given.X.any() or given.out_of_range():
        number += 100_003
        given = case(number)
    rng = np.random.default_rng([_SEED, number])
    unit = float(np.abs(given.X).max())
    edges = np.linalg.norm(np.sort(np.abs(given.X) / unit, axis=1)[:, -given.k :], axis=1) * unit
    rhos = np.array([one_budget(rng, float(edge), float(edges.max())) for edge in edges])
    if rng.random() < 0.1:
        rhos = np.full(len(edges), float(rhos.min()))
    if rng.random() < 0.1:
        rhos = np.where(rng.random(len(edges)) < 0.5, 0.0, np.inf)
    fields = {name: getattr(given, name) for name in given.__dataclass_fields__}
    return replace(SamplesCase(**fields), adversary="sample", budget="of samples", rhos=rhos)


def _cut(x, k):
    kept = np.zeros(len(x))
    top = np.argsort(-np.abs(x), kind="stable")[:k]
    kept[top] = x[top]
    return kept


def _unit(x):
    x = x / np.abs(x).max()  # no square underflows then
    return x / np.linalg.norm(x)


def _root_below(x):
    """A rational at or below the root, to 250 bits."""
    bits = max(0, 250 - (x.numerator.bit_length() - x.denominator.bit_length()) // 2)
    return Fraction(math.isqrt((x.numerator << 2 * bits) // x.denominator), 1 << bits)
