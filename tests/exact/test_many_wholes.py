"""Components of some dozens of features: closed as a whole where that is easy, feature by feature where it is not."""

import numpy as np
import pytest

import noap
import older
from many_only import force_many
from noap.exact.many import level


@pytest.fixture(scope="module")
def problem():
    rng = np.random.default_rng(1)
    X = rng.standard_normal((80, 120))
    for first in (0, 40):
        X[:, first : first + 40] += np.outer(rng.standard_normal(80), rng.uniform(1.5, 3, 40))
    return noap.Problem(noap.standardize(X), k=4, adversary=noap.FeatureWise(0.1 * 80**0.5))


def solved(problem, monkeypatch):
    """The result, and how many places each level had."""
    force_many(monkeypatch)
    places, begin = [], level.Level.begin

    def counted(self, *given):
        begun = begin(self, *given)
        places.append(self.places)
        return begun

    monkeypatch.setattr(level.Level, "begin", counted)
    return older.solve(problem), places


def test_components_close_as_a_whole(problem, monkeypatch):
    result, places = solved(problem, monkeypatch)
    assert result.status is noap.Status.OPTIMAL
    assert max(places) <= 4
    assert noap.verify(problem, result.certificate).ok


def test_hard_ones_feature_by_feature(problem, monkeypatch):
    whole, _ = solved(problem, monkeypatch)
    monkeypatch.setattr(level.Level, "_closed_at_once", lambda self, place, trees: False)
    result, places = solved(problem, monkeypatch)
    assert max(places) > 20
    assert result.value == pytest.approx(whole.value, rel=1e-12)
    assert noap.verify(problem, result.certificate).ok
