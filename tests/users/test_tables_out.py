"""What results print, and their tables: as polars, as pandas, flat, and as CSV files that come back."""

import json
import re

import numpy as np
import pandas as pd
import polars as pl
import pytest

import noap
from noap.errors import InvalidProblem

NAMES = ["a, b", "c", "d", "e", "f", "g"]
RNG = np.random.default_rng(5)
X = pl.DataFrame(noap.standardize(RNG.standard_normal((60, 6)) @ RNG.random((6, 6))), schema=NAMES)
PROBLEM = noap.Problem(X, 3, noise=0.2)
TABLES = {
    "result": lambda: noap.solve(PROBLEM),
    "path": lambda: noap.path(X, 3, noises=[0.0, 0.3, 0.6]),
    "k-path": lambda: noap.k_path(PROBLEM),
    "near-optimal": lambda: noap.near_optimal(PROBLEM, within=0.3),
    "stability": lambda: noap.stability(PROBLEM, n_boot=4),
    "joint": lambda: noap.solve_components(PROBLEM, 2),
}


@pytest.fixture(scope="module", params=TABLES)
def found(request):
    return TABLES[request.param]()


def test_a_table_is_the_same_in_every_form(found, tmp_path):
    lists, flat = found.to_frame(), found.to_frame(flat=True)
    assert (lists.columns, lists.height) == (flat.columns, flat.height)
    assert not any(isinstance(kind, pl.List) for kind in flat.schema.values())
    for name, kind in lists.schema.items():
        if isinstance(kind, pl.List):
            assert flat[name].to_list() == ["; ".join(row) for row in lists[name].to_list()]
    pandas = found.to_frame(flat=True, library="pandas")
    assert isinstance(pandas, pd.DataFrame)
    assert list(pandas.columns) == flat.columns
    for name in flat.columns:
        assert pandas[name].isna().tolist() == flat[name].is_null().to_list()
        assert pandas[name].dropna().tolist() == flat[name].drop_nulls().to_list()
    found.write_csv(tmp_path / "table.csv")
    read = pl.read_csv(tmp_path / "table.csv")
    assert (read.columns, read.height) == (flat.columns, flat.height)
    with pytest.raises(InvalidProblem, match="library must be one of"):
        found.to_frame(library="arrow")


def test_what_is_printed_says_adversary_noise_and_k(found):
    said = repr(found) if not isinstance(found, noap.JointResult) else str(found)
    assert "FeatureWise" in said
    assert re.search(r"noise (from )?0", said)
    assert re.search(r"k\b", said)


def test_the_features_of_a_path_as_a_file(tmp_path):
    path = noap.path(X, 3, noises=[0.0, 0.3, 0.6])
    flat = path.features_frame(flat=True)
    spans = path.features_frame()["selected_noise"].to_list()
    assert flat["selected_noise"].to_list() == [
        "; ".join(f"{a:.4g}" if a == b else f"{a:.4g} to {b:.4g}" for a, b in row) for row in spans
    ]
    path.write_csv(tmp_path / "loadings.csv", loadings=True)
    assert "loading a, b" in pl.read_csv(tmp_path / "loadings.csv").columns


def test_a_result_says_one_thing_in_words_and_in_json():
    result = noap.solve(PROBLEM)
    document = json.loads(json.dumps(result.to_dict(), allow_nan=False))
    assert document["noise"] == pytest.approx(0.2)
    assert (document["k"], document["adversary"], document["status"]) == (3, "FeatureWise", "optimal")
    assert document["features"] == [NAMES[j] for j in result.support]
    assert document["robust_variance"] == document["objective"] == result.value
    said = result.summary()
    assert said == str(result)
    for words in (
        "FeatureWise, noise 0.2 (rho = 1.54919), k = 3 of 6",
        result.claim,
        "exact, proved optimal to within",
    ):
        assert words in said
    proved = float(re.search(r"to within ([\d.e-]+) %", result.claim)[1]) / 100
    assert result.gap <= proved <= max(1.11 * result.gap, 1e-300)
    frame = result.to_frame()
    assert set(frame["feature"]) == set(document["features"])
    assert frame["loading"].abs().is_sorted(descending=True)


def test_what_features_have_of_their_own_stands_beside_them():
    own = noap.solve(noap.Problem(X, 3, noise=dict.fromkeys(NAMES, 0.1) | {"c": float("inf")}, costs=[0.1] * 6))
    assert own.to_frame().columns == ["feature", "loading", "noise", "cost"]
    document = json.loads(json.dumps(own.to_dict(), allow_nan=False))
    assert document["noise"]["c"] == "inf"
    assert document["costs"]["e"] == 0.1


def test_a_heuristic_proves_nothing_and_says_so():
    result = noap.solve(PROBLEM, "ascent")
    assert result.to_dict()["bound"] is None
    assert "nothing is proved" in result.claim
    assert "FeatureWise, noise 0.2" in str(result)
