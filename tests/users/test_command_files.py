"""Files on the command line: formats, awkward tables, row numbers, and data after an attack."""

import json
import re
from urllib.parse import quote

import numpy as np
import polars as pl
import pytest
from command_folder import NAMES, UNIT, X, Z, fill

import noap as library
from commands import document, noap, refusal, run


@pytest.fixture
def folder(tmp_path):
    fill(tmp_path)
    return tmp_path


# -- formats -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "named"),
    [("data.csv", True), ("data.parquet", True), ("data.npy", False), ("data.npz", True), ("single.npz", False),
     ("sparse.npz", False)],
)  # fmt: skip
def test_every_format_is_read(folder, name, named):
    labels = NAMES if named else [f"x{j}" for j in range(6)]
    (path,) = document("path", name, "-k", 2, "--noise", "0,0.4", cwd=folder)["paths"]
    expected = library.path(Z, k=2, rhos=[0.0, 0.4 * UNIT])
    assert [point["features"] for point in path["points"]] == [[labels[j] for j in s] for s in expected.supports]
    assert [point["robust_variance"] for point in path["points"]] == pytest.approx(expected.values.tolist())
    assert [point["noise"] for point in path["points"]] == pytest.approx([0, 0.4])
    lifetimes = {labels[j]: rho for j, rho in enumerate(expected.lifetimes) if not np.isnan(rho)}
    assert path["lifetimes"] == pytest.approx(lifetimes)


def test_a_proof_about_single_precision_is_accepted(tmp_path):
    np.save(tmp_path / "single.npy", np.random.default_rng(0).standard_normal((100, 10)).astype(np.float32))
    run("solve", "single.npy", "-k", 3, "--noise", 0.2, "--certificate", "proof.noap", cwd=tmp_path)
    run("verify", "proof.noap", "single.npy", cwd=tmp_path)


def test_paths_of_several_k_are_in_their_order(folder):
    paths = document("path", "data.csv", "-k", 2, "-k", 1, "--rho", "1,0.5", "--method", "ascent", cwd=folder)["paths"]
    assert [path["k"] for path in paths] == [1, 2]
    assert [point["rho"] for point in paths[0]["points"]] == [0.5, 1]
    assert paths[0]["points"][0]["bound"] is None


# Contents of a file of a name, and what is wrong with it.
BAD = {
    "NaN.csv": ("a,b\n1,2\nNaN,3\n", "line 3: 'NaN' in column 'a'"),
    "infinity.csv": ("a,b\n1,inf\n2,3\n", "line 2: infinity in column 'b'"),
    "missing.csv": ("a,b\n1,\n2,3\n", "line 2: an empty entry in column 'b'"),
    "text.csv": ("a,[b]\n1,x\n2,y\n", r"column '\[b\]' .* 'x' on line 2"),
    "empty.csv": ("", "is empty"),
    "header.csv": ("a,b\n", "X is empty|column"),
    "a.xyz": ("a", "must end in"),
    "broken.parquet": ("junk", "cannot be read"),
    "broken.npy": ("junk", "cannot be read"),
    "broken.npz": ("junk", "cannot be read"),
    "row.csv": ("a,b\n1,2\n", "centring"),
    "nowhere.csv": (None, "does not exist"),
    "complex.npy": (X + 1j, "complex"),
    "several.npz": ({"a": X, "b": X}, "it holds a, b"),
    "names.npz": ({"X": X, "feature_names": ["a"]}, "feature_names must hold 6"),
}


@pytest.mark.parametrize("name", BAD)
@pytest.mark.parametrize("command", ["solve", "report"])
def test_a_file_that_cannot_be_used_is_one_line(tmp_path, name, command):
    contents, said = BAD[name]
    if isinstance(contents, str):
        (tmp_path / name).write_text(contents)
    elif isinstance(contents, dict):
        np.savez(tmp_path / name, **contents)
    elif contents is not None:
        np.save(tmp_path / name, contents)
    assert re.search(said, refusal(command, name, "-k", 1, cwd=tmp_path))
    assert not (tmp_path / "report.html").exists()


