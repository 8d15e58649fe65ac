"""What a path over k is used for: the choice of k, the table, the picture, the command line."""

import itertools
import json
import re
import subprocess
import sys

import numpy as np
import polars as pl
import pytest
from k_path_cases import data, standardised_wine

import noap
from noap.errors import InvalidProblem, NoapWarning
from noap.report import build_report


@pytest.fixture(scope="module")
def wine():
    return standardised_wine()


@pytest.fixture(scope="module")
def wine_path(wine):
    return noap.k_path(noap.Problem(wine, k=6, adversary=noap.FeatureWise(0.3 * np.sqrt(len(wine)))))


def by_hand(values, bounds=None):
    """A path with these values: of feature k alone, on a diagonal covariance."""
    problem = noap.Problem.from_covariance(np.diag(values), n_samples=1, k=len(values), adversary=noap.NoAdversary())
    unit = np.eye(len(values))
    return noap.KPath(
        tuple(
            noap.Result(problem.with_sparsity(i + 1), "by hand", unit[i], bound=bound, bound_proof="rigorous")
            for i, bound in enumerate(bounds or values)
        )
    )


def test_the_chosen_k_is_proved_to_keep_its_share():
    path = by_hand([4.0, 7.0, 9.0, 10.0])
    assert path.shares == pytest.approx([0.4, 0.7, 0.9, 1.0])
    assert [path.choose(share) for share in (0.1, 0.399, 0.41, 0.899, 0.91, 1.0)] == [1, 1, 2, 3, 4, 4]
    # An open last level: 9 is no longer known to be 90 % of it.
    opened = by_hand([4.0, 7.0, 9.0, 10.0], [4.0, 7.0, 9.0, 11.0])
    assert opened.choose(0.8) == 3
    assert opened.choose(0.9) == 4
    with pytest.warns(NoapWarning, match="that level has a gap of 10 %"):
        assert opened.choose(0.95) == 4
    for share in (0.0, 1.1, "much", None, np.nan, True):
        with pytest.raises(InvalidProblem, match="share must be a number above 0"):
            path.choose(share)


def test_the_elbow_is_where_the_curve_stands_highest_above_its_chord():
    assert by_hand([4.0, 8.0, 9.0, 10.0]).elbow() == 2
    assert by_hand([1.0, 2.0, 3.0, 4.0]).elbow() == 4  # every feature pays the same
    assert by_hand([1.0, 2.0, 4.0, 8.0]).elbow() == 4  # each pays more than the last
    assert by_hand([3.0, 5.0, 7.0, 8.0]).elbow() == 1  # three are as high; the fewest
    assert by_hand([5.0]).elbow() == by_hand([5.0]).choose() == 1


def test_a_curve_that_hardly_bends_has_no_elbow():
    steps = [0.640, 0.638, 0.627, 0.605, 0.614]
    straight = by_hand(np.cumsum(steps).tolist())
    assert straight.elbow() == 5
    assert not [label for label in straight.plot().axes[0].get_legend_handles_labels()[1] if "elbow" in label]
    # The rule is 5 % of the last value above the line from 0: at k = 2 of 4 that is 0.55 of it.
    assert by_hand([0.26, 0.549, 0.77, 1.0]).elbow() == 4
    assert by_hand([0.26, 0.551, 0.77, 1.0]).elbow() == 2


def test_a_path_is_a_sequence_of_results(wine, wine_path):
    assert len(wine_path) == 6
    assert wine_path[0] is wine_path.results[0]
    assert wine_path[-1].problem.k == 6
    assert wine_path[1:3] == wine_path.results[1:3]
    assert [result.value for result in wine_path] == wine_path.values.tolist()
    levels = "k from 1 to 6, 6 levels, 6 of them optimal, value from 0.49 to 1.49"
    assert repr(wine_path).startswith(f"KPath(FeatureWise, noise 0.3 (rho = 4.0025), k = 6 of 13; {levels}")
    assert wine_path.increments.sum() == pytest.approx(wine_path.values[-1])
    assert wine_path.certificates[2].claim.k == 3
    with pytest.raises(InvalidProblem, match="k must be one of those of the path, 1 to 6, got 7"):
        wine_path.at(7)
    with pytest.raises(ValueError, match="read-only"):
        wine_path.values[0] = 1.0


