"""The scoreboard: instances as files, one worker for any version, one table, the page, and two sides in turns."""

import json
import re
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import noap
from benchmarks import RESULTS, peers, worker
from benchmarks.__main__ import main
from benchmarks.board import Board, Setting
from benchmarks.boards import BOARDS
from benchmarks.data import correlations, matrices, of_covariance, real_sets
from benchmarks.instances import Instance, Store
from benchmarks.page import beaten, tables_of, text_of
from benchmarks.runner import Side, Worker, compared, run
from benchmarks.summary import EXACT, against, of, proofs
from benchmarks.table import COLUMNS, Journal, as_row, read
from benchmarks.table import of as table_of
from benchmarks.versions import Version, prepared, this_version
from judge import vanilla_optimum

ROOT = Path(__file__).parent.parent
RNG = np.random.default_rng(0)
X = RNG.standard_normal((20, 6)) @ np.diag([3.0, 2.5, 2.0, 1.0, 1.0, 0.5]) + RNG.standard_normal((20, 1))
S = X.T @ X / 20
PROBLEM = noap.Problem.from_covariance(S, n_samples=20, k=2, adversary=noap.NoAdversary())


def two(setting):
    yield of_covariance("one", S, 2, gap=1e-6)
    yield of_covariance("two", 2.0 * S, 3, gap=1e-6)


TINY = Board("tiny", "Two tiny ones", lambda frame: proofs(frame, ["k"]), two, lambda one: ["exact", "ascent"])


def asked(folder, one, method="exact"):
    """What the worker says of an instance, in this process."""
    return worker.answer({"place": str(Store(folder).put(one)), "method": method})


def test_a_run_leaves_one_table_and_says_where_it_comes_from(tmp_path):
    run([TINY], Setting(), tmp_path)
    table = read(tmp_path / "tiny.csv")
    assert table.columns == list(COLUMNS)
    assert dict(zip(table["instance"], table["k"], strict=True)) == {"one": 2, "two": 3}
    ours = of(table, EXACT)
    assert ours["value"].to_list() == pytest.approx([vanilla_optimum(S, 2), 2 * vanilla_optimum(S, 3)], rel=1e-6)
    assert ours.select("proved", "verified").to_series().all()
    assert (ours["bytes"] > 500).all()
    assert (table["value"] >= table["returned"].fill_null(0.0)).all()
    about = json.loads((tmp_path / "run.json").read_text(encoding="utf-8"))["tiny"]
    assert about["environment"]["commit"]
    assert about["cpu_s"] > 0
    assert not list(tmp_path.glob("*.jsonl"))


def test_two_sides_are_measured_in_turns_and_a_stopped_run_goes_on(tmp_path, monkeypatch):
    sides = [Side("old", this_version(), "relaxation"), Side("new", this_version())]
    asks = []

    def watched(self, **line):
        asks.append(line["method"])
        if len(asks) == 9:
            raise KeyboardInterrupt
        return ask(self, **line)

    ask = Worker.ask
    monkeypatch.setattr(Worker, "ask", watched)
    with pytest.raises(KeyboardInterrupt):
        compared([TINY], sides, Setting(), tmp_path)
    assert asks[:8] == ["relaxation", "exact"] * 4  # one uncounted round and three others
    rows = compared([TINY], sides, Setting(), tmp_path)
    assert len(asks) == 17  # the first instance was known
    table = read(tmp_path / "against.csv")
    assert table.equals(table_of(rows))
    assert table["side"].to_list() == ["old", "new"] * 2
    text = against(table, "old", "new")
    proved = table.filter(pl.col("side") == "old")["proved"].sum()
    assert f"2 instances: proved {proved} of 2 by old, 2 of 2 by new" in text
    assert ("differ" in text) is (proved < 2)
    only = compared([TINY], sides, Setting(), tmp_path / "other", only="tw")
    assert {row["instance"] for row in only} == {"two"}


