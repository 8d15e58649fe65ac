"""How a proof of any kind is written as named arrays, and read again; nothing that is read is trusted."""

from typing import Any, TypeAlias

import numpy as np

from noap.proofs.container import unreadable
from noap.proofs.costed_relaxation import CostedRelaxationProof
from noap.proofs.feature_wise import GramProof
from noap.proofs.levels import LevelProof, LevelsProof
from noap.proofs.many import ManyProof
from noap.proofs.metric import MetricProof
from noap.proofs.metric_relaxation import MetricRelaxationProof
from noap.proofs.metric_supports import SupportsProof
from noap.proofs.relaxation import RelaxationProof

__all__ = ["COMPONENTS", "GRAM_TYPES", "Proof", "packed", "unpacked"]

Single: TypeAlias = GramProof | ManyProof | MetricRelaxationProof | RelaxationProof
Proof: TypeAlias = Single | LevelsProof | MetricProof | SupportsProof
_PROOFS: dict[str, type[Single]] = {
    "gram": GramProof,
    "many": ManyProof,
    "metric-relaxation": MetricRelaxationProof,
    # Before the one that it is a kind of.
    "relaxation-costs": CostedRelaxationProof,
    "relaxation": RelaxationProof,
}
# A proof about a problem with a metric holds one of the others, and these numbers.
_METRIC, _METRIC_TYPES = "metric", {"metric": "f8", "attack": "f8"}
# One by supports holds a tree, or none where all supports are looked at.
_BY_SUPPORTS, _ALL = "metric-supports", "all"
_BY_SUPPORTS_TYPES = {
    "supports": "u4", "how": "u1", "own": "f8", "cells": "u1", "numbers": "f8", "edges": "u1",
}  # fmt: skip
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
_TYPES["metric-relaxation"] = {"entries": "f8"}
GRAM_TYPES = _TYPES["gram"]
"""The arrays of a tree over pairs, and their types."""
_TYPES["many"] = {
    "ks": "u4", "bounds": "f8", "counts": "u4", "roots": "u4", "whole": "u1", "sizes": "u4", **_TYPES["gram"],
}  # fmt: skip


def packed(proof: Proof) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Return what the header says of a proof, and its arrays."""
    if isinstance(proof, MetricProof):
        kinds, arrays = packed(proof.inner)
        own = {"metric": np.array([proof.threshold, proof.shift, proof.bound]), "attack": proof.attack}
        return {**kinds, "proof": _METRIC, "inner": kinds["proof"]}, {**own, **arrays}
    if isinstance(proof, SupportsProof):
        kinds, arrays = ({"proof": _ALL}, {}) if proof.tree is None else packed(proof.tree)
        own = {"metric": np.array([proof.threshold, proof.shift, proof.bound]), "attack": proof.attacks}
        own |= {f"list.{name}": getattr(proof, name) for name in _BY_SUPPORTS_TYPES}
        return {"proof": _BY_SUPPORTS, "inner": kinds["proof"]}, {**own, **arrays}
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
    outer = kind if kind in (_METRIC, _BY_SUPPORTS) else None
    if outer is not None:
        kind = header.get("inner")
    wanted = dict(others)
    if kind == _LEVELS and outer != _BY_SUPPORTS and _are_levels(trees):
        wanted |= {"ks": "u4", "bounds": "f8"}
        wanted |= {f"{i}.{name}": code for i, tree in enumerate(trees or []) for name, code in _TYPES[tree].items()}
    elif outer == _BY_SUPPORTS and kind in ("gram", _ALL) and trees is None:
        wanted |= {} if kind == _ALL else _TYPES["gram"]
    elif outer != _BY_SUPPORTS and isinstance(kind, str) and kind in _inner_kinds(outer) and trees is None:
        wanted |= _TYPES[kind]
    elif kind == COMPONENTS:
        raise unreadable("it is one of several components together; read it with noap.JointCertificate")
    else:
        raise unreadable("its kind of proof is unknown")
    wanted |= _METRIC_TYPES if outer is not None else {}
    if outer == _BY_SUPPORTS:
        wanted |= {f"list.{name}": code for name, code in _BY_SUPPORTS_TYPES.items()}
    if set(arrays) != set(wanted):
        raise unreadable("its arrays are not the ones that belong to its kind of proof")
    for name, codes in wanted.items():
        if all(arrays[name].dtype != np.dtype("<" + code) for code in codes.split()):
            raise unreadable(f"array {name!r} is of the wrong type")
    if outer is not None and len(arrays["metric"]) != 3:
        raise unreadable("its numbers for the metric are not three")
    inner: Any = None if kind == _ALL else _made(arrays, kind) if trees is None else _made_levels(arrays, trees)
    if outer == _METRIC:
        T, tau, bound = arrays["metric"].tolist()
        return MetricProof(T, tau, bound, inner, arrays["attack"])
    if outer == _BY_SUPPORTS:
        T, tau, bound = arrays["metric"].tolist()
        own: dict[str, Any] = {name: arrays[f"list.{name}"] for name in _BY_SUPPORTS_TYPES}
        return SupportsProof(T, tau, bound, inner, arrays["attack"], **own)
    made: Proof = inner
    return made


def _inner_kinds(outer: Any) -> "set[str]":
    return set(_PROOFS) if outer is None else set(_PROOFS) - {"metric-relaxation"}


def _are_levels(trees: Any) -> bool:
    return isinstance(trees, list) and all(tree in _OF_LEVELS for tree in trees)


def _made(arrays: dict[str, np.ndarray], kind: Any, prefix: str = "") -> Any:
    return _PROOFS[kind](**{name: arrays[prefix + name] for name in _TYPES[kind]})


def _made_levels(arrays: dict[str, np.ndarray], kinds: list[str]) -> LevelsProof:
    trees: tuple[LevelProof, ...] = tuple(_made(arrays, kind, f"{i}.") for i, kind in enumerate(kinds))
    return LevelsProof(arrays["ks"], arrays["bounds"], trees)
