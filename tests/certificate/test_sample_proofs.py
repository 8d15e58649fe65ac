"""Sample-wise certificates: they verify, they are right, liars are caught; every primitive errs to the safe side."""

import dataclasses
import math
import tracemalloc
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from scipy.sparse import csr_array

import judge
import noap
from cases import SHAPES, budget, small_data
from noap.certificate import _kernels_cones as cone_kernels
from noap.certificate import _kernels_sample as kernels
from noap.certificate.certificate import Certificate, Claim
from noap.certificate.sample_proof import CLOSED, CONES, LENGTHS, SPLIT, SampleProof

pytestmark = pytest.mark.filterwarnings("ignore::noap.errors.NoapWarning")

NODES = ("kind", "attack", "feature")


def solved(problem, **options):
    result = noap.solve(problem, **options)
    return result, Certificate.from_bytes(result.certificate.to_bytes())


def noise(seed, n, d, k, rho):
    X = np.random.default_rng(seed).standard_normal((n, d))
    return noap.Problem(X, k=k, adversary=noap.SampleWise(rho))


# -- certificates of the search ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", SHAPES)
def test_certificates_verify_and_agree_with_brute_force(shape):
    for seed in range(12):
        rng = np.random.default_rng([seed, SHAPES.index(shape)])
        X = small_data(rng, shape, int(rng.integers(1, 8)))
        if not X.any():
            continue
        k = int(rng.integers(1, min(3, X.shape[1]) + 1))
        rho = budget(rng, noap.SampleWise(1.0).rho_max(X, k))
        problem = noap.Problem(X, k=k, adversary=noap.SampleWise(rho))
        gap = float(rng.choice([1e-2, 1e-4, 1e-6]))
        result, certificate = solved(problem, gap=gap)
        report = noap.verify(problem, certificate)
        assert report.ok, report.message
        optimum = judge.sample_wise_optimum(X, k, rho, points=1500)
        assert report.value <= optimum * (1 + 1e-9) + 1e-12 * problem.scale
        assert optimum <= report.bound * (1 + 1e-12)
        assert report.bound <= result.bound * (1 + 1.1e-9) + 1.1e-12 * problem.scale


def test_trees_with_splits_cones_and_several_attacks_verify():
    kinds = np.zeros(4, dtype=int)
    for seed, shape in ((0, (20, 10, 3, 1.5)), (10, (12, 8, 3, 1.0)), (5, (20, 8, 4, 1.5))):
        problem = noise(seed, *shape)
        _, certificate = solved(problem)
        report = noap.verify(problem, certificate)
        assert report.ok, report.message
        kinds += np.bincount(certificate.proof.kind, minlength=4)
    assert (kinds[[CLOSED, SPLIT, CONES]] > 0).all()


def test_units_types_and_sparse_data_do_not_matter():
    X = np.round(4 * np.random.default_rng(6).standard_normal((25, 7))) / 4
    for data, unit in (
        (X.astype(np.float32), 1.0), (csr_array(X), 1.0), (X * 2.0**480, 2.0**480), (X * 1e-150, 1e-150),
    ):  # fmt: skip
        problem = noap.Problem(data, k=3, adversary=noap.SampleWise(1.0 * unit))
        _, certificate = solved(problem)
        assert noap.verify(problem, certificate).ok


@pytest.mark.parametrize(("size", "rho"), [(1e-150, 1e200), (1e-100, 1e300), (0.0, 1e300)])
def test_a_budget_beyond_all_numbers_in_units_of_the_data(size, rho):
    problem = noap.Problem(np.full((2, 2), size), k=1, adversary=noap.SampleWise(rho))
    report = noap.verify(problem, trivially(problem, 0.0))
    assert report.ok
    assert report.value == 0.0 <= report.bound <= 1e-11 * size**2


