"""The certificate: which problem, which vector, which bound, and the proof of it."""

import math
import os
import re
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from noap.data.validation import as_megabytes
from noap.linalg.types import FloatArray
from noap.problem import Problem
from noap.proofs import container
from noap.proofs.fingerprint import digest_of, fingerprint, source_of
from noap.proofs.known import NAMES, budgets_of, name_of
from noap.proofs.packing import COMPONENTS, GRAM_TYPES, SUPPORTS, Proof, packed, unpacked, unreadable
from noap.proofs.parts import all_finite
from noap.runtime.notebook import html_table

__all__ = [
    "COMPONENTS", "GRAM_TYPES", "SUPPORTS", "Certificate", "Claim", "Proof", "claim_entry", "claim_from",
]  # fmt: skip

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
    metric : str or None
        Fingerprint of the metric, row by row; of its diagonal where it has nothing else. None where there is none.
    groups : str or None
        Fingerprint of the groups of features: the number of the group of each feature, counted in the order of their
        first features, and then how many of each may be used. None where there are none.
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
    metric: str | None = None
    groups: str | None = None

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
            None if problem.metric is None else digest_of(problem.metric.ravel()),
            None if problem.groups is None else digest_of(np.append(problem.groups.of, problem.groups.sizes) + 0.0),
        )

    @property
    def rho_in_words(self) -> str:
        """The budget, and whether it is the only one, as it stands in a sentence."""
        terms = ("" if self.costs is None else ", with costs") + ("" if self.metric is None else ", with a metric")
        terms += "" if self.groups is None else " and groups"
        several = "" if self.budgets is None else "budgets of their own, the largest "
        return f"{several}rho = {self.rho:g}{terms}"