def test_what_is_odd_is_a_warning(folder):
    frame = pl.DataFrame(X, schema=NAMES)
    frame.with_columns(pl.lit(3.3).alias("flat")).write_csv(folder / "flat.csv")
    frame.with_row_index("").write_csv(folder / "numbered.csv")
    for name, said in (
        ("flat.csv", "Constant columns keep scale 1: flat."),
        ("numbered.csv", "looks like row numbers"),
    ):
        done = noap("solve", name, "-k", 2, "--json", cwd=folder)
        assert said in done.stderr
        (_,) = done.stderr.strip().splitlines()
        assert set(json.loads(done.stdout)["features"]) <= set(NAMES)


# -- awkward tables ----------------------------------------------------------------------------------------------------

# What a spreadsheet of that country writes, with labels, a text column and a column that nobody wants.
WORDS = ("--index", "id", "--drop", "kind", "--drop", "empty")


@pytest.fixture
def awkward(folder):
    lines = [f"s{i};cat;;" + ";".join(repr(float(x)).replace(".", ",") for x in row) for i, row in enumerate(X)]
    (folder / "de.csv").write_text("\n".join([";".join(["id", "kind", "empty", *NAMES]), *lines]) + "\n")
    return folder


def test_every_command_takes_the_same_words_about_its_file(awkward):
    plain = document("solve", "data.csv", "-k", 2, cwd=awkward)
    done = run("solve", "de.csv", "-k", 2, *WORDS, "--out", "r.json", "--certificate", "c.noap", cwd=awkward)
    found = json.loads((awkward / "r.json").read_text())
    assert (found["features"], found["loadings"]) == (plain["features"], plain["loadings"])
    assert document("solve", "de.csv", "-k", 2, *WORDS, "--stream", cwd=awkward)["features"] == plain["features"]
    # The command it names must work as it stands.
    assert "check it with: noap verify c.noap de.csv --drop kind --drop empty --index id" in done
    assert document("verify", "c.noap", "de.csv", *WORDS, cwd=awkward)["ok"]
    assert document("verify", "c.noap", "data.csv", cwd=awkward)["ok"]
    assert document("attack", "de.csv", "r.json", *WORDS, cwd=awkward)["rho"] > 0
    chosen = ("--columns", "größe,rho", "--columns", "length, cm")
    assert document("solve", "de.csv", "-k", 2, *chosen, cwd=awkward)["n_features"] == 3
    (path,) = document("path", "de.csv", "-k", 2, "--noise", "0,0.2", *WORDS, cwd=awkward)["paths"]
    assert path["n_features"] == 6
    for command in ("k-path", "near-optimal"):
        assert document(command, "de.csv", "-k", 2, *WORDS, cwd=awkward)["n_features"] == 6
    assert len(document("stability", "de.csv", "-k", 2, "--n-boot", 2, *WORDS, cwd=awkward)["features"]) == 6
    report = document("report", "de.csv", "-k", 2, "--points", 3, "-c", 1, *WORDS, cwd=awkward)
    assert report["components"][0]["features"] == plain["features"]
    page = (awkward / "report.html").read_text(encoding="utf-8")
    assert quote("loading größe") in page  # the table of the path, which holds every feature
    assert "de.csv" in page


def test_without_the_words_the_first_odd_entry_is_named(awkward):
    assert refusal("solve", "de.csv", "-k", 2, cwd=awkward) == (
        "noap: FILE de.csv: column 'id' holds text, not numbers: 's0' on line 2 (so does 'kind'); encode it, or leave "
        "it out with --drop id --drop kind."
    )
    assert refusal("path", "de.csv", "-k", 2, "--drop", "id,kind", cwd=awkward) == (
        "noap: FILE de.csv, line 2: an empty entry in column 'empty' (40 entries are missing); fill in a number, or "
        "leave the column out with --drop empty."
    )


def test_a_file_without_names_and_other_separators(folder):
    (folder / "t.tsv").write_text("\n".join("\t".join(map(repr, row.tolist())) for row in X))
    assert document("solve", "t.tsv", "-k", 2, "--no-header", cwd=folder)["n_samples"] == 40
    (folder / "t.txt").write_text((folder / "t.tsv").read_text().replace("\t", ":"))
    found = document("solve", "t.txt", "-k", 2, "--no-header", "--delimiter", ":", cwd=folder)
    assert set(found["features"]) <= {f"x{j}" for j in range(6)}
    said = refusal("solve", "t.txt", "-k", 2, "--delimiter", "::", cwd=folder)
    assert "--delimiter must be one character" in said


