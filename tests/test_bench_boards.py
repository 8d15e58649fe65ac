"""The boards of proofs, many features, components, the relaxation and a cold start; and runs that were stopped."""

import dataclasses
import json
import subprocess
from itertools import combinations

import numpy as np
import polars as pl
import pytest

import bench_cases
import noap
from bench_cases import S
from noap.bench import FULL, QUICK, run
from noap.bench.board import Setting
from noap.bench.boards import BOARDS
from noap.bench.boards.relaxation import first_node
from noap.bench.instances import correlations, problem_of, real_sets, standardised_sets
from noap.bench.journal import Journal
from noap.bench.page import beaten, write_page
from noap.bench.runner import read
from noap.measuring.tables import frame_of

TINY = dataclasses.replace(
    bench_cases.TINY,
    noises=(0.3,),
    standardised_solvers=((2, 0.3),),
    standardised_solver_seconds=0.5,
    large_ks=(3,),
    joint_ks=(2,),
    joint_seconds=5.0,
    cold_entries=("import noap",),
)
NAMES = ["standardised", "features", "large_k", "joint", "relaxation", "cold_start"]
LINE = {
    "n": 9, "d": 2500, "k": 10, "noise": 0.3, "value": 1.0, "gap": 1e-5, "stopped by": "-", "ascent loses": 0.0,
    "ascent s": 0.1, "exact s": 0.2, "wall s": 0.2, "verify s": 0.1, "MB": 10.0, "nodes": 3, "verified": True,
    "features left": 40,
}  # fmt: skip


@pytest.fixture(scope="module")
def measured(tmp_path_factory):
    """The boards on one tiny matrix; what needs processes of its own is made up."""
    out = tmp_path_factory.mktemp("boards")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("noap.bench.instances.real_sets", lambda folder: [("small", None, S)])
        patch.setattr("noap.bench.boards.joint.real_sets", lambda folder: [("small", None, S)])
        patch.setattr("noap.bench.general.list_backends", lambda licences: [])
        patch.setattr("noap.bench.boards.features.measured", lambda what, k, noise, limit: LINE | {"d": what[1]})
        patch.setattr("noap.bench.boards.cold_start.in_cache", lambda code, cache: 7.5)
        return out, run(TINY, out, boards=NAMES)


def table(measured, name):
    return measured[1].tables[name]


def brute_force(C, k, noise):
    """The robust optimum over all supports, by a dense grid of directions on each: from below, nearly."""
    best = 0.0
    rng = np.random.default_rng(0)
    for support in combinations(range(len(C)), k):
        part = C[np.ix_(support, support)]
        v = rng.standard_normal((4000, k))
        v /= np.linalg.norm(v, axis=1)[:, None]
        lengths = np.sqrt(np.einsum("ij,jk,ik->i", v, part, v)) - noise * np.abs(v).sum(axis=1)
        best = max(best, float(np.maximum(lengths, 0).max()) ** 2)
    return best


def test_quick_is_part_of_full():
    for name in ("noises", "large_ks", "joint_rs", "joint_ks", "stock_ks", "many_noises", "many_ks"):
        assert set(getattr(QUICK, name)) <= set(getattr(FULL, name))
    assert QUICK.many_seconds < FULL.many_seconds
    assert set(QUICK.cold_entries) <= set(noap.bench.cold.ENTRIES)
    assert len(BOARDS) == 15


def test_standardised_proofs_are_right_and_checked(measured):
    frame = table(measured, "standardised")
    (ours,) = frame.filter(pl.col("method") == "noap exact").to_dicts()
    optimum = brute_force(correlations(S), 2, 0.3)
    assert ours["value"] <= ours["bound"]
    assert 0.999 * optimum <= ours["value"]
    assert optimum <= ours["bound"]
    assert ours["proved"]
    assert ours["verified"]
    assert "SCIP, nonconvex model" in frame["method"].to_list()
    assert frame["loss"].min() == 0
    assert (frame.filter(pl.col("method") == "noap ascent")["loss"] < 1e-4).all()


def test_bounds_without_branching_hold(measured):
    frame = table(measured, "relaxation")
    optimum = brute_force(correlations(S), 2, 0.3)
    assert set(frame["method"]) == {"relaxation", "first node"}
    assert (frame["bound"] >= optimum).all()
    result, spent = first_node(problem_of(correlations(S), 2, 0.3))
    assert result.bound >= optimum
    assert spent > 0


def test_components_at_once_are_worth_no_less_than_one_by_one(measured):
    frame = table(measured, "joint")
    assert frame.height == 2
    assert (frame["value"] >= frame["one_by_one"] * (1 - 1e-9)).all()
    assert frame["verified"].all()


def test_open_problems_come_first(measured, tmp_path):
    _, results = measured
    tables = dict(results.tables)
    ours = pl.col("method") == "noap exact"
    for name in ("standardised", "large_k"):
        assert not any("is open" in line for line in BOARDS[name].beaten(tables[name]))
        rigged = tables[name].with_columns(
            pl.when(ours).then(False).otherwise(pl.col("proved")).alias("proved"),
            pl.when(ours).then(0.5).otherwise(pl.col("gap")).alias("gap"),
        )
        assert any("small" in line and "gap of 50 %" in line for line in BOARDS[name].beaten(rigged))
        rejected = tables[name].with_columns(pl.when(ours).then(False).alias("verified"))
        assert any("not accepted" in line for line in BOARDS[name].beaten(rejected))
    features = tables["features"].with_columns(pl.lit(0.02).alias("gap"))
    assert any("d=3000" in line and "2 %" in line for line in BOARDS["features"].beaten(features))
    joint = tables["joint"].with_columns(pl.lit("feasible").alias("status"))
    assert len(BOARDS["joint"].beaten(joint)) == 2


