"""What the user asked of a mixed-integer program, checked once."""

from dataclasses import dataclass
from typing import Any

from noap.data.arguments import as_count
from noap.errors import InvalidProblem
from noap.mip.backends.base import Backend
from noap.mip.backends.registry import backend_named
from noap.mip.cuts import Cuts
from noap.problem import Problem

__all__ = ["Options"]


@dataclass(frozen=True)
class Options:
    """Options of `run_mip` and `run_mip_r`; rank is None for the full program."""

    backend: Backend
    pieces: int
    rank: int | None
    reduced_dim: int | None
    adaptive: bool
    threads: int
    cuts: Cuts
    as_printed: bool

    @classmethod
    def checked(
        cls,
        problem: Problem,
        *,
        backend: Any = "scip",
        pieces: Any = 3,
        rank: Any = None,
        reduced_dim: Any = None,
        as_printed: Any = False,
        breakpoints: Any = "even",
        threads: Any = 1,
        cuts: Any = None,
    ) -> "Options":
        """Validate, or raise InvalidProblem (BackendNotAvailable for a solver that is not there)."""
        if breakpoints not in ("even", "adaptive"):
            raise InvalidProblem(f"breakpoints must be 'even' or 'adaptive', got {breakpoints!r}.")
        if as_printed and breakpoints == "adaptive":
            raise InvalidProblem("breakpoints must be 'even' together with as_printed: the paper's are l/N.")
        if as_printed and cuts is not None:
            raise InvalidProblem("cuts must be None together with as_printed, which has none.")
        if cuts is not None and not isinstance(cuts, Cuts):
            raise InvalidProblem(f"cuts must be a noap.mip.Cuts or None, got {type(cuts).__name__}.")
        if reduced_dim is not None:
            reduced_dim = as_count("reduced_dim", reduced_dim)
            if reduced_dim < problem.k:
                raise InvalidProblem(f"reduced_dim must be at least k = {problem.k}, got {reduced_dim}.")
        return cls(
            backend_named(backend),
            as_count("pieces", pieces),
            None if rank is None else as_count("rank", rank),
            reduced_dim,
            breakpoints == "adaptive",
            as_count("threads", threads),
            Cuts.printed() if as_printed else (cuts or Cuts()),
            bool(as_printed),
        )
