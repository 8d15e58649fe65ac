"""How a proof of any kind is written as named arrays, and read again; nothing that is read is trusted."""

from typing import Any, TypeAlias

import numpy as np

from noap.proofs.container import unreadable
from noap.proofs.costed_relaxation import CostedRelaxationProof
from noap.proofs.feature_wise import GramProof
from noap.proofs.levels import LevelProof, LevelsProof
from noap.proofs.many import ManyProof
from noap.proofs.relaxation import RelaxationProof

__all__ = ["COMPONENTS", "GRAM_TYPES", "Proof", "packed", "unpacked"]

Single: TypeAlias = GramProof | ManyProof | RelaxationProof
Proof: TypeAlias = Single | LevelsProof
_PROOFS: dict[str, type[Single]] = {
    "gram": GramProof,
    "many": ManyProof,
    # Before the one that it is a kind of.
    "relaxation-costs": CostedRelaxationProof,
    "relaxation": RelaxationProof,
}
# A proof by levels has one of these for each.
_LEVELS, _OF_LEVELS = "levels", ("gram", "relaxation", "relaxation-costs")
COMPONENTS = "components"
"""What the header of a certificate of several components calls its proof."""
_TYPES = {
    "gram": {
        "kind": "u1", "test": "u1", "vector": "u4", "feature": "u4", "cut": "f8", "nu": "f8", "level": "u4",
        "levels": "f8", "each": "u4", "starts": "u4", "places": "u4", "weights": "f8",
    },
    "relaxation": {
        "features": "u4", "kinds": "u1", "slopes": "f8", "unit": "f8", "starts": "u4", "places": "u4", "loads": "f8",
        "lifts": "f8", "entries": "f4", "branches": "u4", "counts": "u4", "used": "u4",
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


def packed(proof: Proof) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Return what the header says of a proof, and its arrays."""
    if isinstance(proof, LevelsProof):
        parts = [packed(tree) for tree in proof.trees]
        arrays = {f"{i}.{name}": array for i, (_, part) in enumerate(parts) for name, array in part.items()}
        header = {"proof": _LEVELS, "trees": [kind["proof"] for kind, _ in parts]}
        return header, {"ks": proof.ks, "bounds": proof.bounds, **arrays}
    kind = next(name for name, made in _PROOFS.items() if isinstance(proof, made))
    return {"proof": kind}, {name: getattr(proof, name) for name in _TYPES[kind]}


def unpacked(header: dict[str, Any], arrays: dict[str, np.ndarray], others: dict[str, str]) -> Proof:
    """Read a proof; raises InvalidProblem unless the arrays are its own and the others, each of its type."""
    kind, trees = header.get("proof"), header.get("trees")
    wanted = dict(others)
    if kind == _LEVELS and _are_levels(trees):
        wanted |= {"ks": "u4", "bounds": "f8"}
        wanted |= {f"{i}.{name}": code for i, tree in enumerate(trees or []) for name, code in _TYPES[tree].items()}
    elif isinstance(kind, str) and kind in _PROOFS and trees is None:
        wanted |= _TYPES[kind]
    elif kind == COMPONENTS:
        raise unreadable("it is one of several components together; read it with noap.JointCertificate")
    else:
        raise unreadable("its kind of proof is unknown")
    if set(arrays) != set(wanted):
        raise unreadable("its arrays are not the ones that belong to its kind of proof")
    for name, codes in wanted.items():
        if all(arrays[name].dtype != np.dtype("<" + code) for code in codes.split()):
            raise unreadable(f"array {name!r} is of the wrong type")
    made: Proof = _made(arrays, kind) if trees is None else _made_levels(arrays, trees)
    return made


def _are_levels(trees: Any) -> bool:
    return isinstance(trees, list) and all(tree in _OF_LEVELS for tree in trees)


def _made(arrays: dict[str, np.ndarray], kind: Any, prefix: str = "") -> Any:
    return _PROOFS[kind](**{name: arrays[prefix + name] for name in _TYPES[kind]})


def _made_levels(arrays: dict[str, np.ndarray], kinds: list[str]) -> LevelsProof:
    trees: tuple[LevelProof, ...] = tuple(_made(arrays, kind, f"{i}.") for i, kind in enumerate(kinds))
    return LevelsProof(arrays["ks"], arrays["bounds"], trees)
