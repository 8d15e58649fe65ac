"""How things are measured: turns, threads, parts, processes, the record of where, and the tables that keep it."""

import importlib
import json
import math
import os
import platform
import subprocess
import time
from pathlib import Path

import polars as pl
import pytest
from threadpoolctl import threadpool_info

import noap
from noap.measuring import environment as environment_module
from noap.measuring.environment import described, environment, heading, listed
from noap.measuring.processes import in_fresh_process, peak_memory
from noap.measuring.tables import append_row, frame_of, markdown, read_table, write_table
from noap.measuring.timing import Timing, ratio, side_by_side, single_thread
from noap.measuring.tracing import parts_of

ROOT = Path(__file__).parent.parent
RESULTS = ROOT / "benchmarks" / "results"
committed = pytest.mark.skipif(not RESULTS.is_dir(), reason="the committed results are part of the repository only")
RECORD = {"noap": "1.0", "commit": "c0ffee", "system": "Linux", "cpu": "Z80", "cores": "1", "abess": "not installed"}


def test_jobs_take_turns_in_alternating_order_and_the_first_round_does_not_count():
    calls = []
    jobs = {name: lambda name=name: calls.append(name) for name in "ab"}
    found = side_by_side(jobs, 3, patience=60.0)
    assert "".join(calls) == "abbaabba"
    assert all(len(timing.cpu) == 3 for timing in found.values())


def test_a_slow_job_is_not_repeated():
    found = side_by_side({"slow": lambda: time.sleep(0.05), "quick": lambda: 7}, 3, patience=0.04)
    assert len(found["slow"].cpu) == 1
    assert len(found["quick"].cpu) == 3
    assert found["quick"].answer == 7


def test_ratios_compare_rounds_with_each_other():
    # The machine was ten times slower in the second round: the ratio does not care.
    assert ratio(Timing(cpu=[2.0, 20.0, 2.0]), Timing(cpu=[1.0, 10.0, 1.0])) == 2.0
    assert ratio(Timing(cpu=[3.0]), Timing(cpu=[1.0, 10.0, 1.0])) == 3.0


def test_every_library_is_held_to_one_thread(monkeypatch):
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    with single_thread() as held:
        assert held
        assert all(one["threads"] == 1 for one in held)
        assert all(info["num_threads"] == 1 for info in threadpool_info())
        assert os.environ["OMP_NUM_THREADS"] == "1"
    assert "OMP_NUM_THREADS" not in os.environ


def inner():
    sum(range(400_000))


def outer():
    inner()
    sum(range(400_000))


def test_parts_of_a_job_add_up():
    shares = parts_of(outer, {f"{__name__}:inner": "inside"})
    assert sum(shares.values()) == pytest.approx(1.0)
    assert 0.1 < shares["inside"] < 0.9
    shares = parts_of(outer, {f"{__name__}:inner": "inside", __name__: "file"})
    assert {"inside", "file"} <= set(shares)
    shares = parts_of(outer, {f"{__name__}:inner": "inside", f"{__name__}:outer": "out"}, sticky="out")
    assert "inside" not in shares


@pytest.mark.skipif(peak_memory() is None, reason="this system does not say")
def test_a_fresh_process_knows_its_peak_and_loads_nothing_of_ours():
    program = """
before = peak_memory()
block = bytearray(64 * 2**20)
for at in range(0, len(block), 4096):
    block[at] = 1
print("a line before")
print(json.dumps({"added": peak_memory() - before, "ours": "noap" in sys.modules, "given": sys.argv[1:]}))
"""
    found = in_fresh_process(program, "a", "b c")
    assert 60 < found["added"] < 80
    assert found["ours"] is False
    assert found["given"] == ["a", "b c"]


def test_a_fresh_process_imports_what_it_is_told_and_fails_aloud(tmp_path):
    (tmp_path / "noap.py").write_text("__version__ = 'another'")
    assert in_fresh_process("import noap; print(json.dumps(noap.__version__))", sources=tmp_path) == "another"
    with pytest.raises(subprocess.CalledProcessError):
        in_fresh_process("raise SystemExit(3)")


