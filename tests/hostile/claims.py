"""Every claim that noap makes about a case, against exact arithmetic. A complaint is a claim that is not true."""

import math
import warnings
from fractions import Fraction

import numpy as np

import noap
from noap.errors import InvalidProblem, NoapWarning
from noap.result import Status
from rational_judge import Truth, integers

# A search that is stopped still makes claims. Almost no case comes near; cones over six features may take minutes.
_SECONDS = 1.0


def complaints(case, solve=noap.solve):
    """One sentence per untrue claim, the kind of claim before the colon."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", NoapWarning)
        try:
            return list(_complaints(case, solve))
        except Exception as error:  # whatever it is, it is a finding
            return [f"raises: {type(error).__name__}: {error}"]


def _complaints(case, solve):
    try:
        problem = case.problem()
    except InvalidProblem:
        if not case.out_of_range():
            raise
        return
    if case.out_of_range():
        yield "range: data whose squares leave the range of float64 are taken"
        return
    judge = case.judge()
    result = solve(problem, gap=case.gap, time_limit=_SECONDS)
    climbed = solve(problem, method="ascent")
    truth = Truth(judge, case.k, extra=(result.v, climbed.v))
    yield from _about(result, judge, truth.floor, "exact")
    yield from _about_certificate(result, judge, truth.floor, "exact")
    yield from _about(climbed, judge, truth.floor, "ascent")
    # The rest in turns, for the sake of time; all of it for a case without a place in the row.
    if case.number % 4 == 0 or case.number < 0:
        for method in ("ppm", "spca", "diagonal-thresholding", "covariance-thresholding"):
            yield from _about(solve(problem, method=method), judge, truth.floor, method)
    if case.number % 4 == 1 or case.number < 0:
        cut = solve(problem, gap=case.gap, time_limit=_SECONDS, node_limit=1)
        yield from _about(cut, judge, truth.floor, "exact, cut short,")
        yield from _about_certificate(cut, judge, truth.floor, "exact, cut short,")
    if case.number % 4 == 2 or case.number < 0:
        yield from _about_attack(result, judge)
    if (case.number % 3 == 0 or case.number < 0) and case.adversary != "none":
        yield from _about_path(case, problem, truth)


def _about(result, judge, floor, who):
    v = result.v
    if np.count_nonzero(v) > result.problem.k or abs(float(v @ v) - 1.0) > 1e-9:
        yield f"vector: {who} gives {v}"
    lower, upper = judge.of_vector(v)
    if not value_is_true(result.value, lower, upper, rounding(judge), judge.n):
        yield f"value: {who} says {result.value!r}, its vector is worth {float(upper)!r}"
    if math.isinf(result.bound):
        return
    if result.bound_proof != "rigorous":
        yield f"proof: {who} calls its bound {result.bound_proof}"
    if not Fraction(result.bound) >= floor:
        kind = "zero" if result.bound == 0.0 else "bound"
        yield f"{kind}: {who} says {result.bound!r}, a direction is worth {as_text(floor)}"
    if not result.bound >= result.value:
        yield f"order: {who} has the bound {result.bound!r} below the value {result.value!r}"
    if result.status is Status.OPTIMAL and not optimal_is_true(result, result.asked_gap):
        numbers = f"gap {result.gap!r}, value {result.value!r}, bound {result.bound!r}"
        yield f"optimal: {who} was asked for {result.asked_gap!r}, {numbers}"


def _about_certificate(result, judge, floor, who):
    if result.certificate is None:
        yield f"certificate: {who} gives none"
        return
    report = noap.verify(result.problem, noap.Certificate.from_bytes(result.certificate.to_bytes()))
    if not report.ok:
        yield f"rejected: {who}: {report.message}"
        return
    upper = judge.of_vector(result.v)[1]
    if not Fraction(report.value) <= upper:
        yield f"verified value: {report.value!r} of a vector worth {as_text(upper)}"
    if not Fraction(report.bound) >= floor:
        yield f"verified bound: {report.bound!r}, a direction is worth {as_text(floor)}"


def _about_attack(result, judge):
    """The attack keeps to its budget and leaves the value, both to rounding."""
    attacked = result.attacked_covariance()
    if not np.isfinite(attacked).all():
        yield f"attack: covariance {attacked.tolist()}"
    if result.problem.X is None:
        return
    E = result.attack()
    (flat,), exponent = integers(E)
    squares = np.array([x * x for x in flat], dtype=object).reshape(E.shape)
    largest = max(squares.sum(axis=1 if judge.adversary == "sample" else 0)) * Fraction(4) ** exponent
    # An entry may be off by half the smallest subnormal.
    if not largest <= (Fraction(judge.rho) * (1 + Fraction(1e-12)) + E.size * Fraction(5e-324)) ** 2:
        yield f"attack: of norm {float(_root_near(largest))!r}, the budget is {judge.rho!r}"
    left = float(np.linalg.norm((_dense(result.problem.X) + E) @ result.v))
    if not value_is_true(left, *judge.of_vector(result.v), rounding(judge), judge.n, squared=False):
        yield f"attack: leaves {left!r}, its vector is worth {result.value!r}"


def _dense(X):
    return np.asarray(X if isinstance(X, np.ndarray) else X.toarray(), dtype=np.float64)


def _about_path(case, problem, truth):
    adversary = noap.FeatureWise if case.adversary == "feature" else noap.SampleWise
    options = {"gap": case.gap, "time_limit": _SECONDS}
    if case.number % 2:
        path = noap.path(problem, case.k, adversary, points=3, tolerance=0.3, **options)
    else:
        rhos = sorted({0.5 * case.rho, case.rho, math.nextafter(case.rho, 0.0)})
        path = noap.path(problem, case.k, adversary, rhos=rhos, **options)
    for result in path.results:
        judge = case.judge(result.problem.adversary.rho)
        floor = max(truth.floor_at(judge), *(judge.of_vector(v)[0] for v in path.vectors))
        yield from _about(result, judge, floor, "path")
        if result.proof is not None:
            yield from _about_certificate(result, judge, floor, "path")
    between = np.linspace(path.rhos[0], path.rhos[-1], 5)
    for rho, low, high in zip(between, *path.band(between), strict=True):
        judge = case.judge(float(rho))
        worths = [judge.of_vector(v) for v in path.vectors]
        floor = max(truth.floor_at(judge), *(lower for lower, _ in worths))
        if not Fraction(float(high)) >= floor:
            yield f"band: at most {high!r} at rho {rho!r}, a direction is worth {as_text(floor)}"
        lower, upper = max(worths)
        if not value_is_true(float(low), lower, upper, rounding(judge), judge.n):
            yield f"band: at least {low!r} at rho {rho!r}, its vectors are worth {as_text(upper)}"


def optimal_is_true(result, asked):
    """Whether the numbers bear out the status: a gap below 1e-9 may end where rounding leaves 1e-12 of scale."""
    if result.gap <= asked or result.value == result.bound == 0.0:
        return True
    return asked < 1e-9 and result.gap <= 1e-9 and result.bound - result.value <= 1e-12 * result.problem.scale


def rounding(judge):
    """What the closed form may lose of sqrt(n value): an ulp of the numbers that it subtracts for every addition."""
    return Fraction(2.0**-52) * (len(judge.rows) + judge.d + 4) * judge.size()


def value_is_true(value, lower, upper, room, n, *, squared=True):
    """Whether a value lies within the rounding of its closed form around the true worth of its vector.

    The closed form squares a difference. The difference may be off by `room`, so that the square is off by
    2 sqrt(n worth) room + room^2: next to nothing as a rule, everything where the budget is all but the largest norm.
    """
    if not (math.isfinite(value) and value >= 0.0):
        return False
    said = Fraction(value) * n if squared else Fraction(value) ** 2
    above = (upper * (1 + Fraction(1e-12)) + Fraction(5e-324)) * n
    below = (lower * (1 - Fraction(1e-12)) - Fraction(5e-324)) * n
    root = _root_near(above)
    off = room * (root + above / root if root else 0) + room * room  # root + x/root >= 2 sqrt(x) for any root
    return below - off <= said <= above + off


def _root_near(x):
    if x <= 0:
        return Fraction(0)
    shift = (x.numerator.bit_length() - x.denominator.bit_length()) // 2
    scaled = x / Fraction(4) ** shift
    return Fraction(math.sqrt(float(scaled))) * Fraction(2) ** shift


def as_text(x):
    """A rational as a short decimal, however small."""
    if x == 0 or float(x) > 1e-300:
        return repr(float(x))
    return f"about 2^{x.numerator.bit_length() - x.denominator.bit_length()}"
