"""The certificate of several components together: their vectors, and a bound on every packing of disjoint supports.

docs/components.md proves the theorem, docs/certificate-format-4.md ("Several components") the format. What a joint
certificate adds to others is a tree over owners of features, charges for its leaves, and an ordinary certificate for
every pricing problem.
"""

from dataclasses import dataclass, field, fields
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from noap.data.arguments import MOST_COST, as_megabytes
from noap.linalg.types import FloatArray
from noap.proofs import container
from noap.proofs.certificate import Certificate
from noap.proofs.claim import claim_entry, claim_from
from noap.proofs.container import unreadable
from noap.proofs.packing import COMPONENTS
from noap.proofs.parts import largest, steps, unusable_array
from noap.proofs.proof_file import ProofFile

__all__ = ["JointCertificate"]

UIntArray = npt.NDArray[np.uint32]
# Megabytes that a file may take inflated if nobody says otherwise, and so many more for each of its own.
_ALLOWED, _ALLOWED_RATIO = 64.0, 32.0


@dataclass(frozen=True, eq=False)
class JointCertificate(ProofFile):
    """A proof that disjoint components are together within bound - value of the best, for :func:`noap.verify`.

    With d features, r slots, m components, N nodes of which L are leaves, R records and P pricing problems:

    Attributes
    ----------
    claim : Claim
        The problem, with the largest k of a slot; value and bound are those of the sum.
    ks : array of uint32, shape (r,)
        How many features each slot may use.
    slots : array of uint32, shape (m,)
        Which slot each component fills.
    starts, places, weights : arrays of uint32, uint32 and float64
        Component i has the entries starts[i] to starts[i + 1].
    branches : array of uint32, shape (N,)
        Nodes in preorder: the feature whose owner is chosen, d for a leaf.
    leaves : array of uint32, shape (L,)
        The record that bounds each leaf.
    charges : array of float64, shape (R d,)
        One row for each record: what a feature is charged, its cost and its price together.
    uses : array of uint32, shape (R r,)
        One row for each record: the pricing problem of each slot.
    priced : array of float64, shape (P d,)
        One row for each pricing problem: its costs.
    pricings : tuple of P Certificates
    removed : array of uint32
        Features, in order, that the inequality of `together` shows no packing above the bound to use: the tree is
        about the others.
    together : Certificate or None
        Of the problem with one component of the largest k; its first inequality speaks of all components together.
    """

    ks: UIntArray
    slots: UIntArray
    starts: UIntArray
    places: UIntArray
    weights: FloatArray
    branches: UIntArray
    leaves: UIntArray
    charges: FloatArray
    uses: UIntArray
    priced: FloatArray
    pricings: tuple[Certificate, ...]
    removed: UIntArray = field(default_factory=lambda: np.empty(0, dtype=np.uint32))
    together: Certificate | None = None
    _optimum: ClassVar[str] = "joint optimum"

    @property
    def optimum_in_words(self) -> str:
        """What value and bound enclose, as it stands in a sentence."""
        sizes = self.ks.tolist()
        each = f"{sizes[0]}" if len(set(sizes)) == 1 else ", ".join(map(str, sizes))
        # One attack on all components is one on each where it moves features; where it moves samples it is not.
        apart = ", each attacked by itself" if self.claim.adversary == "SampleWise" else ""
        return f"joint optimum of {len(sizes)} disjoint components of at most {each} features{apart}"

    @property
    def nodes(self) -> int:
        """How many nodes the trees of the pricing problems have."""
        return sum(one.nodes for one in self.pricings)

    @property
    def nbytes(self) -> int:
        """How many bytes its arrays take."""
        own = self.removed.nbytes + sum(int(getattr(self, name).nbytes) for name in _TYPES)
        return own + sum(one.nbytes for one in self._certificates)

    @property
    def _certificates(self) -> tuple[Certificate, ...]:
        return self.pricings if self.together is None else (*self.pricings, self.together)

    def __repr__(self) -> str:
        return f"JointCertificate({self.claim!r}, r={len(self.ks)}, pricings={len(self.pricings)}, nodes={self.nodes})"

    def _details(self) -> list[tuple[str, object]]:
        return [("features of the components", ", ".join(map(str, self.ks.tolist())))]

    def malformed(self) -> str | None:
        """Return what is wrong with the arrays: a number that is not finite, or that points at nothing; None if not."""
        reason = unusable_array(self, {**_TYPES, **_MORE_TYPES})
        if reason is not None:
            return reason
        if not isinstance(self.pricings, tuple) or not all(isinstance(one, Certificate) for one in self.pricings):
            return "its pricing problems have no certificates"
        d, r = self.claim.n_features, len(self.ks)
        if r == 0 or not 1 <= int(self.ks.min()) <= int(self.ks.max()) <= d or int(self.ks.max()) != self.claim.k:
            return "its numbers of features make no sense"
        if len(self.starts) != len(self.slots) + 1 or self.starts[0] != 0 or self.starts[-1] != len(self.places):
            return "its vectors are malformed"
        if any((lengths < 0).any() or largest(lengths) > d for lengths in steps(self.starts)):
            return "its vectors are malformed"
        if len(self.places) != len(self.weights) or largest(self.places) >= d or largest(self.slots) >= r:
            return "its vectors are malformed"
        n_records, n_priced = len(self.uses) // r, len(self.pricings)
        if len(self.uses) != n_records * r or len(self.charges) != n_records * d or len(self.priced) != n_priced * d:
            return "its charges are malformed"
        if largest(self.uses) >= n_priced or largest(self.leaves) >= n_records or largest(self.branches) > d:
            return "its tree refers to what is not there"
        if self.charges.min(initial=0.0) < 0 or self.priced.min(initial=0.0) < 0:
            return "it has a negative charge"
        if max(self.charges.max(initial=0.0), self.priced.max(initial=0.0)) > MOST_COST:
            return "it charges more than any feature could be worth"
        return self._malformed_together() or next(filter(None, (one.malformed() for one in self._certificates)), None)

    def _malformed_together(self) -> str | None:
        """Return what is wrong with what is said of all components, None if nothing."""
        if self.together is not None and not isinstance(self.together, Certificate):
            return "what it says of all components has no certificate"
        if self.together is None and len(self.removed):
            return "it removes features without a reason"
        removed = self.removed.astype(np.int64)
        if largest(self.removed) >= self.claim.n_features or (np.diff(removed) <= 0).any():
            return "the features that it removes are not in order"
        return None

    def to_bytes(self) -> bytes:
        """Return the file's contents."""
        claim, version = claim_entry(self.claim)
        arrays: dict[str, np.ndarray] = {name: getattr(self, name) for name in _TYPES}
        for i, one in enumerate(self.pricings):
            arrays[f"pricing.{i}"] = np.frombuffer(one.to_bytes(), dtype=np.uint8)
        if self.together is not None:
            arrays["removed"] = self.removed
            arrays[_TOGETHER] = np.frombuffer(self.together.to_bytes(), dtype=np.uint8)
        return container.pack({"claim": claim, "proof": COMPONENTS, "pricings": len(self.pricings)}, arrays, version)

    @classmethod
    def from_bytes(cls, data: bytes, *, memory_limit: float | None = None) -> "JointCertificate":
        """Read a file's contents; raises InvalidProblem if they are not a joint certificate."""
        megabytes = as_megabytes(memory_limit)
        header, arrays = container.unpack(data, megabytes)
        if header.get("proof") != COMPONENTS:
            raise unreadable("it is not one of several components; read it with noap.Certificate")
        claim = claim_from(header.get("claim"), header["version"])
        count = header.get("pricings")
        if not isinstance(count, int) or isinstance(count, bool) or not 0 <= count <= len(arrays):
            raise unreadable("its number of pricing problems makes no sense")
        files = [f"pricing.{i}" for i in range(count)]
        more = [*_MORE_TYPES, _TOGETHER] if _TOGETHER in arrays else []
        if set(arrays) != {*_TYPES, *files, *more}:
            raise unreadable("its arrays are not the ones that belong to its kind of proof")
        files += more[-1:]
        if any(arrays[name].dtype != np.uint8 for name in files):
            raise unreadable("a pricing problem is of the wrong type")
        # For all of them together: each may be small and ask for much.
        allowed = _ALLOWED + _ALLOWED_RATIO * len(data) / 1e6 if megabytes is None else megabytes
        left = allowed - (len(data) + sum(a.nbytes for a in arrays.values())) / 1e6
        pricings = []
        for name in files:
            if left <= 0:
                raise unreadable(
                    f"with its arrays inflated it takes more than {allowed:.3g} megabytes; if you trust it, allow more "
                    "with memory_limit"
                )
            pricings.append(Certificate.from_bytes(arrays[name].tobytes(), memory_limit=left))
            left -= pricings[-1].nbytes / 1e6
        known = {name: arrays[name] for name in (*_TYPES, *_MORE_TYPES) if name in arrays}
        together = pricings.pop() if more else None
        return cls(claim, **known, pricings=tuple(pricings), together=together).well_formed()


_TYPES: dict[str, np.dtype[Any]] = {
    name: np.dtype("<f8") if name in ("weights", "charges", "priced") else np.dtype("<u4")
    for name in (field.name for field in fields(JointCertificate))
    if name not in ("claim", "pricings", "removed", "together")
}
# Only where something is said of all components.
_MORE_TYPES: dict[str, np.dtype[Any]] = {"removed": np.dtype("<u4")}
_TOGETHER = "together"
