"""The certificate of a list of supports: their vectors, and a tree that shows that no other is worth the threshold.

docs/exact.md ("Every good support") proves the theorem, docs/certificate-format-4.md ("Lists of supports") the format.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from noap.data.arguments import as_megabytes
from noap.linalg.types import FloatArray
from noap.proofs import container
from noap.proofs.claim import claim_entry, claim_from
from noap.proofs.container import unreadable
from noap.proofs.feature_wise import GramProof
from noap.proofs.packing import GRAM_TYPES, SUPPORTS
from noap.proofs.parts import largest, steps, unusable_array
from noap.proofs.proof_file import ProofFile

__all__ = ["ListCertificate"]

UIntArray = npt.NDArray[np.uint32]


@dataclass(frozen=True, eq=False)
class ListCertificate(ProofFile):
    """A proof that a list of supports is complete at a threshold, for :func:`noap.verify` to check.

    Attributes
    ----------
    claim : Claim
        The problem; value is that of the best vector on the list, bound one on the optimum.
    threshold : float
        What no support exceeds that owes it to other features than those of one on the list.
    values : array of float64, shape (m,)
        What the vectors are worth.
    starts, places, weights : arrays of uint32, uint32 and float64
        Vector i has the entries starts[i] to starts[i + 1], none of them 0: these are the features of support i.
    proof : GramProof
        The tree.
    """

    threshold: float
    values: FloatArray
    starts: UIntArray
    places: UIntArray
    weights: FloatArray
    proof: GramProof

    @property
    def best(self) -> tuple[UIntArray, FloatArray]:
        """Places and weights of the vector that is worth most; none where nothing is listed."""
        if not len(self):
            return self.places, self.weights
        i = int(np.argmax(self.values))
        part = slice(int(self.starts[i]), int(self.starts[i + 1]))
        return self.places[part], self.weights[part]

    @property
    def nodes(self) -> int:
        """How many nodes the tree has."""
        return len(self.proof)

    @property
    def nbytes(self) -> int:
        """How many bytes its arrays take."""
        own = sum(int(getattr(self, name).nbytes) for name in _TYPES)
        return own + sum(int(getattr(self.proof, name).nbytes) for name in GRAM_TYPES)

    def __len__(self) -> int:
        return len(self.values)

    def __repr__(self) -> str:
        own = f"threshold={self.threshold!r}, supports={len(self)}, nodes={self.nodes}"
        return f"ListCertificate({self.claim!r}, {own})"

    def _details(self) -> list[tuple[str, object]]:
        return [("supports", len(self)), ("every other support at most", f"{self.threshold:.17g}")]

    def malformed(self) -> str | None:
        """Return what is wrong with the arrays: a number that is not finite, or that points at nothing; None if not."""
        reason = unusable_array(self, _TYPES)
        if reason is not None:
            return reason
        if not isinstance(self.proof, GramProof):
            return "its list has no proof"
        if not (isinstance(self.threshold, float) and 0.0 <= self.threshold < math.inf):
            return "its threshold makes no sense"
        if len(self.starts) != len(self.values) + 1 or self.starts[0] != 0 or self.starts[-1] != len(self.places):
            return "its vectors are malformed"
        if any((lengths < 1).any() or largest(lengths) > self.claim.k for lengths in steps(self.starts)):
            return f"its vectors have no entries, or more than k = {self.claim.k}"
        if len(self.places) != len(self.weights) or largest(self.places) >= self.claim.n_features:
            return "its vectors are malformed"
        if not self.weights.all():
            return "its vectors have entries of 0"
        return self.proof.malformed(self.claim.n_samples, self.claim.n_features)

    def to_bytes(self) -> bytes:
        """Return the file's contents."""
        claim, version = claim_entry(self.claim)
        arrays: dict[str, np.ndarray] = {f"list.{name}": getattr(self, name) for name in _TYPES}
        arrays |= {name: getattr(self.proof, name) for name in GRAM_TYPES}
        header = {"claim": claim, "proof": SUPPORTS, "threshold": float(self.threshold).hex()}
        return container.pack(header, arrays, version)

    @classmethod
    def from_bytes(cls, data: bytes, *, memory_limit: float | None = None) -> "ListCertificate":
        """Read a file's contents; raises InvalidProblem if they are not the certificate of a list."""
        header, arrays = container.unpack(data, as_megabytes(memory_limit))
        if header.get("proof") != SUPPORTS:
            raise unreadable("it is not one of a list of supports; read it with noap.Certificate")
        claim = claim_from(header.get("claim"), header["version"])
        try:
            threshold = float.fromhex(header.get("threshold"))  # type: ignore[arg-type]
        except (TypeError, ValueError, OverflowError):
            raise unreadable("its threshold is not a hexadecimal float") from None
        if set(arrays) != {*(f"list.{name}" for name in _TYPES), *GRAM_TYPES}:
            raise unreadable("its arrays are not the ones that belong to its kind of proof")
        proof = GramProof(**{name: arrays[name] for name in GRAM_TYPES})
        certificate = cls(claim, threshold, **{name: arrays[f"list.{name}"] for name in _TYPES}, proof=proof)
        return certificate.well_formed()


_TYPES: dict[str, np.dtype[Any]] = {
    "values": np.dtype("<f8"),
    "starts": np.dtype("<u4"),
    "places": np.dtype("<u4"),
    "weights": np.dtype("<f8"),
}
