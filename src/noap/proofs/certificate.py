"""The certificate: which problem, which vector, which bound, and the proof of it."""

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from noap.data.validation import as_megabytes
from noap.linalg.types import FloatArray
from noap.proofs import container
from noap.proofs.claim import claim_entry, claim_from
from noap.proofs.container import unreadable
from noap.proofs.costed_relaxation import CostedRelaxationProof
from noap.proofs.feature_wise import GramProof
from noap.proofs.levels import LevelProof, LevelsProof
from noap.proofs.many import ManyProof
from noap.proofs.metric import MetricProof
from noap.proofs.parts import all_finite
from noap.proofs.proof_file import ProofFile
from noap.proofs.relaxation import RelaxationProof
from noap.proofs.sample_wise import SampleProof

__all__ = ["COMPONENTS", "GRAM_TYPES", "SUPPORTS", "Certificate", "Proof"]

Proof: TypeAlias = GramProof | LevelsProof | ManyProof | MetricProof | RelaxationProof | SampleProof
_PROOFS: dict[str, type[GramProof | ManyProof | RelaxationProof | SampleProof]] = {
    "gram": GramProof,
    "many": ManyProof,
    # Before the one that it is a kind of.
    "relaxation-costs": CostedRelaxationProof,
    "relaxation": RelaxationProof,
    "samples": SampleProof,
}
# A proof about a problem with a metric holds one of the others, and these numbers.
_METRIC, _METRIC_TYPES = "metric", {"metric": "f8", "attack": "f8"}
# A proof by levels has one of these for each.
_LEVELS, _OF_LEVELS = "levels", ("gram", "relaxation", "relaxation-costs")
COMPONENTS = "components"
"""What the header of a certificate of several components calls its proof."""
SUPPORTS = "supports"
"""What that of a list of supports calls it."""
# "f4 f8": either.
_TYPES = {
    "gram": {
        "kind": "u1", "test": "u1", "vector": "u4", "feature": "u4", "cut": "f8", "nu": "f8", "level": "u4",
        "levels": "f8", "each": "u4", "starts": "u4", "places": "u4", "weights": "f8",
    },
    "relaxation": {
        "features": "u4", "kinds": "u1", "slopes": "f8", "unit": "f8", "starts": "u4", "places": "u4", "loads": "f8",
        "lifts": "f8", "entries": "f4", "branches": "u4", "counts": "u4", "used": "u4",
    },
    "samples": {
        "kind": "u1", "attack": "u4", "feature": "u4", "row_starts": "u4", "rows": "u4", "column_starts": "u4",
        "columns": "u4", "values": "f4 f8",
    },
}  # fmt: skip
_TYPES["relaxation-costs"] = {
    **_TYPES["relaxation"], "dues": "f8", "pull_counts": "u4", "pull_places": "u4", "pulls": "f4",
}  # fmt: skip
GRAM_TYPES = _TYPES["gram"]
"""The arrays of a tree over pairs, and their types."""
_TYPES["many"] = {
    "ks": "u4", "bounds": "f8", "counts": "u4", "roots": "u4", "whole": "u1", "sizes": "u4", **_TYPES["gram"],
}  # fmt: skip


@dataclass(frozen=True, eq=False)
class Certificate(ProofFile):
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
        return self.places.nbytes + self.weights.nbytes + sum(array.nbytes for array in _packed(self.proof)[1].values())

    def __repr__(self) -> str:
        return f"Certificate({self.claim!r}, nodes={self.nodes})"

    def to_bytes(self) -> bytes:
        """Return the file's contents."""
        claim, version = claim_entry(self.claim)
        kinds, proof = _packed(self.proof)
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
        kind, trees = header.get("proof"), header.get("trees")
        in_metric = kind == _METRIC
        if in_metric:
            kind = header.get("inner")
        if kind == _LEVELS and isinstance(trees, list) and all(tree in _OF_LEVELS for tree in trees):
            wanted = {"ks": "u4", "bounds": "f8"}
            wanted |= {f"{i}.{name}": code for i, tree in enumerate(trees) for name, code in _TYPES[tree].items()}
        elif isinstance(kind, str) and kind in _PROOFS and trees is None:
            wanted = dict(_TYPES[kind])
        elif kind == COMPONENTS:
            raise unreadable("it is one of several components together; read it with noap.JointCertificate")
        elif kind == SUPPORTS:
            raise unreadable("it is one of a list of supports; read it with noap.ListCertificate")
        else:
            raise unreadable("its kind of proof is unknown")
        wanted |= {"v_places": "u4", "v_weights": "f8"} | (_METRIC_TYPES if in_metric else {})
        if set(arrays) != set(wanted):
            raise unreadable("its arrays are not the ones that belong to its kind of proof")
        for name, codes in wanted.items():
            if all(arrays[name].dtype != np.dtype("<" + code) for code in codes.split()):
                raise unreadable(f"array {name!r} is of the wrong type")
        proof = _unpacked(arrays, kind) if trees is None else _unpacked_levels(arrays, trees)
        if in_metric:
            if len(arrays["metric"]) != 3:
                raise unreadable("its numbers for the metric are not three")
            T, tau, inside = arrays["metric"].tolist()
            proof = MetricProof(T, tau, inside, proof, arrays["attack"])
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


def _packed(proof: Proof) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Return what the header says of a proof, and its arrays."""
    if isinstance(proof, MetricProof):
        kinds, arrays = _packed(proof.inner)
        numbers = np.array([proof.threshold, proof.shift, proof.bound])
        return {**kinds, "proof": _METRIC, "inner": kinds["proof"]}, {
            "metric": numbers,
            "attack": proof.attack,
            **arrays,
        }
    if isinstance(proof, LevelsProof):
        parts = [_packed(tree) for tree in proof.trees]
        arrays = {f"{i}.{name}": array for i, (_, part) in enumerate(parts) for name, array in part.items()}
        header = {"proof": _LEVELS, "trees": [kind["proof"] for kind, _ in parts]}
        return header, {"ks": proof.ks, "bounds": proof.bounds, **arrays}
    kind = next(name for name, made in _PROOFS.items() if isinstance(proof, made))
    return {"proof": kind}, {name: getattr(proof, name) for name in _TYPES[kind]}


def _unpacked(arrays: dict[str, np.ndarray], kind: str, prefix: str = "") -> Any:
    return _PROOFS[kind](**{name: arrays[prefix + name] for name in _TYPES[kind]})


def _unpacked_levels(arrays: dict[str, np.ndarray], kinds: list[str]) -> LevelsProof:
    trees: tuple[LevelProof, ...] = tuple(_unpacked(arrays, kind, f"{i}.") for i, kind in enumerate(kinds))
    return LevelsProof(arrays["ks"], arrays["bounds"], trees)
