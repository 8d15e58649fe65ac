"""`noap attack`: what the worst adversary does to a file, for a component that was found."""

import json as json_module
import math
import warnings
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.console import Console

from noap.adversaries import BY_NAME, Adversary, FeatureWise, SampleWise
from noap.cli.data import TABLES, Table, read_table, reading_of, write_like
from noap.cli.options import (
    Columns,
    DataFile,
    Decimal,
    Delimiter,
    Drop,
    Force,
    Header,
    Index,
    Json,
    Sheet,
)
from noap.cli.output import check_suffix, refuse_to_overwrite
from noap.data.standardising import centre_and_scale
from noap.errors import InvalidProblem, NoapWarning
from noap.linalg.types import FloatArray

__all__ = ["attack"]


def attack(
    file: DataFile,
    result: Annotated[Path, typer.Argument(metavar="RESULT", help="JSON written by noap solve --out.")],
    out: Annotated[
        Path | None,
        typer.Option(
            help="Write the attacked data to this .csv, .tsv, .txt, .parquet, .npy or .npz: FILE with other numbers in "
            "its features."
        ),
    ] = None,
    perturbation: Annotated[
        bool, typer.Option("--perturbation", help="Write the perturbation E instead of the attacked data.")
    ] = False,
    standardised: Annotated[
        bool,
        typer.Option(
            "--standardised",
            help="Write in the units the adversary acts in, centred and scaled as for the result, instead of those of "
            "FILE; there E obeys the budget, and noap solve --no-center --no-scale sees what the result saw.",
        ),
    ] = False,
    delimiter: Delimiter = None,
    decimal: Decimal = None,
    header: Header = None,
    columns: Columns = None,
    drop: Drop = None,
    index: Index = None,
    sheet: Sheet = None,
    force: Force = False,
    json: Json = False,
) -> int:
    """Attack a file in the worst way for a component, and write what is left.

    For example:

    noap solve data.csv -k 5 --noise 0.2 --out result.json

    noap attack data.csv result.json --out attacked.csv

    noap attack data.csv result.json --perturbation --standardised --out E.npy

    noap attack data.csv result.json --json
    """
    check_suffix(out, "--out", TABLES)
    refuse_to_overwrite(out, force)
    if out is None and (perturbation or standardised):
        raise InvalidProblem("--perturbation and --standardised say what --out holds; add --out with a file name.")
    reading = reading_of(delimiter, decimal, header, columns, drop, index, sheet)
    table = read_table(file, reading)
    found = _Found(result, table)
    Z, mean, scales = centre_and_scale(table.samples, center=found.center, scale=found.scale)
    E = found.adversary.attack(Z, found.v)
    before, after = float(np.mean((Z @ found.v) ** 2)), float(np.mean(((Z + E) @ found.v) ** 2))
    if not math.isclose(after, found.value, rel_tol=1e-6, abs_tol=1e-9 * before):
        warnings.warn(
            f"RESULT {result} says the attack leaves {found.value:.6g}, on FILE {file} it leaves {after:.6g}: "
            "the result was made from other data.",
            NoapWarning,
            stacklevel=2,
        )
    if out is not None:
        rows = E if perturbation else Z + E
        if not standardised:
            rows = rows * scales if perturbation else rows * scales + mean
        write_like(out, "--out", rows, table.names, file, reading)
    document = {
        "adversary": type(found.adversary).__name__,
        "rho": found.rho,
        "norm": found.adversary.norm(E),
        "features": list(found.features),
        "variance_before": before,
        "variance_after": after,
        "out": None if out is None else str(out),
        "holds": None if out is None else "perturbation" if perturbation else "attacked data",
        "units": None if out is None else "standardised" if standardised else "file",
    }
    if json:
        typer.echo(json_module.dumps(document, indent=2))
        return 0
    console = Console(highlight=False, markup=False, soft_wrap=True)
    console.print(f"variance of the component before  {before:.6g}")
    console.print(f"variance after the worst attack   {after:.6g}")
    strength = found.adversary.strength_in_words(len(Z))
    if found.adversary.has_one_budget:
        size = f"norm of E {found.adversary.norm(E):.6g}, budget {found.adversary.rho:.6g}"
    else:
        size = f"E is within {found.adversary.norm(E):.6g} times the budget of every {found.adversary.key}"
    console.print(f"{size}: {strength}")
    if out is not None:
        console.print(f"{'E' if perturbation else 'Attacked data'} written to {out}.")
    return 0


