"""`noap demo`: the main job on data that ships with scikit-learn."""

import math
from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from rich.console import Console

import noap
from noap._preprocess import standardise
from noap.cli.show import print_result

__all__ = ["demo"]


def demo(
    k: Annotated[int, typer.Option("-k", help="How many features to keep.")] = 8,
    noise: Annotated[float, typer.Option(help="Root-mean-square error per entry of the standardised data.")] = 0.5,
    out: Annotated[Path, typer.Option(help="Where the plot goes.")] = Path("noap-demo.png"),
) -> None:
    """Find the measurements of wines that survive noise, and draw what noise does.

    Example: noap demo -k 8 --noise 0.5
    """
    # Both are slow to import, and only this command needs them.
    from sklearn.datasets import load_wine

    from noap.figures import draw_demo

    console = Console(highlight=False)
    bunch = load_wine()
    names = tuple(str(name) for name in bunch.feature_names)
    Z, _, _ = standardise(bunch.data, center=True, scale=True)
    root_n = math.sqrt(len(Z))

    def solve(level: float) -> noap.Result:
        adversary = noap.FeatureWise(level * root_n)
        return noap.solve(noap.Problem(Z, k=k, adversary=adversary), progress=True)

    console.print(f"Wine data, {Z.shape[0]} samples of {Z.shape[1]} standardised measurements.")
    console.print(f"The adversary may move every measurement by {noise:g} standard deviations (root mean square).\n")
    result, vanilla = solve(noise), solve(0.0)
    print_result(result, names, console)
    noises = np.linspace(0.0, 0.99, 34)
    robust_values = np.array([solve(level).value for level in noises])
    vanilla_values = np.array([noap.FeatureWise(level * root_n).value(Z, vanilla.v) for level in noises])
    draw_demo(result, vanilla, names, noises, robust_values, vanilla_values, out)
    console.print(f"\nPlot written to {out}.")
