"""Certificates of lists of supports that were tampered with: rejected, or what is accepted is still true."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from tampering import NODES, claiming, closed_at, edited, nodes, put, sentence, tree, without_subtree

import noap
from judge import exact_worth
from noap.errors import InvalidProblem
from noap.proofs.feature_wise import AGAIN, CLOSED
from support_lists import judge_theorem, values_of_all

ARRAYS = ["values", "starts", "places", "weights"]
IN_PROOF = [*NODES, "levels", "each"]


class Honest:
    """A problem, the list of what is near its optimum with its certificate, and what every support is worth."""

    def __init__(self, within=0.3, budget=0.25, costs=None, covariance=False, d=6, k=3, seed=3):
        rng = np.random.default_rng(seed)
        X = rng.standard_normal((14, 1)) * rng.uniform(0.4, 0.8, d) + 0.7 * rng.standard_normal((14, d))
        X -= X.mean(axis=0)
        adversary = noap.NoAdversary() if budget is None else noap.FeatureWise(budget * np.sqrt(14))
        if covariance:
            S = X.T @ X / 14
            self.problem = noap.Problem.from_covariance(S, n_samples=14, k=k, adversary=adversary, costs=costs)
        else:
            self.problem = noap.Problem(X, k=k, adversary=adversary, costs=costs)
        self.near = noap.near_optimal(self.problem, within)
        self.certificate = self.near.certificate
        self.values = values_of_all(self.problem)
        assert len(self.near) > 2
        assert self.judge(self.certificate).ok

    def judge(self, certificate):
        """A report on any certificate: right, or a rejection with a reason in one sentence."""
        report = noap.verify(self.problem, certificate)
        if report.ok:
            listed = supports(certificate)
            judge_theorem(self.problem, self.values, listed, report.threshold)
            best = max(value for value, _ in self.values.values())
            assert report.bound >= best * (1 - 1e-7)
            assert report.value <= best * (1 + 1e-7)
            sentence(report.message, "Accepted: ")
        else:
            sentence(report.message, "Rejected: ")
            assert report.bound == report.threshold == np.inf
        return report

    def rejected(self, certificate, why=""):
        report = self.judge(certificate)
        assert not report.ok
        assert why in report.message


def supports(certificate):
    return [frozenset(part.tolist()) for part in np.split(certificate.places, certificate.starts[1:-1])]


def related(one, other):
    return one.issubset(other) or one.issuperset(other)


def listing(certificate, kept):
    """The same with other supports: those of these numbers, in this order."""
    parts = [np.arange(certificate.starts[i], certificate.starts[i + 1]) for i in kept]
    order = np.concatenate(parts).astype(np.int64) if parts else np.empty(0, dtype=np.int64)
    values = certificate.values[kept]
    changed = replace(
        certificate,
        values=values,
        starts=np.cumsum([0, *map(len, parts)]).astype(np.uint32),
        places=certificate.places[order],
        weights=certificate.weights[order],
    )
    return claiming(changed, value=float(values.max(initial=0.0)))


@pytest.fixture(scope="module", params=["a budget", "none", "costs", "a covariance"])
def honest(request):
    costs = np.linspace(0.01, 0.05, 6)
    return {
        "a budget": lambda: Honest(),
        "none": lambda: Honest(budget=None),
        "costs": lambda: Honest(costs=costs),
        "a covariance": lambda: Honest(covariance=True),
    }[request.param]()


def test_a_listed_support_dropped(honest):
    certificate = honest.certificate
    listed = supports(certificate)
    for i, one in enumerate(listed):
        shorter = listing(certificate, np.delete(np.arange(len(listed)), i))
        if honest.problem.costs is None and any(one < other for other in listed):
            honest.judge(shorter)
        else:
            honest.rejected(shorter)
    honest.rejected(listing(certificate, np.arange(0)))
    honest.rejected(replace(certificate, values=certificate.values[1:]), "malformed")


def test_the_threshold_lowered(honest):
    """As far down as it is accepted it is true, in exact arithmetic; an ulp below that it is rejected."""
    certificate = honest.certificate
    low, high = 0.0, certificate.threshold
    assert not honest.judge(replace(certificate, threshold=low)).ok
    while np.nextafter(low, high) < high:
        middle = 0.5 * (low + high)
        accepted = noap.verify(honest.problem, replace(certificate, threshold=middle)).ok
        low, high = (low, middle) if accepted else (middle, high)
    last = noap.verify(honest.problem, replace(certificate, threshold=high))
    assert last.ok
    honest.rejected(replace(certificate, threshold=low))
    # Supports that share nothing with the list but parts of it: none is worth more than what is proved.
    others = noap.near_optimal(honest.problem, 1 - 0.5 * last.threshold / honest.near.values[0])
    assert others.complete
    listed = supports(certificate)
    outside = [v for v in others.vectors if not any(related(one, set(np.flatnonzero(v))) for one in listed)]
    assert len(outside) > 0
    for v in outside:
        assert Fraction(last.threshold) >= exact_worth(honest.problem, v)
    # And the certificate's own, by as little as an ulp, is what it was made for.
    honest.judge(replace(certificate, threshold=float(np.nextafter(certificate.threshold, 0))))


def test_a_node_missing_doubled_or_moved(honest):
    certificate = honest.certificate
    n = len(certificate.proof)
    for at in range(n):
        # A node that is looked at again, once more or once less, is the same tree.
        again = certificate.proof.kind[at] == AGAIN
        for order in (np.delete(np.arange(n), at), np.insert(np.arange(n), at, at)):
            changed = nodes(certificate, order)
            assert honest.judge(changed).ok <= again
        if at:
            honest.rejected(without_subtree(certificate, at))
        order = np.arange(n)
        order[[at, n - 1]] = order[[n - 1, at]]
        honest.judge(nodes(certificate, order))


def test_subtrees_taken_as_closed(honest):
    certificate = honest.certificate
    inner = np.flatnonzero(certificate.proof.kind != CLOSED)
    honest.rejected(closed_at(certificate, 0))
    for at in inner[inner > 0]:
        honest.judge(closed_at(certificate, at))
    honest.rejected(replace(certificate, proof=tree([CLOSED], [0])), "leaf 0 stays open")


def test_a_value_changed(honest):
    certificate = honest.certificate
    for i in range(len(certificate)):
        for factor in (1 + 1e-7, 1 - 1e-7, 2.0, 0.5):
            changed = put(certificate.values, i, factor * certificate.values[i])
            honest.rejected(
                claiming(replace(certificate, values=changed), value=float(changed.max())), "not the claimed"
            )
    honest.rejected(claiming(certificate, value=certificate.value * (1 + 1e-7)), "best on its list")
    honest.rejected(claiming(certificate, value=certificate.value * (1 - 1e-7)), "best on its list")


def test_a_bound_that_is_not_proved(honest):
    certificate = honest.certificate
    honest.rejected(claiming(certificate, bound=certificate.value * (1 - 1e-6)))
    honest.rejected(claiming(certificate, bound=0.0), "above its bound")
    honest.judge(claiming(certificate, bound=certificate.value))
    assert honest.judge(claiming(certificate, bound=certificate.bound * 1.5)).ok
    honest.rejected(claiming(certificate, bound=1e300), "beyond all")


def test_other_supports_on_the_list(honest):
    certificate, d = honest.certificate, honest.problem.n_features
    # Two of the same; one with a feature more, less or other; one that is not worth the threshold.
    honest.rejected(listing(certificate, np.array([*range(len(certificate)), 0])), "twice")
    for at in range(len(certificate.places)):
        moved = (certificate.places[at] + 1) % d
        honest.rejected(replace(certificate, places=put(certificate.places, at, moved)))
    honest.rejected(replace(certificate, weights=put(certificate.weights, 0, 0.0)), "entries of 0")
    weak = noap.near_optimal(honest.problem, 0.7)
    below = next(v for v in weak.vectors[::-1] if honest.problem.value(v) < 0.99 * certificate.threshold)
    places = np.flatnonzero(below)
    more = replace(
        certificate,
        values=np.append(certificate.values, honest.problem.value(below)),
        starts=np.append(certificate.starts, certificate.starts[-1] + len(places)).astype(np.uint32),
        places=np.append(certificate.places, places).astype(np.uint32),
        weights=np.append(certificate.weights, below[places]),
    )
    honest.rejected(more, "less than the threshold")


def test_more_features_than_k(honest):
    certificate = honest.certificate
    long = replace(certificate, starts=np.delete(certificate.starts, 1), values=certificate.values[1:])
    honest.rejected(long, "more than k = 3")


def test_levels_beyond_everything(honest):
    """A level says what a node asks for; what it gets is the checker's own."""
    certificate = honest.certificate
    honest.judge(edited(certificate, levels=np.full_like(certificate.proof.levels, 1e308)))
    dropped = listing(certificate, np.arange(1, len(certificate)))
    honest.rejected(edited(dropped, levels=np.full_like(certificate.proof.levels, 1e308)))