def test_the_record_names_no_place_and_is_nobodys_to_change():
    record = environment()
    assert record["noap"] == noap.__version__
    assert all(isinstance(text, str) and text for text in record.values())
    text = json.dumps(record) + heading("title")
    for private in (str(Path.home()), str(ROOT), Path(noap.__file__).parent.as_posix(), platform.node()):
        assert len(private) < 3 or private not in text
    record.clear()
    assert environment()["commit"]


def test_an_installed_package_has_no_commit(monkeypatch, tmp_path):
    monkeypatch.setattr(environment_module, "_HERE", tmp_path)
    assert environment_module._commit() == "none (installed package)"


def test_the_record_in_words():
    assert described(RECORD) == "Z80, 1 cores, Linux; noap 1.0; commit c0ffee"
    assert listed(RECORD, without=("commit",)) == "noap 1.0, system Linux, cpu Z80, cores 1"
    assert described(environment()) in heading("title")


def test_tables_read_back_the_same(tmp_path):
    rows = [
        {"name": 'a, "b" | c', "value": 0.1 + 0.2, "count": None, "proved": True},
        {"name": "d", "value": math.inf, "count": 3, "proved": False},
    ]
    table = frame_of(rows)
    for name in ("table.csv", "table.parquet"):
        write_table(table, tmp_path / name)
        assert read_table(tmp_path / name).rows(named=True) == rows
    for row in rows:
        append_row(row, tmp_path / "grown.csv")
    assert (tmp_path / "grown.csv").read_bytes() == (tmp_path / "table.csv").read_bytes()
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
    assert read_table(place)["a"].to_list() == [1]
    assert [path.name for path in tmp_path.iterdir()] == ["table.parquet"]


@committed
def test_every_committed_table_can_be_read():
    for place in RESULTS.rglob("*.csv"):
        assert read_table(place).height > 0, place.name


@pytest.fixture
def study(monkeypatch, tmp_path):
    """Import a study, with its results in a folder of the test's own."""
    monkeypatch.syspath_prepend(str(ROOT))

    def imported(name):
        module = importlib.import_module(f"benchmarks.{name}")
        monkeypatch.setattr(module, "RESULTS", tmp_path)
        return module

    return imported


@committed
def test_the_committed_report_of_the_programs_is_what_its_table_says(study):
    mip = study("mip")
    rows = mip.read()
    assert len(rows) == len(mip.TABLE.read_text(encoding="utf-8").splitlines()) - 1
    said = mip.REPORT.read_text(encoding="utf-8").splitlines()
    # An empty heading was once written with one space.
    made = [
        line.replace("|  |", "| |") if "switch off" in line else line for line in mip.render(rows, said[4]).splitlines()
    ]
    assert made == said
    assert mip.measured_on() == said[4]


@committed
def test_studies_of_exact_and_certificates_leave_table_and_report(study, monkeypatch, tmp_path):
    exact, certificate = study("exact"), study("certificate")
    X = exact.strong_weak(30, 12, 3, 0)

    def tiny(folder):
        """Yield two tiny ones."""
        for budget in (0.5, 0.0):
            yield f"rho-bar={budget:g}", exact.feature_wise(X, 3, budget), 1e-4

    monkeypatch.setitem(exact.SECTIONS, "hard", tiny)
    exact.run("hard", None, 10.0)
    certificate.run("hard", None, 10.0, True)
    report = (tmp_path / "exact-hard.md").read_text(encoding="utf-8")
    assert "2 of 2 optimal at the asked gap" in report
    assert described(environment()) in report
    assert read_table(tmp_path / "exact-hard.csv")["instance"].to_list() == ["rho-bar=0.5", "rho-bar=0"]
    assert "| accepted | 2 |" in (tmp_path / "certificate-hard.md").read_text(encoding="utf-8")
    assert read_table(tmp_path / "certificate-hard.csv")["accepted"].all()