# -- data after an attack ----------------------------------------------------------------------------------------------


@pytest.fixture
def attacked(folder):
    run("solve", "data.csv", "-k", 3, "--noise", 0.3, "--out", "r.json", cwd=folder)
    return folder


@pytest.mark.parametrize("name", ["a.csv", "a.parquet", "a.npy", "a.npz"])
def test_the_attacked_data_have_exactly_the_robust_variance(attacked, name):
    found = json.loads((attacked / "r.json").read_text())
    v = np.zeros(6)
    v[found["support"]] = found["loadings"]
    mean, scales = X.mean(axis=0), X.std(axis=0)

    def written(*options):
        done = document("attack", "data.csv", "r.json", "--out", name, "--force", *options, cwd=attacked)
        assert done["variance_after"] == pytest.approx(found["robust_variance"], rel=1e-9)
        if name.endswith(".npy"):
            return np.load(attacked / name)
        if name.endswith(".npz"):
            arrays = np.load(attacked / name)
            assert arrays["feature_names"].tolist() == NAMES
            return arrays["X"]
        frame = pl.read_csv(attacked / name) if name.endswith(".csv") else pl.read_parquet(attacked / name)
        assert frame.columns == NAMES
        return frame.to_numpy()

    E = written("--perturbation", "--standardised")
    assert np.linalg.norm(E, axis=0).max() <= 0.3 * UNIT * (1 + 1e-12)
    assert np.mean((written("--standardised") @ v) ** 2) == pytest.approx(found["robust_variance"])
    # No component of the attacked data is below the one that was attacked: the attack is an upper bound.
    words = ("-k", 3, "--adversary", "none", "--no-center", "--no-scale")
    again = document("solve", name, *words, cwd=attacked)["robust_variance"]
    assert again >= found["robust_variance"] * (1 - 1e-9)
    assert written() == pytest.approx((Z + E) * scales + mean)
    assert written("--perturbation") == pytest.approx(E * scales)


@pytest.mark.parametrize(
    ("words", "of"),
    [(("--adversary", "none"), None), (("--adversary", "sample", "--noise", 0.5), None),
     (("--noise-file", "noise.csv"), "feature"), (("--adversary", "sample", "--noise-file", "own.csv"), "sample")],
)  # fmt: skip
def test_every_adversary_of_a_result_is_known_again(folder, words, of):
    run("solve", "data.csv", "-k", 2, *words, "--out", "r.json", cwd=folder)
    found = document("attack", "data.csv", "r.json", "--out", "E.npy", "--perturbation", "--standardised", cwd=folder)
    result = json.loads((folder / "r.json").read_text())
    assert found["variance_after"] == pytest.approx(result["robust_variance"])
    assert found["rho"] == result["rho"]
    assert found["norm"] <= (1 + 1e-9) * (1 if of else max(result["rho"], 0))
    if of:
        assert f"times the budget of every {of}" in run("attack", "data.csv", "r.json", cwd=folder)


def test_features_are_found_by_name_and_other_data_are_noticed(attacked):
    frame = pl.DataFrame(X, schema=NAMES)
    frame.select(NAMES[::-1]).write_csv(attacked / "turned.csv")
    done = noap("attack", "turned.csv", "r.json", "--json", cwd=attacked)
    assert done.stderr == ""
    expected = json.loads((attacked / "r.json").read_text())["robust_variance"]
    assert json.loads(done.stdout)["variance_after"] == pytest.approx(expected)
    pl.DataFrame(X[::-1] ** 3, schema=NAMES).write_csv(attacked / "cubes.csv")
    done = noap("attack", "cubes.csv", "r.json", cwd=attacked)
    assert done.returncode == 0
    assert "made from other data" in done.stderr


def changed(entries):
    return lambda document: json.dumps(document | entries)


