"""Claims, tables and figures as pure functions: made-up tables whose verdict is known, and one small real run."""

import dataclasses

import polars as pl
import pytest

import noap
from noap.experiments import SpikedModel, Store, paper_specs, run
from noap.experiments.claims import CLAIMS, Verdict, judge
from noap.experiments.claims.captions import supports_found
from noap.experiments.claims.claim import ranges
from noap.experiments.figures import recovery, stage_of
from noap.experiments.population import guaranteed_cosines, population_of
from noap.experiments.report import FIGURES, drawable, render, stage_rows, write_figures
from noap.experiments.table import trials


def claim(name):
    return next(claim for claim in CLAIMS if claim.name == name)


def table(rows):
    """A table of trials with the columns that the claims about captions read."""
    defaults = {
        "seed": 0, "value": 1.0, "bound": 1.0, "gap": 0.0, "limit_hit": None, "time_limit": 5.0, "solver_gap": None,
        "cosine_strong": 1.0, "cosine_weak": 1.0, "recovery_strong": 1.0, "recovery_weak": 1.0, "support": "[1]",
        "solution": None, "cycle": None,
    }  # fmt: skip
    types = {
        "limit_hit": pl.String,
        "solution": pl.String,
        "cycle": pl.Int64,
        "value": pl.Float64,
        "solver_gap": pl.Float64,
        "gap": pl.Float64,
        "bound": pl.Float64,
    }
    return pl.DataFrame([defaults | row for row in rows], schema_overrides=types, infer_schema_length=None)


def stages_of(strong, weak, method="exact", n=100):
    return [
        {"method": method, "n": n, "budget": float(i), "cosine_strong": s, "cosine_weak": w}
        for i, (s, w) in enumerate(zip(strong, weak, strict=True))
    ]


def test_three_stages_hold_fail_and_depend():
    check = claim("three stages").check
    good = stages_of([1.0, 0.95, 0.7, 0.0], [0.95, 0.05, 0.0, 0.0])
    bad = stages_of([1.0, 0.95, 0.7, 0.0], [0.95, 0.5, 0.0, 0.0], n=500)
    disordered = stages_of([1.0, 0.95, 1.0, 0.0], [0.95, 0.0, 0.95, 0.0])
    assert check(table(good)).verdict is Verdict.HOLDS
    assert check(table(bad)).verdict is Verdict.FAILS
    assert check(table(disordered)).verdict is Verdict.FAILS
    both = check(table(good + bad))
    assert both.verdict is Verdict.DEPENDS
    assert "n = 500: both at rho-bar 0, strong alone at none" in both.evidence


def with_optimum(rows):
    """Add the exact rows that say where the optimum is positive."""
    places = {(row["n"], row["budget"]) for row in rows}
    return table(rows + [{"method": "exact", "n": n, "budget": budget, "value": 2.0} for n, budget in places])


@pytest.mark.parametrize(
    ("gaps", "verdict"),
    [((0.0, 0.01), Verdict.HOLDS), ((0.0, 0.5), Verdict.DEPENDS), ((0.3, 0.5), Verdict.FAILS)],
)
def test_gap_near_zero(gaps, verdict):
    rows = [{"method": "MIP", "n": 100, "budget": float(i), "gap": gap} for i, gap in enumerate(gaps)]
    assert claim("MIP gap near 0, as printed").check(with_optimum(rows)).verdict is verdict


def test_a_program_stopped_early_is_judged_by_its_own_solution_too():
    rows = [{"method": "MIP", "n": 100, "budget": 1.0, "gap": 2.0, "solver_gap": 1.5, "limit_hit": "time"}]
    evidence = claim("MIP gap near 0, as printed").check(with_optimum(rows)).evidence
    assert "stopped 1 of 1" in evidence
    assert "at least 20 %" in evidence  # (1 + 2)/(1 + 1.5) - 1


def test_best_objective_needs_every_rival():
    def rows(mip, ppm):
        values = {"MIP": mip, "MIP-r": 0.5, "PPM": ppm}
        return [{"method": m, "n": 100, "budget": 2.0, "value": value} for m, value in values.items()]

    check = claim("MIP finds the best objective").check
    assert check(with_optimum(rows(1.0, 0.8))).verdict is Verdict.HOLDS
    assert check(with_optimum(rows(1.0, 1.2))).verdict is Verdict.FAILS
    assert "50 %" in check(with_optimum(rows(1.0, 0.8))).evidence


