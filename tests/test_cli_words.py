"""What the command line says in words: ties, nothing left, names with commas, numbers of things."""

import json

import numpy as np
import polars as pl
import pytest

import noap as library
from test_cli_files import noap

RNG = np.random.default_rng(4)
FACTOR = RNG.standard_normal((60, 1))
X = FACTOR + 0.5 * RNG.standard_normal((60, 5))
# Two copies of one column, and a name that holds a comma.
COPIES = np.column_stack([X, X[:, 2]])
NAMES = ["a", "b", "length, cm", "d", "e", "copy"]


@pytest.fixture
def folder(tmp_path):
    pl.DataFrame(COPIES, schema=NAMES).write_csv(tmp_path / "data.csv")
    return tmp_path


def test_solve_reports_ties_by_name(folder):
    shown = noap("solve", "data.csv", "-k", 1, cwd=folder)
    assert shown.returncode == 0, shown.stderr
    assert "Feature a ties with b; length, cm; d; e; copy; the first of them was kept." in shown.stdout
    document = json.loads(noap("solve", "data.csv", "-k", 1, "--json", cwd=folder).stdout)
    assert document["features"] == ["a"]
    assert any("ties with" in message for message in document["messages"])


@pytest.mark.parametrize("stream", [(), ("--stream",)])
def test_several_components_report_ties_by_name(folder, stream):
    shown = noap("solve", "data.csv", "-k", 1, "-c", 2, *stream, cwd=folder)
    assert shown.returncode == 0, shown.stderr
    assert "component 1: Feature a ties with b; length, cm; d; e; copy; the first of them was kept." in shown.stdout
    document = json.loads(noap("solve", "data.csv", "-k", 1, "-c", 2, "--json", *stream, cwd=folder).stdout)
    assert "Feature a ties with b" in document["components"][0]["messages"][0]


def test_a_certificate_of_a_tie_still_proves(folder):
    noap("solve", "data.csv", "-k", 2, "--noise", 0.2, "--certificate", "c.noap", cwd=folder)
    assert noap("verify", "c.noap", "data.csv", cwd=folder).returncode == 0


def test_nothing_left_is_said_in_the_units_that_were_typed(folder):
    shown = noap("solve", "data.csv", "-k", 2, "--noise", 1.5, cwd=folder)
    assert shown.returncode == 0
    assert "noise 1.5 (rho = 11.619)" in shown.stderr
    assert "less noise" in shown.stderr
    assert "Nothing survives: at noise 1.5" in shown.stdout
    assert not [name for name in NAMES if f" {name} " in shown.stdout and len(name) > 1]
    assert "loading" not in shown.stdout
    document = json.loads(noap("solve", "data.csv", "-k", 2, "--noise", 1.5, "--json", cwd=folder).stdout)
    assert (document["features"], document["support"], document["loadings"]) == ([], [], [])
    assert (document["robust_variance"], document["bound"], document["noise"]) == (0, 0, pytest.approx(1.5))


def test_a_component_that_is_worth_nothing_has_no_loadings(folder):
    shown = noap("solve", "data.csv", "-k", 2, "-c", 2, "--noise", 1.5, cwd=folder)
    assert shown.returncode == 0, shown.stderr
    assert "2 components, 0 of 6 features" in shown.stdout
    document = json.loads(noap("solve", "data.csv", "-k", 2, "-c", 2, "--noise", 1.5, "--json", cwd=folder).stdout)
    assert [one["features"] for one in document["components"]] == [[], []]


def test_what_holds_no_component_cannot_be_attacked(folder):
    noap("solve", "data.csv", "-k", 2, "--noise", 1.5, "--out", "r.json", cwd=folder)
    done = noap("attack", "data.csv", "r.json", cwd=folder)
    assert done.returncode == 2
    assert "nothing survived the adversary" in done.stderr


def test_the_library_names_both_units():
    problem = library.Problem(library.standardise(COPIES), k=2, adversary=library.FeatureWise.with_noise(1.5, 60))
    for ask in (library.solve, library.k_path, library.near_optimal):
        with pytest.warns(library.errors.NoapWarning, match=r"^At noise 1\.5 \(rho = 11\.619\) .* use less noise\.$"):
            ask(problem)


