"""The trees of one level, as they are proved."""

from dataclasses import dataclass, field

from noap.proofs.feature_wise import GramProof

__all__ = ["LevelTrees", "Tree"]


@dataclass(frozen=True)
class Tree:
    """A feature that is taken out of the graph, alone or with its component, and what proves that it may be.

    There is no proof where no support is left around the feature; for a component, where the one before serves again.
    """

    root: int
    whole: bool
    proof: GramProof | None


@dataclass
class LevelTrees:
    """A level: how many features, what their optimum is at most, in units of the columns, and its trees in order."""

    k: int
    bound: float
    trees: list[Tree] = field(default_factory=list)
