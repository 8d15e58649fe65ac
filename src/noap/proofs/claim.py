"""What a certificate says of which problem, and how the header of its file spells it."""

import math
import re
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from noap.problem import Problem
from noap.proofs import container
from noap.proofs.container import unreadable
from noap.proofs.fingerprint import digest_of, fingerprint, source_of
from noap.proofs.known import NAMES, budgets_of, name_of

__all__ = ["Claim", "claim_entry", "claim_from"]

_TEXTS = {
    "adversary": re.compile("|".join(NAMES)),
    "source": re.compile("samples|covariance"),
    "sha256": re.compile("[0-9a-f]{64}"),
}


@dataclass(frozen=True)
class Claim:
    """What a certificate says: value <= optimum <= bound, for the problem that these fields name.

    Attributes
    ----------
    adversary : str
        "NoAdversary", "FeatureWise", "SampleWise" or "SpectralNorm".
    rho : float
        The budget; where features or samples have their own, the largest finite one.
    k, n_samples, n_features : int
    source : str
        "samples" or "covariance".
    sha256 : str
        Fingerprint of the data.
    value, bound : float
    budgets, costs : str or None
        Fingerprints of the budgets of single features or samples, and of the costs of features; None where all have the
        same budget, or none a cost.
    """

    adversary: str
    rho: float
    k: int
    n_samples: int
    n_features: int
    source: str
    sha256: str
    value: float
    bound: float
    budgets: str | None = None
    costs: str | None = None

    @classmethod
    def about(cls, problem: Problem, value: float, bound: float) -> "Claim":
        """Name the problem; raises InvalidProblem if it is none that a certificate can be about."""
        name, digest = name_of(problem.adversary), None
        if problem.adversary.has_one_budget:
            rho = float(problem.adversary.rho)
        else:
            budgets = budgets_of(problem)
            finite = budgets[np.isfinite(budgets)]
            rho = float(finite.max(initial=0.0))
            # As many equal ones are one.
            digest = None if len(finite) == len(budgets) and (budgets == rho).all() else digest_of(budgets)
        return cls(
            name,
            rho,
            problem.k,
            problem.n_samples,
            problem.n_features,
            source_of(problem),
            fingerprint(problem),
            float(value),
            float(bound),
            digest,
            None if problem.costs is None else digest_of(problem.costs),
        )

    @property
    def rho_in_words(self) -> str:
        """The budget, and whether it is the only one, as it stands in a sentence."""
        terms = "" if self.costs is None else ", with costs"
        several = "" if self.budgets is None else "budgets of their own, the largest "
        return f"{several}rho = {self.rho:g}{terms}"


def claim_entry(claim: Claim) -> tuple[dict[str, Any], int]:
    """Return what the header says of a claim, and the version of the file that it takes."""
    entry: dict[str, Any] = {field.name: getattr(claim, field.name) for field in fields(Claim)}
    for name in ("rho", "value", "bound"):
        entry[name] = float(entry[name]).hex()
    if entry["budgets"] is not None or entry["costs"] is not None:
        return entry, container.WITH_TERMS
    del entry["budgets"], entry["costs"]
    return entry, container.VERSION


def claim_from(entry: Any, version: int) -> Claim:
    """Read what the header says of a claim, trusting nothing."""
    terms = {"budgets", "costs"}
    expected = {field.name for field in fields(Claim)} - (terms if version == container.VERSION else set())
    if not isinstance(entry, dict) or set(entry) != expected:
        raise unreadable("its claim is malformed")
    given = [entry[name] for name in terms & expected if entry[name] is not None]
    if not all(isinstance(one, str) and _TEXTS["sha256"].fullmatch(one) for one in given):
        raise unreadable("its budgets or costs are not fingerprints")
    if version != container.VERSION and not given:
        raise unreadable("its claim names neither budgets nor costs, as its version says")
    for name in ("adversary", "source", "sha256"):
        if not isinstance(entry[name], str) or not _TEXTS[name].fullmatch(entry[name]):
            raise unreadable(f"its {name} is not one that noap knows")
    for name in ("k", "n_samples", "n_features"):
        if not isinstance(entry[name], int) or isinstance(entry[name], bool) or not 1 <= entry[name] < 2**53:
            raise unreadable(f"its {name} is not a positive integer")
    numbers = {}
    for name in ("rho", "value", "bound"):
        try:
            numbers[name] = float.fromhex(entry[name])
        except (TypeError, ValueError, OverflowError):
            raise unreadable(f"its {name} is not a hexadecimal float") from None
        if not (math.isfinite(numbers[name]) and numbers[name] >= 0):
            raise unreadable(f"its {name} is not a finite number of at least 0")
    return Claim(**{**entry, **numbers})
