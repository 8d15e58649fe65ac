"""A folder with one table in every format and the files that go with it, for tests of the command line."""

import numpy as np
import polars as pl
import scipy.sparse

import noap

X = np.random.default_rng(0).standard_normal((40, 6)) + np.random.default_rng(1).standard_normal((40, 1))
# Brackets are markup to the library that prints tables; names must come through it.
NAMES = ["weight [kg]", "length, cm", "[red]", "größe", "a/b", "rho"]
Z = noap.standardize(X)
UNIT = np.sqrt(len(X))

NOISE = np.array([0.3, 0.1, 0.0, 0.25, np.inf, 0.4])
COSTS = np.array([0.1, 0.0, 0.05, 0.0, 0.0, 0.2])
OWN = np.concatenate([[0.0, np.inf, 0.5], np.random.default_rng(0).uniform(0.0, 0.8, 37).round(3)])
MATRIX = np.eye(6) + 0.25 + np.diag(np.arange(6.0))
OTHER = np.random.default_rng(5).standard_normal((30, 6))


def metric_of_samples():
    """B of the samples in other.csv: centred, in the units of the table, and a ridge."""
    Y = (OTHER - OTHER.mean(axis=0)) / X.std(axis=0)
    return Y.T @ Y / len(Y) + 1e-3 * np.mean(Y**2) * np.eye(6)


def rows(*columns, separator=","):
    """Lines of a table; a name that holds the separator is quoted."""

    def quoted(cell):
        return f'"{cell}"' if separator in str(cell) else str(cell)

    return [separator.join(map(quoted, row)) for row in zip(*columns, strict=True)]


def fill(folder):
    """Write the table in every format, and tables of noises, costs and metrics."""
    frame = pl.DataFrame(X, schema=NAMES)
    frame.write_csv(folder / "data.csv")
    frame.write_parquet(folder / "data.parquet")
    np.save(folder / "data.npy", X)
    np.savez(folder / "data.npz", X=X, feature_names=np.array(NAMES), y=np.zeros(40))
    np.savez(folder / "single.npz", whatever=X)
    scipy.sparse.save_npz(folder / "sparse.npz", scipy.sparse.csr_array(X))

    def write(name, *lines):
        (folder / name).write_text("\n".join([*lines, ""]))

    # Not in the order of the table; a spreadsheet's layout, where an empty cost is 0.
    write("noise.csv", "feature,noise", *reversed(rows(NAMES, NOISE)))
    cells = [str(cost).replace(".", ",") if cost else "" for cost in COSTS]
    write("costs.csv", "name;cost", *rows(NAMES, cells, separator=";"))
    write("both.tsv", "feature\tnoise\tcost", *rows(NAMES, NOISE, COSTS, separator="\t"))
    write("units.csv", "feature,noise", *rows(NAMES, 0.2 * X.std(axis=0)))
    write("own.csv", "noise", *map(str, OWN))
    write("labelled.csv", "sample;noise", *(f"s{i};{str(x).replace('.', ',')}" for i, x in enumerate(OWN)))
    frame.with_columns(pl.Series("noise", OWN)).write_csv(folder / "with.csv")
    write("forty.csv", "weight", *map(str, range(1, 41)))
    write("narrow.csv", "a,b", "1,2", "3,4", "5,6")
    write("diagonal.csv", "weight", *map(str, range(1, 7)))
    # In another order, and one with a column of labels.
    pl.DataFrame(MATRIX[::-1, ::-1], schema=NAMES[::-1]).write_csv(folder / "matrix.csv")
    pl.DataFrame(OTHER, schema=NAMES).select(NAMES[::-1]).with_columns(kind=pl.lit("two")).write_csv(
        folder / "other.csv"
    )
