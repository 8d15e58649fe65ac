"""`noap.solve_components` one after the other, and the same words in the estimator and on the command line."""

import json

import numpy as np
import pytest
from sklearn.datasets import load_wine

import noap
from commands import refusal, run
from noap.errors import InvalidProblem, NoapWarning

DEFLATIONS = ("disjoint", "projection", "orthogonal", "uncorrelated")


@pytest.fixture(scope="module")
def standardised():
    X = load_wine().data
    return (X - X.mean(0)) / X.std(0)


def problem_of(Z, k=3, noise=0.2):
    return noap.Problem(Z, k, noap.FeatureWise(noise * np.sqrt(len(Z))))


@pytest.mark.parametrize("deflation", DEFLATIONS)
def test_each_is_proved_given_those_before(standardised, deflation):
    found = noap.solve_components(problem_of(standardised), 3, k=[4, 3, 3], deflation=deflation, joint=False)
    assert found.bound is None
    assert found.gap == np.inf
    assert found.certificate is None
    assert found.deflation == deflation
    assert found.status is noap.Status.OPTIMAL
    assert "nothing is claimed of their sum" in found.claim
    assert [np.count_nonzero(one.v) for one in found.components] == [4, 3, 3]
    for one in found.components:
        assert one.gap <= 1.01e-4
        assert noap.verify(one.problem, one.certificate).ok
    assert not any("bound" in message for message in found.components[0].messages)
    for one in found.components[1:]:
        words = {"orthogonal": "orthogonal to", "uncorrelated": "uncorrelated with"}.get(deflation, deflation)
        assert any("ound" in message and words in message for message in one.messages)
    V = found.vectors
    scores = standardised @ V.T
    if deflation in ("disjoint", "orthogonal"):
        assert abs(V @ V.T - np.eye(3)).max() < 1e-12
    if deflation == "disjoint":
        assert (np.count_nonzero(V, axis=0) <= 1).all()
    if deflation == "uncorrelated":
        assert abs(np.corrcoef(scores.T) - np.eye(3)).max() < 1e-12


@pytest.mark.parametrize("deflation", DEFLATIONS[1:])
def test_the_estimator_finds_the_same(standardised, deflation):
    found = noap.solve_components(problem_of(standardised), 3, deflation=deflation)
    model = noap.RobustSparsePCA(n_components=3, k=3, noise=0.2, deflation=deflation).fit(standardised)
    assert model.components_ == pytest.approx(found.vectors, abs=1e-6)
    assert model.bound_ == pytest.approx([one.bound for one in found.components], rel=1e-6)
    assert [one.messages for one in model.results_[1:]] == [one.messages for one in found.components[1:]]


def test_disjoint_is_at_once_unless_told_otherwise(standardised):
    problem = problem_of(standardised)
    at_once = noap.solve_components(problem, 2)
    assert at_once.bound is not None
    assert at_once.certificate is not None
    after = noap.solve_components(problem, 2, joint=False)
    assert after.bound is None
    assert after.value <= at_once.bound
    with pytest.raises(InvalidProblem, match="takes one after the other; leave out one of them"):
        noap.solve_components(problem, 2, deflation="orthogonal", joint=True)
    with pytest.raises(InvalidProblem, match="deflation must be one of"):
        noap.solve_components(problem, 2, deflation="sideways")
    with pytest.raises(InvalidProblem, match="joint must be True, False or None"):
        noap.solve_components(problem, 2, joint="auto")
    assert noap.solve_components(problem, 2, k=4).ks == (4, 4)


def test_there_are_fewer_where_none_is_left(standardised):
    """With k = 2 no direction has scores uncorrelated with those of three components: proved with a bound of 0."""
    plain = noap.Problem(standardised, 2, noap.NoAdversary())
    found = noap.solve_components(plain, 4, deflation="uncorrelated")
    assert 1 < len(found.components) < 4
    with pytest.warns(NoapWarning, match="so there is no component"):
        assert noap.solve_components(problem_of(standardised, noise=1.5), 2, deflation="orthogonal").components == ()


def test_demands_and_a_spectral_budget(standardised):
    problem = noap.Problem(standardised, 3, noap.SpectralNorm(5.0), include=[0])
    found = noap.solve_components(problem, 2, deflation="orthogonal")
    assert all(noap.verify(one.problem, one.certificate).ok for one in found.components)
    assert abs(found.vectors[0] @ found.vectors[1]) < 1e-12
    with pytest.raises(InvalidProblem, match="neither include nor exclude"):
        noap.solve_components(problem, 2, deflation="projection")
    moved = noap.Problem(standardised, 3, noap.SampleWise(0.5))
    with pytest.raises(InvalidProblem, match="SampleWise"):
        noap.solve_components(moved, 2, deflation="orthogonal")


def test_a_k_for_each_component(standardised):
    model = noap.RobustSparsePCA(k=[5, 3, 2], noise=0.2, deflation="orthogonal").fit(standardised)
    assert model.k_.tolist() == [5, 3, 2]
    assert (np.count_nonzero(model.components_, axis=1) <= [5, 3, 2]).all()
    assert model.n_components_ == 3
    together = noap.RobustSparsePCA(k=[3, 5], noise=0.2, deflation="disjoint").fit(standardised)
    assert sorted(together.joint_result_.ks) == [3, 5]
    with pytest.raises(InvalidProblem, match="one entry for each of 2 components"):
        noap.RobustSparsePCA(n_components=3, k=[5, 3]).fit(standardised)
    with pytest.raises(InvalidProblem, match="got none"):
        noap.RobustSparsePCA(k=[]).fit(standardised)
    for refused, why in (
        ({"method": "ppm"}, "needs method='exact', 'relaxation' or 'ascent'"),
        ({"k_share": 0.9}, "leave out k_share"),
        ({"joint": True}, "chooses disjoint components"),
        ({"adversary": "sample"}, "SampleWise"),
    ):
        with pytest.raises(InvalidProblem, match=why):
            noap.RobustSparsePCA(n_components=2, k=3, deflation="uncorrelated", **refused).fit(standardised)


def test_on_the_command_line(tmp_path):
    X = load_wine(as_frame=True).data.iloc[:, :8]
    file = tmp_path / "wine.csv"
    X.to_csv(file, index=False)
    document = json.loads(run("solve", file, "-k", "4,3,3", "--noise", "0.2", "--deflation", "uncorrelated", "--json"))
    assert document["deflation"] == "uncorrelated"
    assert len(document["components"]) == len(document["span_variance_ratio"]) == 3
    shown = " ".join(run("solve", file, "-k", "3", "-c", "2", "--noise", "0.2", "--deflation", "orthogonal").split())
    for words in ("orthogonal to those before it", "explained by the span"):
        assert words in shown
    for wrong in ("4,x", "", "3.5"):
        assert "-k must be an integer" in refusal("solve", file, "-k", wrong)
    assert "-k has 2 entries" in refusal("solve", file, "-k", "3,2", "-c", "3")


def test_a_certificate_with_directions_is_verified_and_shown(tmp_path, standardised):
    data, proof = tmp_path / "data.csv", tmp_path / "proof.noap"
    names = ",".join(f"f{j}" for j in range(standardised.shape[1]))
    np.savetxt(data, standardised, delimiter=",", header=names, comments="", fmt="%.17g")
    second = noap.solve_components(problem_of(standardised), 2, deflation="orthogonal").components[1]
    second.certificate.save(proof)
    assert "orthogonal, to 1e-08, to 1 given direction" in run("verify", proof, data)
    assert "About v with |Vv| <= 1e-08, V the 1 directions" in run("show", proof)