class _Found:
    """A component as `noap solve --out` wrote it, put in the columns of a table.

    Attributes
    ----------
    v : array of shape (d,)
    adversary : Adversary
    rho : float, dict or list
        Its budget, or that of every feature or sample, as the file has it.
    value : float
        What the attack left of it when it was found.
    center, scale : bool
    features : tuple of str
    """

    def __init__(self, path: Path, table: Table) -> None:
        document = _read(path)
        if "components" in document:
            raise InvalidProblem(
                f"RESULT {path} holds several components, and the later ones are about data that those before left; "
                "write one component with noap solve -c 1 --out."
            )
        try:
            self.features = tuple(str(name) for name in document["features"])
            loadings = np.array(document["loadings"], dtype=np.float64)
            self.value = float(document["robust_variance"])
            self.center, self.scale = bool(document["center"]), bool(document["scale"])
            self.rho = document["rho"]
            self.adversary = _adversary(str(document["adversary"]), self.rho, table)
            d = int(document["n_features"])
        except (KeyError, TypeError, ValueError) as error:
            detail = f"{error} is missing" if isinstance(error, KeyError) else str(error)
            raise InvalidProblem(
                f"RESULT {path} is not a result of noap solve ({detail}); write one with noap solve --out."
            ) from None
        if not self.features and self.value == 0:
            raise InvalidProblem(
                f"RESULT {path} holds no component: nothing survived the adversary; write one with less --noise."
            )
        if loadings.shape != (len(self.features),) or not abs(np.linalg.norm(loadings) - 1) <= 1e-6:
            raise InvalidProblem(f"RESULT {path} does not hold a unit vector; write one with noap solve --out.")
        strangers = [name for name in self.features if name not in table.names]
        if strangers:
            raise InvalidProblem(
                f"RESULT {path} uses the feature {strangers[0]!r}, which FILE does not have; "
                "pass the file it was made from."
            )
        if d != len(table.names):
            raise InvalidProblem(
                f"RESULT {path} was made from {d} features, FILE has {len(table.names)}; "
                "pass the file it was made from."
            )
        self.v: FloatArray = np.zeros(d)
        self.v[[table.names.index(name) for name in self.features]] = loadings


def _adversary(name: str, rho: Any, table: Table) -> Adversary:
    names, n = table.names, int(table.X.shape[0])
    if name not in BY_NAME:
        raise ValueError(f"its adversary {name!r} is not known")
    if isinstance(rho, list):
        if len(rho) != n:
            raise ValueError(f"it has budgets of {len(rho)} samples, FILE has {n}")
        return SampleWise([float(one) for one in rho])
    if not isinstance(rho, dict):
        return BY_NAME[name].with_budget(float(rho))
    missing = [one for one in names if one not in rho]
    if missing:
        raise ValueError(f"it has no budget for the feature {missing[0]!r} of FILE")
    return FeatureWise([float(rho[one]) for one in names])


def _read(path: Path) -> dict[str, Any]:
    if not path.is_file():
        raise InvalidProblem(f"RESULT {path} does not exist; write it with noap solve --out.")
    try:
        document = json_module.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        raise InvalidProblem(f"RESULT {path} is not JSON; write it with noap solve --out.") from None
    if not isinstance(document, dict):
        raise InvalidProblem(f"RESULT {path} is not a result of noap solve; write one with noap solve --out.")
    return document
