"""What a branch-and-bound search hands back."""

from dataclasses import dataclass, field

from noap.linalg.types import FloatArray
from noap.proofs.packing import Proof
from noap.result import Limit, TracePoint

__all__ = ["SearchOutcome", "TracePoint"]


@dataclass(frozen=True)
class SearchOutcome:
    """The best vector, and a bound on the optimum of the whole problem that holds whatever stopped the search.

    Attributes
    ----------
    v : array of shape (d,)
        k-sparse unit vector.
    bound : float
        Upper bound on the robust variance (1/n included) of every k-sparse unit vector.
    nodes : int
    limit : Limit or None
        What stopped the search before the asked gap was proved.
    trace : tuple of TracePoint
    proof : GramProof, SampleProof or None
        A proof of the bound, if it was asked for.
    """

    v: FloatArray
    bound: float
    nodes: int
    limit: Limit | None
    trace: tuple[TracePoint, ...] = field(default=())
    proof: Proof | None = None
