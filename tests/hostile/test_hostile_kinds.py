"""Small problems of all kinds, drawn from the hostile cases: no crash, no bound below any vector, nothing refused.

Adversary x budgets x costs x metric x directions x demands x covariance or samples. Vectors are valued in rationals.
"""

import math
import warnings
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from claims import as_text
from hostile_cases import case
from hostile_terms import terms_case

import noap
from noap.errors import InvalidProblem, NoapWarning

_SEED, _FEW, _MANY, _LOT = 20_261_120, 150, 20_000, 500
_KINDS = ("none", "feature", "sample", "spectral")


@dataclass(frozen=True)
class Kind:
    """A claim: data, adversary, and what the problem has beside them."""

    name: str
    gap: float
    k: int
    X: np.ndarray | None
    S: np.ndarray | None
    n: int
    kind: str
    rho: np.ndarray | float
    terms: dict

    def problem(self):
        adversary = {"none": noap.NoAdversary, "feature": noap.FeatureWise, "sample": noap.SampleWise}.get(self.kind)
        adversary = noap.SpectralNorm(self.rho) if adversary is None else adversary(*[self.rho][: self.kind != "none"])
        if self.X is None:
            return noap.Problem.from_covariance(self.S, n_samples=self.n, k=self.k, adversary=adversary, **self.terms)
        return noap.Problem(self.X, self.k, adversary, **self.terms)

    def at_least(self, v):
        """A rational that the value of the direction of v is certainly not below; None where v is no choice."""
        w = [Fraction(float(x)) for x in v]
        at = [j for j, x in enumerate(w) if x]
        used, costs = set(at) | set(self.terms.get("include", ())), self.terms.get("costs")
        if not at or len(used) > self.k or used & set(self.terms.get("exclude", ())):
            return None
        square = sum(w[j] ** 2 for j in at)
        for row in self.terms.get("orthogonal_to", ()):
            if sum(Fraction(float(row[j])) * w[j] for j in at) ** 2 * 10**17 > square:
                return None
        B = self.terms.get("metric")
        unit = square
        if B is not None:
            B = np.diag(B) if B.ndim == 1 else B
            unit = sum(Fraction(float(B[i, j])) * w[i] * w[j] for i in at for j in at)
        high = _root(square, 1)
        if self.kind == "sample":
            value = Fraction(0)
            for row, rho in zip(self.X, np.broadcast_to(self.rho, len(self.X)), strict=True):
                if math.isfinite(rho):
                    score = abs(sum(Fraction(float(row[j])) * w[j] for j in at))
                    value += max(score - Fraction(float(rho)) * high, Fraction(0)) ** 2
        else:
            if self.X is None:
                energy = self.n * sum(Fraction(float(self.S[i, j])) * w[i] * w[j] for i in at for j in at)
            else:
                energy = sum(sum(Fraction(float(row[j])) * w[j] for j in at) ** 2 for row in self.X)
            taken = Fraction(0)
            rho = np.broadcast_to(self.rho, len(w))
            if self.kind == "feature":
                if any(math.isinf(rho[j]) for j in at):
                    return None
                taken = sum(Fraction(float(rho[j])) * abs(w[j]) for j in at)
            elif self.kind == "spectral":
                taken = Fraction(float(self.rho)) * high
            value = max(_root(max(energy, Fraction(0)), 0) - taken, Fraction(0)) ** 2
        spent = sum((Fraction(float(costs[j])) for j in used), Fraction(0)) if costs is not None else 0
        return value / (self.n * unit) - spent


