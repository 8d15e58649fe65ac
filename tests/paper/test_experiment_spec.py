"""What an experiment is: validated, frozen, and known by its hash."""

import dataclasses

import pytest
from experiment_cases import COUNT, SPEC

from noap.errors import InvalidProblem
from noap.experiments import Method, Spec, SpikedModel, paper_specs


def test_trials_are_the_product_and_have_keys_of_their_own():
    keys = [trial.key for trial in SPEC.trials()]
    assert len(keys) == len(set(keys)) == COUNT


@pytest.mark.parametrize(
    "change",
    [
        {"budgets": (0.0, 0.5, 1.5, 9.5)},
        {"samples": (41,)},
        {"seeds": (0, 1, 2, 3, 7)},
        {"model": SpikedModel(d=12, k=3, lam=3.5, k1=1, c=0.8)},
        {"adversary": "sample"},
        {"methods": (Method("MIP", "mip", {"reduced_dim": 6, "backend": "scip"}), *SPEC.methods[2:])},
        {"methods": (dataclasses.replace(SPEC.methods[0], time_limit=5.0), *SPEC.methods[1:])},
    ],
    ids=lambda change: next(iter(change)),
)
def test_whatever_changes_the_result_changes_the_hashes(change):
    other = dataclasses.replace(SPEC, **change)
    assert other.hash != SPEC.hash
    assert {trial.key for trial in other.trials()} != {trial.key for trial in SPEC.trials()}


def test_a_changed_limit_of_one_method_leaves_the_keys_of_the_others():
    quick, slow = (paper_specs(mip_seconds=seconds)["figures"] for seconds in (5.0, 30.0))
    assert quick.hash != slow.hash
    shared = {t.key for t in quick.trials()} & {t.key for t in slow.trials()}
    kept = {t.method.label for t in quick.trials() if t.key in shared}
    assert kept == {"exact", "exact-15", "PPM", "PPM, T + 1", "vanilla"}


def test_a_label_is_a_name_and_nothing_else():
    renamed = tuple(dataclasses.replace(method, label=method.label + "!") for method in SPEC.methods)
    other = dataclasses.replace(SPEC, methods=renamed)
    assert [t.key for t in other.trials()] == [t.key for t in SPEC.trials()]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"budgets": ()}, "budgets"),
        ({"budgets": (-1.0,)}, "budgets"),
        ({"budgets": (float("nan"),)}, "budgets"),
        ({"samples": (0,)}, "n in samples"),
        ({"seeds": (1, 1)}, "seeds"),
        ({"adversary": "nobody"}, "adversary"),
        ({"methods": (Method("a", "ppm"), Method("b", "ppm"))}, "methods"),
    ],
)
def test_bad_specs_are_refused_by_name(change, words):
    with pytest.raises(InvalidProblem, match=words):
        dataclasses.replace(SPEC, **change)


def test_bad_parts_are_refused_by_name():
    with pytest.raises(InvalidProblem, match="solver"):
        Method("x", "magic")
    with pytest.raises(InvalidProblem, match="time_limit"):
        Method("x", "exact", time_limit=0)
    with pytest.raises(InvalidProblem, match="k must"):
        SpikedModel(d=3, k=4, lam=1.0)
    with pytest.raises(InvalidProblem, match="trials"):
        paper_specs(trials=0)


def test_the_papers_setting():
    spec = paper_specs()["figures"]
    assert isinstance(spec, Spec)
    assert spec.model == SpikedModel(d=100, k=5, lam=3.0, k1=2, c=0.8)
    assert spec.samples == (100, 500)
    assert spec.budgets == tuple(i / 2 for i in range(10))
    assert len(spec.seeds) == 10
    printed = {m.label: m for m in spec.methods}["MIP-r"]
    assert printed.settings == {"as_printed": True, "backend": "scip", "pieces": 3, "rank": 3, "reduced_dim": 15}
    assert printed.time_limit == 10.0