def test_only_strict_wins_count_and_a_start_is_nobody_s_merit():
    check = claim("MIP finds the best objective").check

    def rows(mip, mip_r, ppm, solution="own"):
        values = {"MIP": mip, "MIP-r": mip_r, "PPM": ppm}
        return [{"method": m, "n": 100, "budget": 2.0, "value": v} | {"solution": solution} for m, v in values.items()]

    for tie in (rows(0.0, 0.0, 0.0), rows(1.0, 1.0 - 1e-9, 0.5)):
        judgement = check(with_optimum(tie))
        assert judgement.verdict is Verdict.FAILS
        assert "above MIP-r at 0 of 1 points (1 tied)" in judgement.evidence
        assert "a tie is no win" in judgement.evidence
    started = check(with_optimum(rows(1.0, 0.5, 0.4, "start")))
    assert started.verdict is Verdict.DEPENDS
    assert "of 1 programs MIP: 1 the start that ascent gave it" in started.evidence
    missing = check(with_optimum([*rows(1.0, 0.5, 0.4), {"method": "MIP", "n": 500, "budget": 2.0, "value": None}]))
    assert missing.verdict is Verdict.HOLDS, "a point without a solution is not counted"
    assert "1 of 1 points" in missing.evidence
    equal = [{"method": m, "n": 100, "budget": 1.0, "gap": 0.5} for m in ("MIP", "MIP-r", "vanilla")]
    assert claim("MIP is the tightest bound").check(with_optimum(equal)).verdict is Verdict.FAILS


def test_the_parities_of_ppm_are_compared():
    def rows(first, second, cycle):
        values = {"PPM": first, "PPM, T + 1": second}
        return table(
            [{"method": m, "n": 100, "budget": 1.0, "recovery_weak": v, "cycle": cycle} for m, v in values.items()]
        )

    check = claim("PPM does not depend on T").check
    assert check(rows(0.5, 0.5, None)).verdict is Verdict.HOLDS
    apart = check(rows(0.77, 0.17, 2))
    assert apart.verdict is Verdict.DEPENDS
    assert "1 of 1 runs ended in a cycle (1 of length 2)" in apart.evidence
    assert "weak 0.77 and 0.17 at n = 100, rho-bar 1" in apart.evidence


def test_a_restricted_bound_below_the_optimum_is_noticed():
    rows = [
        {"method": method, "n": 100, "budget": 1.0, "bound": bound}
        for method, bound in [("MIP", 3.0), ("MIP-r", 2.5), ("MIP corrected", 1.9), ("MIP-r corrected", 2.0)]
    ]
    judgement = claim("the programs bound the problem").check(with_optimum(rows))
    assert judgement.verdict is Verdict.DEPENDS
    assert "MIP corrected lies below it in 1 of 1" in judgement.evidence


def test_restriction_is_measured_against_the_whole():
    rows = [{"method": "exact-15", "n": 100, "budget": float(i), "value": v} for i, v in enumerate((2.0, 1.9))]
    judgement = claim("15 features are enough").check(with_optimum(rows))
    assert judgement.verdict is Verdict.DEPENDS
    assert "1 of 2 instances, by up to 5 %" in judgement.evidence


def setting(samples):
    """The columns of the table of figures that say which model was drawn."""
    return pl.DataFrame([{"n": n, "d": 100, "k": 5, "lam": 3.0, "k1": 2, "c": 0.8} for n in samples])


def test_algorithm_1_and_the_true_support():
    included = claim("the reduced set includes the true support").check(setting([100, 500]))
    assert included.verdict is Verdict.DEPENDS
    assert included.evidence.endswith(
        "strong and weak part, n = 100: 57; strong and weak part, n = 500: 100; "
        "general truth, n = 100: 26; general truth, n = 500: 56."
    )
    found = claim("the power method finds the true support").check(setting([100, 500]))
    assert found.verdict is Verdict.DEPENDS
    assert "n = 100: 52" in found.evidence


def test_the_true_support_is_counted_against_the_draw():
    kept = found = 0
    for seed in range(20):
        draw = noap.theory.spiked_wishart(100, 30, 3, 3.0, random_state=seed)
        chosen = noap.screen_submatrix(draw.X.T @ draw.X / 100, 3, 15)
        direction = noap.solve(noap.Problem(draw.X, k=3, adversary=noap.NoAdversary()), method="spca")
        kept += all(draw.v[j] == 0 or j in chosen for j in range(30))
        found += direction.support.tolist() == draw.support.tolist()
    assert supports_found(100, 30, 3, 3.0, draws=20) == (kept, found)
    assert 0 < found < kept < 20


def test_stages_are_where_the_optima_change():
    rows = [
        {"n": 50, "seed": 0, "budget": budget, "size": size, "value": value, "recovery_weak": weak}
        for budget, size, value, weak in [
            (0.0, 5, 3.0, 1.0), (1.0, 3, 2.0, 0.5), (2.0, 2, 1.0, 0.0), (3.0, 1, 0.5, 0.0), (4.0, 1, 0.0, 0.0),
        ]
    ]  # fmt: skip
    model = {"d": 100, "k": 5, "lam": 3.0, "k1": 2, "c": 0.8}
    exact, printed, seen = stage_rows(pl.DataFrame([row | model for row in rows]))
    assert exact[1:] == pytest.approx((0.840, 1.947, 3.317), abs=1e-3)
    assert printed[1:3] == pytest.approx((1.410, 1.334), abs=1e-3)
    assert printed[3] is None
    assert seen == ("seen at n = 50, mean of 1", 1.5, 2.5, 3.5)
    assert stage_rows(None) == []
    kinds = [stage_of(row["size"], row["value"], 5) for row in rows]
    assert kinds == ["full", "partial", "partial", "single", "none"]


