"""The scoreboard: fair timing, the same score for everyone, tables that make the page, and its command."""

import dataclasses
import importlib.util
import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

import bench_cases
import noap
from bench_cases import RNG, S, X
from judge import vanilla_optimum
from noap.bench import FULL, QUICK, run, write_page
from noap.bench.board import Setting
from noap.bench.boards import BOARDS, growth, profiles
from noap.bench.page import beaten
from noap.bench.peers import PEERS, missing_peers
from noap.bench.runner import read
from noap.bench.scoring import loss, score
from noap.bench.sources import Matrix, from_folder, matrices
from noap.cli.app import app
from noap.errors import InvalidProblem
from noap.heuristics.batch import Batch
from noap.measuring.tables import frame_of
from noap.measuring.timing import Elsewhere, side_by_side
from noap.measuring.tracing import parts_of
from noap.mip.backends.scip_direct import solve_directly

ROOT = Path(__file__).parent.parent
RESULTS = ROOT / "benchmarks" / "results" / "boards"
SMALL = [Matrix("small", S, {2: 0.1})]
TINY = dataclasses.replace(
    bench_cases.TINY,
    solver_seconds=(1.0,),
    solver_ks=(2,),
    samples=(30,),
    seeds=1,
    budgets=(1.0,),
    sample_budgets=(),
    growth_d=(20,),
    growth_n=(),
    growth_k=(),
    growth_budgets=(),
)


def test_specs_are_frozen_and_quick_is_part_of_full():
    with pytest.raises(dataclasses.FrozenInstanceError):
        FULL.repeats = 1
    for name in ("ks", "samples", "budgets", "sample_budgets", "program_budgets", "growth_d", "growth_k", "memory_d"):
        assert set(getattr(QUICK, name)) <= set(getattr(FULL, name))
    assert json.loads(json.dumps(FULL.as_dict()))["repeats"] == FULL.repeats


def test_vectors_are_scored_as_returned_and_on_their_support():
    problem = noap.Problem.from_covariance(S, n_samples=20, k=2, adversary=noap.NoAdversary())
    shrunk = np.array([0.3, 1.0, 0.0, 0.0, 0.0, 0.0])  # neither of length 1 nor optimal on its support
    one = score(problem, shrunk)
    assert one.features == 2
    assert one.returned == pytest.approx(shrunk @ S @ shrunk / (shrunk @ shrunk))
    assert one.resolved == pytest.approx(np.linalg.eigvalsh(S[:2, :2])[-1])
    assert one.resolved > one.returned
    cut = score(problem, np.array([0.3, 1.0, 0.1, 0.0, 0.0, 0.0]))
    assert (cut.features, cut.returned) == (3, one.returned)
    assert score(problem, np.zeros(6)).resolved == 0
    assert loss(0.9, 1.0) == pytest.approx(0.1)
    assert loss(0.0, 0.0) == 0


def test_a_blind_vector_is_scored_under_the_adversary():
    problem = noap.Problem(X, k=2, adversary=noap.FeatureWise(2.0))
    v = np.array([1.0, 1.0, 0, 0, 0, 0]) / np.sqrt(2)
    one = score(problem, v)
    assert one.returned == pytest.approx(max(np.linalg.norm(X @ v) - 2.0 * np.abs(v).sum(), 0) ** 2 / 20)
    assert one.returned <= one.resolved <= noap.solve(problem).bound


@pytest.mark.parametrize("peer", PEERS, ids=lambda peer: peer.name)
def test_peers_find_sparse_vectors(peer):
    if not peer.installed:
        pytest.skip(f"{peer.name} is an optional extra")
    v = side_by_side({"job": peer.prepare(S, 2)}, 1)["job"].answer
    problem = noap.Problem.from_covariance(S, n_samples=20, k=2, adversary=noap.NoAdversary())
    assert v.shape == (6,)
    assert 0.5 * vanilla_optimum(S, 2) <= score(problem, v).resolved <= vanilla_optimum(S, 2) * (1 + 1e-9)


def test_seconds_of_another_process_are_its_own():
    timing = side_by_side({"job": lambda: Elsewhere("answer", 12.5)}, 2)["job"]
    assert (timing.answer, timing.cpu) == ("answer", [12.5, 12.5])
    with_product = growth._with_product(X, lambda: Elsewhere("answer", 12.5))
    assert side_by_side({"job": with_product}, 1)["job"].cpu[0] >= 12.5


