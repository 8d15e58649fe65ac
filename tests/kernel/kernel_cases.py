"""Tiny problems of every kind the kernel has a theorem about, as arguments that the judge and noap both take."""

from dataclasses import replace

import numpy as np
from kernel_judge import Truth

import noap
from cases import SHAPES, small_data
from noap.errors import InvalidProblem
from noap.kernel.certificate import Proof
from noap.kernel.claim import data_of
from noap.kernel.witness import (
    BOX,
    CORE,
    FREE,
    IN_PLAIN_NORM,
    IN_WEIGHTED_NORM,
    LENGTHS,
    PLAIN,
    THRESHOLD,
    Attack,
    Chord,
    Dominance,
    Envelope,
    Feature,
    Level,
    Line,
    Matrix,
    Scaling,
    Sign,
    SmallClaim,
)


def drawn(rng, most=7):
    """Arguments of a random problem: ties, duplicates, rank one, columns of 1e-8 to 1e8, budgets of 0 and infinity."""
    d = int(rng.integers(1, most + 1))
    shape = str(rng.choice([*SHAPES, "wide"]))
    X = small_data(rng, "plain" if shape == "wide" else shape, d)
    if shape == "wide":
        X = X * 10.0 ** rng.uniform(-8, 8, d)
    if rng.random() < 0.2:
        X = X * 10.0 ** rng.uniform(-140, 130)
    if not X.any():
        X[0, 0] = 1.0
    n, d = X.shape
    lengths = np.sqrt((X / np.abs(X).max()) ** 2).sum(axis=0) * np.abs(X).max()
    kind = rng.integers(5)
    share = rng.choice([0.0, 0.1, 0.3, 0.6, 1.0, np.inf], d, p=[0.25, 0.2, 0.2, 0.15, 0.1, 0.1])
    rho = [
        None,
        np.full(d, rng.uniform(0, 0.8) * np.median(lengths)),
        np.full(d, rng.choice([0.0, 0.9, 1.0]) * lengths.max()),
        np.where(np.isinf(share), np.inf, np.where(np.isinf(share), 0.0, share) * rng.choice(lengths, d)),
        rng.uniform(0, 0.7) * lengths,
    ][kind]
    top = float((X * X).sum(axis=0).max() / n)
    costs = None
    if rng.random() < 0.35:
        costs = np.where(rng.random(d) < 0.4, 0.0, rng.uniform(0, 0.5, d) ** 2 * top)
    of_covariance = rng.random() < 0.3
    S = X.T @ X / n
    given = {"S": 0.5 * (S + S.T), "n": n} if of_covariance and np.isfinite(S).all() and S.any() else {"X": X}
    k = int(rng.integers(1, d + 1))
    order = rng.permutation(d)
    demanded = int(rng.integers(0, k + 1)) if rng.random() < 0.2 else 0
    forbidden = int(rng.integers(0, d - demanded + 1)) if rng.random() < 0.2 else 0
    chosen = {"include": order[:demanded].tolist(), "exclude": order[demanded : demanded + forbidden].tolist()}
    return {"k": k, "rho": rho, "costs": costs, **chosen, **given}


def problem_of(k, rho=None, costs=None, X=None, S=None, n=None, **chosen):
    """The problem for noap."""
    adversary = noap.NoAdversary() if rho is None else noap.FeatureWise(rho)
    if X is not None:
        return noap.Problem(X, k, adversary, costs=costs, **chosen)
    return noap.Problem.from_covariance(S, n_samples=n, k=k, adversary=adversary, costs=costs, **chosen)


def truth_of(problem):
    """The judge's view of what the problem really is: S may have been raised by noap, which says so."""
    rho = None if isinstance(problem.adversary, noap.NoAdversary) else problem.adversary.budgets(problem.n_features)
    data = {"X": problem.X} if problem.X is not None else {"S": problem.covariance, "n": problem.n_samples}
    return Truth(
        problem.k,
        rho=rho,
        costs=problem.costs,
        include=problem.include.tolist(),
        exclude=problem.exclude.tolist(),
        **data,
    )


def every_kind(small_claims=True):
    """A certificate, accepted by noap.verify, with every kind of witness, and its problem: built by hand.

    Its levels are by dominance and a matrix, by a small claim with chords, and a tree of all rules; it demands nothing.
    """
    rng = np.random.default_rng(0)
    X = rng.standard_normal((12, 4)) @ (np.eye(4) + 0.3)
    rho = np.array([0.4, 0.0, 0.3, 0.2])
    costs = np.array([0.05, 0.0, 0.1, 0.02])
    problem = noap.Problem(X, 3, noap.FeatureWise(rho), costs=costs, exclude=[3])
    return problem, certificate_of(problem, rng, small_claims)