def test_a_bound_among_the_smallest_numbers_is_rounded_up():
    # One sample of 1e5, an optimum of 1e-315 and a claim that is true by less than its last digit.
    rng, n = np.random.default_rng(0), 100_000
    accepted = 0
    for _ in range(60):
        x, b = 1e-150 * float(rng.uniform(1, 1.5)), 1e-315 * float(rng.uniform(1, 9))
        T = n * Fraction(b) * (1 + Fraction(1e-9)) + Fraction(1e-12) * Fraction(x) ** 2
        rho = x - 1e-155 * math.sqrt(float(T * 10**310)) * (1 - 10.0 ** -rng.uniform(9.2, 10.8))
        X = csr_array(([x], ([0], [0])), shape=(n, 1))
        problem = noap.Problem(X, k=1, adversary=noap.SampleWise(rho))
        report = noap.verify(problem, trivially(problem, b))
        accepted += report.ok
        assert not report.ok or Fraction(report.bound) >= (Fraction(x) - Fraction(rho)) ** 2 / n
    assert accepted > 10


def trivially(problem, bound):
    """A certificate of one node, with a vector that claims to be worth nothing."""
    return Certificate(Claim.about(problem, 0.0, bound), np.arange(1), np.ones(1), SampleProof.trivial())


def test_no_budget_and_more_budget_than_data():
    X = np.random.default_rng(1).standard_normal((10, 4))
    for rho in (0.0, 100.0, 1e-200, float(noap.SampleWise(1.0).rho_max(X, 2)) * (1 - 1e-12)):
        problem = noap.Problem(X, k=2, adversary=noap.SampleWise(rho))
        _, certificate = solved(problem)
        assert noap.verify(problem, certificate).ok
    # A sample-wise proof may also speak of rho = 0.
    problem = noap.Problem(X, k=2, adversary=noap.SampleWise(0.0))
    crude = float((np.sort(X**2, axis=1)[:, -2:]).sum()) / 10
    assert noap.verify(problem, with_proof(problem, crude, SampleProof.trivial())).ok
    assert not noap.verify(problem, with_proof(problem, crude * 0.999, SampleProof.trivial())).ok


def with_proof(problem, bound, proof):
    result = noap.solve(problem, method="ascent")
    result = dataclasses.replace(result, bound=bound, bound_proof="rigorous", proof=proof)
    return result.certificate


@pytest.fixture(scope="module")
def hard():
    """A problem whose root does not close."""
    X = noap.theory.spiked_wishart(100, 40, 4, 3.0, k1=2, c=0.8, random_state=7).X
    return noap.Problem(X, k=4, adversary=noap.SampleWise(2.0))


def test_whatever_stops_the_search_the_bound_is_proved(hard):
    seen = []
    for limits in (*({"node_limit": nodes} for nodes in (1, 2, 3, 5, 9)), {"memory_limit": 1e-6}, {"time_limit": 1e-6}):
        result, certificate = solved(hard, **limits)
        report = noap.verify(hard, certificate)
        assert report.ok, (limits, report.message)
        seen.append(result.limit)
    assert None not in seen


@pytest.mark.parametrize("method", ["play", "certify", "branch", "settle", "close", "push", "narrow", "hold", "ascend"])
def test_an_interrupt_anywhere_leaves_a_proved_bound(hard, monkeypatch, method):
    from noap.exact.sample_wise import search as module

    original = getattr(module._Search, method)
    for count in (1, 2, 5):
        calls = iter(range(10**6))

        def stop(self, *args, calls=calls, count=count, **kwargs):
            if next(calls) == count - 1:
                raise KeyboardInterrupt
            return original(self, *args, **kwargs)

        monkeypatch.setattr(module._Search, method, stop)
        _, certificate = solved(hard, node_limit=12)
        report = noap.verify(hard, certificate)
        assert report.ok, (count, report.message)


def test_recording_can_be_declined_and_changes_nothing(hard):
    with_record, _ = solved(hard)
    without = noap.solve(hard, certificate=False)
    assert without.certificate is None
    assert (without.v == with_record.v).all()
    assert (without.bound, without.nodes) == (with_record.bound, with_record.nodes)


