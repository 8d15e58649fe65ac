"""The store: what is in it stays, and every way it can fail is one clear sentence."""

import dataclasses
import json
import multiprocessing
import os
import resource
import shutil
import sqlite3
import tempfile
from pathlib import Path

import polars as pl
import pytest
from experiment_cases import COUNT, SPEC, measured

from noap.errors import StoreError
from noap.experiments import Store, run
from noap.experiments.formats import write_table
from noap.experiments.store import SCHEMA
from noap.experiments.table import points, trials


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """A store with the whole small experiment in it; tests work on copies."""
    path = tmp_path_factory.mktemp("store") / "trials.sqlite"
    with Store(path) as store:
        assert run([SPEC], store).done == COUNT
    return path


@pytest.fixture
def copy(finished, tmp_path):
    return Path(shutil.copy(finished, tmp_path / "copy.sqlite"))


def refused(path, *words, writing=True):
    """Opening fails with one sentence and changes no byte."""
    before = path.read_bytes()
    with pytest.raises(StoreError) as error:
        Store(path, writing=writing)
    message = str(error.value)
    assert str(path) in message
    assert message.endswith(".")
    assert "\n" not in message
    for word in words:
        assert word in message
    assert path.read_bytes() == before


def test_running_again_runs_nothing(copy):
    with Store(copy) as store:
        again = run([SPEC], store)
        assert (again.wanted, again.found, again.done, again.complete) == (COUNT, COUNT, 0, True)


def test_a_changed_spec_never_mixes(copy):
    other = dataclasses.replace(SPEC, budgets=(0.25, 0.5), seeds=(0, 1))
    with Store(copy) as store:
        before = measured(store)
        assert trials(other, store).height == 4 * 2  # budget 0.5 of two seeds is the same work
        assert run([other], store).done == 4 * 2
        assert measured(store) == before
        assert set(trials(other, store)["budget"]) == {0.25, 0.5}


def test_every_row_knows_where_it_comes_from(copy):
    with Store(copy) as store:
        table = trials(SPEC, store)
    for document in table["environment"].unique():
        assert {"noap", "commit", "python", "cpu", "numpy"} <= json.loads(document).keys()


def test_export_goes_there_and_back(copy, tmp_path):
    with Store(copy) as store:
        table = trials(SPEC, store)
    write_table(table, tmp_path / "t.parquet")
    write_table(points(table), tmp_path / "p.csv")
    assert pl.read_parquet(tmp_path / "t.parquet").equals(table)
    means = pl.read_csv(tmp_path / "p.csv")
    one = means.filter((pl.col("method") == "exact") & (pl.col("budget") == 0.5))
    values = table.filter((pl.col("method") == "exact") & (pl.col("budget") == 0.5))["value"]
    assert one["value"][0] == pytest.approx(values.mean(), rel=1e-12)
    assert one["value_std"][0] == pytest.approx(values.std(), rel=1e-12)
    assert one["trials"][0] == 5


def test_two_runs_do_not_share_a_store(copy):
    with Store(copy), pytest.raises(StoreError, match="in use by another run"):
        Store(copy)
    Store(copy).close()


def test_a_run_reads_while_another_writes(copy):
    with Store(copy) as writer, Store(copy, writing=False) as reader:
        assert len(reader) == len(writer) == COUNT
        with pytest.raises(StoreError, match="cannot be written"):
            reader.add_spec(SPEC)


def test_damaged_pages(copy):
    data = bytearray(copy.read_bytes())
    for page in range(2, len(data) // 4096, 3):
        data[page * 4096 : page * 4096 + 200] = os.urandom(200)
    copy.write_bytes(data)
    refused(copy, "damaged", "move it away")


def test_cut_short(copy):
    copy.write_bytes(copy.read_bytes()[:9000])
    refused(copy, "damaged")


def test_not_a_store(tmp_path):
    path = tmp_path / "notes.txt"
    path.write_text("my thesis")
    refused(path, "left alone")
    other = tmp_path / "other.sqlite"
    connection = sqlite3.connect(other)
    connection.execute("CREATE TABLE trials (key TEXT)")
    connection.commit()
    connection.close()
    refused(other, "another program", "left alone")


@pytest.mark.parametrize(("version", "word"), [(SCHEMA - 1, "older"), (SCHEMA + 1, "newer")])
def test_another_layout(copy, version, word):
    connection = sqlite3.connect(copy)
    connection.execute(f"PRAGMA user_version = {version}")
    connection.close()
    refused(copy, word, f"layout {version}", "left alone")
    refused(copy, word, writing=False)


def test_missing_store_and_missing_folder(tmp_path):
    with pytest.raises(StoreError, match="does not exist; run the experiment first"):
        Store(tmp_path / "none.sqlite", writing=False)
    assert not (tmp_path / "none.sqlite").exists()
    with pytest.raises(StoreError, match="folder"):
        Store(tmp_path / "nowhere" / "trials.sqlite")


def test_a_store_killed_at_birth_is_a_new_one(tmp_path):
    path = tmp_path / "trials.sqlite"
    path.touch()
    with Store(path) as store:
        assert len(store) == 0


def test_full_database(copy):
    """SQLite's own word for a full disk."""
    with Store(copy) as store:
        pages = store._connection.execute("PRAGMA page_count").fetchone()[0]
        store._connection.execute(f"PRAGMA max_page_count = {pages + 8}")
        before = store.keys()
        more = dataclasses.replace(SPEC, seeds=tuple(range(5, 200)), methods=SPEC.methods[:1])
        with pytest.raises(StoreError, match=r"full.*make room on the disk.*is kept"):
            run([more], store)
        assert before < store.keys()
        assert len(measured(store)) == COUNT


def _until_the_disk_is_full(path, answer):
    resource.setrlimit(resource.RLIMIT_FSIZE, (150_000, 150_000))
    try:
        with Store(path) as store:
            run([SPEC], store)
        answer.put("finished")
    except StoreError as error:
        answer.put(str(error))


def test_full_disk(finished, tmp_path):
    """Files may not grow beyond 150 kB: what is stored by then stays, and the run goes on when there is room."""
    path = tmp_path / "trials.sqlite"
    context = multiprocessing.get_context("forkserver")
    answer = context.SimpleQueue()
    child = context.Process(target=_until_the_disk_is_full, args=(path, answer))
    child.start()
    message = answer.get()
    child.join()
    assert "make room on the disk" in message, message
    with Store(path) as store, Store(finished, writing=False) as judge:
        kept = len(store)
        assert 0 < kept < COUNT
        assert run([SPEC], store).done == COUNT - kept
        assert measured(store) == measured(judge)


def _as_a_stranger(path, answer):
    if os.geteuid() == 0:
        os.setgroups([])
        os.setgid(65534)
        os.setuid(65534)
    try:
        Store(path).close()
        answer.put("opened")
    except StoreError as error:
        answer.put(str(error))


@pytest.mark.parametrize("exists", [True, False])
def test_missing_permission(finished, exists):
    context = multiprocessing.get_context("forkserver")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        path = folder / "trials.sqlite"
        if exists:
            shutil.copy(finished, path)
            path.chmod(0o444)
        folder.chmod(0o555)
        before = sorted(folder.iterdir()), path.read_bytes() if exists else b""
        answer = context.SimpleQueue()
        child = context.Process(target=_as_a_stranger, args=(path, answer))
        child.start()
        message = answer.get()
        child.join()
        folder.chmod(0o755)
        assert "cannot be" in message
        assert "permission" in message.lower()
        assert "--store" in message
        assert (sorted(folder.iterdir()), path.read_bytes() if exists else b"") == before
