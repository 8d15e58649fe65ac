"""The problem that a command is about: the adversary and its budget, in noise or in rho, the costs, the metric."""

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

import numpy as np

from noap.adversaries import BY_KEY, Adversary, FeatureWise, NoAdversary, SampleWise
from noap.cli.metric import MetricOf
from noap.cli.noise_files import FeatureFile, SampleFile
from noap.cli.options import PROBLEM, AdversaryName, CostFile, DataOptions, NoiseFile, NoiseUnits, option
from noap.data.files.reading import Reading
from noap.data.files.table import Table
from noap.data.streams.files import is_pattern
from noap.errors import InvalidProblem
from noap.linalg.types import FloatArray
from noap.problem import Problem

__all__ = ["ProblemOptions", "is_streamed", "streamed_problem"]

_UNITS = ("standardised", "data")


@dataclass(frozen=True)
class ProblemOptions:
    """The adversary, what it may do, and what features cost.

    The two files are read by `for_names`, once the features of FILE are known.
    """

    adversary: Annotated[
        AdversaryName,
        option(
            "Who moves: feature (default), sample, entry, spectral (all scores) or none.",
            panel=PROBLEM,
            metavar="WHO",
            show_default=False,
        ),
    ] = AdversaryName.feature
    noise: Annotated[
        str | None, option("Budget: error per entry, or largest shift of a sample's score; 0.1.", panel=PROBLEM,
                           metavar="<float>")
    ] = None  # fmt: skip
    rho: Annotated[
        str | None, option("The same as in the paper, instead of --noise.", panel=PROBLEM, metavar="<float>")
    ] = None
    noise_file: NoiseFile = None
    noise_units: NoiseUnits = None
    cost_file: CostFile = None

    @property
    def kind(self) -> type[Adversary]:
        """The class of the adversary."""
        return BY_KEY[self.adversary]

    def for_names(self, names: tuple[str, ...], reading: Reading) -> "Strength":
        """Read the files for the features called `names`, or raise InvalidProblem with one sentence."""
        self._require_consistent()
        some = bool(reading.columns or reading.drop or reading.index)  # then lines for other features are no mistake
        noise = costs = None
        if self.noise_file is not None and self.kind is SampleWise:
            noise = SampleFile(self.noise_file, "--noise-file").noises()
        elif self.noise_file is not None:
            rows = FeatureFile(self.noise_file, "--noise-file", names, some)
            noise, costs = rows.noises(), rows.costs()
        if self.cost_file is not None:
            if costs is not None:
                raise InvalidProblem(
                    "--cost-file and a cost column of --noise-file both set the costs; keep one of them."
                )
            costs = FeatureFile(self.cost_file, "--cost-file", names, some).costs(required=True)
        return Strength(self, noise, costs)

    def _require_consistent(self) -> None:
        kind = self.kind
        if self.noise_units is not None and self.noise_file is None:
            raise InvalidProblem("--noise-units says what --noise-file counts in; add --noise-file.")
        if self.noise_units not in (None, *_UNITS):
            raise InvalidProblem(f"--noise-units must be one of {', '.join(_UNITS)}, got {self.noise_units!r}.")
        if self.noise_file is not None and kind not in (FeatureWise, SampleWise):
            raise InvalidProblem(
                f"--noise-file needs --adversary feature or sample, each of which has its own noise, not {kind.key}."
            )
        if self.noise_units == "data" and kind is SampleWise:
            raise InvalidProblem(
                "--noise-units data is about columns; leave it out, the noise of a sample counts in the units of what "
                "--no-center and --no-scale leave of it."
            )
        if self.cost_file is not None and kind not in (FeatureWise, SampleWise, NoAdversary):
            raise InvalidProblem(f"--cost-file needs --adversary feature, sample or none, got {self.adversary}.")

    def problem(self, table: Table, data: DataOptions, k: int, metric: MetricOf | None = None) -> Problem:
        """Return the problem of the prepared table."""
        strength = self.for_names(table.names, data.reading)
        faced = strength.adversary(int(table.X.shape[0]), lambda: data.scales(table))
        form = None if metric is None else metric(data.center, data.scale)
        made = Problem(data.prepared(table), k=k, adversary=faced, costs=strength.costs, metric=form)
        preparation = table.preparation(data.center, data.scale)
        return made if preparation is None else made.with_preparation(*preparation)

    def budget(self, n: int) -> Adversary:
        """Return the adversary of n samples with the budget that --noise or --rho sets."""
        _require_one(self.noise, self.rho, "budget")
        budgets = {}
        for name, given in (("--noise", self.noise), ("--rho", self.rho)):
            if given is not None:
                budgets[name] = _budget(name, given)
        if self.kind is NoAdversary and any(budgets.values()):
            from noap.analysis.family import SERVES

            keys = " or ".join(kind.key for kind in SERVES)
            raise InvalidProblem(f"--noise and --rho need an adversary; drop them or pass --adversary {keys}.")
        if "--rho" in budgets:
            return self.kind.with_budget(budgets["--rho"])
        return self.kind.with_noise(budgets.get("--noise", 0.1), n)

    def family(self) -> Callable[[float], Adversary]:
        """Return what makes an adversary from a budget, where there is a path over budgets."""
        from noap.analysis.family import SERVES

        if self.kind not in SERVES:
            why = "has no budget to vary" if self.kind is NoAdversary else "has no path"
            keys = " or ".join(kind.key for kind in SERVES)
            raise InvalidProblem(f"--adversary {self.adversary} {why}; pass {keys}.")
        return self.kind.with_budget

    def budgets(self, n: int) -> FloatArray | None:
        """Return the budgets that a list such as "0,0.1,0.2" sets; None if there is no list."""
        _require_one(self.noise, self.rho, "budgets")
        if self.noise is not None:
            return as_budgets("--noise", self.noise) * self.kind.noise_unit(n)
        return None if self.rho is None else as_budgets("--rho", self.rho)