def test_names_are_kept_and_the_table_holds_the_path(wine, wine_path):
    assert wine_path.feature_names == tuple(wine.columns)
    table = wine_path.to_frame(loadings=True)
    assert table["k"].to_list() == [1, 2, 3, 4, 5, 6]
    assert table["features"].to_list()[2] == [wine.columns[j] for j in wine_path.supports[2]]
    assert table["value"].to_numpy() == pytest.approx(wine_path.values)
    assert table["increment"].to_numpy() == pytest.approx(wine_path.increments)
    assert table["share"].to_numpy() == pytest.approx(wine_path.shares)
    assert table["status"].to_list() == ["optimal"] * 6
    assert table["loading hue"].to_numpy() == pytest.approx(wine_path.vectors[:, list(wine.columns).index("hue")])
    unnamed = noap.k_path(noap.Problem(wine.to_numpy(), k=2, adversary=noap.NoAdversary()))
    assert unnamed.to_frame()["features"].to_list()[0][0].isdigit()
    # On standardised data every feature alone is worth the same: the first one is named, and the tie is told.
    assert wine_path.supports[0].tolist() == [0]
    assert "Feature alcohol ties with malic_acid, ash" in " ".join(wine_path[0].messages)
    assert wine_path.tied[0].tolist() == [0]
    assert all(tied.size == 0 for tied in wine_path.tied[1:])


def test_plot_draws_values_bars_and_the_choice(wine_path, tmp_path):
    figure = wine_path.plot()
    variance, steps = figure.axes
    assert variance.lines[0].get_ydata() == pytest.approx(wine_path.values)
    assert [bar.get_height() for bar in steps.patches] == pytest.approx(wine_path.increments)
    assert f"k = {wine_path.elbow()}: elbow" in variance.get_legend_handles_labels()[1]
    chosen = wine_path.plot(share=0.9).axes[0].get_legend_handles_labels()[1]
    assert any(label.startswith(f"k = {wine_path.choose(0.9)}: proved to keep 9") for label in chosen)
    figure.savefig(tmp_path / "k-path.png")
    open_ended = by_hand([4.0, 7.0, 9.0], [4.0, 8.0, 12.0]).plot(share=0.9)  # no warning: the label says 75 %
    assert "k = 3: proved to keep 75 %" in open_ended.axes[0].get_legend_handles_labels()[1]
    open_ended.savefig(tmp_path / "open.svg")


def command(*arguments):
    line = [sys.executable, "-c", "from noap.cli import main; main()", "k-path", *map(str, arguments)]
    return subprocess.run(line, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("width", [80, 120])
def test_the_table_fits_a_terminal(wine, tmp_path, monkeypatch, width):
    monkeypatch.setenv("COLUMNS", str(width))
    wine.to_csv(tmp_path / "wine.csv", index=False)
    shown = command(tmp_path / "wine.csv", "-k", 6, "--noise", 0.3).stdout
    table = shown.split("is proved to keep")[0].splitlines()[:-1]
    assert max(map(len, table)) <= width
    starts = [number for number, line in enumerate(table) if re.match(r"\W*\d+\W+\d\.\d", line)]
    assert len(starts) == 6
    assert max(b - a for a, b in itertools.pairwise(starts)) <= 3  # lines of one row
    for column in ("robust", "gap", "adds", "keeps", "features that come and go"):
        assert column in "\n".join(table)


def test_the_command_line(wine, tmp_path):
    wine.to_csv(tmp_path / "wine.csv", index=False)
    (tmp_path / "proofs").mkdir()
    out, plot = tmp_path / "k.csv", tmp_path / "k.png"
    places = ("--out", out, "--plot", plot, "--certificates", tmp_path / "proofs")
    shown = command(tmp_path / "wine.csv", "-k", 4, "--noise", 0.3, *places)
    assert shown.returncode == 0, shown.stderr
    assert "k = 1 to 4 of 13 features" in shown.stdout
    assert "4 of 4 levels proved optimal" in shown.stdout
    assert "is proved to keep" in shown.stdout
    table = pl.read_csv(out)
    assert table["k"].to_list() == [1, 2, 3, 4]
    assert table["features"][1].split("; ") == ["total_phenols", "flavanoids"]
    assert plot.read_bytes()[:4] == b"\x89PNG"
    problem = noap.Problem(wine, k=3, adversary=noap.FeatureWise(0.3 * np.sqrt(len(wine))))
    assert noap.Certificate.load(tmp_path / "proofs" / "k3.noap").claim.k == problem.k
    again = command(tmp_path / "wine.csv", "-k", 4, "--certificates", tmp_path / "proofs")
    assert again.returncode == 2
    assert "k1.noap exists" in again.stderr
    spoken = command(tmp_path / "wine.csv", "--ks", "3,1", "--adversary", "none", "--share", 0.5, "--json")
    document = json.loads(spoken.stdout)
    assert [level["k"] for level in document["levels"]] == [1, 3]
    assert document["chosen_k"] == 3
    assert document["levels"][0]["status"] == "optimal"
    assert document["levels"][1]["increment"] > 0


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("-k", 2, "--ks", "1,2"), "-k and --ks both say which k to solve"),
        (("--ks", "1,two"), "--ks must be whole numbers"),
        (("--ks", "0,2"), "--ks must be whole numbers from 1"),
        (("-k", 9), "k must be at most the number of features, 3"),
        (("--share", 0), "--share must be a number above 0"),
        (("--certificates", "nowhere"), "--certificates nowhere must be a folder that exists"),
        (("--out", "k.txt"), "must end in .csv, .parquet or .json"),
    ],
)
def test_bad_usage_is_one_line_and_code_2(arguments, sentence, tmp_path):
    np.save(tmp_path / "x.npy", data(0, n=8, d=3))
    shown = command(tmp_path / "x.npy", *arguments)
    assert shown.returncode == 2
    assert sentence in shown.stderr
    assert len(shown.stderr.strip().splitlines()) == 1