def test_bands_of_cosines_end_at_1():
    spec = paper_specs(quick=True)["recovery"]
    columns = {"method": "exact", "n": 100, "cosine": 0.95, "cosine_std": 0.2}
    rows = pl.DataFrame([columns | {"budget": b} for b in (0.0, 0.5)])
    figure = recovery(rows, spec, guaranteed_cosines(spec.model, 1.0))
    band = figure.axes[0].collections[0]  # of n = 100
    heights = band.get_paths()[0].vertices[:, 1]
    assert heights.max() == 1.0
    assert heights.min() == pytest.approx(0.75)


def test_small_helpers():
    assert Verdict.of([]) is Verdict.UNKNOWN
    assert ranges([3.0]) == "3"


def test_claims_without_data_say_so():
    assert {judgement.verdict for _, judgement in judge({})} == {Verdict.UNKNOWN}
    names = [one.name for one in CLAIMS]
    assert len(names) == len(set(names))


def test_population_is_what_the_theory_says():
    path = population_of(SpikedModel(100, 5, 3.0, k1=2, c=0.8), 4.5)
    assert path.thresholds == pytest.approx((0.840, 1.947, 3.317), abs=1e-3)
    assert path.sizes[0] == 5
    assert path.sizes[-1] == path.cosine_strong[-1] == path.values[-1] == 0.0
    _, cosines = guaranteed_cosines(SpikedModel(100, 5, 3.0), 1.0)
    assert cosines[0] == pytest.approx(1.0, abs=1e-3)


@pytest.fixture(scope="module")
def small():
    """The paper's experiments with everything small: the same methods, claims and figures in seconds."""
    specs = paper_specs(quick=True, trials=2, mip_seconds=0.1)
    model = SpikedModel(d=20, k=3, lam=3.0, k1=1, c=0.8)
    specs["figures"] = dataclasses.replace(specs["figures"], model=model, samples=(60,), budgets=(0.0, 1.0, 2.0, 5.0))
    specs["stages"] = dataclasses.replace(specs["stages"], model=model, samples=(60, 200), budgets=(0.0, 1.0, 2.0, 5.0))
    specs["recovery"] = dataclasses.replace(
        specs["recovery"], model=SpikedModel(d=20, k=3, lam=3.0), samples=(60,), budgets=(0.0, 0.1, 0.2)
    )
    specs["sample-wise"] = dataclasses.replace(specs["sample-wise"], model=model, samples=(60, 200), budgets=(0.0, 0.5))
    return specs


def test_a_small_run_is_drawn_judged_and_drawn_the_same_again(small, tmp_path):
    first, second = tmp_path / "first", tmp_path / "second"
    with Store(tmp_path / "trials.jsonl") as store:
        assert run(list(small.values()), store).complete
        for folder in (first, second):
            folder.mkdir()
        judged = render(small, store, first, command="noap reproduce all --quick")
        again = {name: trials(small[name], store) for name in ("recovery", "sample-wise")}
        assert drawable(again) == ["theorem3", "theorem4"]
        write_figures(small, again, second)
        figures = trials(small["figures"], store)
        by_sample = trials(small["figures"], store, best="sample")
    assert Verdict.UNKNOWN not in {
        judgement.verdict for one, judgement in judged if one.experiment in ("figures", "sample-wise", "recovery")
    }
    assert {f"{name}{suffix}" for name in FIGURES for suffix in (".png", ".svg")} <= {p.name for p in first.iterdir()}
    for path in second.iterdir():
        assert path.read_bytes() == (first / path.name).read_bytes()
    page = (first / "README.md").read_text(encoding="utf-8")
    assert "noap reproduce all --quick" in page
    assert "72 of 72" in page
    # 72 + 16 + 6 + 8 are asked for; the exact optima of n = 60 are those of two experiments.
    assert "94 different trials; 8 of them belong to two experiments and were done once." in page
    assert "`best` is the vector of MIP, MIP-r and PPM with the best population objective" in " ".join(page.split())
    assert {"trials.csv", "trials.parquet", "points.csv", "claims.md", "specs.json"} <= {
        path.name for path in first.iterdir()
    }
    # The paper's best is the best of its three methods, and has no direction where nothing is worth anything.
    for objective, rows in (("population", figures), ("value", by_sample)):
        for (budget, seed), group in rows.group_by("budget", "seed"):
            values = {m: v for m, v in group.select("method", objective).iter_rows() if v is not None}
            assert values["best"] == max(values[m] for m in ("MIP", "MIP-r", "PPM") if m in values), (budget, seed)
            if objective == "value":
                assert values["exact"] >= max(values.values()) * (1 - 1e-4)
    nothing = figures.filter((pl.col("budget") == 5.0) & (pl.col("method") == "best"))
    assert nothing["size"].to_list() == [0, 0]
    assert nothing["gap"].is_null().all()
