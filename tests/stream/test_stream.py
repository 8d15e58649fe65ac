"""X'X of data that does not fit in memory, and of Dask collections, against NumPy on the whole."""

import json
import os
import subprocess
import sys

import numpy as np
import polars as pl
import pytest

import noap
from noap.data.streams import summarise
from noap.errors import InvalidProblem

CAP = 256  # megabytes that the child may have resident, Python and its libraries included (60 of them)
NAMES = [f"f{j}" for j in range(40)]


def write_parts(folder, parts, rows, row_group=10_000):
    """Write a Parquet set of float64 columns with large means; return its blocks."""
    rng = np.random.default_rng(0)
    base = rng.standard_normal((rows, len(NAMES)))
    base[:, :3] += 2.0 * rng.standard_normal((rows, 1))
    blocks = []
    for part in range(parts):
        block = base * (1.0 + 0.1 * part) + 1000.0 + part
        pl.DataFrame(block, schema=NAMES).write_parquet(
            folder / f"part-{part:02d}.parquet", compression="uncompressed", row_group_size=row_group
        )
        blocks.append(block)
    return blocks


CHILD = """
import json, re, sys
import numpy as np
from noap.data.streams import summarise
summary = summarise(sys.argv[1])
np.savez(sys.argv[2], mean=summary.moments.mean, scatter=summary.moments.scatter)
# Not getrusage: its peak is handed down from the process that started this one.
peak = int(re.search(r"VmHWM:\\s+(\\d+) kB", open("/proc/self/status").read())[1]) / 1024
print(json.dumps({"n": summary.n_samples, "names": summary.names, "peak": peak}))
"""


def test_larger_than_memory(tmp_path):
    blocks = write_parts(tmp_path, parts=2, rows=160_000)
    for copy in range(1, 9):  # more names for the same bytes: to the reader they are 18 files
        for part in range(2):
            os.link(tmp_path / f"part-{part:02d}.parquet", tmp_path / f"part-{part:02d}-{copy}.parquet")
    size = sum(path.stat().st_size for path in tmp_path.glob("*.parquet")) / 2**20
    assert size > 3 * CAP
    command = [sys.executable, "-c", CHILD, str(tmp_path / "*.parquet"), str(tmp_path / "out.npz")]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    answer = json.loads(done.stdout)
    assert answer["n"] == 18 * 160_000
    assert answer["names"] == NAMES
    assert answer["peak"] < CAP, f"{answer['peak']:.0f} MB resident for {size:.0f} MB of data"
    found = np.load(tmp_path / "out.npz")
    # In memory: means first, then one product per block about the common mean.
    mean = np.mean([block.mean(axis=0) for block in blocks], axis=0)
    scatter = 9 * sum((block - mean).T @ (block - mean) for block in blocks)
    assert np.abs(found["mean"] - mean).max() <= 1e-12 * np.abs(mean).max()
    assert np.abs(found["scatter"] - scatter).max() <= 1e-12 * np.abs(scatter).max()


@pytest.fixture
def parts(tmp_path):
    return tmp_path, np.vstack(write_parts(tmp_path, parts=3, rows=500, row_group=100))


def test_a_stream_gives_the_problem_of_the_samples(parts):
    folder, X = parts
    summary = summarise(folder, batch_bytes=10_000)
    for center, scale in [(True, True), (True, False), (False, False)]:
        Z = noap.standardize(X, center=center, scale=scale)
        adversary = noap.FeatureWise(0.3 * np.sqrt(len(X)))
        streamed = summary.problem(4, adversary, center=center, scale=scale)
        assert streamed.n_samples == len(X)
        assert streamed.feature_names == tuple(NAMES)
        expected = Z.T @ Z / len(Z)
        np.testing.assert_allclose(streamed.covariance, expected, atol=1e-12 * np.abs(expected).max())
        if center and scale:
            a, b = noap.solve(streamed), noap.solve(noap.Problem(Z, 4, adversary))
            assert a.value == pytest.approx(b.value, rel=1e-9)
            assert a.support.tolist() == b.support.tolist()


