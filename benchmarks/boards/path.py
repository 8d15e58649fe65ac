"""The path: 50 budgets against as many problems of their own, and lifetimes on the paper's strong/weak model."""

from collections.abc import Iterator, Sequence

import numpy as np
import polars as pl

from benchmarks.board import Board, Setting
from benchmarks.data import bundled, real_sets, strong_weak
from benchmarks.instances import Instance
from benchmarks.words import more, seconds
from noap.experiments.formats import markdown
from noap.theory import spiked_wishart

__all__ = ["LIVED", "PATH", "lived"]

_POINTS = 50
# What the lifetimes of the features of a draw may say, in the words of the page.
LIVED = (
    "every strong outlives every weak", "strong outlive weak on average", "every weak outlives every noise",
    "weak outlive noise on average",
)  # fmt: skip


def _instances(setting: Setting) -> Iterator[Instance]:
    X = bundled()["breast cancer"]
    sets = {"breast cancer": (X - X.mean(axis=0)) / X.std(axis=0), "strong/weak, n = 500": strong_weak(500, 100, 5, 0)}
    if setting.folder is not None:
        sets |= {name: S for name, key, S in real_sets(setting) if (name, key) == ("communities", "corr")}
    for name, M in sets.items():
        covariance = len(M) == len(M.T)
        norms = np.sqrt(np.diag(M)) if covariance else np.linalg.norm(M, axis=0)
        rhos = np.linspace(0.0, 0.99 * norms.max(), _POINTS).tolist()
        known = {"task": "path", "data": name, "covariance": covariance, "options": {"rhos": rhos}}
        yield Instance(f"{name}, {_POINTS} budgets", M, 5, 0.0, "NoAdversary", **known)  # type: ignore[arg-type]
    for n in (100, 500):
        for seed in range(2 if setting.quick else 50):
            known = {"task": "path", "data": f"n = {n}", "seed": seed}
            yield Instance(f"lifetimes n={n} seed={seed}", strong_weak(n, 100, 5, seed), 5, 0.0, "NoAdversary", **known)  # type: ignore[arg-type]


def _methods(one: Instance) -> Sequence[str]:
    return ["path", "one by one"] if one.seed is None else ["path"]


def lived(row: dict[str, object]) -> list[bool]:
    """Return which of `LIVED` hold for a draw; a feature that is never selected has not lived at all."""
    n, seed = int(str(row["data"]).split()[-1]), int(str(row["seed"]))
    model, life = spiked_wishart(n, 100, 5, 3.0, k1=2, c=0.8, random_state=seed), np.zeros(100)
    for feature, length in more(row, "lifetimes").items():
        life[int(feature)] = length
    strong, weak = life[model.strong], life[model.weak]
    noise = life[np.setdiff1d(np.arange(100), model.support)]
    every = strong.min() > weak.max(), weak.min() > noise.max()
    return [bool(one) for one in (every[0], strong.mean() > weak.mean(), every[1], weak.mean() > noise.mean())]


def _show(frame: pl.DataFrame) -> str:
    whole = frame.filter(pl.col("seed").is_null())
    body = []
    for (name,), rows in whole.group_by("instance", maintain_order=True):
        together, apart = (rows.row(by_predicate=pl.col("method") == one, named=True) for one in ("path", "one by one"))
        body.append([name, together["d"], together["proved"], f"{together['gap']:.1e}", seconds(together["cpu_s"]),
                     seconds(apart["cpu_s"]), f"{together['cpu_s'] / apart['cpu_s']:.2f}"])  # fmt: skip
    head = ["data", "d", "every point proved", "largest gap", "path", "one by one", "ratio"]
    text = "k = 5, budgets from 0 to 0.99 rho_max, to 1e-4; CPU time.\n\n" + markdown(head, body)
    text += "\n### Lifetimes on the paper's strong/weak model\n\nShare of the draws, d = 100, k = 5.\n\n"
    body = []
    for (n,), rows in frame.filter(pl.col("seed").is_not_null()).group_by("data", maintain_order=True):
        held = np.mean([lived(row) for row in rows.iter_rows(named=True)], axis=0)
        body.append([n, rows.height, *(f"{100 * one:.0f} %" for one in held)])
    return text + markdown(["", "draws", *LIVED], body)


PATH = Board("path", "Paths over the budget", _show, _instances, _methods, rounds=3, patience=20.0)
