"""What every result carries, and the tables that keep it."""

import json
import math
import platform
import shutil
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

import noap
from noap.experiments.environment import environment, listed
from noap.experiments.formats import frame_of, markdown, write_table

ROOT = Path(__file__).parent.parent.parent


def test_the_record_names_no_place_and_is_nobodys_to_change():
    record = environment()
    assert record["noap"] == noap.__version__
    assert all(isinstance(text, str) and text for text in record.values())
    for private in (str(Path.home()), str(ROOT), Path(noap.__file__).parent.as_posix(), platform.node()):
        assert len(private) < 3 or private not in json.dumps(record)
    record.clear()
    assert environment()["commit"]


def test_an_installed_package_has_no_commit(tmp_path):
    shutil.copytree(Path(noap.__file__).parent, tmp_path / "noap", ignore=shutil.ignore_patterns("__pycache__"))
    code = "from noap.experiments.environment import environment; print(environment()['commit'])"
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=tmp_path)
    assert shown.stdout.strip() == "none (installed package)"


def test_the_record_in_words():
    record = {"noap": "1.0", "commit": "c0ffee", "cpu": "Z80", "gurobipy": "not installed"}
    assert listed(record, without=("commit",)) == "noap 1.0, cpu Z80"


def test_tables_read_back_the_same(tmp_path):
    rows = [
        {"name": 'a, "b" | c', "value": 0.1 + 0.2, "count": None, "proved": True},
        {"name": "d", "value": math.inf, "count": 3, "proved": False},
    ]
    table = frame_of(rows)
    for name, read in (("table.csv", pl.read_csv), ("table.parquet", pl.read_parquet)):
        write_table(table, tmp_path / name)
        assert read(tmp_path / name).rows(named=True) == rows
    assert markdown(["name", "value", "count", "proved"], [list(row.values()) for row in rows]).splitlines() == [
        "| name | value | count | proved |",
        "|---|---|---|---|",
        '| a, "b" \\| c | 0.3 |  | yes |',
        "| d | inf | 3 | no |",
    ]


def test_a_table_that_cannot_be_written_leaves_the_old_one(tmp_path):
    place = tmp_path / "table.parquet"
    write_table(frame_of([{"a": 1}]), place)
    with pytest.raises(pl.exceptions.PolarsError):
        write_table(pl.DataFrame({"a": [object()]}), place)
    assert pl.read_parquet(place)["a"].to_list() == [1]
    assert [path.name for path in tmp_path.iterdir()] == ["table.parquet"]
