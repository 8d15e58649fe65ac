"""A certificate: a claim, the vector that attains its value, and the proof of its bound. One class, one file format."""

import math
import os
import re
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from noap.data.arguments import as_megabytes
from noap.kernel import container, schema
from noap.kernel.arithmetic import Refused
from noap.kernel.claim import Claim
from noap.kernel.container import unreadable
from noap.kernel.samples import NO_DIRECTIONS
from noap.kernel.witness import Level, Packing, Support
from noap.linalg.types import FloatArray, IntArray
from noap.runtime.notebook import html_table

__all__ = ["Certificate", "Proof"]

_TEXTS = {
    "kind": re.compile("single|list|joint"),
    "adversary": re.compile("none|feature-wise|sample-wise|entry-wise|spectral"),
    "source": re.compile("samples|covariance"),
    "fingerprint": re.compile("[0-9a-f]{64}"),
}
_COUNTS = ("k", "n_samples", "n_features")
_KEYS = {*_TEXTS, *_COUNTS, "value", "bound", "exponent", "shift", "device", "arrays"}


@dataclass(frozen=True, eq=False)
class Proof:
    """The proof of a bound, as a method hands it over.

    Attributes
    ----------
    levels : tuple of Level
    exponent : int
        The proof is in units of 4**exponent.
    shift : float or None
        Makes a covariance positive semidefinite, in these units; None proves nothing of the kind.
    supports : tuple of Support
        Of a list; the last level is then about all others, at the threshold of the list.
    packing : Packing or None
        Of several choices at once, in the place of levels.
    least : float
        A metric that is a matrix less this many times I is positive definite, in units in which its diagonal is about
        1; 0 for any other.
    """

    levels: tuple[Level, ...]
    exponent: int
    shift: float | None
    supports: tuple[Support, ...] = ()
    packing: Packing | None = None
    least: float = 0.0