@dataclass(frozen=True, eq=False)
class Strength:
    """What options and files say of an adversary, and of every feature or sample of a table, in its order.

    Attributes
    ----------
    asked : ProblemOptions
    noise : array of shape (d,) or (n,), or None
        Of features, or of samples where these are what the adversary moves; None if all have the same.
    costs : array of shape (d,) or None
    """

    asked: ProblemOptions = field(default_factory=ProblemOptions)
    noise: FloatArray | None = None
    costs: FloatArray | None = None

    def adversary(self, n: int, scales: Callable[[], FloatArray]) -> Adversary:
        """Return the adversary of n samples; `scales` tells the divisors of the columns, where these matter."""
        asked, kind = self.asked, self.asked.kind
        if self.noise is None:
            return asked.budget(n)
        if asked.noise is not None or asked.rho is not None:
            raise InvalidProblem(f"--noise-file sets the noise of every {kind.key}; leave out --noise and --rho.")
        if kind is SampleWise:
            if len(self.noise) != n:
                raise InvalidProblem(
                    f"--noise-file has {len(self.noise)} lines below its head and FILE has {n} samples; give it one "
                    "line for every sample, in the order of FILE."
                )
            return SampleWise(self.noise * SampleWise.noise_unit(n))
        noise = self.noise / scales() if asked.noise_units == "data" else self.noise
        return FeatureWise(noise * FeatureWise.noise_unit(n))


def _require_one(noise: str | None, rho: str | None, what: str) -> None:
    if noise is not None and rho is not None:
        raise InvalidProblem(f"--noise and --rho both set the {what}; pass one of them.")


def _budget(name: str, given: str) -> float:
    try:
        budget = float(given)
    except ValueError:
        budget = math.nan
    if not (math.isfinite(budget) and budget >= 0):
        raise InvalidProblem(f"{name} must be a finite number of at least 0, got {given}.")
    return budget


def as_budgets(name: str, given: str) -> FloatArray:
    """Return the numbers of a list with commas, or raise InvalidProblem, naming the option."""
    try:
        budgets = np.array([float(entry) for entry in given.split(",")])
    except ValueError:
        raise InvalidProblem(f"{name} must be numbers with commas between, such as 0,0.1,0.2, got {given!r}.") from None
    if not (np.isfinite(budgets).all() and (budgets >= 0).all()):
        raise InvalidProblem(f"{name} must hold finite numbers of at least 0, got {given!r}.")
    return budgets


def is_streamed(file: Path, asked: bool = False) -> bool:
    """Return whether FILE is read in batches: it was asked for, or it names several files."""
    return asked or (not file.is_file() and is_pattern(str(file)))


def streamed_problem(file: Path, data: DataOptions, asked: ProblemOptions, k: int) -> tuple[Problem, tuple[str, ...]]:
    """Return the problem of the prepared samples in FILE, which knows X'X alone, and the names of its columns."""
    from noap.data.streams import summarise

    if not asked.kind.gram_suffices:
        raise InvalidProblem(
            f"--adversary {asked.adversary} moves samples one by one and needs them all in memory; pass one file "
            "without --stream."
        )
    summary = summarise(file, reading=data.reading)
    names = summary.names or ()
    strength = asked.for_names(names, data.reading)

    def scales() -> FloatArray:
        return summary.moments.standardised(center=data.center, scale=data.scale, names=summary.names)[2]

    faced = strength.adversary(summary.n_samples, scales)
    return summary.problem(k, faced, costs=strength.costs, center=data.center, scale=data.scale), names
