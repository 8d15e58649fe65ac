"""`noap demo`: the main jobs on data that ship with scikit-learn."""

import json as json_module
import time
from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from rich.console import Console

import noap
from noap.adversaries import Adversary
from noap.cli.options import Force, Json
from noap.cli.output import check_suffix, refuse_to_overwrite, write_file, write_text
from noap.cli.path import print_path
from noap.cli.show import as_json, print_result

__all__ = ["demo"]


def demo(
    k: Annotated[int, typer.Option("-k", help="How many features a component may use.")] = 6,
    noise: Annotated[float, typer.Option(help="Root-mean-square error per entry of the standardised data.")] = 0.5,
    out: Annotated[Path, typer.Option(help="Where the plot goes; the path and the report go beside it.")] = Path(
        "noap-demo.png"
    ),
    force: Force = False,
    json: Json = False,
) -> None:
    """Solve a table of wines, draw which features survive which noise, and write the report.

    For example:

    noap demo

    noap demo -k 4 --noise 0.3 --out wines.png --force
    """
    # All are slow to import, and only this command needs them.
    import polars as pl
    from sklearn.datasets import load_wine

    from noap.figures import draw_demo
    from noap.report import build_report

    drawn, page = out.with_name(f"{out.stem}-path.png"), out.with_name(f"{out.stem}-report.html")
    check_suffix(out, "--out", (".png",))
    for file in (out, drawn, page):
        refuse_to_overwrite(file, force)
    console = Console(highlight=False, quiet=json)
    bunch = load_wine()
    names = tuple(str(name) for name in bunch.feature_names)
    Z = noap.standardise(bunch.data)

    def at(level: float) -> Adversary:
        return noap.FeatureWise.with_noise(level, len(Z))

    def solve(level: float) -> noap.Result:
        return noap.solve(noap.Problem(Z, k=k, adversary=at(level)), progress=not json)

    console.print(f"Wine data, {Z.shape[0]} samples of {Z.shape[1]} standardised measurements.")
    console.print(f"The adversary may move every measurement by {noise:g} standard deviations (root mean square).\n")
    result, vanilla = solve(noise), solve(0.0)
    print_result(result, names, console)
    noises = np.linspace(0.0, 0.99, 34)
    robust_values = np.array([solve(level).value for level in noises])
    vanilla_values = np.array([at(level).value(Z, vanilla.v) for level in noises])
    write_file(
        out,
        "--out",
        lambda temporary: draw_demo(result, vanilla, names, noises, robust_values, vanilla_values, temporary),
    )

    started = time.perf_counter()
    wines = pl.DataFrame(bunch.data, schema=list(names))
    report = build_report(wines, k=k, noise=noise, title="Wines", progress=not json)
    write_file(drawn, "--out", lambda temporary: report.path.plot().savefig(temporary, dpi=150))
    write_text(page, "--out", report.html())
    console.print("\nWhich measurements survive as the noise grows?\n")
    print_path(report.path, report.names, report.unit, console)
    console.print(f"Path and report took {time.perf_counter() - started:.1f} s.\n")
    for what, file in (("Plot", out), ("Path", drawn), ("Report", page)):
        console.print(f"{what}: {file.resolve()}", markup=False, soft_wrap=True)
    if json:
        written = {"plot": str(out), "path": str(drawn), "report": str(page)}
        wine = json_module.loads(as_json(result, names, center=True, scale=True))
        typer.echo(json_module.dumps(written | {"wine": wine}, indent=2))
