"""Describe an experiment as data: draws, budgets and methods. Frozen, validated, hashed."""

import hashlib
import itertools
import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from noap.data.arguments import as_count
from noap.errors import InvalidProblem

__all__ = ["AdversaryKey", "Method", "Spec", "SpikedModel", "Trial"]

AdversaryKey = Literal["feature", "sample"]
OptionValue = str | int | float | bool | None
SOLVERS = ("exact", "mip", "mip-r", "ascent", "ppm", "vanilla")


@dataclass(frozen=True)
class SpikedModel:
    """The spiked Wishart model ``N(0, lam v v' + I)`` in d dimensions with a k-sparse truth v (Assumptions 2 and 3).

    Attributes
    ----------
    d, k : int
    lam : float
    k1, c : int and float, or None
        Strong features and their share of the squared norm; None for a truth uniform on the sphere of R^k.
    """

    d: int
    k: int
    lam: float
    k1: int | None = None
    c: float | None = None

    def __post_init__(self) -> None:
        as_count("d", self.d)
        if as_count("k", self.k) > self.d:
            raise InvalidProblem(f"k must be at most d = {self.d}, got {self.k}.")
        if (self.k1 is None) != (self.c is None):
            raise InvalidProblem("k1 and c must be given together, or neither of them.")


@dataclass(frozen=True)
class Method:
    """A way to solve a problem: a solver, its options and its limits.

    Attributes
    ----------
    label : str
        Its name in tables and figures; not part of what is solved.
    solver : str
        "exact", "mip", "mip-r", "ascent", "ppm" or "vanilla".
    options : tuple of (name, value)
        Options of the solver, in order of their names; pass a mapping. `reduced_dim` restricts any of the first four to
        the features that Algorithm 1 keeps.
    gap : float
    time_limit : float or None
        Seconds.

    Examples
    --------
    >>> Method("MIP", "mip", {"reduced_dim": 15, "as_printed": True}, time_limit=30.0).options
    (('as_printed', True), ('reduced_dim', 15))
    """

    label: str
    solver: str
    options: Mapping[str, OptionValue] | tuple[tuple[str, OptionValue], ...] = ()
    gap: float = 1e-4
    time_limit: float | None = None

    def __post_init__(self) -> None:
        if self.solver not in SOLVERS:
            raise InvalidProblem(f"solver must be one of {', '.join(map(repr, SOLVERS))}, got {self.solver!r}.")
        if self.time_limit is not None and not self.time_limit > 0:
            raise InvalidProblem(f"time_limit must be a positive number of seconds or None, got {self.time_limit!r}.")
        object.__setattr__(self, "options", tuple(sorted(dict(self.options).items())))

    @property
    def settings(self) -> dict[str, Any]:
        """The options as a fresh dictionary."""
        return dict(self.options)

    @property
    def definition(self) -> dict[str, Any]:
        """Everything but the label."""
        return {
            "solver": self.solver,
            "options": self.settings,
            "gap": self.gap,
            "time_limit": self.time_limit,
        }


@dataclass(frozen=True)
class Trial:
    """One draw of the data, one budget, one method: the unit of work, stored when it is finished.

    Attributes
    ----------
    adversary : "feature" or "sample"
    model : SpikedModel
    n, seed : int
    budget : float
        Feature-wise the normalised ``rho-bar = rho sqrt(k/n)``; sample-wise rho itself.
    method : Method
    """

    adversary: AdversaryKey
    model: SpikedModel
    n: int
    seed: int
    budget: float
    method: Method

    @property
    def rho(self) -> float:
        """The adversary's budget, ``rho-bar sqrt(n/k)`` feature-wise."""
        return self.budget * math.sqrt(self.n / self.model.k) if self.adversary == "feature" else self.budget

    @property
    def definition(self) -> dict[str, Any]:
        """Everything that decides the result."""
        return {
            "adversary": self.adversary,
            "model": _fields(self.model),
            "n": self.n,
            "seed": self.seed,
            "budget": self.budget,
            "method": self.method.definition,
        }

    @property
    def key(self) -> str:
        """Hash of the definition: equal keys are the same work, and nothing else is."""
        return _digest(self.definition)


@dataclass(frozen=True)
class Spec:
    """An experiment: the product of sample sizes, seeds, budgets and methods on one model.

    Attributes
    ----------
    name : str
    adversary : "feature" or "sample"
    model : SpikedModel
    samples : tuple of int
        The values of n.
    budgets : tuple of float
        Feature-wise normalised, ``rho-bar = rho sqrt(k/n)``; sample-wise rho itself.
    seeds : tuple of int
        One independent draw each.
    methods : tuple of Method
        With distinct labels.

    Examples
    --------
    >>> spec = Spec("tiny", "feature", SpikedModel(8, 2, 3.0), (30,), (0.0, 1.0), (0, 1), (Method("exact", "exact"),))
    >>> len(list(spec.trials())), len(spec.hash)
    (4, 16)
    """

    name: str
    adversary: AdversaryKey
    model: SpikedModel
    samples: tuple[int, ...]
    budgets: tuple[float, ...]
    seeds: tuple[int, ...]
    methods: tuple[Method, ...] = field(default=())

    def __post_init__(self) -> None:
        if self.adversary not in ("feature", "sample"):
            raise InvalidProblem(f"adversary must be 'feature' or 'sample', got {self.adversary!r}.")
        for name in ("samples", "budgets", "seeds", "methods"):
            entries = tuple(getattr(self, name))
            object.__setattr__(self, name, entries)
            if not entries or len(set(entries)) < len(entries):
                raise InvalidProblem(f"{name} must hold at least one entry and none twice, got {entries!r}.")
        object.__setattr__(self, "samples", tuple(as_count("n in samples", n) for n in self.samples))
        if not all(math.isfinite(budget) and budget >= 0 for budget in self.budgets):
            raise InvalidProblem(f"budgets must be finite numbers of at least 0, got {self.budgets!r}.")
        object.__setattr__(self, "budgets", tuple(float(budget) for budget in self.budgets))
        for what in ([method.label for method in self.methods], [_digest(m.definition) for m in self.methods]):
            if len(set(what)) < len(what):
                raise InvalidProblem("methods must differ in their labels and in what they do.")

    def trials(self) -> Iterator[Trial]:
        """Yield the work, method by method, so that a run that is stopped has finished the quick methods."""
        for method, n, seed, budget in itertools.product(self.methods, self.samples, self.seeds, self.budgets):
            yield Trial(self.adversary, self.model, n, seed, budget, method)

    @property
    def definition(self) -> dict[str, Any]:
        """The experiment as plain data."""
        return {
            "name": self.name,
            "adversary": self.adversary,
            "model": _fields(self.model),
            "samples": list(self.samples),
            "budgets": list(self.budgets),
            "seeds": list(self.seeds),
            "methods": [{"label": method.label} | method.definition for method in self.methods],
        }

    @property
    def hash(self) -> str:
        """Hash of the definition."""
        return _digest(self.definition)


def _digest(document: object) -> str:
    return hashlib.sha256(canonical(document).encode()).hexdigest()[:16]


def canonical(document: object) -> str:
    """Return the one JSON text of a document: sorted keys, shortest floats that read back the same."""
    return json.dumps(document, sort_keys=True, separators=(",", ":"), allow_nan=False)


def _fields(model: SpikedModel) -> dict[str, Any]:
    return {"d": int(model.d), "k": int(model.k), "lam": float(model.lam), "k1": model.k1, "c": model.c}