@dataclass(frozen=True, eq=False)
class Certificate:
    """A proof that a k-sparse vector is within bound - value of the best, for :func:`noap.verify` to check.

    Attributes
    ----------
    claim : Claim
    places, weights : arrays
        The vector's non-zero entries.
    proof : GramProof, LevelsProof, ManyProof, RelaxationProof or SampleProof
        The tree, or one for every level.

    Examples
    --------
    >>> import noap
    >>> problem = noap.Problem([[3.0, 0.1], [4.0, 1.0]], k=1, adversary=noap.FeatureWise(1.0))
    >>> certificate = noap.solve(problem).certificate
    >>> noap.verify(problem, certificate).ok
    True
    """

    claim: Claim
    places: np.ndarray
    weights: FloatArray
    proof: Proof

    @property
    def value(self) -> float:
        """The claimed value of the vector."""
        return self.claim.value

    @property
    def bound(self) -> float:
        """The claimed bound on the optimum."""
        return self.claim.bound

    @property
    def nodes(self) -> int:
        """How many nodes the tree has."""
        return len(self.proof)

    @property
    def nbytes(self) -> int:
        """How many bytes its arrays take."""
        return self.places.nbytes + self.weights.nbytes + sum(array.nbytes for array in packed(self.proof)[1].values())

    def __repr__(self) -> str:
        return f"Certificate({self.claim!r}, nodes={self.nodes})"

    def _repr_html_(self) -> str:
        """Return the table that a notebook shows: what is claimed, and that nobody has checked it yet."""
        claim = self.claim
        rows = [
            ("adversary", f"{claim.adversary}, {claim.rho_in_words}"),
            ("about", f"{claim.source} of {claim.n_samples} x {claim.n_features}, k = {claim.k}"),
            ("optimum at least", f"{claim.value:.17g}"),
            ("optimum at most", f"{claim.bound:.17g}"),
            ("nodes", self.nodes),
        ]
        return html_table("Certificate: a claim until noap.verify(problem, certificate) has checked it", rows)

    def to_bytes(self) -> bytes:
        """Return the file's contents."""
        claim, version = claim_entry(self.claim)
        kinds, proof = packed(self.proof)
        arrays: dict[str, np.ndarray] = {
            "v_places": self.places.astype(np.uint32),
            "v_weights": np.asarray(self.weights, dtype=np.float64),
            **proof,
        }
        return container.pack({"claim": claim, **kinds}, arrays, version)

    @classmethod
    def from_bytes(cls, data: bytes, *, memory_limit: float | None = None) -> "Certificate":
        """Read a file's contents; raises InvalidProblem if they are not a certificate. Limits are those of `load`."""
        header, arrays = container.unpack(data, as_megabytes(memory_limit))
        claim = claim_from(header.get("claim"), header["version"])
        proof = unpacked(header, arrays, {"v_places": "u4", "v_weights": "f8"})
        certificate = cls(claim, arrays["v_places"], arrays["v_weights"], proof)
        reason = certificate.malformed()
        if reason is not None:
            raise unreadable(reason)
        return certificate

    def malformed(self) -> str | None:
        """Return what is wrong with the arrays: a number that is not finite, or that points at nothing; None if not."""
        places, weights = self.places, self.weights
        if not (isinstance(places, np.ndarray) and isinstance(weights, np.ndarray)):
            return "its vector is malformed"
        # In any other type the checker's own arithmetic would be that of the type.
        if places.dtype.kind not in "iu" or weights.dtype != np.float64:
            return "its vector is of the wrong type"
        if not (places.ndim == weights.ndim == 1 and len(places) == len(weights)):
            return "its vector is malformed"
        if len(places) and not 0 <= int(places.min()) <= int(places.max()) < self.claim.n_features:
            return "its vector is malformed"
        if not all_finite(weights):
            return "its vector has entries that are not finite"
        return self.proof.malformed(self.claim.n_samples, self.claim.n_features)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the certificate to a file, whole or not at all. An existing file is replaced."""
        container.write_bytes(path, self.to_bytes())

    @classmethod
    def load(cls, path: str | os.PathLike[str], *, memory_limit: float | None = None) -> "Certificate":
        """Read a certificate. Safe on hostile files: no code is run, and memory is bounded.

        Parameters
        ----------
        path : path
            A regular file, or a pipe that ends within 64 megabytes.
        memory_limit : float, optional
            Megabytes that the file and its arrays, inflated, may take together. Without one the arrays may take 64 and
            32 times the size of the file; those that noap writes take some 8 times its size at most, unless the data
            have many equal rows.
        """
        megabytes = as_megabytes(memory_limit)
        return cls.from_bytes(container.read_bytes(path, megabytes), memory_limit=megabytes)


def claim_entry(claim: Claim) -> tuple[dict[str, Any], int]:
    """Return what the header says of a claim, and the version of the file that it takes."""
    entry: dict[str, Any] = {field.name: getattr(claim, field.name) for field in fields(Claim)}
    for name in ("rho", "value", "bound"):
        entry[name] = float(entry[name]).hex()
    if entry["groups"] is not None:
        return entry, container.WITH_GROUPS
    del entry["groups"]
    if entry["metric"] is not None:
        return entry, container.WITH_METRIC
    del entry["metric"]
    if entry["budgets"] is not None or entry["costs"] is not None:
        return entry, container.WITH_TERMS
    del entry["budgets"], entry["costs"]
    return entry, container.VERSION


def claim_from(entry: Any, version: int) -> Claim:
    """Read what the header says of a claim, trusting nothing."""
    terms = {"budgets", "costs", "metric", "groups"}
    missing = {
        container.VERSION: terms,
        container.WITH_TERMS: {"metric", "groups"},
        container.WITH_METRIC: {"groups"},
    }.get(version, set())
    expected = {field.name for field in fields(Claim)} - missing
    if not isinstance(entry, dict) or set(entry) != expected:
        raise unreadable("its claim is malformed")
    given = [entry[name] for name in terms & expected if entry[name] is not None]
    if not all(isinstance(one, str) and _TEXTS["sha256"].fullmatch(one) for one in given):
        raise unreadable("its budgets or costs are not fingerprints")
    if version != container.VERSION and not given:
        raise unreadable("its claim names neither budgets nor costs, as its version says")
    if version >= container.WITH_METRIC and entry["metric"] is None:
        raise unreadable("its claim names no metric, as its version says")
    if version >= container.WITH_GROUPS and entry["groups"] is None:
        raise unreadable("its claim names no groups, as its version says")
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