def test_what_is_recorded_is_what_was_tested():
    from noap.exact.sample_wise.attack import Attack

    Y = np.random.default_rng(8).standard_normal((6, 5))
    attack = Attack.at_root(Y, 2, 0.7, np.eye(5)[0])
    before = attack.E.copy()
    attack.coarsen()
    assert (attack.E.astype(np.float32) == attack.E).all()
    assert (np.abs(attack.E) <= np.abs(before)).all()
    np.testing.assert_allclose(attack.E, before, rtol=2.0**-23)
    # A gap that single precision cannot serve is served in double precision.
    for gap, kind in ((1e-3, np.float32), (1e-8, np.float64)):
        assert noap.solve(noise(1, 20, 8, 2, 0.5), gap=gap).proof.values.dtype == kind


def test_a_record_that_grows_too_large_is_given_up(hard, monkeypatch):
    from noap.exact.sample_wise import search as module

    monkeypatch.setattr(module, "MOST_BYTES", 1000)
    assert noap.solve(hard).certificate is None


def test_leaves_without_an_attack_are_written_as_such():
    # One node is not enough, and no bound was proved below the root: the children inherit the lengths of the samples.
    problem = noise(0, 20, 10, 3, 1.5)
    _, certificate = solved(problem, node_limit=1)
    assert noap.verify(problem, certificate).ok
    assert (certificate.proof.kind != SPLIT).any()


# -- liars ------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def honest():
    """Problem, certificate and optimum; the tree has splits, cones and several attacks."""
    problem = noise(10, 12, 8, 3, 1.0)
    _, certificate = solved(problem)
    assert noap.verify(problem, certificate).ok
    assert set(certificate.proof.kind) == {CLOSED, SPLIT, CONES}
    assert certificate.claim.bound > 0
    return problem, certificate, judge.sample_wise_optimum(problem.X, 3, 1.0)


def edited(certificate, **arrays):
    proof = dataclasses.replace(certificate.proof, **arrays)
    return dataclasses.replace(certificate, proof=proof)


def claiming(certificate, **fields):
    return dataclasses.replace(certificate, claim=dataclasses.replace(certificate.claim, **fields))


def put(array, at, value):
    array = array.copy()
    array[at] = value
    return array


def dropped(proof, at):
    return {name: np.delete(getattr(proof, name), at) for name in NODES}


def lower_claim(certificate, factor):
    return claiming(
        certificate, bound=certificate.bound * factor, value=min(certificate.value, certificate.bound * factor)
    )


