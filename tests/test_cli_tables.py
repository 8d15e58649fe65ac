"""Awkward files on the command line: every command takes the same words about its file."""

import json

import numpy as np
import polars as pl
import pytest

from test_cli_files import noap

X = np.random.default_rng(0).standard_normal((30, 4)) + np.random.default_rng(1).standard_normal((30, 1))
NAMES = ["höhe", "b, cm", "c", "d"]
# What a spreadsheet of that country writes, with labels, a text column and a column that nobody wants.
WORDS = ("--index", "id", "--drop", "kind", "--drop", "empty")


@pytest.fixture
def folder(tmp_path):
    rows = [f"s{i};cat;;" + ";".join(repr(float(x)).replace(".", ",") for x in row) for i, row in enumerate(X)]
    (tmp_path / "de.csv").write_text("\n".join([";".join(["id", "kind", "empty", *NAMES]), *rows]) + "\n")
    pl.DataFrame(X, schema=NAMES).write_csv(tmp_path / "plain.csv")
    return tmp_path


def document(*arguments, cwd):
    done = noap(*arguments, "--json", cwd=cwd)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return json.loads(done.stdout)


def test_solve_gives_the_same_on_both(folder):
    plain = document("solve", "plain.csv", "-k", 2, cwd=folder)
    awkward = document("solve", "de.csv", "-k", 2, *WORDS, cwd=folder)
    streamed = document("solve", "de.csv", "-k", 2, *WORDS, "--stream", cwd=folder)
    assert plain["features"] == awkward["features"] == streamed["features"]
    assert plain["loadings"] == awkward["loadings"]
    chosen = document("solve", "de.csv", "-k", 2, "--columns", "höhe,c", "--columns", "b, cm", cwd=folder)
    assert chosen["n_features"] == 3


def test_every_command_takes_them(folder):
    (path,) = document("path", "de.csv", "-k", 2, "--noise", "0,0.2", *WORDS, cwd=folder)["paths"]
    assert path["n_features"] == 4
    assert document("k-path", "de.csv", "-k", 2, *WORDS, cwd=folder)["n_features"] == 4
    report = document("report", "de.csv", "-k", 2, "--points", 3, "-c", 1, *WORDS, cwd=folder)
    assert set(report["components"][0]["features"]) <= set(NAMES)
    done = noap("solve", "de.csv", "-k", 2, *WORDS, "--out", "r.json", "--certificate", "c.noap", cwd=folder)
    assert done.returncode == 0, done.stderr
    # The command it names must work as it stands.
    assert "check it with: noap verify c.noap de.csv --drop kind --drop empty --index id" in done.stdout
    assert document("verify", "c.noap", "de.csv", *WORDS, cwd=folder)["ok"]
    assert noap("verify", "c.noap", "plain.csv", cwd=folder).returncode == 0
    assert document("attack", "de.csv", "r.json", *WORDS, cwd=folder)["rho"] > 0


def test_without_the_words_the_first_odd_entry_is_named(folder):
    done = noap("solve", "de.csv", "-k", 2, cwd=folder)
    assert done.returncode == 2
    assert done.stderr == (
        "noap: FILE de.csv: column 'id' holds text, not numbers: 's0' on line 2 (so does 'kind'); encode it, or leave "
        "it out with --drop id --drop kind.\n"
    )
    done = noap("path", "de.csv", "-k", 2, "--drop", "id,kind", cwd=folder)
    assert done.stderr == (
        "noap: FILE de.csv, line 2: an empty entry in column 'empty' (30 entries are missing); fill in a number, or "
        "leave the column out with --drop empty.\n"
    )


def test_a_file_without_names_and_other_separators(folder):
    (folder / "t.tsv").write_text("\n".join("\t".join(map(repr, row.tolist())) for row in X))
    assert document("solve", "t.tsv", "-k", 2, "--no-header", cwd=folder)["n_samples"] == 30
    (folder / "t.txt").write_text((folder / "t.tsv").read_text().replace("\t", ":"))
    found = document("solve", "t.txt", "-k", 2, "--no-header", "--delimiter", ":", cwd=folder)
    assert set(found["features"]) <= {"x0", "x1", "x2", "x3"}
    wrong = noap("solve", "t.txt", "-k", 2, "--delimiter", "::", cwd=folder)
    assert wrong.returncode == 2
    assert "--delimiter must be one character" in wrong.stderr