NO_RESULT = {
    "nothing": (None, "RESULT .* does not exist"),
    "no JSON": (lambda document: "a,b", "RESULT .* is not JSON"),
    "a list": (lambda document: "[1]", "is not a result"),
    "no loadings": (
        lambda found: json.dumps({k: v for k, v in found.items() if k != "loadings"}),
        "'loadings' is missing",
    ),
    "no adversary": (changed({"adversary": "Ghost"}), "adversary 'Ghost'"),
    "no unit vector": (changed({"loadings": [1, 1, 1]}), "unit vector"),
    "other features": (changed({"features": ["x", "y", "z"]}), "which FILE does not have"),
    "fewer features": (changed({"n_features": 5}), "was made from 5 features, FILE has 6"),
    "components": (changed({"components": []}), "holds several components"),
    "no component": (changed({"features": [], "loadings": [], "robust_variance": 0}), "nothing survived the adversary"),
}


@pytest.mark.parametrize("name", NO_RESULT)
def test_what_is_no_result_is_one_line(attacked, name):
    make, said = NO_RESULT[name]
    if make is not None:
        (attacked / "other.json").write_text(make(json.loads((attacked / "r.json").read_text())))
    assert re.search(said, refusal("attack", "data.csv", "other.json", cwd=attacked))


def test_what_a_file_is_to_hold_needs_a_file(attacked):
    assert "add --out" in refusal("attack", "data.csv", "r.json", "--perturbation", cwd=attacked)


def kept(folder, name, out, *options):
    """Attack a text table; return its lines before and after."""
    run("solve", name, "-k", 2, "--noise", 0.2, "--out", "r.json", *options, cwd=folder)
    run("attack", name, "r.json", "--out", out, *options, cwd=folder)
    run("solve", out, "-k", 2, "--adversary", "none", "--method", "spca", *options, cwd=folder)
    return (folder / name).read_text().splitlines(), (folder / out).read_text().splitlines()


def test_an_attacked_table_is_laid_out_as_the_table(tmp_path):
    frame = pl.DataFrame(X, schema=list("abcdef"))
    labelled = frame.insert_column(0, pl.Series("id", [f"p{i}" for i in range(40)]))
    labelled = labelled.insert_column(3, pl.Series("species", ["setosa"] * 40))
    labelled.write_csv(tmp_path / "german.csv", separator=";", decimal_comma=True)
    before, after = kept(tmp_path, "german.csv", "a.csv", "--index", "id", "--drop", "species")
    assert after[0] == before[0] == "id;a;b;species;c;d;e;f"
    assert after != before
    for old, new in zip(before[1:], after[1:], strict=True):
        old, new = old.split(";"), new.split(";")
        assert (new[0], new[3], len(new)) == (old[0], old[3], len(old))
        assert all("," in cell and "." not in cell for cell in (new[1], new[2], *new[4:]))


def test_an_attacked_table_keeps_a_column_without_a_name(tmp_path):
    pl.DataFrame(X, schema=list("abcdef")).with_row_index("").write_csv(tmp_path / "pandas.csv")
    before, after = kept(tmp_path, "pandas.csv", "a.csv")
    assert after[0] == before[0]
    assert [row.split(",")[0] for row in after] == [row.split(",")[0] for row in before]


def test_an_attacked_table_without_names_has_none(tmp_path):
    pl.DataFrame(X).write_csv(tmp_path / "bare.tsv", separator="\t", include_header=False)
    before, after = kept(tmp_path, "bare.tsv", "a.tsv", "--no-header")
    assert len(after) == len(before) == 40
    assert all(row.count("\t") == 5 for row in after)


def test_an_attacked_parquet_keeps_its_other_columns(tmp_path):
    frame = pl.DataFrame(X, schema=list("abcdef"))
    frame = frame.insert_column(2, pl.Series("when", ["2024-01-01"] * 40).str.to_date())
    frame.write_parquet(tmp_path / "data.parquet")
    run("solve", "data.parquet", "-k", 2, "--noise", 0.2, "--out", "r.json", "--drop", "when", cwd=tmp_path)
    run("attack", "data.parquet", "r.json", "--out", "a.parquet", "--drop", "when", cwd=tmp_path)
    written = pl.read_parquet(tmp_path / "a.parquet")
    assert written.columns == frame.columns
    assert written["when"].equals(frame["when"])
    assert not written["a"].equals(frame["a"])