LIES = {
    "a leaf dropped": lambda c: edited(c, **dropped(c.proof, len(c.proof) - 1)),
    "an inner leaf dropped": lambda c: edited(c, **dropped(c.proof, np.flatnonzero(c.proof.kind == CLOSED)[3])),
    "a node twice": lambda c: edited(
        c, **{n: np.append(getattr(c.proof, n), getattr(c.proof, n)[-1]) for n in NODES}
    ),
    "a subtree closed": lambda c: edited(c, **{n: getattr(c.proof, n)[:1] for n in ("attack", "feature")},
                                         kind=np.zeros(1, dtype=np.uint8)),
    "the root by cones": lambda c: edited(c, **{n: getattr(c.proof, n)[:1] for n in ("attack", "feature")},
                                          kind=np.full(1, CONES, dtype=np.uint8)),
    "the root by lengths": lambda c: edited(c, **{n: getattr(c.proof, n)[:1] for n in ("attack", "feature")},
                                            kind=np.full(1, LENGTHS, dtype=np.uint8)),
    "cones closed by the attack in force": lambda c: edited(
        c, kind=np.where(c.proof.kind == CONES, CLOSED, c.proof.kind).astype(np.uint8)
    ),
    "attacks forgotten": lambda c: edited(c, attack=np.zeros_like(c.proof.attack)),
    "attacks of zeros": lambda c: edited(c, values=np.zeros_like(c.proof.values)),
    "attacks turned round": lambda c: edited(c, values=-c.proof.values),
    "attacks swapped": lambda c: edited(c, attack=np.where(c.proof.attack > 0, 1, 0).astype(np.uint32)),
    "entries shuffled": lambda c: edited(c, values=np.random.default_rng(0).permutation(c.proof.values)),
    "samples shifted": lambda c: edited(c, rows=((c.proof.rows + 1) % c.claim.n_samples).astype(np.uint32)),
    "features shifted": lambda c: edited(c, columns=((c.proof.columns + 1) % 8).astype(np.uint32)),
    "split on a feature twice": lambda c: edited(c, feature=np.full_like(c.proof.feature, c.proof.feature[0])),
    "an unknown kind": lambda c: edited(c, kind=put(c.proof.kind, 0, 9)),
    "a feature beyond the data": lambda c: edited(c, feature=put(c.proof.feature, 0, 8)),
    "an attack beyond the table": lambda c: edited(c, attack=put(c.proof.attack, 0, 2**31)),
    "a sample beyond the data": lambda c: edited(c, rows=put(c.proof.rows, 0, 12)),
    "a column beyond the data": lambda c: edited(c, columns=put(c.proof.columns, 0, 8)),
    "rows that run backwards": lambda c: edited(c, row_starts=put(c.proof.row_starts, 1, 2**32 - 1)),
    "more attacks than nodes": lambda c: edited(
        c, **{n: np.append(getattr(c.proof, n), [getattr(c.proof, n)[-1]] * len(c.proof)).astype(np.uint32)
              for n in ("row_starts", "column_starts")}
    ),
    "an attack with more rows than samples": lambda c: edited(
        c, row_starts=np.append(c.proof.row_starts, c.proof.row_starts[-1] + 13).astype(np.uint32),
        rows=np.append(c.proof.rows, [0] * 13).astype(np.uint32),
        column_starts=np.append(c.proof.column_starts, c.proof.column_starts[-1]).astype(np.uint32),
    ),
    "an attack larger than all entries": lambda c: edited(
        c, row_starts=np.array([0, 12], dtype=np.uint32), rows=np.arange(12, dtype=np.uint32),
        column_starts=np.array([0, 8], dtype=np.uint32), columns=np.arange(8, dtype=np.uint32),
        values=c.proof.values[:95], attack=np.minimum(c.proof.attack, 1),
    ),
    "no starts": lambda c: edited(c, row_starts=c.proof.row_starts[:0], column_starts=c.proof.column_starts[:0]),
    "an entry missing": lambda c: edited(c, values=c.proof.values[:-1]),
    "NaN": lambda c: edited(c, values=put(c.proof.values, 3, np.nan)),
    "infinity": lambda c: edited(c, values=put(c.proof.values, 3, np.inf)),
    "no nodes": lambda c: edited(c, **{n: getattr(c.proof, n)[:0] for n in NODES}),
    "lengths differ": lambda c: edited(c, attack=c.proof.attack[:-1]),
    "two dimensions": lambda c: edited(c, values=c.proof.values[None, :]),
    "entries of another type": lambda c: edited(c, values=c.proof.values.astype(np.complex128)),
    "a bound below the value": lambda c: lower_claim(c, 0.99),
    "a bound lower by the gap and a hair": lambda c: claiming(c, bound=c.value * (1 - 1e-6)),
    "a value too good": lambda c: claiming(c, value=c.value * (1 + 1e-6)),
    "another rho": lambda c: claiming(c, rho=1.01),
    "another k": lambda c: claiming(c, k=2),
    "another n": lambda c: claiming(c, n_samples=11),
    "another adversary": lambda c: claiming(c, adversary="FeatureWise"),
    "other data": lambda c: claiming(c, sha256="0" * 64),
    "a bound beyond all numbers": lambda c: claiming(c, bound=1e308),
}  # fmt: skip