def test_published_values_are_named_as_such(measured):
    row = table(measured, "joint").row(0, named=True)
    stocks = frame_of([row | {"name": "snp500", "k": 5, "value": 1.0, "bound": 2.0, "one_by_one": 0.5, "trace": 100.0}])
    shown = BOARDS["joint"].show(stocks)
    assert "| 5 | 0.0100 | 0.0200 | 0.0050 | 0.0347 | 0.0417 |" in shown
    assert "published" in shown
    assert any("msPCA has published more" in line for line in BOARDS["joint"].beaten(stocks))


def test_the_page_opens_with_proofs_against_time(measured, tmp_path):
    out, _ = measured
    write_page(read(out), tmp_path / "page.md", tmp_path / "pictures", command="noap bench")
    page = (tmp_path / "page.md").read_text(encoding="utf-8")
    assert page.index("pictures/proved.svg") < page.index("## Where a peer beats us")
    assert "Of 1 problems of real data with noise in every feature noap proves 1" in page
    assert "<svg" in (tmp_path / "pictures" / "proved.svg").read_text(encoding="utf-8")
    for line in beaten(read(out)):
        assert line in page
    for name in NAMES:
        assert f"| {name} | " in page  # what it took


def test_a_run_that_was_stopped_goes_on(monkeypatch, tmp_path):
    monkeypatch.setattr("noap.bench.instances.real_sets", lambda folder: [("one", None, S), ("two", None, 2 * S)])
    asked = []

    def counted(problem, gap, limit):
        asked.append(problem)
        if len(asked) == 2:
            raise KeyboardInterrupt
        return PROOF | {"value": float(len(asked))}

    monkeypatch.setattr("noap.bench.boards.large_k.proof_row", counted)
    with pytest.raises(KeyboardInterrupt):
        run(TINY, tmp_path, boards=["large_k"])
    assert not (tmp_path / "large_k.csv").exists()
    left = tmp_path / "large_k.unfinished.jsonl"
    assert len(left.read_text(encoding="utf-8").splitlines()) == 2
    with left.open("a", encoding="utf-8") as file:
        file.write('{"key": "cut off')  # a power cut in the middle of a line
    found = run(TINY, tmp_path, boards=["large_k"]).tables["large_k"]
    assert len(asked) == 3
    ours = found.filter(pl.col("method") == "noap exact")
    assert dict(zip(ours["matrix"], ours["value"], strict=True)) == {"one": 1.0, "two": 3.0}
    assert not left.exists()
    taken = json.loads((tmp_path / "run.json").read_text(encoding="utf-8"))["large_k"]
    assert taken["wall_s"] > 0


def test_two_runs_share_a_folder(monkeypatch, tmp_path):
    monkeypatch.setattr("noap.bench.instances.real_sets", lambda folder: [("one", None, S)])

    def meanwhile(problem, gap, limit):
        (tmp_path / "run.json").write_text('{"cold_start": {"spec": {}}}', encoding="utf-8")
        return PROOF

    monkeypatch.setattr("noap.bench.boards.large_k.proof_row", meanwhile)
    run(TINY, tmp_path, boards=["large_k"])
    assert set(json.loads((tmp_path / "run.json").read_text(encoding="utf-8"))) == {"cold_start", "large_k"}


PROOF = {
    "value": 1.0, "bound": 1.0, "gap": 0.0, "proved": True, "seconds": 0.1, "cpu_s": 0.1, "nodes": 1, "verified": True,
    "verify_s": 0.1, "limit": 1.0,
}  # fmt: skip


def test_another_spec_begins_anew(tmp_path):
    place, said, skipped = tmp_path / "x.jsonl", [], []
    first = Journal(place, {"a": (1, 2)})

    def rows():
        skipped.append("left out")
        return [{"x": 1.5, "n": np.int64(3), "bad": float("inf")}]

    first.once(("a", 1), rows, skipped)
    again = Journal(place, {"a": (1, 2)}, said.append)
    known = []
    assert again.once(("a", 1), lambda: 1 / 0, known) == [{"x": 1.5, "n": 3, "bad": float("inf")}]
    assert known == ["left out"]
    assert "1 instances" in said[0]
    other = Journal(place, {"a": (1, 3)}, said.append)
    assert "begins anew" in said[1]
    assert other.once(("a", 1), lambda: [{"x": 2.0}], []) == [{"x": 2.0}]


def test_a_process_that_fails_is_named(monkeypatch):
    def failing(*arguments):
        raise subprocess.CalledProcessError(1, "python")

    monkeypatch.setattr("noap.bench.boards.features.measured", failing)
    setting = Setting(TINY, [], None, lambda line: None)
    assert list(BOARDS["features"].run(setting)) == []
    assert "the process failed" in setting.skipped[0]


def test_real_sets_without_a_folder_are_those_of_scikit_learn():
    names = [name for name, _, _ in real_sets(None)]
    assert names == ["diabetes", "wine", "breast cancer", "digits"]
    sets = dict(standardised_sets(None))
    for C in sets.values():
        np.testing.assert_allclose(np.diag(C), 1.0)


@pytest.mark.slow
def test_many_features_and_a_cold_start_for_real(tmp_path):
    spec = dataclasses.replace(TINY, many_shapes=((50, 3000),), many_noises=(0.3,), cold_entries=("import noap",))
    found = run(spec, tmp_path, boards=["features", "cold_start"]).tables
    line = found["features"].row(0, named=True)
    assert line["verified"]
    assert line["gap"] <= 1e-4
    assert 0 < line["features left"] < 3000
    assert (found["cold_start"]["cold_cpu_s"] > 0).all()
