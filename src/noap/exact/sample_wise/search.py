"""Best-first branch and bound against the sample-wise adversary: the loop, its limits and its trace."""

from collections.abc import Callable

from noap.exact.outcome import SearchOutcome, TracePoint
from noap.exact.sample_wise.instance import SampleInstance, crude_bound, kept_rows
from noap.exact.sample_wise.light import response_outcome
from noap.exact.sample_wise.tree import Tree, root_bytes
from noap.linalg.types import FloatArray
from noap.problem import Problem
from noap.proofs.sample_wise import SampleProof
from noap.result import Limit
from noap.runtime.controls import Controls, Stopped
from noap.runtime.limits import Limits

__all__ = ["solve_samples"]

# Seconds between two entries of the trace.
_BREATH = 0.5


def solve_samples(
    problem: Problem,
    controls: Controls,
    v: FloatArray,
    limits: Limits,
    report: Callable[[TracePoint, int], None] | None = None,
) -> SearchOutcome:
    """Search until no k-sparse direction can be better than the value by more than the gap, or a limit stops it.

    Parameters
    ----------
    problem : Problem
        With the adversary SampleWise.
    controls : Controls
        Gap and time limit.
    v : array of shape (d,)
        A good k-sparse unit vector to start from.
    limits : Limits
    report : callable, optional
        Called now and then with a TracePoint and the number of features left.

    Returns
    -------
    SearchOutcome
        Its bound holds for the whole problem, whatever stopped the search.
    """
    trace: list[TracePoint] = []
    tree: Tree | None = None
    limit: Limit | None = None

    def record(tree: Tree) -> None:
        instance = tree.instance
        point = TracePoint(controls.seconds, instance.outward(tree.value), instance.outward(tree.bound), tree.nodes)
        trace.append(point)
        if report is not None:
            report(point, instance.d)

    try:
        most = limits.bytes
        if most is not None and root_bytes(len(kept_rows(problem)), problem.n_features) > most:
            return response_outcome(problem, controls, v, most, limits.keep_proof)
        instance = SampleInstance.of(problem, controls.check)
        if instance is None:
            return SearchOutcome(v, 0.0, 0, None, (), SampleProof.trivial() if limits.keep_proof else None)
        tree = Tree(instance, controls, instance.inside(v), limits.keep_proof, most)
        spoken = controls.seconds
        while tree.open and limit is None:
            tree.step()
            if controls.expired():
                limit = controls.limit
            elif limits.nodes is not None and tree.nodes >= limits.nodes:
                limit = Limit.NODES
            elif most is not None and tree.nbytes > most:
                limit = Limit.MEMORY
            if controls.seconds - spoken > _BREATH:
                spoken = controls.seconds
                record(tree)
    except Stopped:
        # Where work in portions keeps some of the time for what comes after it, the time is not quite up.
        limit = controls.limit or Limit.TIME
    except KeyboardInterrupt:
        limit = Limit.INTERRUPTED
    if tree is None:
        return SearchOutcome(
            v, crude_bound(problem), 0, limit, (), SampleProof.trivial() if limits.keep_proof else None
        )
    if not tree.open and tree.current is None:
        limit = None  # it finished, if late
    record(tree)
    proof = tree.proof(problem.adversary.budgets(problem.n_samples))
    return SearchOutcome(tree.instance.outside(tree.v), trace[-1].bound, tree.nodes, limit, tuple(trace), proof)