def test_a_peer_that_is_not_there_is_named(monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    monkeypatch.setattr("noap.bench.peers.r_packages", dict)
    said = missing_peers()
    assert len(said) == len(PEERS) + 1
    assert "noap[bench]" in said[0]
    assert "r-cran-irlba" in said[2]
    assert "nsprcomp" in said[-1]  # of R, and neither of Debian nor of the Python index


def test_the_folder_of_matrices_is_read_and_what_is_missing_is_said(tmp_path):
    (tmp_path / "pitprops").mkdir()
    np.savetxt(tmp_path / "pitprops" / "pitprops.csv", S, delimiter=",")
    found = {(name, key): matrix for name, key, matrix in from_folder(tmp_path)}
    np.testing.assert_allclose(found["pitprops", None], S)
    assert found["colon", None] is None
    everything, missing = matrices(tmp_path)
    assert "pitprops" in [matrix.name for matrix in everything]
    assert any("colon" in sentence for sentence in missing)
    assert len(matrices(None)[1]) == 1
    with pytest.raises(InvalidProblem, match="--data"):
        matrices(tmp_path / "nowhere")


def test_the_direct_model_bounds_and_finds_the_optimum():
    vanilla = solve_directly(S, 2, 0.0, seconds=10.0)
    assert vanilla.bound >= vanilla_optimum(S, 2) * (1 - 1e-6)
    assert vanilla.optimal
    assert vanilla.bound == pytest.approx(vanilla_optimum(S, 2), rel=1e-3)
    robust = solve_directly(S, 2, 0.3, seconds=10.0)
    problem = noap.Problem.from_covariance(S, n_samples=1, k=2, adversary=noap.FeatureWise(0.3))
    proved = noap.solve(problem)
    assert robust.bound >= proved.value * (1 - 1e-6)
    assert score(problem, robust.v).resolved == pytest.approx(proved.value, rel=1e-3)


@pytest.mark.parametrize("parts", [profiles._PARTS, profiles._EXACT_PARTS])
def test_parts_of_the_profiles_are_there(parts):
    with pytest.raises(AttributeError):
        parts_of(lambda: None, {"noap.problem:Problem.nonsense": "nothing"})
    assert sum(parts_of(lambda: sum(range(100_000)), parts).values()) == pytest.approx(1.0)


def test_keys_tell_supports_apart():
    rng = np.random.default_rng(1)
    indices = np.sort(np.array([rng.choice(50, 4, replace=False) for _ in range(2000)]), axis=1)
    weights = rng.standard_normal((2000, 4)) * (rng.random((2000, 4)) > 0.2)
    keys = Batch(indices, weights).keys()
    supports = [tuple(i[w != 0]) for i, w in zip(indices, weights, strict=True)]
    assert len(set(keys.tolist())) == len(set(supports))
    assert len(set(zip(keys.tolist(), supports, strict=True))) == len(set(supports))


@pytest.fixture(scope="module")
def measured(tmp_path_factory):
    """Every board that needs no processes or long programs, on the smallest spec."""
    out = tmp_path_factory.mktemp("boards")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("noap.bench.runner.matrices", lambda folder: (SMALL, ["colon is not there: skipped."]))
        patch.setattr("noap.bench.general.list_backends", lambda licences: [])
        patch.setattr("noap.bench.boards.profiles.strong_weak", lambda n, d, k, seed: RNG.standard_normal((30, 25)))
        patch.setattr("noap.bench.boards.profiles._vanilla", lambda matrix, k: vanilla_of(matrix))
        names = ["heuristics", "exact", "robust", "growth", "certificates", "profiles", "changes"]
        return out, run(TINY, out, boards=names)


def vanilla_of(matrix):
    return noap.Problem.from_covariance(matrix.S, n_samples=1, k=2, adversary=noap.NoAdversary())


def test_a_run_leaves_tables_and_says_where_they_come_from(measured):
    out, results = measured
    assert {"heuristics", "exact", "robust", "growth", "certificates", "profiles"} == set(results.tables)
    about = json.loads((out / "run.json").read_text())
    for name in results.tables:
        assert about[name]["environment"]["commit"]
        assert about[name]["spec"]["name"] == "tiny"
        assert all(one["threads"] == 1 for one in about[name]["threads"])
    table = results.tables["heuristics"]
    ours = table.filter(pl.col("method") == "noap ascent")
    assert ours["loss_resolved"].max() <= 1e-9
    assert ours["best"][0] == pytest.approx(vanilla_optimum(S, 2), rel=1e-6)
    assert (results.tables["robust"]["returned"] <= results.tables["robust"]["resolved"] + 1e-12).all()
    assert results.tables["certificates"]["accepted"].all()


@pytest.fixture
def undrawn(monkeypatch):
    """Pictures take most of the time of a page, and one test looks at them."""
    monkeypatch.setattr("noap.bench.page.draw", lambda tables, folder: None)


def test_a_table_of_another_version_is_named(measured, tmp_path):
    out, _ = measured
    results = read(out)
    results.tables["robust"] = results.tables["robust"].drop("method")
    with pytest.raises(noap.errors.InvalidProblem, match=r"robust.csv was made by another version .*--board robust"):
        write_page(results, tmp_path / "page.md", tmp_path / "pictures", command="noap bench")
    assert not list(tmp_path.iterdir())


def test_the_page_is_made_from_the_tables_and_lists_defeats_first(measured, tmp_path):
    out, _ = measured
    write_page(read(out), tmp_path / "page.md", tmp_path / "pictures", command="noap bench")
    page = (tmp_path / "page.md").read_text(encoding="utf-8")
    headings = [line for line in page.splitlines() if line.startswith("## ")]
    assert headings[0] == "## Where a peer beats us, and what is open"
    assert "colon is not there: skipped." in page
    drawn = {picture.name for picture in (tmp_path / "pictures").iterdir()}
    assert drawn == {line.split("pictures/")[1].rstrip(")") for line in page.splitlines() if line.startswith("![")}
    for sentence in beaten(read(out)):
        assert sentence in page


def test_a_peer_that_wins_is_listed(measured):
    _, results = measured
    table = results.tables["heuristics"]
    won = pl.col("method") != "noap ascent"
    rigged = table.with_columns(
        pl.when(won).then(pl.col("resolved") * 2).otherwise(pl.col("resolved")).alias("resolved"),
        pl.when(won).then(0.1).otherwise(1.0).alias("time_ratio"),
    )
    said = "\n".join(BOARDS["heuristics"].beaten(rigged))
    assert "finds a better vector than noap ascent on small k=2" in said
    assert "by a factor of 10" in said
    lost = table.with_columns(pl.lit(5.0).alias("time_ratio"))
    assert BOARDS["heuristics"].beaten(lost) == []
    rejected = results.tables["certificates"].with_columns(pl.lit(False).alias("accepted"))
    assert any("not accepted" in sentence for sentence in BOARDS["certificates"].beaten(rejected))
    open_ = results.tables["exact"].with_columns(pl.lit(False).alias("proved"), pl.lit(0.5).alias("gap"))
    assert any("is open" in sentence for sentence in BOARDS["exact"].beaten(open_))


def test_programs_compare_forms_on_a_solver(monkeypatch):
    backend = [info for info in noap.mip.list_backends() if info.name == "scip"]
    monkeypatch.setattr("noap.bench.boards.programs.list_backends", lambda licences: backend)
    monkeypatch.setattr("noap.bench.boards.programs._REDUCED", 6)
    setting = Setting(dataclasses.replace(TINY, program_seconds=0.3), SMALL, None, lambda line: None)
    frame = frame_of(BOARDS["programs"].run(setting))
    assert set(frame["form"]) == {"noap exact", "as printed", "corrected", "strengthened"}
    assert (frame["total_gap"] >= -1e-6).all()
    assert "strengthened" in BOARDS["programs"].show(frame)


def test_the_command_renders_and_refuses(measured, undrawn, tmp_path):
    out, _ = measured
    command = CliRunner()
    page = tmp_path / "page.md"
    done = command.invoke(app, ["bench", "--render", "--out", str(out), "--page", str(page), "--json"])
    assert done.exit_code == 0, done.output
    document = json.loads(done.stdout)
    assert document["page"] == str(page)
    assert page.exists()
    done = command.invoke(app, ["bench", "--render", "--out", str(out)])
    assert "Heuristics" in done.stdout
    for arguments, words in (
        (["--board", "nonsense"], "board must be one of"),
        (["--data", str(tmp_path / "none")], "--data"),
        (["--against", str(tmp_path)], "--against"),
        (["--render", "--out", str(tmp_path / "none")], "not a folder"),
    ):
        done = command.invoke(app, ["bench", "--out", str(tmp_path / "new"), *arguments])
        assert done.exit_code
        assert isinstance(done.exception, InvalidProblem)
        assert words in str(done.exception)


@pytest.mark.skipif(not RESULTS.is_dir(), reason="the committed results are part of the repository only")
def test_the_committed_page_is_what_the_committed_tables_say(undrawn, tmp_path):
    write_page(read(RESULTS), tmp_path / "benchmarks.md", tmp_path / "benchmarks", command="noap bench")
    committed = (ROOT / "docs" / "benchmarks.md").read_text(encoding="utf-8")
    assert (tmp_path / "benchmarks.md").read_text(encoding="utf-8") == committed