@pytest.mark.parametrize("lie", LIES)
def test_lies_are_rejected_with_a_reason(honest, lie):
    problem, certificate, _ = honest
    report = noap.verify(problem, LIES[lie](certificate))
    assert not report.ok
    assert report.bound == math.inf
    assert report.message.startswith("Rejected: ")
    assert report.message.endswith(".")
    assert len(report.message) > 25


@pytest.mark.parametrize(
    "lie",
    [
        "no starts",
        "an entry missing",
        "NaN",
        "infinity",
        "rows that run backwards",
        "an unknown kind",
        "two dimensions",
    ],
)
def test_malformed_arrays_are_not_even_read(honest, lie):
    with pytest.raises(noap.errors.InvalidProblem, match=r"^The certificate cannot be read: "):
        Certificate.from_bytes(LIES[lie](honest[1]).to_bytes())


def test_an_attack_outside_its_ball_is_scaled_not_trusted(honest):
    problem, certificate, optimum = honest
    # E = -X would cancel everything, if the adversary could afford it.
    rows, columns = np.arange(12, dtype=np.uint32), np.arange(8, dtype=np.uint32)
    starts = np.array([0, 12], dtype=np.uint32), np.array([0, 8], dtype=np.uint32)
    one = np.ones(1, dtype=np.uint32)
    for size in (1.0, 1e3, 1e150, 1e300):
        values = (-problem.X * size).ravel()
        proof = SampleProof(
            np.zeros(1, dtype=np.uint8), one, 0 * one, starts[0], rows, starts[1], columns, values
        )  # fmt: skip
        for bound in (0.0, 0.5 * optimum, 0.999999 * optimum):
            lie = dataclasses.replace(claiming(certificate, value=0.0, bound=bound), proof=proof)
            assert not noap.verify(problem, lie).ok
    # Scaled down it is the shrinking attack, which proves something weaker.
    shrunk = with_proof(problem, 4 * optimum, dataclasses.replace(proof, values=(-problem.X * 1e3).ravel()))
    assert noap.verify(problem, shrunk).ok


def test_scaling_attacks_up_proves_nothing_more(honest):
    problem, certificate, optimum = honest
    for factor in (2.0, 1e6):
        lie = edited(certificate, values=certificate.proof.values * np.float32(factor))
        report = noap.verify(problem, lie)
        assert not report.ok or report.bound >= optimum


def test_a_proof_of_the_other_kind_is_rejected(honest):
    problem, certificate, _ = honest
    other = noap.Problem(problem.X, k=3, adversary=noap.FeatureWise(1.0))
    theirs = noap.solve(other).certificate
    assert not noap.verify(problem, dataclasses.replace(certificate, proof=theirs.proof)).ok
    report = noap.verify(other, dataclasses.replace(theirs, proof=certificate.proof))
    assert not report.ok
    assert "says nothing about this adversary" in report.message


def test_no_bound_below_the_optimum_passes(honest):
    problem, certificate, optimum = honest
    for share in (0.0, 0.5, 0.99, 0.9999, 1 - 1e-6):
        lie = claiming(certificate, bound=share * optimum, value=0.0)
        assert not noap.verify(problem, lie).ok


def mutated(rng, certificate):
    """Change a few numbers of the proof and maybe lower the claim."""
    proof = certificate.proof
    arrays = {}
    for _ in range(int(rng.integers(1, 4))):
        name = str(rng.choice(["kind", "attack", "feature", "values", "rows", "columns", "row_starts"]))
        array = arrays.get(name, getattr(proof, name)).copy()
        at = int(rng.integers(len(array)))
        if name == "values":
            array[at] = rng.choice([0.0, -array[at], 10 * array[at], array[at] + rng.standard_normal(), 1e30])
        elif name == "kind":
            array[at] = rng.integers(4)
        else:
            array[at] = rng.integers(int(array.max()) + 1)
        arrays[name] = array
    if rng.random() < 0.3:
        at = int(rng.integers(len(proof)))
        many = {n: arrays.get(n, getattr(proof, n)) for n in NODES}
        arrays |= {n: np.delete(a, at) if rng.random() < 0.5 else np.insert(a, at, a[at]) for n, a in many.items()}
    share = rng.choice([1.0, 1.0, 1 - 1e-7, 1 - 1e-5, 0.9])
    return claiming(edited(certificate, **arrays), bound=certificate.bound * share, value=0.0)