def test_answers_that_contradict_each_other_are_listed():
    cells = {"board": "b", "instance": "x", "proved": True, "cpu_s": 2.0, "verify_s": 0.1, "nodes": 3, "gap": 1e-5,
             "value": 1.0, "bound": 1.00001, "verified": True}  # fmt: skip
    same = [as_row({**cells, "side": side}) for side in ("old", "new")]
    assert "differ" not in against(table_of(same), "old", "new")
    for change in ({"value": 1.1}, {"bound": 0.9}, {"proved": False, "gap": 0.3}, {"verified": False}):
        text = against(table_of([same[0], as_row({**cells, "side": "new", "cpu_s": 1.0, **change})]), "old", "new")
        assert "Open, rejected, or answers that differ" in text, change
    faster = against(table_of([same[0], as_row({**cells, "side": "new", "cpu_s": 1.0})]), "old", "new")
    assert "| solve, CPU | 2 s | 2 s | 2 s | 1 s | 1 s | 1 s | 2.00 | 2.00 to 2.00 |" in faster


def test_what_goes_wrong_in_a_worker_is_said_and_the_next_one_is_measured(tmp_path):
    store, here = Store(tmp_path), Worker(this_version())
    try:
        assert "InvalidProblem" in here.ask(place=str(store.put(of_covariance("bad", S, 0))), method="exact")["error"]
        assert here.ask(place=str(store.put(of_covariance("good", S, 2))), method="exact")["proved"]
    finally:
        here.close()
    nothing = Worker(Version("none", Path("/bin/false"), ()))
    assert "ended with code 1" in nothing.ask(place="x", method="exact")["error"]
    board = Board("bad", "", str, lambda setting: [of_covariance("bad", S, 0)])
    (row,) = compared([board], [Side("new", this_version())], Setting(), tmp_path / "out")
    assert "InvalidProblem" in row["stopped"]
    assert row["proved"] is False


def test_an_instance_survives_the_way_through_files(tmp_path):
    rho, costs = np.array([0.0, 0.1, 0.3, 0.2, 0.1, 0.0]) * np.sqrt(20), np.linspace(0.0, 0.2, 6)
    one = Instance("both", X, 2, rho, costs=costs)
    result = noap.solve(noap.Problem(X, k=2, adversary=noap.FeatureWise(rho), costs=costs))
    found = asked(tmp_path, one)
    assert found["value"] == pytest.approx(result.value, rel=1e-9)
    assert found["verified"]
    assert (found["n"], found["d"]) == (20, 6)
    with np.load(tmp_path / "0001.npz") as arrays:
        np.testing.assert_array_equal(arrays["M"], X)
    np.savez(tmp_path / "samples.npz", X=X)
    of_file = asked(tmp_path / "f", Instance("file", tmp_path / "samples.npz", 2, 0.3, options={"typical": True}))
    Z = X - X.mean(axis=0)
    rho = 0.3 * float(np.median(np.linalg.norm(Z, axis=0)))
    again = noap.solve(noap.Problem(Z, k=2, adversary=noap.FeatureWise(rho)))
    assert of_file["value"] == pytest.approx(again.value, rel=1e-9)


def test_every_task_is_measured(tmp_path):
    packed = asked(tmp_path, of_covariance("r", S, 2, r=2, task="components"))
    assert packed["one_by_one"] <= packed["value"] * (1 + 1e-9) <= packed["bound"] * (1 + 1e-9)
    assert packed["trace"] == pytest.approx(np.trace(S))
    budgets = {"rhos": [0.0, 2.0, 4.0]}
    path = Instance("p", X, 2, 0.0, "NoAdversary", task="path", options=budgets)
    whole, apart = (asked(tmp_path / method, path, method) for method in ("path", "one by one"))
    assert whole["points"] == apart["points"] == 3
    assert whole["value"] == pytest.approx(apart["value"], rel=1e-3)
    lived = asked(tmp_path, Instance("l", X, 2, 0.0, "NoAdversary", task="path"))["lifetimes"]
    assert set(lived) <= set(range(6))
    levels = asked(tmp_path, Instance("k", X, 6, 0.0, "NoAdversary", task="k_path"))
    assert levels["points"] == 6
    assert levels["proved"]


def test_the_worker_uses_public_names_alone():
    """Those that older versions have, and newer ones will have."""
    text = Path(worker.__file__).read_text(encoding="utf-8")
    assert set(re.findall(r"\bnoap\.(\w+)", text)) <= {*noap.__all__, "mip"}
    assert set(re.findall(r"^\s*from (\S+)|^import (\S+)", text, re.MULTILINE)) == {
        ("", "json"), ("", "os"), ("", "re"), ("", "sys"), ("", "time"), ("", "warnings"), ("", "numpy"), ("", "noap"),
        ("", "noap.mip"), ("scipy.sparse", ""), ("benchmarks.peers", ""),
    }  # fmt: skip


