"""Check a proof support by support: that no other is worth more than the threshold, and what closes each of them."""

import itertools
import math
from collections.abc import Iterator

import numpy as np

from noap.checker.allowance import Allowance
from noap.checker.generalised.cells import Cells, OpenCell
from noap.checker.generalised.definite import are_definite
from noap.checker.generalised.forms import Forms, attacks_on_supports, least_eigenvalue
from noap.checker.generalised.listed import unlisted_bound
from noap.checker.margins import Margins
from noap.linalg.outward import UNIT, up
from noap.linalg.types import BoolArray, FloatArray, IntArray
from noap.problem import Problem
from noap.proofs.metric_supports import BY_CELLS, BY_FORM, BY_OWN, SupportsProof

__all__ = ["SMALLER", "bound_by_supports"]

# Without a tree all supports are looked at; there may be so many.
_MOST_SUPPORTS = 300_000
# Supports that are looked at together.
_AT_ONCE = 8192
# Elementary operations for each entry of a small factorisation.
_PRICE = 4.0
SMALLER = (1e-4, 1e-2, 1.0)
"""What of the usual margins a proof without a metric is checked with, one after the other."""


def bound_by_supports(
    problem: Problem, proof: SupportsProof, margins: Margins, allowance: Allowance
) -> tuple[float, str | None]:
    """Return a proved bound and None, or inf and the reason why there is none."""
    k, T = problem.k, proof.threshold
    supports = proof.supports.astype(np.int64).reshape(len(proof.how), -1) if len(proof.how) else _NONE
    if len(supports) and (supports.shape[1] != k or (np.diff(supports, axis=1) <= 0).any()):
        return math.inf, f"its supports are not of k = {k} features each, in rising order"
    allowance.keep(3 * supports.size)
    forms = Forms.of(problem, allowance)
    found, reason = _all_forms(forms, proof, allowance)
    if reason is not None:
        return math.inf, reason
    largest = max(float(np.abs(M).max()) for M, _ in found) + T * float(np.abs(forms.B).max()) + proof.shift
    # The shift has no part in what closes a support: only a T of this size keeps rounding above what may underflow.
    if not largest < 1e200 or not T > 1e-250:
        return math.inf, "its numbers for the metric are beyond what these data could be worth"
    reason = _closed(forms, found, supports, proof, allowance)
    if reason is not None:
        return math.inf, reason
    if proof.tree is None:
        return (T, None) if _no_others(forms, found, T, supports, k, allowance) else (math.inf, _OTHERS)
    return _beside(problem, forms, found[0], supports, proof, largest, margins, allowance)


_NONE: IntArray = np.empty((0, 0), dtype=np.int64)
_OTHERS = "a support that it does not list stays open, or there are too many to look at all of them"


def _all_forms(
    forms: Forms, proof: SupportsProof, allowance: Allowance
) -> tuple[list[tuple[FloatArray, float]], str | None]:
    """Return what each attack leaves of the inner products, and their errors; the covariance if there is none."""
    d = len(forms.B)
    if not len(proof.attacks):
        return [(forms.A, forms.error)], None
    found = []
    for attack in proof.attacks.reshape(-1, 3 * d):
        allowance.keep(d * d)
        allowance.spent(20.0 * d * d)
        one = forms.under(attack)
        if one is not None:
            found.append(one)
        elif not found:  # the tree is about the first
            return [], "its attack is beyond the budgets, or has no direction"
    return found, None


def _beside(
    problem: Problem,
    forms: Forms,
    first: tuple[FloatArray, float],
    supports: IntArray,
    proof: SupportsProof,
    largest: float,
    margins: Margins,
    allowance: Allowance,
) -> tuple[float, str | None]:
    """Return what the tree shows of supports that are not listed; those that are have T."""
    T, tau, (M, error) = proof.threshold, proof.shift, first
    S = M - T * forms.B
    S[np.diag_indices_from(S)] += tau
    if not S.diagonal().max() > 0.0:
        return math.inf, "its shift leaves nothing to look at"
    assert proof.tree is not None
    bound, reason = math.inf, None
    for share in SMALLER:
        with allowance.passing():
            bound, reason = unlisted_bound(
                S, problem.k, proof.tree, proof.bound, supports, margins.times(share), allowance
            )
        if reason is None:
            break
    if reason is not None:
        return math.inf, reason
    # Four operations on each entry.
    excess = up(bound + up(problem.k * (error + 4.0 * UNIT * largest), 8)) - tau
    if excess <= 0.0:
        return T, None
    least = least_eigenvalue(forms.B)
    if least == 0.0:
        return math.inf, "the metric is too close to singular to be checked"
    return up(T + up(excess / least)), None


