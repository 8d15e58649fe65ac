"""Near-copies among features: the groups, and the note that results, paths, pages and the command line carry."""

import json
import re

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array

import noap
from commands import run
from noap.errors import InvalidProblem
from noap.report import build_report

NAMES = [f"gene {letter}" for letter in "abcdefghij"]


def copies(n=80):
    """Ten features: three near-copies of one random vector, a pair of opposite sign, and five that are alone."""
    rng = np.random.default_rng(7)
    X = rng.standard_normal((n, 10))
    X[:, [1, 4, 8]] = X[:, [1]] + 0.02 * rng.standard_normal((n, 3))
    X[:, 6] = 1000 - 3 * X[:, 2] + 0.1 * rng.standard_normal(n)
    return X


X = copies()
GROUPS = ((1, 4, 8), (2, 6))


def judged(X, above):
    """Groups by the correlation of NumPy and a walk from feature to feature."""
    with np.errstate(invalid="ignore", divide="ignore"):
        pairs = np.abs(np.atleast_2d(np.corrcoef(X.T))) > above
    left, groups = set(range(X.shape[1])), []
    while left:
        group, edge = set(), {min(left)}
        while edge:
            group |= edge
            edge = {j for i in edge for j in np.flatnonzero(pairs[i]).tolist()} - group
        left -= group
        groups.append(tuple(sorted(group)))
    return tuple(group for group in groups if len(group) > 1)


def test_groups_of_an_array_a_frame_and_sparse_samples():
    assert noap.duplicates(X) == judged(X, 0.95) == GROUPS
    named = tuple(tuple(NAMES[j] for j in group) for group in GROUPS)
    assert noap.duplicates(pl.DataFrame(X, schema=NAMES)) == named
    assert noap.duplicates(pd.DataFrame(X, columns=NAMES)) == named
    assert noap.duplicates(csr_array(X)) == GROUPS
    assert noap.duplicates(X.astype(np.float32)) == GROUPS
    assert noap.duplicates(noap.standardize(X) * np.logspace(-100, 100, 10)) == GROUPS  # means and scales do not matter
    assert noap.duplicates(X, above=0.99999) == ()
    assert noap.duplicates(X[:, [0, 3]]) == noap.duplicates(X[:, :1]) == ()


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6), st.integers(2, 12), st.sampled_from([0.0, 0.3, 0.6, 0.9]))
def test_groups_are_those_of_the_definition(seed, d, above):
    drawn = np.random.default_rng(seed).standard_normal((6, d))
    assert noap.duplicates(drawn, above) == judged(drawn, above)


def test_a_chain_is_one_group_although_its_ends_differ():
    rng = np.random.default_rng(0)
    chain = np.cumsum(np.column_stack([2 * rng.standard_normal(400), 0.5 * rng.standard_normal((400, 5))]), axis=1)
    assert np.abs(np.corrcoef(chain.T))[0, 5] < 0.95
    assert noap.duplicates(chain) == (tuple(range(6)),)


def test_many_features_are_taken_in_blocks():
    wide = np.random.default_rng(1).standard_normal((50, 700))
    wide[:, 699] = wide[:, 3]
    wide[:, 300] = -wide[:, 699]
    wide[:, 256] = wide[:, 255]
    assert noap.duplicates(wide) == ((3, 300, 699), (255, 256))


def test_a_constant_column_is_nobodys_copy():
    flat = np.column_stack([X[:, 0], np.full(80, 0.1), np.full(80, 0.1), np.zeros(80)])
    assert noap.duplicates(flat, above=0.0) == ()


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"above": 1.0}, "above must be a number of at least 0 and below 1, got 1.0"),
        ({"above": True}, "above must be a number"),
        ({"above": "much"}, "above must be a number"),
        ({"X": np.full((3, 3), np.nan)}, "X contains NaN"),
        ({"X": [1.0, 2.0]}, "X must have two dimensions"),
    ],
)
def test_what_is_wrong_is_one_sentence(arguments, sentence):
    with pytest.raises(InvalidProblem, match=sentence):
        noap.duplicates(**({"X": X} | arguments))


def problem(k=6, noise=0.0, data=X):
    Z = noap.standardize(pl.DataFrame(data, schema=NAMES))
    return noap.Problem(Z, k, noise=noise)


def test_a_result_says_how_many_of_its_features_repeat_one_another():
    result = noap.solve(problem())
    repeated = sum(len(set(group) & set(result.support.tolist())) for group in judged(X[:, result.support], 0.95))
    named = sum(map(len, judged(X[:, result.support], 0.95)))
    assert repeated or named
    assert result.note.startswith(f"{named} of the 6 features have pairwise correlations above 0.95 in absolute value")
    assert result.note in str(result)
    assert "pairwise correlations above 0.95" in result._repr_html_()
    S = problem().covariance
    of_covariance = noap.Problem.from_covariance(S, n_samples=80, k=6, adversary=noap.NoAdversary())
    assert noap.solve(of_covariance).note == result.note


def test_nothing_to_say_is_nothing_said():
    assert noap.solve(problem(k=1)).note is None
    alone = noap.standardize(X[:, [0, 3, 5, 7, 9]])
    result = noap.solve(noap.Problem(alone, 3, noap.NoAdversary()))
    assert result.note is None
    assert "correlations" not in str(result)
    path = noap.path(alone, 3, rhos=[0.0, 1.0])
    assert path.note is None
    assert "correlations" not in build_report(alone, k=2, method="ascent", points=3, n_components=1).html()


def test_three_copies_of_one_random_vector_outlast_everything_and_the_path_says_so():
    path = noap.path(noap.standardize(X), 3, points=9)
    last = path.rhos[path.essential.any(axis=1)].max()
    assert set(np.flatnonzero(path.essential[path.rhos == last][0]).tolist()) <= {1, 4, 8}
    used = np.flatnonzero(path.selected.any(axis=0))
    count = sum(map(len, judged(X[:, used], 0.95)))
    assert path.note.startswith(f"{count} of the {len(used)} features have pairwise correlations above 0.95")
    assert "pairwise correlations" in path._repr_html_()


def test_the_page_says_it_below_its_answer():
    page = build_report(pl.DataFrame(X, schema=NAMES), k=4, method="ascent", points=5, n_components=1).html()
    said = re.search(
        r'<p class="remark">(\d+) of the (\d+) features have pairwise correlations above 0.95 .*\.</p>', page
    )
    assert int(said[1]) >= 3
    assert "noap.duplicates" not in said[0]
    assert "you can trust" not in page
    assert "measured redundantly enough to outlast errors of that size" in page


def test_the_command_line_says_it(tmp_path):
    pl.DataFrame(X, schema=NAMES).write_csv(tmp_path / "data.csv")
    for words in (("solve", "-k", 4), ("path", "-k", 3, "--noise", "0,0.2"), ("solve", "-k", 3, "-c", 2)):
        shown = run(words[0], tmp_path / "data.csv", *words[1:], "--method", "ascent")
        assert "features have pairwise correlations above 0.95" in " ".join(shown.split())
    told = run("solve", tmp_path / "data.csv", "-k", 4, "--method", "ascent", "--json")
    assert "pairwise correlations" in json.loads(told)["note"]
