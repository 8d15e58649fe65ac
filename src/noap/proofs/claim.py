"""What a certificate says, and about which problem."""

import math
import re
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from noap.errors import InvalidProblem
from noap.linalg.types import FloatArray
from noap.problem import Problem
from noap.proofs.fingerprint import fingerprint, source_of
from noap.proofs.known import NAMES, moves_samples, name_of

__all__ = ["Claim"]

_TEXTS = {
    "adversary": re.compile("|".join(NAMES)),
    "source": re.compile("samples|covariance"),
    "sha256": re.compile("[0-9a-f]{64}"),
}
# What stands in the header for numbers that the file holds as an array of the same name, one of each.
_EACH = "each"


@dataclass(frozen=True, eq=False)
class Claim:
    """What a certificate says: value <= optimum <= bound, for the problem that these fields name.

    Attributes
    ----------
    adversary : str
        "NoAdversary", "FeatureWise" or "SampleWise".
    rho : float or array
        The budget: a number, or one for every feature (FeatureWise) or sample (SampleWise).
    k, n_samples, n_features : int
    source : str
        "samples" or "covariance".
    sha256 : str
        Fingerprint of the data.
    value, bound : float
    """

    adversary: str
    rho: Any
    k: int
    n_samples: int
    n_features: int
    source: str
    sha256: str
    value: float
    bound: float

    @classmethod
    def about(cls, problem: Problem, value: float, bound: float) -> "Claim":
        """Name the problem; raises InvalidProblem if it is none that a certificate can be about."""
        name, rho = name_of(problem.adversary), problem.adversary.rho
        if not moves_samples(problem.adversary):
            problem.require_plain("A certificate")
        return cls(
            name,
            rho if isinstance(rho, np.ndarray) else float(rho),
            problem.k,
            problem.n_samples,
            problem.n_features,
            source_of(problem),
            fingerprint(problem),
            float(value),
            float(bound),
        )

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Claim):
            return NotImplemented
        return all(np.array_equal(getattr(self, f.name), getattr(other, f.name)) for f in fields(Claim))

    def __hash__(self) -> int:
        return hash((self.adversary, self.k, self.sha256, self.value, self.bound))

    @property
    def arrays(self) -> dict[str, FloatArray]:
        """What is too long for a header: the budgets, if they are several."""
        return {"rho": self.rho} if isinstance(self.rho, np.ndarray) else {}

    @property
    def rho_in_words(self) -> str:
        """The budget as it stands in a table."""
        if isinstance(self.rho, np.ndarray):
            return f"rho from {self.rho.min():g} to {self.rho.max():g}"
        return f"rho = {self.rho:g}"

    def names_budgets(self, rho: Any) -> bool:
        """Return whether the claim is about these budgets; a number stands for as many as there are."""
        mine = self.rho
        if np.ndim(mine) and np.ndim(rho):
            return np.array_equal(mine, rho)
        return bool(np.all(mine == rho))

    def malformed(self) -> str | None:
        """Return what is wrong with the budgets; None if nothing is."""
        if not isinstance(self.rho, np.ndarray):
            return None
        count = {"SampleWise": self.n_samples, "FeatureWise": self.n_features}.get(self.adversary)
        if self.rho.shape != (count,) or self.rho.dtype != np.float64:
            return "its budgets are not as many as there are samples or features"
        if not (self.rho >= 0).all():  # so written that NaN counts; infinite ones drop what they belong to
            return "its budgets are not numbers of at least 0"
        return None

    def header(self) -> dict[str, Any]:
        """Return the claim as the header of a file says it: nothing is rounded."""
        entry: dict[str, Any] = {field.name: getattr(self, field.name) for field in fields(Claim)}
        for name in ("rho", "value", "bound"):
            entry[name] = _EACH if name in self.arrays else float(entry[name]).hex()
        return entry

    @classmethod
    def read(cls, entry: Any, arrays: dict[str, np.ndarray]) -> "Claim":
        """Read what a header says, and the arrays it points at; raises InvalidProblem if that is no claim."""
        if not isinstance(entry, dict) or set(entry) != {field.name for field in fields(Claim)}:
            raise _unreadable("its claim is malformed")
        for name in ("adversary", "source", "sha256"):
            if not isinstance(entry[name], str) or not _TEXTS[name].fullmatch(entry[name]):
                raise _unreadable(f"its {name} is not one that noap knows")
        for name in ("k", "n_samples", "n_features"):
            if not isinstance(entry[name], int) or isinstance(entry[name], bool) or not 1 <= entry[name] < 2**53:
                raise _unreadable(f"its {name} is not a positive integer")
        numbers: dict[str, Any] = {}
        for name in ("rho", "value", "bound"):
            if name == "rho" and entry[name] == _EACH:
                if name not in arrays or arrays[name].dtype != np.float64:
                    raise _unreadable("its budgets are missing")
                numbers[name] = arrays[name]
                continue
            try:
                numbers[name] = float.fromhex(entry[name])
            except (TypeError, ValueError, OverflowError):
                raise _unreadable(f"its {name} is not a hexadecimal float") from None
            if not (math.isfinite(numbers[name]) and numbers[name] >= 0):
                raise _unreadable(f"its {name} is not a finite number of at least 0")
        return cls(**{**entry, **numbers})


def _unreadable(reason: str) -> InvalidProblem:
    return InvalidProblem(f"The certificate cannot be read: {reason}.")