def test_vectors_are_scored_as_returned_and_on_their_support():
    one = worker.score(PROBLEM, np.array([0.3, 1.0, 0, 0, 0, 0]))  # neither of length 1 nor optimal on its support
    assert one["features"] == 2
    assert one["returned"] == pytest.approx((0.09 * S[0, 0] + 0.6 * S[0, 1] + S[1, 1]) / 1.09)
    assert one["value"] == pytest.approx(np.linalg.eigvalsh(S[:2, :2])[-1])
    cut = worker.score(PROBLEM, np.array([0.3, 1.0, 0.1, 0, 0, 0]))
    assert (cut["features"], cut["returned"]) == (3, pytest.approx(one["returned"]))
    assert worker.score(PROBLEM, np.zeros(6))["value"] == 0


@pytest.mark.parametrize("name", list(peers.PEERS))
def test_peers_find_sparse_vectors(name, tmp_path):
    if not peers.PEERS[name].installed:
        pytest.skip(f"{name} is an optional extra")
    found = asked(tmp_path, of_covariance("s", S, 2), name)
    assert 0.5 * vanilla_optimum(S, 2) <= found["value"] <= vanilla_optimum(S, 2) * (1 + 1e-9)
    assert any(name in sentence for sentence in peers.missing()) is False


def test_general_solvers_bound_the_optimum(tmp_path):
    name = "SCIP, MIP with every valid row"
    assert name in peers.solvers()
    found = asked(tmp_path, of_covariance("s", S, 2), name)
    assert found["value"] == pytest.approx(vanilla_optimum(S, 2), rel=1e-6)
    assert found["bound"] >= vanilla_optimum(S, 2) * (1 - 1e-6)
    assert found["proved"]


def test_a_journal_that_was_cut_off_is_continued_and_another_choice_begins_anew(tmp_path):
    place, said = tmp_path / "x.jsonl", []
    Journal(place, {"a": (1, 2)}).once("a", lambda: [{"x": 1.5, "bad": float("inf")}])
    with place.open("a", encoding="utf-8") as file:
        file.write('{"key": "cut off')  # a power cut in the middle of a line
    again = Journal(place, {"a": (1, 2)}, said.append)
    assert again.once("a", lambda: 1 / 0) == [{"x": 1.5, "bad": float("inf")}]
    again.once("b", lambda: [{"x": 3.0}])
    assert Journal(place, {"a": (1, 2)}).once("b", lambda: 1 / 0) == [{"x": 3.0}]
    assert Journal(place, {"a": (1, 3)}, said.append).once("a", lambda: [{"x": 2.0}]) == [{"x": 2.0}]
    assert "1 instances" in said[0]
    assert "begins anew" in said[1]


@pytest.mark.parametrize("name", [name for name in BOARDS if name not in ("many", "cold_start", "settings")])
def test_instances_of_a_board_have_names_of_their_own(name):
    found = list(BOARDS[name].instances(Setting(quick=True)))
    assert found
    assert len({one.name for one in found}) == len(found)
    for one in found:
        assert one.k <= one.d
        assert list(BOARDS[name].methods(one))


def test_the_grid_is_the_papers():
    found = list(BOARDS["grid"].instances(Setting()))
    assert len(found) == 400
    assert {one.M.shape for one in found} == {(100, 100), (500, 100)}
    half = next(one for one in found if one.name == "n=500 seed=0 rho-bar=0.5 gap=0.0001")
    assert half.rho == pytest.approx(0.5 * np.sqrt(500 / 5))


def test_mixed_budgets_are_drawn_once():
    by_name = {one.name: one for one in BOARDS["mixed"].instances(Setting())}
    equal, unequal = (by_name[f"wine d=13 k=5 exact=0.4 {kind}"].rho for kind in ("equal", "unequal"))
    np.testing.assert_array_equal(equal == 0, unequal == 0)
    np.testing.assert_array_equal(equal, by_name["wine d=13 k=10 exact=0.4 equal"].rho)
    assert set(equal) == {0.0, 0.3}
    assert 0 < (equal == 0).sum() < 13
    assert ((unequal == 0) | ((unequal >= 0.1) & (unequal <= 0.7))).all()
    assert len(set(unequal)) > 3


