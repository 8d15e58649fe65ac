"""`noap attack`: what the worst adversary does to a file, for a component that was found."""

import json as json_module
import math
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.console import Console

from noap.adversaries import BY_NAME, Adversary, FeatureWise, SampleWise
from noap.cli.options import DataFile, ReadOptions, option
from noap.cli.run import Answer, FileOptions, write_file
from noap.data.files.reading import Reading
from noap.data.files.table import Table
from noap.data.files.whole import whole_table, write_text_table
from noap.data.standardising import centre_and_scale
from noap.errors import InvalidProblem, NoapWarning
from noap.linalg.types import FloatArray

__all__ = ["attack"]

_SUFFIXES = (".csv", ".tsv", ".txt", ".parquet", ".npy", ".npz")


@dataclass(frozen=True)
class _Output(FileOptions):
    out: Annotated[
        Path | None,
        option("Write FILE, attacked: .csv, .tsv, .txt, .parquet, .npy or .npz."),
    ] = None
    perturbation: Annotated[
        bool, option("Write the perturbation E instead of the attacked data.", "--perturbation")
    ] = False
    standardised: Annotated[
        bool,
        option("Write it centred and scaled, where E obeys the budget.", "--standardised"),
    ] = False

    def __post_init__(self) -> None:
        self.require_free(self.out, "--out", _SUFFIXES)
        if self.out is None and (self.perturbation or self.standardised):
            raise InvalidProblem("--perturbation and --standardised say what --out holds; add --out with a file name.")

    @property
    def contents(self) -> dict[str, str | None]:
        """What --out holds, and in which units, for the document."""
        if self.out is None:
            return {"out": None, "holds": None, "units": None}
        return {
            "out": str(self.out),
            "holds": "perturbation" if self.perturbation else "attacked data",
            "units": "standardised" if self.standardised else "file",
        }


def attack(
    file: DataFile,
    result: Annotated[Path, typer.Argument(metavar="RESULT", help="JSON written by noap solve --out.")],
    read: ReadOptions,
    output: _Output,
) -> int:
    """Attack a file in the worst way for a component, and write what is left.

    noap solve data.csv -k 5 --noise 0.2 --out result.json
    noap attack data.csv result.json --out attacked.csv
    noap attack data.csv result.json --perturbation --standardised --out E.npy
    noap attack data.csv result.json --json
    """
    table = read.table(file)
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
    if output.out is not None:
        rows = E if output.perturbation else Z + E
        if not output.standardised:
            rows = rows * scales if output.perturbation else rows * scales + mean
        _write_like(output.out, rows, table.names, file, read.reading)
    size = found.adversary.norm(E)
    document = {
        "adversary": type(found.adversary).__name__,
        "rho": found.rho,
        "norm": size,
        "features": list(found.features),
        "variance_before": before,
        "variance_after": after,
        **output.contents,
    }

    def say(console: Console) -> None:
        console.print(f"variance of the component before  {before:.6g}")
        console.print(f"variance after the worst attack   {after:.6g}")
        if found.adversary.has_one_budget:
            within = f"norm of E {size:.6g}, budget {found.adversary.rho:.6g}"
        else:
            within = f"E is within {size:.6g} times the budget of every {found.adversary.key}"
        console.print(f"{within}: {found.adversary.strength_in_words(len(Z))}", markup=False, soft_wrap=True)
        if output.out is not None:
            holds = "E" if output.perturbation else "Attacked data"
            console.print(f"{holds} written to {output.out}.", markup=False, soft_wrap=True)

    return output.finish(Answer(document, say))


def _write_like(path: Path, X: FloatArray, names: tuple[str, ...], file: Path, reading: Reading) -> None:
    """Write FILE again with other numbers in its features.

    Columns that are no features (labels, what was left out) stay where they are, and a text table is laid out as FILE
    is; arrays hold the features alone. The suffix of `path` says the format.
    """

    def write(temporary: Path) -> None:
        import polars as pl

        kind = path.suffix.lower()
        if kind == ".npy":
            np.save(temporary, X)
            return
        if kind == ".npz":
            np.savez(temporary, X=X, feature_names=np.array(names))
            return
        moved = [pl.Series(name, X[:, j]) for j, name in enumerate(names)]
        whole = whole_table(file, reading)
        frame = pl.DataFrame(moved) if whole is None else whole.frame.with_columns(moved)
        if kind == ".parquet":
            frame.write_parquet(temporary)
        else:
            write_text_table(frame, temporary, None if whole is None else whole.dialect)

    write_file(path, "--out", write)


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