def certificate_of(problem, rng, small_claims=True):
    """A proof with every rule and every form of line, far above the optimum; three features at least are allowed."""
    best = noap.solve(problem).certificate
    data, shift = data_of(problem)
    features = np.flatnonzero(data.allowed)
    b = len(features)
    x = np.zeros(len(data.A))
    x[best.support] = best.weights
    attack = Attack(features, x[features] + 0.01, 0.0)
    gain = replace(attack, gain=1e-3)
    top = float(np.linalg.eigvalsh(data.A)[-1]) * 1.0001 + 0.1
    zero, some = np.zeros(b, np.float32), np.full(b, 0.01, np.float32)
    pairs = b * (b - 1) // 2
    pulls = np.zeros((b, b), np.float32)
    pulls[0, 1], pulls[2, 0] = 0.01, -0.02

    def line(form=THRESHOLD, counts=IN_PLAIN_NORM, plain=0.0, weighted=0.0, loads=some, **kwargs):
        return Line(features, top, plain, weighted, counts, form, loads, loads, **kwargs)

    steps = rng.integers(-99, 99, pairs).astype(np.int16)
    free = rng.uniform(-1e-3, 1e-3, pairs).astype(np.float32)
    box = line(BOX, entries=steps)
    cored = line(CORE, entries=steps[:1], core=np.arange(b) < 2)
    weighted = line(counts=IN_WEIGHTED_NORM, plain=0.001, weighted=0.002)
    unsigned = line(FREE, loads=zero, entries=free, signs=np.zeros(b, np.int8))
    signed = line(FREE, entries=free, signs=np.array([1, -1, *[0] * (b - 2)], np.int8))
    drawn = line(BOX, entries=steps, dues=some, pulls=pulls)
    first, second, third = (int(j) for j in features[:3])
    rest = Line(
        features[1:], -0.01, 1e-4, 0.0, IN_PLAIN_NORM, BOX, zero[1:], zero[1:], np.zeros(pairs - b + 1, np.int16)
    )
    nodes = (
        Feature(first),
        Sign(first),
        Sign(second),
        Envelope((weighted, unsigned, drawn)),
        Envelope((signed, box, cored)),
        Feature(second),
        Sign(third),
        Dominance(attack, Scaling(features[2:], np.full(b - 2, 1.01, np.float32))),
        LENGTHS,
    )
    high = 2 * top + 1.0
    none = np.empty(0, np.intp)
    chords = (Feature(1), Dominance(PLAIN), Dominance(Chord(-0.01)))
    by_chords = SmallClaim(True, features[[1, 0, 2]], 3, chords)
    levels = (
        Level(1, high, high, features, (Feature(first), Dominance(PLAIN), Matrix(gain, rest))),
        *([Level(2, high, high, none, (), True, features[1:], (by_chords,))] if small_claims else []),
        Level(problem.k, high, high, features, nodes),
    )
    return replace(
        best, claim=replace(best.claim, bound=high * 4.0**data.exponent), proof=Proof(levels, data.exponent, shift)
    )


def listed(rng, most=5):
    """A random problem and the certificate of a list of it."""
    while True:
        try:
            given = drawn(rng, most)
            given.update(include=[], exclude=[], k=min(given["k"], 4))
            problem = problem_of(**given)
        except InvalidProblem:
            continue
        if problem.optimum_is_zero:
            continue
        near = noap.near_optimal(problem, float(rng.choice([1e-6, 0.02, 0.2, 0.6])))
        if near.certificate is not None:
            return problem, near.certificate


def untrue(truth, worth, T, supports, unit):
    """A set of features for which the list does not hold; None if it does. `worth` has all values."""
    free = not truth.costs.any()
    near = 1e-9 * float(np.abs(truth.A).max())
    kept = [(set(one.features.tolist()), one.beyond * unit) for one in supports]
    for S, value in worth.items():
        within = [tuple(sorted(set(S) & own)) for own, _ in kept if free or own <= set(S)]
        most = max([T, *(worth[part] for part in within if part), *(b for own, b in kept if own <= set(S))])
        if value > most + near:
            return S, value, most
    return None