def test_near_optimal_advises_what_can_be_done():
    problem = library.Problem(library.standardise(COPIES), k=2, adversary=library.SampleWise(0.1))
    with pytest.raises(library.errors.InvalidProblem, match=r"noap\.stability") as caught:
        library.near_optimal(problem)
    assert "method" not in str(caught.value)


def attacked(folder, name, out, *options):
    done = noap("solve", name, "-k", 2, "--noise", 0.2, "--out", "r.json", "--force", *options, cwd=folder)
    assert done.returncode == 0, done.stderr
    done = noap("attack", name, "r.json", "--out", out, "--force", "--json", *options, cwd=folder)
    assert done.returncode == 0, done.stderr
    again = noap("solve", out, "-k", 2, "--adversary", "none", "--method", "spca", "--json", *options, cwd=folder)
    assert again.returncode == 0, again.stderr
    return (folder / name).read_text().splitlines(), (folder / out).read_text().splitlines()


def test_an_attacked_file_keeps_labels_and_layout(tmp_path):
    frame = pl.DataFrame(X, schema=list("abcde")).insert_column(0, pl.Series("id", [f"p{i}" for i in range(60)]))
    frame.insert_column(3, pl.Series("species", ["setosa"] * 60)).write_csv(
        tmp_path / "german.csv", separator=";", decimal_comma=True
    )
    before, after = attacked(tmp_path, "german.csv", "attacked.csv", "--index", "id", "--drop", "species")
    assert after[0] == before[0] == "id;a;b;species;c;d;e"
    for old, new in zip(before[1:], after[1:], strict=True):
        old, new = old.split(";"), new.split(";")
        assert (new[0], new[3], len(new)) == (old[0], old[3], len(old))
        assert all("," in cell and "." not in cell for cell in (new[1], new[2], *new[4:]))
    assert after != before


def test_an_attacked_file_keeps_a_column_without_a_name(tmp_path):
    pl.DataFrame(X, schema=list("abcde")).with_row_index("").write_csv(tmp_path / "pandas.csv")
    before, after = attacked(tmp_path, "pandas.csv", "attacked.csv")
    assert after[0] == before[0]
    assert after[0].replace('""', "") == ",a,b,c,d,e"
    assert [row.split(",")[0] for row in after] == [row.split(",")[0] for row in before]


def test_an_attacked_file_without_names_has_none(tmp_path):
    pl.DataFrame(X).write_csv(tmp_path / "bare.tsv", separator="\t", include_header=False)
    before, after = attacked(tmp_path, "bare.tsv", "attacked.tsv", "--no-header")
    assert len(after) == len(before) == 60
    assert all(row.count("\t") == 4 for row in after)


def test_an_attacked_parquet_keeps_its_other_columns(tmp_path):
    frame = pl.DataFrame(X, schema=list("abcde")).insert_column(2, pl.Series("when", ["2024-01-01"] * 60).str.to_date())
    frame.write_parquet(tmp_path / "data.parquet")
    noap("solve", "data.parquet", "-k", 2, "--noise", 0.2, "--out", "r.json", "--drop", "when", cwd=tmp_path)
    done = noap("attack", "data.parquet", "r.json", "--out", "a.parquet", "--drop", "when", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    written = pl.read_parquet(tmp_path / "a.parquet")
    assert written.columns == frame.columns
    assert written["when"].equals(frame["when"])
    assert not written["a"].equals(frame["a"])


def test_stages_and_defaults_read_well(folder):
    shown = noap("path", "data.csv", "-k", 1, "--points", 3, cwd=folder)
    assert shown.returncode == 0, shown.stderr
    stages = next(line for line in shown.stdout.splitlines() if line.startswith("Stages by noise"))
    assert "nothing left at 1." in stages
    assert "1 features" not in stages
    assert "5 if not given" in " ".join(noap("path", "--help").stdout.split())


def test_counts_of_one_are_singular():
    problem = library.Problem(library.standardise(X), k=5, adversary=library.NoAdversary())
    assert repr(library.near_optimal(problem, 0)).startswith("NearOptimal(1 support within")
    assert repr(library.stability(problem.with_sparsity(1), 1)).startswith(
        "Stability(1 resample, the same 1 feature in"
    )


def test_names_with_commas_are_told_apart(folder):
    shown = noap("k-path", "data.csv", "-k", 6, "--noise", 0.1, cwd=folder).stdout
    assert "+length, cm" in shown
    from noap.runtime.names import listed

    assert listed(["length, cm", "b"]) == "length, cm; b"
