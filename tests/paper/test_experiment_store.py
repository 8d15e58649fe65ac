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
from noap.experiments.store import LAYOUT
from noap.experiments.table import points, trials


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """A store with the whole small experiment in it; tests work on copies."""
    path = tmp_path_factory.mktemp("store") / "trials.jsonl"
    with Store(path) as store:
        assert run([SPEC], store).done == COUNT
    return path


@pytest.fixture
def copy(finished, tmp_path):
    return Path(shutil.copy(finished, tmp_path / "copy.jsonl"))


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


@pytest.mark.parametrize("cut", [1, 20, 500])
def test_a_trial_cut_short_by_a_crash_is_done_again(copy, finished, cut):
    copy.write_bytes(copy.read_bytes()[:-cut])
    with Store(copy, writing=False) as reader:
        assert len(reader) == COUNT - 1
    with Store(copy) as store, Store(finished, writing=False) as judge:
        assert run([SPEC], store).done == 1
        assert measured(store) == measured(judge)
    assert len(copy.read_bytes().splitlines()) == COUNT + 1


@pytest.mark.parametrize("damage", [b"{}", b"not json", b'{"row": {}}', b'{"row": 7}', b"\xff\xfe"])
def test_damaged_lines(copy, damage):
    lines = copy.read_bytes().splitlines()
    lines[7] = damage
    copy.write_bytes(b"\n".join(lines) + b"\n")
    refused(copy, "damaged in line 8", "move it away")
    refused(copy, "damaged in line 8", writing=False)


def test_not_a_store(tmp_path):
    path = tmp_path / "notes.txt"
    path.write_text("my thesis")
    refused(path, "left alone")
    other = tmp_path / "other.sqlite"
    connection = sqlite3.connect(other)
    connection.execute("CREATE TABLE trials (key TEXT)")
    connection.commit()
    connection.close()
    refused(other, "older version", "left alone")


@pytest.mark.parametrize("layout", [LAYOUT - 1, LAYOUT + 1])
def test_another_layout(copy, layout):
    header, rest = copy.read_bytes().split(b"\n", 1)
    copy.write_bytes(header.replace(b"%d" % LAYOUT, b"%d" % layout) + b"\n" + rest)
    refused(copy, "another layout", "left alone")
    refused(copy, "another layout", writing=False)


def test_missing_store_and_missing_folder(tmp_path):
    with pytest.raises(StoreError, match="does not exist; run the experiment first"):
        Store(tmp_path / "none.sqlite", writing=False)
    assert not (tmp_path / "none.sqlite").exists()
    with pytest.raises(StoreError, match="folder"):
        Store(tmp_path / "nowhere" / "trials.jsonl")


@pytest.mark.parametrize("written", [b"", b'{"noap": "tri'])
def test_a_store_killed_at_birth_is_a_new_one(tmp_path, written):
    path = tmp_path / "trials.jsonl"
    path.write_bytes(written)
    with Store(path) as store:
        assert len(store) == 0
        assert run([dataclasses.replace(SPEC, methods=SPEC.methods[:1])], store).complete
    with Store(path, writing=False) as store:
        assert len(store) == COUNT // 4


def _until_the_disk_is_full(path, answer):
    resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, 50_000))
    try:
        with Store(path) as store:
            run([SPEC], store)
        answer.put("finished")
    except StoreError as error:
        answer.put(str(error))


def test_full_disk(finished, tmp_path):
    """Files may not grow beyond 50 kB: what is stored by then stays, and the run goes on when there is room."""
    path = tmp_path / "trials.jsonl"
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
        path = folder / "trials.jsonl"
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