def test_another_problem(honest):
    certificate, problem = honest.certificate, honest.problem
    for other, words in (
        (problem.with_sparsity(2), "k = 3"),
        (problem.with_adversary(noap.FeatureWise(0.3)), "the certificate is about"),
        (problem.with_costs(np.full(6, 0.02)), "about other costs"),
        (Honest(seed=4).problem, "the certificate is about"),
    ):
        report = noap.verify(other, certificate)
        assert not report.ok
        assert words in report.message
    # The list of other data, under the name of these.
    other = Honest(seed=5).certificate
    stolen = replace(other, claim=replace(certificate.claim, value=other.value, bound=other.bound))
    honest.rejected(stolen)


@pytest.mark.parametrize("name", [*ARRAYS, *IN_PROOF])
def test_what_is_accepted_is_true(honest, name):
    rng = np.random.default_rng([*ARRAYS, *IN_PROOF].index(name))
    certificate = honest.certificate
    holder = certificate if name in ARRAYS else certificate.proof
    array = getattr(holder, name)
    for _ in range(25):
        if len(array) == 0:
            return
        changed = array.copy()
        for place in rng.integers(0, len(array), int(rng.integers(1, 3))):
            if array.dtype == np.float64:
                factor = rng.choice([0.0, 0.5, 1 - 1e-7, 1 + 1e-7, 2.0, -1.0, np.inf])
                changed[place] = changed[place] * factor if np.isfinite(factor) else rng.choice([np.nan, np.inf])
            else:
                changed[place] = rng.choice([0, 1, 2, 3, 5, 6, 7, np.iinfo(array.dtype).max])
        change = replace if name in ARRAYS else edited
        honest.judge(change(certificate, **{name: changed}))


