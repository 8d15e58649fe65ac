"""Which search proves which adversary."""

from collections.abc import Callable
from pathlib import Path

from noap._controls import Controls
from noap._progress import SearchLine, tell
from noap.errors import InvalidProblem
from noap.exact._kernels_node import examine
from noap.exact.outcome import Outcome
from noap.exact.search import solve_gram
from noap.linalg.types import FloatArray
from noap.problem import Problem

__all__ = ["prove"]


def prove(
    problem: Problem, controls: Controls, v: FloatArray, *, node_limit: int | None, memory_limit: float | None
) -> Outcome:
    """Prove the optimum of a problem whose optimum is positive, starting from the k-sparse unit vector v."""
    for name, limit in (("node_limit", node_limit), ("memory_limit", memory_limit)):
        if limit is not None and not (isinstance(limit, (int, float)) and limit > 0):
            raise InvalidProblem(f"{name} must be a positive number or None, got {limit!r}.")
    _say_if_compiling()
    with SearchLine(controls.progress) as line:
        search = _search_for(problem)
        return search(problem, controls, v, node_limit=node_limit, memory_limit=memory_limit, report=line.report)


def _search_for(problem: Problem) -> Callable[..., Outcome]:
    # Without a budget the sample-wise adversary does nothing, and X'X is enough.
    if problem.adversary.gram_suffices or problem.adversary.rho == 0:
        return solve_gram
    from noap.exact.sample_wise.search import solve_sample_wise  # its kernels are loaded only when needed

    return solve_sample_wise


def _say_if_compiling() -> None:
    """Tell the user why the first run on a machine takes a while: Numba compiles the kernels, once."""
    cache = Path(str(examine.stats.cache_path))
    if not any(cache.glob("_kernels_node.examine-*.nbi")):
        tell("compiling the exact solver's kernels, once; later runs start at once.")