def _root(x, up):
    """A rational at most the root of x, or at least that."""
    bits = max(0, 250 - (x.numerator.bit_length() - x.denominator.bit_length()) // 2)
    return Fraction(math.isqrt((x.numerator << 2 * bits) // x.denominator) + up, 1 << bits)


def drawn(number):
    """The claim of that number, always the same; None where the numbers drawn are out of range or contradict."""
    rng = np.random.default_rng([_SEED, number])
    given, terms = terms_case(number) if number % 2 else case(number), {}
    if given.out_of_range() or not np.any(given.S if given.X is None else given.X):
        return None
    d = len(given.S) if given.X is None else given.X.shape[1]
    kind = str(rng.choice(_KINDS))
    if given.X is None and kind == "sample":
        kind = "feature"
    rho = given.rho
    if number % 2:  # budgets of features, and costs
        rho = given.rhos if kind == "feature" else float(np.min(given.rhos))
        if kind == "sample":
            rho = rng.choice(given.rhos, len(given.X))
        if given.costs is not None:
            terms["costs"] = given.costs
    if kind == "spectral" and not math.isfinite(rho):
        return None
    extra = rng.integers(5)
    if extra == 0 and kind in ("none", "feature") and not terms:
        Y = rng.standard_normal((d, d)) * 10.0 ** rng.uniform(-2, 2, d)
        terms["metric"] = Y.T @ Y + 1e-2 * np.diag(np.diag(Y.T @ Y)) if rng.random() < 0.6 else rng.uniform(0.5, 2, d)
        if terms["metric"].ndim == 2:
            terms["metric"] = 0.5 * (terms["metric"] + terms["metric"].T)
    elif extra == 1 and kind != "sample" and d > 1:
        terms["orthogonal_to"] = rng.choice([0.0, 1.0, -1.0, 0.5], (1, d))
        terms["orthogonal_to"][0, 0] = 1.0
    elif extra == 2 and d > 1:
        order = rng.permutation(d).tolist()
        terms["include" if rng.random() < 0.5 else "exclude"] = order[: int(rng.integers(1, min(given.k, d - 1) + 1))]
    label = f"number {number}, {given}, {kind}, rho={np.asarray(rho).tolist()}, {terms}"
    return Kind(label, given.gap, given.k, given.X, given.S, given.n, kind, rho, terms)


def directions(one, v):
    """Vectors that may be good: the answer, features, and on small supports leading eigenvectors and random ones."""
    rng = np.random.default_rng(len(one.name))
    A = one.S if one.X is None else (one.X / np.abs(one.X).max()).T @ (one.X / np.abs(one.X).max())
    d, V = len(A), np.asarray(one.terms.get("orthogonal_to", np.zeros((0, len(A)))))
    yield v
    for S in list(combinations(range(d), min(one.k, d)))[:6]:
        basis = np.eye(d)[list(S)]
        if len(V):
            _, sizes, rows = np.linalg.svd(V @ basis.T)
            basis = rows[int((sizes > 1e-12).sum()) :] @ basis
        own = basis @ A @ basis.T
        if not len(basis) or not np.isfinite(own).all():
            continue
        yield from (np.linalg.eigh(own)[1][:, -2:].T @ basis)
        yield from rng.standard_normal((2, len(basis))) @ basis


def complaints(one):
    """One sentence per untrue claim."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", NoapWarning)
        try:
            problem = one.problem()
        except InvalidProblem:  # in a sentence
            return []
        try:
            return list(_complaints(one, problem))
        except Exception as error:  # whatever it is, it is a finding
            return [f"raises: {type(error).__name__}: {error}"]


def _complaints(one, problem):
    try:
        result = noap.solve(problem, gap=one.gap, time_limit=2.0)
    except InvalidProblem as said:
        if "range of doubles" not in str(said):
            raise
        return
    worth = [w for w in (one.at_least(v) for v in directions(one, result.v)) if w is not None]
    floor = max(worth, default=None)
    if not result.bound >= result.value:
        yield f"order: bound {result.bound!r} below value {result.value!r}"
    report = noap.verify(problem, noap.Certificate.from_bytes(result.certificate.to_bytes()))
    if not report.ok:
        yield f"rejected: {report.message}"
    for who, bound in (("bound", result.bound), ("verified bound", report.bound if report.ok else math.inf)):
        if floor is not None and math.isfinite(bound) and not Fraction(bound) >= floor:
            yield f"{who}: {bound!r}, a direction is worth {as_text(floor)}"


@pytest.mark.parametrize("first", range(0, _FEW, 50))
def test_no_claim_is_untrue(first):
    found = {one.name: said for one in map(drawn, range(first, first + 50)) if one and (said := complaints(one))}
    assert not found, "\n".join(f"{said}\n    {name}" for name, said in found.items())


@pytest.mark.slow
@pytest.mark.parametrize("first", range(_FEW, _FEW + _MANY, _LOT))
def test_no_claim_is_untrue_in_twenty_thousand(first):
    found = {one.name: said for one in map(drawn, range(first, first + _LOT)) if one and (said := complaints(one))}
    assert not found, "\n".join(f"{said}\n    {name}" for name, said in list(found.items())[:20])


def test_all_kinds_are_there():
    kinds = [one for one in map(drawn, range(400)) if one is not None]
    assert len(kinds) > 300
    assert {one.kind for one in kinds} == set(_KINDS)
    assert {name for one in kinds for name in one.terms} == {"costs", "metric", "orthogonal_to", "include", "exclude"}