def test_the_folder_of_matrices_is_read_and_what_is_missing_is_said(tmp_path):
    (tmp_path / "pitprops").mkdir()
    np.savetxt(tmp_path / "pitprops" / "pitprops.csv", S, delimiter=",")
    setting = Setting(tmp_path)
    ((name, key, found),) = real_sets(setting)
    assert (name, key) == ("pitprops", None)
    np.testing.assert_allclose(found, S)
    assert any("colon" in sentence for sentence in setting.skipped)
    assert "pitprops" in dict(matrices(setting))
    assert [one[0] for one in real_sets(Setting())] == ["diabetes", "wine", "breast cancer", "digits"]
    np.testing.assert_allclose(np.diag(correlations(S)), 1.0)


def test_defeats_are_listed():
    ours = {"board": "vanilla", "instance": "x", "value": 1.0, "wall_s": 1.0, "cpu_s": 1.0, "d": 5, "k": 2,
            "limit_s": 1.0, "verified": True}  # fmt: skip
    rows = [
        {**ours, "method": "exact", "bound": 1.5, "gap": 0.5, "proved": False, "verified": False},
        {**ours, "method": "ascent", "returned": 1.0},
        {**ours, "method": "abess", "value": 2.0, "returned": 2.0, "cpu_s": 0.1},
        {**ours, "method": "Gurobi, paper's MIP", "bound": 2.0, "gap": 0.0, "proved": True, "cpu_s": 0.5, "value": 2.0},
    ]
    said = "\n".join(beaten({"vanilla": table_of(map(as_row, rows))}))
    for words in (
        "proof: x is open, with a gap of 50 % after 1 s", "certificate: that of x is not accepted",
        "value: abess is better than noap ascent", "time: abess is faster than noap ascent on 1 of 1, by 10",
        "value: Gurobi, paper's MIP is better than noap exact", "noap exact on 1 of 1, by 2 in the median",
        "noap ascent loses 50 %",
    ):  # fmt: skip
        assert words in said
    assert beaten({"vanilla": table_of(map(as_row, [rows[1], {**rows[2], "value": 1.0, "cpu_s": 5.0}]))}) == []


def test_the_committed_page_is_what_the_committed_tables_say():
    committed = (ROOT / "docs" / "benchmarks.md").read_text(encoding="utf-8")
    about = json.loads((RESULTS / "run.json").read_text(encoding="utf-8"))
    tables = tables_of(RESULTS)
    assert len(tables) > 8
    assert text_of(tables, about, "benchmarks") == committed
    for line in committed.splitlines():
        if line.startswith("!["):
            assert (ROOT / "docs" / line.split("(")[-1].rstrip(")")).exists(), line


def test_every_committed_table_has_the_one_format():
    for place in RESULTS.glob("*.csv"):
        if place.stem != "gpu":  # of an accelerator that is not at hand, in the columns of its time
            assert read(place).columns == list(COLUMNS), place.name


def test_the_command_writes_instances_compares_and_refuses(tmp_path, capsys):
    assert prepared("HEAD", tmp_path) == this_version()
    main(["--board", "mixed", "--quick", "--export", str(tmp_path)])
    assert "mixed: 48 instances" in capsys.readouterr().out
    assert worker.answer({"place": str(tmp_path / "mixed" / "0001.json"), "method": "exact"})["proved"]
    arguments = ["--board", "mixed", "--quick", "--only", "wine d=13 k=5 exact=0.4", "--out", str(tmp_path / "out")]
    main([*arguments, "--against", "HEAD", "--old-method", "relaxation"])
    said = capsys.readouterr().out
    assert "## mixed" in said
    assert "2 instances" in said
    assert (tmp_path / "out" / "against.md").read_text(encoding="utf-8") in said
    for refused, words in ((["--data", str(tmp_path / "none")], "--data"), (["--against", "no-such-commit"], "git")):
        with pytest.raises(SystemExit, match=words):
            main([*arguments, *refused])
