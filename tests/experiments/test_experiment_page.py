"""The committed page of the reproduction is what its committed trials say."""

from pathlib import Path

import polars as pl
import pytest

from noap.experiments import paper_specs, report

COMMITTED = Path(__file__).parent.parent.parent / "docs" / "reproduction"


@pytest.mark.skipif(not COMMITTED.is_dir(), reason="the committed results are part of the repository only")
def test_the_committed_page_is_what_the_committed_trials_say(monkeypatch, tmp_path):
    monkeypatch.setattr(report, "write_figures", lambda specs, tables, folder: list(report.FIGURES))
    every = pl.read_parquet(COMMITTED / "trials.parquet")
    specs = paper_specs()
    specs = {name: specs[name] for name in every["experiment"].unique(maintain_order=True)}
    tables = {name: every.filter(pl.col("experiment") == name) for name in specs}
    report.render_tables(specs, tables, tmp_path, command="noap reproduce all")
    for name in ("README.md", "claims.md", "specs.json", "points.csv", "trials.csv"):
        assert (tmp_path / name).read_bytes() == (COMMITTED / name).read_bytes(), name
    assert pl.read_parquet(tmp_path / "trials.parquet").equals(every)
