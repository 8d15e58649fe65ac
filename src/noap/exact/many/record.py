"""Levels and their trees, written one after the other for the checker."""

from collections.abc import Sequence

import numpy as np

from noap.exact.many.forest import LevelTrees
from noap.linalg.outward import scaled_up
from noap.proofs.feature_wise import GramProof
from noap.proofs.many import ManyProof

__all__ = ["many_proof"]


def many_proof(levels: Sequence[LevelTrees], exponent: int) -> ManyProof:
    """Return the proof of these levels, whose bounds are in units of 4^exponent."""
    trees = [tree for level in levels for tree in level.trees]
    proofs = [tree.proof for tree in trees if tree.proof is not None]
    vectors = np.append(0, np.cumsum([len(proof.starts) - 1 for proof in proofs])).astype(np.int64)
    entries = np.append(0, np.cumsum([len(proof.places) for proof in proofs])).astype(np.int64)
    heights = np.append(0, np.cumsum([len(proof.levels) for proof in proofs])).astype(np.int64)
    starts = [proof.starts[:-1].astype(np.int64) + first for proof, first in zip(proofs, entries[:-1], strict=True)]
    return ManyProof(
        _whole([level.k for level in levels]),
        np.array([scaled_up(level.bound * (1 + 1e-14), 2 * exponent) for level in levels], dtype=np.float64),
        _whole([len(level.trees) for level in levels]),
        _whole([tree.root for tree in trees]),
        np.array([tree.whole for tree in trees], dtype=np.uint8),
        _whole([0 if tree.proof is None else len(tree.proof) for tree in trees]),
        _joined(proofs, "kind", np.uint8),
        _joined(proofs, "test", np.uint8),
        _joined(proofs, "vector", np.uint32, vectors[:-1]),
        _joined(proofs, "feature", np.uint32),
        _joined(proofs, "cut", np.float64),
        _joined(proofs, "nu", np.float64),
        _joined(proofs, "level", np.uint32, heights[:-1]),
        _joined(proofs, "levels", np.float64),
        _joined(proofs, "each", np.uint32),
        _whole(np.append(np.concatenate([np.empty(0, np.int64), *starts]), entries[-1])),
        _joined(proofs, "places", np.uint32),
        _joined(proofs, "weights", np.float64),
    )


def _whole(numbers: "list[int] | np.ndarray") -> "np.ndarray":
    return np.asarray(numbers, dtype=np.uint32)


def _joined(proofs: "list[GramProof]", name: str, dtype: type, shifts: "np.ndarray | None" = None) -> "np.ndarray":
    arrays = [getattr(proof, name) for proof in proofs]
    if shifts is not None:
        arrays = [array.astype(np.int64) + shift for array, shift in zip(arrays, shifts, strict=True)]
    return np.concatenate(arrays).astype(dtype) if arrays else np.empty(0, dtype=dtype)