def _closed(
    forms: Forms,
    found: list[tuple[FloatArray, float]],
    supports: IntArray,
    proof: SupportsProof,
    allowance: Allowance,
) -> str | None:
    """Return which listed support is not closed at the threshold, None if all are."""
    T, how = proof.threshold, proof.how
    by_form = np.flatnonzero(how == BY_FORM)
    for part in _parts(by_form):
        if not _by_forms(forms, found, T, supports[part], allowance).all():
            return "a listed support is not closed by its attacks on all features"
    own = proof.own.reshape(-1, supports.shape[1] + 1) if len(supports) else proof.own
    by_own = np.flatnonzero(how == BY_OWN)
    for number, part in enumerate(_parts(by_own)):
        numbers = own[number * _AT_ONCE : number * _AT_ONCE + len(part)]
        if not _by_own(forms, T, supports[part], numbers, allowance).all():
            return "a listed support is not closed by an attack of its own"
    cells = Cells(proof, allowance)
    try:
        for number in np.flatnonzero(how == BY_CELLS).tolist():
            both = np.ix_(supports[number], supports[number])
            cells.close(forms.A[both], forms.error, forms.B[both], forms.rho[supports[number]], T)
            allowance.check()
    except OpenCell as opened:
        return f"a listed support is not closed by its cells: {opened}"
    except (ArithmeticError, np.linalg.LinAlgError):
        return "its numbers leave the range of floating point"
    return None if cells.place == len(proof.cells) else "it has cells that belong to no support"


def _parts(numbers: IntArray) -> Iterator[IntArray]:
    for start in range(0, len(numbers), _AT_ONCE):
        yield numbers[start : start + _AT_ONCE]


def _by_forms(
    forms: Forms, found: list[tuple[FloatArray, float]], T: float, supports: IntArray, allowance: Allowance
) -> BoolArray:
    """Return on which supports T times the metric exceeds one of the forms."""
    m = supports.shape[1]
    allowance.need(5 * supports.size * m)
    rows, columns = supports[:, :, None], supports[:, None, :]
    metric = T * forms.B[rows, columns]
    widest = T * float(np.abs(forms.B).max())
    closed: BoolArray = np.zeros(len(supports), dtype=bool)
    for M, error in found:
        left = np.flatnonzero(~closed)
        allowance.spent(_PRICE * len(left) * m**3)
        room = 1.01 * m * (error + 4.0 * UNIT * (float(np.abs(M).max()) + widest))
        closed[left] = are_definite(metric[left] - M[rows[left], columns[left]], np.full(len(left), room))
    return closed


def _by_own(forms: Forms, T: float, supports: IntArray, numbers: FloatArray, allowance: Allowance) -> BoolArray:
    """Return which supports an attack on a direction of their own closes."""
    m = supports.shape[1]
    allowance.need(8 * supports.size * m)
    allowance.spent(3.0 * _PRICE * len(supports) * m**3)
    rows, columns = supports[:, :, None], supports[:, None, :]
    with np.errstate(over="ignore", invalid="ignore", under="ignore"):
        M, error, good = attacks_on_supports(
            forms.A[rows, columns], forms.error, forms.rho[supports], numbers[:, :-1], numbers[:, -1]
        )
        widest = np.abs(M).max(axis=(1, 2)) + T * float(np.abs(forms.B).max())
        room = 1.01 * m * (error + 4.0 * UNIT * widest)
        return good & are_definite(T * forms.B[rows, columns] - M, room)


def _no_others(
    forms: Forms,
    found: list[tuple[FloatArray, float]],
    T: float,
    listed: IntArray,
    k: int,
    allowance: Allowance,
) -> bool:
    """Return whether the forms close every support that is not listed; there are no more than can be looked at."""
    d = len(forms.B)
    if math.comb(d, k) > _MOST_SUPPORTS:
        return False
    names = {tuple(row) for row in listed.tolist()}
    every = itertools.combinations(range(d), k)
    while some := list(itertools.islice(every, _AT_ONCE)):
        supports = np.array(some)
        allowance.spent(20.0 * supports.size)
        closed = _by_forms(forms, found, T, supports, allowance)
        if any(tuple(row) not in names for row in supports[~closed].tolist()):
            return False
        allowance.check()
    return True
