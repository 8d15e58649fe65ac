"""What the user asked of a mixed-integer program, checked once."""

from dataclasses import dataclass
from typing import Any

import numpy as np

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

    @classmethod
    def checked(
        cls,
        problem: Problem,
        *,
        backend: Any,
        pieces: Any,
        rank: Any,
        reduced_dim: Any,
        as_printed: Any,
        breakpoints: Any,
        threads: Any,
        cuts: Any,
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
            reduced_dim = _count("reduced_dim", reduced_dim)
            if reduced_dim < problem.k:
                raise InvalidProblem(f"reduced_dim must be at least k = {problem.k}, got {reduced_dim}.")
        return cls(
            backend_named(backend),
            _count("pieces", pieces),
            None if rank is None else _count("rank", rank),
            reduced_dim,
            breakpoints == "adaptive",
            _count("threads", threads),
            Cuts.none() if as_printed else (cuts or Cuts()),
        )


def _count(name: str, value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < 1:
        raise InvalidProblem(f"{name} must be a positive integer, got {value!r}.")
    return int(value)