def test_no_mutant_proves_a_bound_below_the_optimum(honest):
    problem, certificate, optimum = honest
    rng = np.random.default_rng(0)
    accepted = 0
    for _ in range(400):
        report = noap.verify(problem, mutated(rng, certificate))
        if report.ok:
            accepted += 1
            assert report.bound >= optimum
        else:
            assert report.message.startswith("Rejected: ")
    assert 0 < accepted < 400


def test_a_long_table_of_attacks_takes_no_more_memory_than_the_file(honest):
    _, certificate, _ = honest
    count = 300_000
    many = dataclasses.replace(
        certificate.proof, **{n: np.zeros(count, dtype=np.uint8 if n == "kind" else np.uint32) for n in NODES},
        **{n: put(np.full(count + 1, 300, dtype=np.uint32), 0, 0) for n in ("row_starts", "column_starts")},
        rows=np.zeros(300, dtype=np.uint32), columns=np.zeros(300, dtype=np.uint32), values=np.zeros(90_000),
    )  # fmt: skip
    data = claiming(dataclasses.replace(certificate, proof=many), n_samples=300, n_features=300).to_bytes()
    tracemalloc.start()
    assert Certificate.from_bytes(data).nodes == count
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    # 17 bytes per node and attack in the arrays.
    assert peak < 5 * 17 * count


def test_a_deep_tree_does_not_exhaust_anything(honest):
    problem, certificate, _ = honest
    count = 20_001
    kind = np.full(count, SPLIT, dtype=np.uint8)
    proof = dataclasses.replace(
        certificate.proof, kind=kind, attack=np.ones(count, dtype=np.uint32), feature=np.zeros(count, dtype=np.uint32)
    )
    assert not noap.verify(problem, dataclasses.replace(certificate, proof=proof)).ok


# -- primitives against exact arithmetic ------------------------------------------------------------------------------


def exact_ball_square(e, n_inc, p):
    squares = [Fraction(float(x)) ** 2 for x in e]
    return sum(squares[:n_inc]) + sum(sorted(squares[n_inc:], reverse=True)[:p])


def test_confined_rows_lie_in_the_ball_exactly():
    rng = np.random.default_rng(2)
    for trial in range(300):
        m = int(rng.integers(1, 9))
        n_inc = int(rng.integers(0, m + 1))
        p = int(rng.integers(0, m - n_inc + 1))
        columns = m if p else n_inc
        Y = rng.standard_normal((4, columns)) * 10.0 ** rng.integers(-3, 1)
        E = rng.standard_normal(Y.shape) * 10.0 ** rng.choice([-200, -3, 0, 3, 200])
        r = float(rng.choice([0.0, 1e-200, 1e-9, 0.3, 1.0]))
        if trial % 3 == 0 and columns:
            # On the sphere, to the last digit.
            E = rng.standard_normal(Y.shape)
            E *= (r / np.sqrt([float(exact_ball_square(e, n_inc, p)) or 1.0 for e in E]))[:, None]
        kernels.confine(Y, E, n_inc, p, r)
        for e in E:
            assert exact_ball_square(e, n_inc, p) <= Fraction(r) ** 2


def test_lengths_are_rounded_up():
    rng = np.random.default_rng(3)
    for _ in range(200):
        m = int(rng.integers(1, 9))
        n_inc = int(rng.integers(0, m + 1))
        p = int(rng.integers(0, m - n_inc + 1))
        Y = rng.standard_normal((3, m)) * 10.0 ** rng.integers(-160, 1)
        for y, length in zip(Y, kernels.lengths_up(Y, n_inc, p), strict=True):
            square = exact_ball_square(y, n_inc, p)
            assert square <= Fraction(length) ** 2
            assert float(length) <= math.sqrt(square) * (1 + 1e-14) + 1e-140