def test_a_limit_that_stopped_it_is_code_3(tmp_path):
    np.save(tmp_path / "x.npy", data(8, d=20))
    shown = command(tmp_path / "x.npy", "-k", 5, "--noise", 0.2, "--time-limit", "1e-9", "--json")
    assert shown.returncode == 3
    assert {level["limit"] for level in json.loads(shown.stdout)["levels"]} >= {"time"}


def test_the_end_of_the_curve_is_no_choice_and_no_bend():
    """The share that the largest k keeps of itself says nothing, nor does a bend at the last point."""
    cut = noap.KPath(by_hand([1.0, 2.0, 3.0, 4.0, 4.0]).results[:4])
    for panel in cut.plot().axes:
        assert not [line for line in panel.lines if line.get_label().startswith("k = ")]


def test_the_report_says_so_too():
    factor = np.random.default_rng(5).standard_normal((50, 1))  # every copy of it adds as much as the one before
    alike = build_report(np.repeat(factor, 5, axis=1), k=3, noise=0.2, n_components=1, points=3).html()
    assert "No fewer than 3 are proved to keep 90 % of the best that 3 could keep." in alike
    assert "Whether more than that pay is shown with a larger k." in alike
    two = np.repeat(np.random.default_rng(6).standard_normal((60, 2)), [2, 2], axis=1) * [1.0, 1.0, 0.01, 0.01]
    bent = build_report(two, k=4, noise=0.0, n_components=1, points=3, scale=False).html()
    assert "2 are proved to keep 99.9 % of the best that 4 could keep. The curve bends most at 2." in bent


def test_the_table_says_nothing_of_the_last_k(tmp_path):
    factor = np.random.default_rng(5).standard_normal((50, 1))  # every copy of it pays as much as the one before
    pl.DataFrame(np.repeat(factor, 5, axis=1), schema=list("abcde")).write_csv(tmp_path / "copies.csv")
    shown = command(tmp_path / "copies.csv", "-k", 3, "--noise", 0.2).stdout
    assert "No smaller k is proved to keep 90 % of the best that k = 3 can keep." in shown
    assert "a larger -k" in shown
    assert "elbow" not in shown


def test_a_step_that_rounding_makes_is_nothing(tmp_path):
    np.save(tmp_path / "x.npy", data(0, n=8, d=3))
    zero = command(tmp_path / "x.npy", "-k", 3, "--noise", 2).stdout
    assert "Nothing survives the adversary: the optimum is 0 for every k up to 3." in zero
    assert "+x" not in zero
    np.save(tmp_path / "copies.npy", np.repeat(data(0, n=8, d=1), 3, axis=1) * [1.0, 0.0, 0.0])
    flat = command(tmp_path / "copies.npy", "-k", 3, "--noise", 0, "--json")
    assert [level["increment"] for level in json.loads(flat.stdout)["levels"]][1:] == pytest.approx([0, 0], abs=1e-12)
    shown = command(tmp_path / "copies.npy", "-k", 3, "--noise", 0).stdout.splitlines()
    steps = [line.split() for line in shown if re.match(r"\s+[23]\s", line)]
    assert [words[4] for words in steps] == ["0", "0"]