def test_files(honest, tmp_path):
    certificate = honest.certificate
    certificate.save(tmp_path / "list.noap")
    read = noap.ListCertificate.load(tmp_path / "list.noap")
    assert honest.judge(read).ok
    assert read.to_bytes() == certificate.to_bytes()
    with pytest.raises(InvalidProblem, match=r"read it with noap\.ListCertificate"):
        noap.Certificate.load(tmp_path / "list.noap")
    with pytest.raises(InvalidProblem, match="read it with noap"):
        noap.JointCertificate.load(tmp_path / "list.noap")
    noap.solve(honest.problem).certificate.save(tmp_path / "single.noap")
    with pytest.raises(InvalidProblem, match="not one of a list of supports"):
        noap.ListCertificate.load(tmp_path / "single.noap")
    with pytest.raises(InvalidProblem, match="memory_limit"):
        noap.ListCertificate.load(tmp_path / "list.noap", memory_limit=0.0001)


def test_damaged_files_are_refused(honest):
    data = honest.certificate.to_bytes()
    rng = np.random.default_rng(0)
    for _ in range(40):
        damaged = bytearray(data)
        damaged[int(rng.integers(len(data)))] ^= 1 << int(rng.integers(8))
        with pytest.raises(InvalidProblem, match="cannot be read"):
            noap.ListCertificate.from_bytes(bytes(damaged))
    for threshold in (np.nan, -1.0, np.inf):
        with pytest.raises(InvalidProblem, match="threshold"):
            noap.ListCertificate.from_bytes(replace(honest.certificate, threshold=threshold).to_bytes())
        honest.rejected(replace(honest.certificate, threshold=threshold), "threshold")


def test_limits_of_the_check(honest):
    report = noap.verify(honest.problem, honest.certificate, time_limit=1e-9)
    assert not report.ok
    assert "within 1e-09 seconds" in report.message
    report = noap.verify(honest.problem, honest.certificate, memory_limit=1e-4)
    assert not report.ok
    assert "memory_limit" in report.message


def test_nothing_to_list():
    problem = noap.Problem(np.eye(3), k=2, adversary=noap.FeatureWise(2.0))
    with pytest.warns(noap.errors.NoapWarning, match="no support is worth anything"):
        near = noap.near_optimal(problem)
    report = noap.verify(problem, near.certificate)
    assert report.ok, report.message
    assert (report.supports, report.value) == (0, 0.0)
    assert report.threshold == pytest.approx(0.0, abs=1e-11)