def positive_definite(A):
    """Exact elimination of a matrix of Fractions."""
    A = [row[:] for row in A]
    for j in range(len(A)):
        if A[j][j] <= 0:
            return False
        for f in range(j + 1, len(A)):
            x = A[f][j] / A[j][j]
            for e in range(j, len(A)):
                A[f][e] -= x * A[j][e]
    return True


def exactly_below(M, inc, free, p, T):
    """Whether TI - M_SS is positive definite for every support of the node; largest supports suffice."""
    for Q in combinations(free, min(p, len(free))):
        S = [*inc, *Q]
        A = [[Fraction(T) * (a == b) - Fraction(float(M[a, b])) for b in S] for a in S]
        if not positive_definite(A):
            return False
    return True


def test_closed_nodes_are_closed_exactly():
    rng = np.random.default_rng(4)
    closed = opened = 0
    for trial in range(250):
        m = int(rng.integers(1, 8))
        kind = trial % 4
        B = rng.standard_normal((int(rng.integers(1, 9)), m))
        if kind == 1:
            B = np.sign(B)
        if kind == 2:
            B = B[:, rng.integers(0, m, m)]
        M = B.T @ B
        if kind == 3:  # a Hilbert matrix
            M = 1.0 / (1.0 + np.add.outer(np.arange(m), np.arange(m)))
        M = np.triu(M) + np.triu(M, 1).T
        n_inc = int(rng.integers(0, m + 1))
        order = rng.permutation(m)
        inc, free = order[:n_inc], order[n_inc:]
        p = int(rng.integers(0, len(free) + 1))
        if n_inc + p == 0:
            continue
        supports = [[*inc, *Q] for Q in combinations(free, p)]
        top = max(np.linalg.eigvalsh(M[np.ix_(S, S)])[-1] for S in supports)
        for nudge in (-1e-3, -1e-12, -1e-15, 0.0, 1e-15, 3e-15, 1e-14, 1e-12):
            T = float(top * (1 + nudge))
            says = kernels.closes(M, 0.0, inc, free, p, T, 10**7) >= 0
            if says:
                assert exactly_below(M, inc, free, p, T)
                closed += 1
            else:
                opened += 1
        assert kernels.closes(M, 0.0, inc, free, p, float(top * (1 + 1e-11)), 10**7) >= 0
        # An error of the entries must be paid for.
        assert kernels.closes(M, float(top), inc, free, p, float(top), 10**7) < 0
    assert closed > 100
    assert opened > 100


