"""Data and outputs that must not be used as they are: masks, truth values, tables too wide for csv, full disks."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import noap
from noap.data.files.reading import Reading
from noap.data.files.table import read_table
from noap.errors import InvalidProblem
from noap.report import build_report

X = np.random.default_rng(0).standard_normal((12, 4))
MASKED = np.ma.masked_greater(np.where(np.arange(48).reshape(12, 4) == 5, 1e6, X), 1e5)


@pytest.mark.parametrize(
    "take",
    [
        lambda: noap.Problem(MASKED, 2, noap.NoAdversary()),
        lambda: noap.Problem(list(MASKED), 2, noap.NoAdversary()),
        lambda: noap.standardize(MASKED),
        lambda: noap.RobustSparsePCA().fit(MASKED),
        lambda: noap.RobustSparsePCA(missing="impute").fit(MASKED),
        lambda: noap.RobustSparsePCA(method="ascent", k=2).fit(X).transform(MASKED),
        lambda: noap.noise.from_variation(MASKED, 0.1),
        lambda: noap.noise.from_missing(MASKED),
        lambda: noap.duplicates(MASKED),
        lambda: noap.FeatureWise(1.0).value(MASKED, np.eye(4)[0]),
        lambda: noap.FeatureWise(1.0).attack(MASKED, np.eye(4)[0]),
        lambda: noap.SampleWise(1.0).rho_max(MASKED, 2),
    ],
)
def test_a_masked_array_is_refused(take):
    with pytest.raises(InvalidProblem, match=r"^\w+ is a masked array; pass \w+\.filled\(np\.nan\)[^.]*\.[^.]*\.?$"):
        take()


@pytest.mark.parametrize(
    ("what", "take"),
    [
        (
            "S",
            lambda: noap.Problem.from_covariance(np.ma.array(X.T @ X), n_samples=12, k=2, adversary=noap.NoAdversary()),
        ),
        ("rho", lambda: noap.FeatureWise(MASKED[1])),
        ("noise", lambda: noap.SampleWise.with_noise(MASKED[1], 12)),
        ("costs", lambda: noap.Problem(X, 2, noap.NoAdversary(), costs=abs(MASKED[1]))),
        ("metric", lambda: noap.Problem(X, 2, noap.NoAdversary(), metric=np.ma.array(np.eye(4)))),
        ("v", lambda: noap.Problem(X, 2, noap.NoAdversary()).value(np.ma.array([1.0, 0.0, 0.0, 0.0]))),
    ],
)
def test_a_mask_is_refused_where_nothing_can_be_imputed(what, take):
    with pytest.raises(InvalidProblem, match=rf"^{what} is a masked array; pass {what} with the masked entries filled"):
        take()


def test_what_the_sentence_about_masks_says_to_do_works():
    model = noap.RobustSparsePCA(k=2, missing="impute", method="ascent").fit(MASKED.filled(np.nan))
    assert model.missing_share_.tolist() == [0, 1 / 12, 0, 0]


@pytest.mark.parametrize("yes", [True, np.True_])
@pytest.mark.parametrize("adversary", [noap.FeatureWise, noap.SampleWise, noap.SpectralNorm, noap.EntryWise])
def test_true_is_no_budget(adversary, yes):
    with pytest.raises(InvalidProblem, match="must be a number"):
        adversary(yes)
    with pytest.raises(InvalidProblem, match="noise must be a number"):
        adversary.with_noise(yes, 12)


@pytest.mark.parametrize("budget", [{"noise": True}, {"rho": True}, {"noise": [True, False, True, True]}])
def test_true_is_no_noise_of_an_estimator(budget):
    with pytest.raises(InvalidProblem, match=f"{next(iter(budget))} must"):
        noap.RobustSparsePCA(k=2, method="ascent", **budget).fit(X)


def test_true_is_no_noise_of_a_report_and_no_time():
    with pytest.raises(InvalidProblem, match="noise must be a finite number"):
        build_report(X, k=2, noise=True)
    with pytest.raises(InvalidProblem, match="time_limit must be a positive number of seconds"):
        noap.solve(noap.Problem(X, 2, noap.NoAdversary()), time_limit=True)
    for some in ([True, False], [1.0, True], (0.5, np.True_)):
        with pytest.raises(InvalidProblem, match="rho must be a number, or one number per feature"):
            noap.FeatureWise(some)
        with pytest.raises(InvalidProblem, match="rhos must be a list of numbers"):
            noap.path(X, 2, rhos=some, method="ascent")
    for asked in ({"gap": True}, {"time_limit": np.True_}, {"memory_limit": True}):
        with pytest.raises(InvalidProblem, match=f"{next(iter(asked))} must be a"):
            noap.solve(noap.Problem(X, 2, noap.NoAdversary()), **asked)


@pytest.mark.parametrize("separator", [",", ";"])
def test_a_table_of_100_000_columns_is_read(tmp_path, separator):
    names = [f"gene {j}" for j in range(100_000)]
    numbers = np.arange(200_000).reshape(2, -1) % 97 / 8
    lines = [separator.join(names), *(separator.join(map(str, row)) for row in numbers.tolist())]
    (tmp_path / "wide.csv").write_text("\n".join(lines) + "\n")
    table = read_table(tmp_path / "wide.csv")
    assert table.names == tuple(names)
    np.testing.assert_array_equal(table.X, numbers)


def test_a_wrong_separator_of_a_wide_table_is_a_sentence(tmp_path):
    (tmp_path / "wide.csv").write_text(",".join(["1.25"] * 30_000) + "\n")
    with pytest.raises(InvalidProblem, match=r"cannot be read with ';' between entries .* --delimiter\.$"):
        read_table(tmp_path / "wide.csv", Reading(delimiter=";"))


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    place = tmp_path_factory.mktemp("tables") / "data.csv"
    pl.DataFrame(np.random.default_rng(1).standard_normal((30, 5)), schema=list("abcde")).write_csv(place)
    return place


def started(*words, **ways):
    command = [sys.executable, "-m", "noap", *map(str, words)]
    return subprocess.Popen(command, stderr=subprocess.PIPE, text=True, **ways)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
@pytest.mark.parametrize("options", [("--json",), ()])
def test_a_full_disk_is_one_line_and_exit_code_2(table, options):
    with Path("/dev/full").open("w") as full:
        run = started("solve", table, "-k", 2, "--method", "ascent", *options, stdout=full)
        _, said = run.communicate(timeout=120)
    assert run.returncode == 2
    assert said.splitlines() == ["noap: the output cannot be written (No space left on device); write it elsewhere."]


@pytest.mark.parametrize("options", [("--json",), ()])
def test_a_closed_pipe_is_left_quietly(table, options):
    run = started("solve", table, "-k", 2, "--method", "ascent", *options, stdout=subprocess.PIPE)
    run.stdout.close()
    said = run.stderr.read()
    run.stderr.close()
    assert (run.wait(timeout=120), said) == (1, "")
