"""What is measured, frozen: which pairs, budgets, limits and repeats. Results carry the spec they were made with."""

from dataclasses import asdict, dataclass, replace
from typing import Any

__all__ = ["FULL", "QUICK", "BenchSpec"]


@dataclass(frozen=True)
class BenchSpec:
    """Everything that a run depends on except the machine and the folder of matrices.

    Attributes
    ----------
    name : str
    ks : tuple of int
        Sparsities on every matrix that has more features.
    repeats : int
        Rounds of side-by-side timing; the order of the methods turns around in every other round.
    patience : float
        A method that has used so many seconds on one instance is not repeated there.
    exact_seconds : float
        Limit of the exact method.
    solver_seconds : tuple of float
        Limits of the general solvers; each is a run of its own.
    solver_long_seconds : float
        A further limit, on the matrices that others have published times for.
    solver_features : int
        General solvers are tried on matrices up to this many features.
    solver_ks : tuple of int
    samples, seeds : tuple of int, int
        Draws of the paper's strong/weak model, d = 100, k = 5.
    budgets : tuple of float
        Normalised feature-wise budgets rho-bar.
    sample_budgets : tuple of float
        Sample-wise budgets rho, at the smallest number of samples.
    program_budgets : tuple of float
        Budgets at which the formulations are compared, on 15 features.
    program_seconds : float
    growth_d, growth_n, growth_k, growth_budgets
        Growth, one at a time around n = 500, d = 200, k = 5, rho-bar 1.
    memory_d : tuple of int
    change_seconds : float
        Limit of the exact method where two versions are compared.
    """

    name: str
    ks: tuple[int, ...] = (5, 10, 20)
    repeats: int = 5
    patience: float = 1.5
    exact_seconds: float = 60.0
    solver_seconds: tuple[float, ...] = (1.0, 10.0)
    solver_long_seconds: float = 60.0
    solver_features: int = 13
    solver_ks: tuple[int, ...] = (5, 10)
    samples: tuple[int, ...] = (100, 500)
    seeds: int = 5
    budgets: tuple[float, ...] = (0.0, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0)
    sample_budgets: tuple[float, ...] = (0.1, 0.5, 1.0)
    program_budgets: tuple[float, ...] = (0.5, 1.0, 2.0)
    program_seconds: float = 5.0
    growth_d: tuple[int, ...] = (100, 200, 500, 1000)
    growth_n: tuple[int, ...] = (100, 500, 2000, 10000)
    growth_k: tuple[int, ...] = (3, 5, 10, 20)
    growth_budgets: tuple[float, ...] = (0.0, 0.5, 1.0, 1.5, 2.0, 3.0)
    memory_d: tuple[int, ...] = (200, 1000, 2000)
    change_seconds: float = 5.0

    def as_dict(self) -> dict[str, Any]:
        """Return the spec as plain values, for the file that travels with the results."""
        return asdict(self)


FULL = BenchSpec("full")
QUICK = replace(
    FULL,
    name="quick",
    repeats=3,
    exact_seconds=10.0,
    solver_seconds=(2.0,),
    solver_long_seconds=10.0,
    seeds=2,
    budgets=(0.0, 1.0, 2.0),
    sample_budgets=(0.5,),
    program_budgets=(1.0,),
    program_seconds=3.0,
    growth_d=(100, 500),
    growth_n=(100, 2000),
    growth_k=(3, 10),
    growth_budgets=(0.0, 1.0, 2.0),
    memory_d=(200, 1000),
)