@pytest.mark.parametrize(("n_inc", "p"), [(0, 60), (40, 20), (40, 2)])
def test_eliminations_are_charged(n_inc, p):
    M, every = 0.1 * np.eye(60), np.arange(60)
    left = kernels.closes(M, 0.0, every[:n_inc], every[n_inc:], p, 1.0, 10**6)
    updates = 60**3 // 6 if n_inc + p == 60 else n_inc * 60**2 // 2
    assert 10**6 - 20**2 <= left + updates // 20 <= 10**6
    assert kernels.closes(M, 0.0, every[:n_inc], every[n_inc:], p, 1.0, updates // 20 - 1) < 0


def test_the_enumeration_stops_when_its_work_is_used_up():
    rng = np.random.default_rng(0)
    # Noise that no scaling can make dominant: supports have to be looked at one by one.
    M = np.triu(rng.standard_normal((14, 14)), 1)
    M = M + M.T + 5.0 * np.eye(14)
    every = np.arange(14)
    none = every[:0]
    top = max(np.linalg.eigvalsh(M[np.ix_(S, S)])[-1] for S in combinations(range(14), 5))
    left = kernels.closes(M, 0.0, none, every, 5, top * (1 + 1e-9), 10**9)
    assert left >= 0
    needed = 10**9 - left
    assert needed > 1000
    assert kernels.closes(M, 0.0, none, every, 5, top * (1 + 1e-9), needed) == 0
    assert kernels.closes(M, 0.0, none, every, 5, top * (1 + 1e-9), needed - 1) < 0
    assert kernels.closes(M, 0.0, none, every, 5, top * (1 - 1e-9), 10**9) < 0


def rational_direction(rng, k):
    """A unit vector with rational entries: the stereographic projection of a rational point."""
    t = [Fraction(int(x), 1 << 20) for x in (rng.standard_normal(k - 1) * (1 << 20))]
    square = sum(x * x for x in t)
    return [2 * x / (1 + square) for x in t] + [(square - 1) / (1 + square)]


def exact_worth(Y, r, v):
    total = Fraction(0)
    for y in Y:
        s = abs(sum(Fraction(float(a)) * b for a, b in zip(y, v, strict=True))) - Fraction(r)
        total += max(s, 0) ** 2
    return total


@pytest.mark.parametrize("k", [1, 2, 3, 4])
def test_cones_hold_only_above_every_direction(k):
    rng = np.random.default_rng(k)
    for trial in range(6):
        Y = rng.standard_normal((int(rng.integers(1, 8)), k))
        if trial % 3 == 0:
            Y = np.sign(Y)
        r = float(rng.uniform(0, 0.8) * np.linalg.norm(Y, axis=1).max())
        directions = [rational_direction(rng, k) if k > 1 else [Fraction(1)] for _ in range(60)]
        # Local maxima, to within rounding, are the directions that count.
        starts = np.array([[float(x) for x in v] for v in directions])
        for _ in range(200):
            moved = np.sign(starts @ Y.T) * np.maximum(np.abs(starts @ Y.T) - r, 0.0) @ Y
            length = np.linalg.norm(moved, axis=1, keepdims=True)
            starts = np.where(length > 0, moved / np.where(length > 0, length, 1.0), starts)
        best = max((np.maximum(np.abs(starts @ Y.T) - r, 0.0) ** 2).sum(axis=1))
        worths = [float(exact_worth(Y, r, v)) for v in directions]
        assert max(worths) <= best * (1 + 1e-9) + 1e-15
        for share in (0.9, 1 - 1e-9):
            assert cone_kernels.cones_hold(Y, r, best * share, 200_000, 200) < 0
        assert cone_kernels.cones_hold(Y, r, best * 1.01 + 1e-9, 200_000, 200) > 0


def test_cuts_are_exact_or_refused():
    rng = np.random.default_rng(5)
    q = np.empty(4)
    exact = 0
    for _ in range(500):
        bits = int(rng.integers(10, 56))
        a, b = (np.ldexp(np.abs(rng.integers(0, 2 ** min(bits, 53), 4)).astype(float), -bits) for _ in range(2))
        a, b = (x / max(1.0, 2.0 ** math.ceil(math.log2(np.linalg.norm(x) + 1e-9))) for x in (a, b))
        if cone_kernels.cut(a, b, q):
            exact += 1
            whole = [Fraction(float(x)) + Fraction(float(y)) for x, y in zip(a, b, strict=True)]
            mine = [Fraction(float(x)) for x in q]
            assert mine in (whole, [x / 2 for x in whole])
            assert sum(x * x for x in mine) < 4
    assert 0 < exact < 500


def test_reaches_are_rounded_up():
    rng = np.random.default_rng(6)
    for k in (2, 3, 5):
        W, c, tau = np.empty((k, k + 1)), np.empty(k), np.empty(k)
        for _ in range(50):
            P = np.abs(rng.standard_normal((k, k)))
            P[1] = P[0] + 10.0 ** rng.integers(-15, 1) * P[1]  # nearly, or not at all, on one line
            if not cone_kernels.reaches(P, W, c, tau):
                continue
            square = sum(Fraction(float(x)) ** 2 for x in c)
            for p, t in zip(P, tau, strict=True):
                along = sum(Fraction(float(x)) * Fraction(float(y)) for x, y in zip(c, p, strict=True))
                assert along > 0
                assert square <= (Fraction(float(t)) * along) ** 2
