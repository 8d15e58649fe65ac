"""The certificate: which problem, which vector, which bound, and the proof of it."""

from dataclasses import dataclass

import numpy as np

from noap.data.arguments import as_megabytes
from noap.kernel import certificate as kernel
from noap.linalg.types import FloatArray
from noap.proofs import container
from noap.proofs.claim import claim_entry, claim_from
from noap.proofs.packing import Proof, packed, unpacked
from noap.proofs.parts import all_finite
from noap.proofs.proof_file import ProofFile

__all__ = ["Certificate"]


@dataclass(frozen=True, eq=False)
class Certificate(ProofFile):
    """A proof that a k-sparse vector is within bound - value of the best, for :func:`noap.verify` to check.

    Attributes
    ----------
    claim : Claim
    places, weights : arrays
        The vector's non-zero entries.
    proof : GramProof, LevelsProof, ManyProof or RelaxationProof
        The tree, or one for every level.

    Examples
    --------
    >>> import noap
    >>> problem = noap.Problem([[3.0, 0.1], [4.0, 1.0]], k=1, adversary=noap.FeatureWise(1.0))
    >>> certificate = noap.solve(problem).certificate
    >>> noap.verify(problem, certificate).ok
    True
    """

    places: np.ndarray
    weights: FloatArray
    proof: Proof

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
        return cls(claim, arrays["v_places"], arrays["v_weights"], proof).well_formed()

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


def _read_older(data: bytes, megabytes: float | None) -> Certificate:
    return Certificate.from_bytes(data, memory_limit=megabytes)


# noap.Certificate.load reads both formats.
kernel.Certificate.read_older = staticmethod(_read_older)
