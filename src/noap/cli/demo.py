"""`noap demo`: the main jobs on data that ship with scikit-learn and bring their own errors."""

import time
from pathlib import Path
from typing import Annotated

import numpy as np
from rich.console import Console
from rich.table import Table

import noap
from noap.adversaries import Adversary
from noap.cli.options import PROBLEM, DataOptions, option
from noap.cli.path import print_path
from noap.cli.result import as_document, print_result
from noap.cli.run import Answer, FileOptions, can_draw, write_file
from noap.linalg.types import FloatArray
from noap.runtime.names import listed

__all__ = ["demo"]


def demo(
    output: FileOptions,
    k: Annotated[int, option("How many features a component may use.", "-k", panel=PROBLEM, min=1, max=10)] = 8,
    out: Annotated[Path, option("Where the plot goes; the path and the report go beside it.")] = Path("noap-demo.png"),
) -> int:
    """Solve a table of cell nuclei with the errors that it brings, draw what they change, and write the report.

    noap demo
    noap demo -k 4 --out cells.png --force
    """
    # All are slow to import, and only this command needs them.
    import polars as pl
    from sklearn.datasets import load_breast_cancer

    from noap.report import build_report

    drawn, page = out.with_name(f"{out.stem}-path.png"), out.with_name(f"{out.stem}-report.html")
    for file, suffix in ((out, ".png"), (drawn, ".png"), (page, ".html")):
        output.require_free(file, "--out", (suffix,))
    console = Console(highlight=False, quiet=output.json)
    bunch = load_breast_cancer()
    names = tuple(str(name) for name in bunch.feature_names[:10])
    measured, errors = bunch.data[:, :10], bunch.data[:, 10:20]
    noise = np.sqrt((errors**2).mean(axis=0)) / measured.std(axis=0)
    cells = pl.DataFrame(measured, schema=list(names))
    problem = noap.Problem(noap.standardize(cells), len(names), noise=noise)

    def path_of(adversary: Adversary) -> "noap.KPath":
        return noap.k_path(problem.with_adversary(adversary), progress=output.progress)

    console.print(
        f"Breast cancer data: {len(names)} measurements of cell nuclei in {len(cells)} biopsies, standardised. They "
        f"come with their errors, {noise.min():.2f} to {noise.max():.2f} standard deviations (root mean square), and "
        "the adversary may move every measurement by as much.\n",
        soft_wrap=True,
    )
    robust, plain = path_of(problem.adversary), path_of(noap.NoAdversary())
    left = np.array([problem.value(v) for v in plain.vectors])
    result, vanilla = robust.at(k), plain.at(k)
    print_result(result, names, console)
    _print_sizes(robust, plain, left, console)
    if drawing := can_draw():
        from noap.figures import draw_demo

        write_file(out, "--out", lambda temporary: draw_demo(result, vanilla, noise, robust, left, temporary))

    started = time.perf_counter()
    report = build_report(cells, k=k, noise=noise, title="Cell nuclei", progress=output.progress)
    if drawing:
        write_file(drawn, "--out", lambda temporary: report.path.plot().savefig(temporary, dpi=150))
    write_file(page, "--out", lambda temporary: temporary.write_text(report.html(), encoding="utf-8"))
    console.print("\nWhich measurements survive as all errors grow by a factor?\n")
    print_path(report.path, report.names, report.unit, console)
    console.print(f"Path and report took {time.perf_counter() - started:.1f} s.\n")
    files = {"plot": out, "path": drawn, "report": page} if drawing else {"report": page}

    def say(console: Console) -> None:
        for what, file in files.items():
            console.print(f"{what.capitalize()}: {file.resolve()}", markup=False, soft_wrap=True)
        if not drawing:
            left_out = "The plots are left out: they need matplotlib; install it with: pip install 'noap[plot]'."
            console.print(left_out, markup=False, soft_wrap=True)

    cells_found = as_document(result, DataOptions())
    return output.finish(Answer({what: str(file) for what, file in files.items()} | {"cells": cells_found}, say))


def _print_sizes(robust: "noap.KPath", plain: "noap.KPath", left: FloatArray, console: Console) -> None:
    """Print for each number of features what those errors leave of both components, and which features differ."""
    grid = Table(title="What these errors leave of the best component of k features", title_justify="left")
    for title in ("k", "robust", "plain sparse PCA", "robust has more"):
        grid.add_column(title, justify="right")
    grid.add_column("which features differ")
    for i, k in enumerate(robust.ks):
        ours, theirs = set(robust[i].features), set(plain[i].features)
        without, instead = sorted(theirs - ours), sorted(ours - theirs)
        moves = [*(f"-{name}" for name in without), *(f"+{name}" for name in instead)]
        more = f"{100 * (robust.values[i] / left[i] - 1):.0f} %" if left[i] > 0 else ""
        grid.add_row(str(k), f"{robust.values[i]:.3f}", f"{left[i]:.3f}", more, listed(moves) or "none")
    console.print(grid)
