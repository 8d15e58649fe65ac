"""What a branch-and-bound search hands back."""

from dataclasses import dataclass, field, replace

from noap.linalg.types import FloatArray
from noap.proofs.packing import Proof
from noap.result import Limit, TracePoint

__all__ = ["SearchOutcome", "TracePoint", "merged"]


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
    proof : GramProof or None
        A proof of the bound, if it was asked for.
    """

    v: FloatArray
    bound: float
    nodes: int
    limit: Limit | None
    trace: tuple[TracePoint, ...] = field(default=())
    proof: Proof | None = None


def merged(*traces: tuple[TracePoint, ...]) -> tuple[TracePoint, ...]:
    """Return the points of several searches for one problem in the order of time, each with the best known by then."""
    found: list[TracePoint] = []
    for point in sorted((one for trace in traces for one in trace), key=lambda one: one.seconds):
        last = found[-1] if found else point
        best = {"value": max(point.value, last.value), "bound": min(point.bound, last.bound)}
        found.append(replace(point, **best, nodes=max(point.nodes, last.nodes)))
    return tuple(found)