@dataclass(frozen=True, eq=False)
class Certificate:
    """A claim together with its proof, as it stands in a file; true only once :func:`noap.verify` has accepted it.

    Attributes
    ----------
    claim : Claim
    support, weights : arrays of shape (m,)
        Features and weights of the vector that attains the value, of any length.
    proof : Proof
    """

    claim: Claim
    support: IntArray
    weights: FloatArray
    proof: Proof

    @property
    def kind(self) -> str:
        """What is claimed.

        "single": a bound; "list": also that no support but those of a list exceeds a threshold; "joint": a bound on
        what several disjoint choices are worth together.
        """
        return self.claim.kind

    @property
    def value(self) -> float:
        """The claimed value."""
        return self.claim.value

    @property
    def bound(self) -> float:
        """The claimed bound on the optimum."""
        return self.claim.bound

    @property
    def nodes(self) -> int:
        """How many nodes its trees have."""
        packing = self.proof.packing
        levels = self.proof.levels if packing is None else [one for claim in packing.priced for one in claim.levels]
        trees = sum(len(level.nodes) + sum(len(claim.nodes) for claim in level.claims) for level in levels)
        return trees + (0 if packing is None else len(packing.nodes))

    @property
    def _optimum(self) -> str:
        return "optimum" if self.proof.packing is None else "joint optimum"

    def to_bytes(self) -> bytes:
        """Return the file's contents."""
        claim = self.claim
        header: dict[str, Any] = {name: getattr(claim, name) for name in (*_TEXTS, *_COUNTS, "value", "bound")}
        header |= {"exponent": self.proof.exponent, "shift": self.proof.shift, "device": False}
        given = {name: getattr(claim, name) for name in ("rho", "costs", "include", "exclude", "mean", "scale")}
        given |= {"support": self.support, "weights": self.weights}
        m, normals = 0 if claim.directions is None else len(claim.directions), int(claim.metric is not None)
        given |= {"directions": None if claim.directions is None else claim.directions.ravel()}
        given |= {"metric": None if claim.metric is None else claim.metric.ravel()}
        given |= {"metric_least": np.array([self.proof.least]) if self.proof.least > 0 else None}
        arrays = {
            name: np.asarray(numbers, dtype="<" + schema.ARRAYS[name].dtype)
            for name, numbers in given.items()
            if numbers is not None
        }
        proof = schema.written(self.proof.levels, self.proof.supports, m, m or normals, self.proof.packing)
        return container.pack(header, arrays | proof)

    @classmethod
    def from_bytes(cls, data: bytes, *, memory_limit: float | None = None) -> Self:
        """Read a file's contents; raises InvalidProblem if they are no certificate."""
        header, arrays = container.unpack(data, memory_limit)
        _check_header(header)
        for name, found in arrays.items():
            if name not in schema.ARRAYS or found.dtype != np.dtype("<" + schema.ARRAYS[name].dtype):
                raise unreadable(f"array {name!r} is unknown, or of another type")
        d = header["n_features"]

        def taken(name: str, *lengths: int) -> Any:
            """Return an array that belongs to the claim, which must have one of these lengths, or None."""
            found = arrays.pop(name, None)
            if found is not None and lengths and len(found) not in lengths:
                raise unreadable(f"array {name!r} has {len(found)} numbers")
            if found is not None and np.isnan(found).any():
                raise unreadable(f"array {name!r} has a number that is not one")
            return found if found is None or found.dtype.kind == "f" else found.astype(np.intp)

        joint = header["kind"] == "joint"

        def listed(name: str, *, ascending: bool = True) -> IntArray:
            found = taken(name)
            features: IntArray = np.empty(0, np.intp) if found is None else found
            if not ((not ascending or (np.diff(features) > 0).all()) and (features < d).all()):
                raise unreadable(f"array {name!r} does not ascend, or is about no feature")
            return features

        on_samples, n = header["adversary"] in ("sample-wise", "entry-wise"), header["n_samples"]
        counts = {"sample-wise": (1, n), "entry-wise": (1, d, n * d)}.get(header["adversary"], (1, d))
        rho, costs = taken("rho", *counts), taken("costs", d)
        if (rho is None) != (header["adversary"] == "none") or (header["adversary"] == "spectral" and len(rho) != 1):
            raise unreadable("budgets and adversary do not fit")
        include, exclude = listed("include"), listed("exclude")
        if len(np.intersect1d(include, exclude)) or len(include) > header["k"]:
            raise unreadable("demanded and forbidden features do not fit")
        mean, scale = taken("mean", d), taken("scale", d)
        if on_samples and header["source"] != "samples":
            raise unreadable("attacks on samples need them")
        if (mean is None) != (scale is None):
            raise unreadable("means and scales do not fit")
        if scale is not None and (header["source"] == "covariance" or not (scale > 0).all()):
            raise unreadable("scales must be above 0, and a covariance has none")
        flat = taken("directions")
        directions = None if flat is None else flat.reshape(-1, d) if len(flat) % d == 0 else np.full((1, d), np.nan)
        if directions is not None and not np.isfinite(directions).all():
            raise unreadable("directions are not finite, or of another length")
        if on_samples and directions is not None:
            raise unreadable(NO_DIRECTIONS)
        metric, least = taken("metric", d, d * d), taken("metric_least", 1)
        if metric is not None and (directions is not None or costs is not None or not np.isfinite(metric).all()):
            raise unreadable("its metric is not finite, or with directions or costs")
        if metric is not None and (header["adversary"] not in ("none", "feature-wise") or header["kind"] != "single"):
            raise unreadable("no rule is about this adversary, or a list, in a metric")
        if metric is not None and len(metric) == d * d and d > 1:
            metric = metric.reshape(d, d)
        if (least is not None) != (metric is not None and metric.ndim == 2):
            raise unreadable("metric and its least eigenvalue do not fit")
        support, weights = listed("support", ascending=not joint), taken("weights")
        weights = np.empty(0) if weights is None else weights
        if len(support) != len(weights):
            raise unreadable("its vector has weights without features")
        try:
            attacked = on_samples and rho is not None and rho.any()
            samples, m = n if attacked else None, 0 if directions is None else len(directions)
            normals = m or int(metric is not None)
            levels, supports, packing = schema.levels_from(arrays, d, samples, m, normals, joint)
        except Refused as refusal:
            raise unreadable(str(refusal)) from None
        if header["kind"] != "list" and supports:
            raise unreadable("it lists supports, and claims nothing of them")
        claim = Claim(
            **{name: header[name] for name in (*_TEXTS, *_COUNTS)},
            value=float(header["value"]),
            bound=float(header["bound"]),
            rho=rho,
            costs=costs,
            include=include,
            exclude=exclude,
            directions=directions,
            metric=metric,
            mean=mean,
            scale=scale,
        )
        shift = header["shift"]
        proof = Proof(
            levels,
            header["exponent"],
            None if shift is None else float(shift),
            supports,
            packing,
            0.0 if least is None else float(least[0]),
        )
        return cls(claim, support, weights, proof)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the certificate to a file, whole or not at all. An existing file is replaced."""
        container.write_bytes(path, self.to_bytes())

    @classmethod
    def load(cls, path: str | os.PathLike[str], *, memory_limit: float | None = None) -> Self:
        """Read a certificate. Safe on hostile files: no code is run, and memory is bounded.

        Parameters
        ----------
        path : path
            A regular file, or a pipe that ends within 64 megabytes.
        memory_limit : float, optional
            Megabytes that the file and its arrays, inflated, may take together. Without one the arrays may take 64 and
            32 times the size of the file.
        """
        megabytes = as_megabytes(memory_limit)
        return cls.from_bytes(container.read_bytes(path, megabytes), memory_limit=megabytes)

    def _repr_html_(self) -> str:
        """Return the table that a notebook shows: what is claimed, and that nobody has checked it yet."""
        claim = self.claim
        rows = [
            ("adversary", f"{claim.adversary}, {claim.noise_in_words}"),
            ("about", f"{claim.source} of {claim.n_samples} x {claim.n_features}, k = {claim.k}"),
            (f"{self._optimum} at least", f"{claim.value:.17g}"),
            (f"{self._optimum} at most", f"{claim.bound:.17g}"),
            *([("supports on the list", len(self.proof.supports))] if self.kind == "list" else []),
            ("nodes", self.nodes),
        ]
        return html_table("Certificate: a claim until noap.verify(problem, certificate) has checked it", rows)


def _check_header(header: dict[str, Any]) -> None:
    """Refuse a header with a key too many or too few, or of another type."""
    if set(header) != _KEYS:
        raise unreadable("its header has other keys than this version")
    for name, pattern in _TEXTS.items():
        if not isinstance(header[name], str) or not pattern.fullmatch(header[name]):
            raise unreadable(f"{name} is {header[name]!r}, which this noap does not know")
    for name in _COUNTS:
        if not _is_integer(header[name]) or not 1 <= header[name] < 2**53:
            raise unreadable(f"{name} is not a positive integer")
    if header["k"] > header["n_features"]:
        raise unreadable("k is larger than the number of features")
    if not (_is_finite(header["value"]) and _is_finite(header["bound"]) and header["value"] <= header["bound"]):
        raise unreadable("value and bound are not two numbers, the first at most the second")
    if not _is_integer(header["exponent"]) or abs(header["exponent"]) > 600:
        raise unreadable("the exponent is out of range")
    shift = header["shift"]
    if not (shift is None or (_is_finite(shift) and shift >= 0)) or (shift != 0 and header["source"] == "samples"):
        raise unreadable("the shift is not a number of at least 0")
    if header["device"] is not False:
        raise unreadable("it rests on the arithmetic of a device, which this noap does not accept")


def _is_integer(x: Any) -> bool:
    return isinstance(x, int) and not isinstance(x, bool)


def _is_finite(x: Any) -> bool:
    return (_is_integer(x) and abs(x) < 2**1023) or (isinstance(x, float) and abs(x) < math.inf)