def test_files_folders_patterns_and_arrays_agree(parts):
    folder, X = parts
    expected = summarise(X).moments.scatter
    frame = pl.DataFrame(X, schema=NAMES)
    frame.write_csv(folder / "whole.csv", float_precision=17)
    for source in (str(folder / "part-*.parquet"), folder / "whole.csv", np.array_split(X, 7), frame):
        found = summarise(source)
        assert found.n_samples == len(X)
        np.testing.assert_allclose(found.moments.scatter, expected, atol=1e-11 * np.abs(expected).max())


def test_columns_may_come_in_another_order_but_not_be_others(parts):
    folder, _ = parts
    expected = summarise(folder).moments.scatter
    last = pl.read_parquet(folder / "part-02.parquet")
    last.select(reversed(NAMES)).write_parquet(folder / "part-02.parquet")
    np.testing.assert_allclose(summarise(folder).moments.scatter, expected, rtol=1e-9)
    last.rename({"f5": "g5"}).write_parquet(folder / "part-02.parquet")
    with pytest.raises(InvalidProblem, match=r"part-02.*same columns.*'f5'"):
        summarise(folder)


def test_bad_streams_are_refused_by_name(parts):
    folder, X = parts
    with pytest.raises(InvalidProblem, match="matches no file"):
        summarise(folder / "none-*.parquet")
    with pytest.raises(InvalidProblem, match="batch_bytes"):
        summarise(folder, batch_bytes=0)
    with pytest.raises(InvalidProblem, match="columns throughout"):
        summarise([X, X[:, :3]])
    with pytest.raises(InvalidProblem, match="empty"):
        summarise([])
    pl.DataFrame({"f0": [1.0, None]}).write_parquet(folder / "hole.parquet")
    with pytest.raises(InvalidProblem, match="NaN in column 'f0'"):
        summarise(folder / "hole.parquet")
    pl.DataFrame({"f0": ["a"]}).write_parquet(folder / "text.parquet")
    with pytest.raises(InvalidProblem, match=r"text.*'f0' holds string"):
        summarise(folder / "text.parquet")
    (folder / "broken.parquet").write_bytes(b"PAR1 nonsense")
    with pytest.raises(InvalidProblem, match=r"broken\.parquet cannot be read"):
        summarise(folder / "broken.parquet")


@pytest.mark.filterwarnings("ignore:The inplace keyword")  # between Dask and a newer pandas
def test_dask_arrays_and_frames(parts):
    array = pytest.importorskip("dask.array")
    dataframe = pytest.importorskip("dask.dataframe")
    folder, X = parts
    expected = summarise(X).moments
    by_rows = array.from_array(X, chunks=(211, -1))
    by_both = array.from_array(X, chunks=(400, 7))
    frame = dataframe.read_parquet(str(folder / "part-*.parquet"))
    for source in (by_rows, by_both, frame):
        found = summarise(source)
        assert found.n_samples == len(X)
        np.testing.assert_allclose(found.moments.scatter, expected.scatter, atol=1e-11 * np.abs(expected.scatter).max())
    assert summarise(frame).names == tuple(NAMES)
    with pytest.raises(InvalidProblem, match="two dimensions"):
        summarise(array.ones(5))


def command(*arguments):
    line = [sys.executable, "-c", "from noap.cli import main; main()", *map(str, arguments)]
    return subprocess.run(line, capture_output=True, text=True, check=False)


def test_solve_reads_a_pattern_and_refuses_what_needs_samples(parts):
    folder, X = parts
    done = command("solve", folder / "*.parquet", "-k", 4, "--noise", 0.3, "--json")
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    Z = noap.standardize(X)
    result = noap.solve(noap.Problem(Z, 4, noap.FeatureWise(0.3 * np.sqrt(len(X)))))
    assert document["support"] == result.support.tolist()
    assert document["features"] == [NAMES[j] for j in result.support]
    assert document["robust_variance"] == pytest.approx(result.value, rel=1e-9)
    assert document["plain_variance"] == pytest.approx(np.mean((Z @ result.v) ** 2), rel=1e-9)
    refused = command("solve", folder, "-k", 4, "--adversary", "sample")
    assert refused.returncode == 2
    assert "needs them all in memory" in refused.stderr
