"""The committed page of the reproduction is what its committed trials say."""

from pathlib import Path

import polars as pl
import pytest

from noap.experiments import paper_specs, report

COMMITTED = Path(__file__).parent.parent.parent / "docs" / "reproduction"


@pytest.mark.skipif(not COMMITTED.is_dir(), reason="the committed results are part of the repository only")
def test_the_committed_page_is_what_the_committed_trials_say(tmp_path):
    every = pl.read_parquet(COMMITTED / "trials.parquet")
    specs = paper_specs()
    specs = {name: specs[name] for name in every["experiment"].unique(maintain_order=True)}
    tables = {name: every.filter(pl.col("experiment") == name) for name in specs}
    assert report.drawable(tables) == list(report.FIGURES)
    report.write_tables(tables, tmp_path)
    report.write_pages(specs, tables, tmp_path, command="noap reproduce all")
    for name in ("README.md", "claims.md", "specs.json", "points.csv", "trials.csv"):
        assert (tmp_path / name).read_bytes() == (COMMITTED / name).read_bytes(), name
    assert pl.read_parquet(tmp_path / "trials.parquet").equals(every)
