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
    noises : tuple of float
        Feature-wise noise on standardised real data, in standard deviations.
    standardised_features, relaxation_features, large_k_features, joint_features : int
        The most features of a data set on these boards.
    standardised_solvers : tuple of (int, float)
        (k, noise) at which general solvers are tried there, with `standardised_solver_seconds` for each, on sets of at
        most `standardised_solver_features`.
    many_shapes, many_noises, many_ks
        Simulated (n, d) with many features, their noises, and the sparsities on real ones; k = 10 on simulated ones.
    many_seconds : float
    large_ks : tuple of int
    joint_rs, joint_ks, joint_seconds
        Components at once, and the limit of each.
    stock_ks, stock_seconds
        The same on S&P 500, where values are published; four components.
    cold_entries : tuple of str
        Entries of a cold start; all if empty.
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
    noises: tuple[float, ...] = (0.1, 0.3, 0.5, 0.7)
    standardised_features: int = 500
    standardised_solvers: tuple[tuple[int, float], ...] = ((5, 0.3), (10, 0.5))
    standardised_solver_features: int = 60
    standardised_solver_seconds: float = 30.0
    many_shapes: tuple[tuple[int, int], ...] = (
        (100, 3_000), (100, 10_000), (100, 30_000), (100, 88_000), (1_000, 3_000), (1_000, 10_000),
    )  # fmt: skip
    many_noises: tuple[float, ...] = (0.0, 0.3)
    many_ks: tuple[int, ...] = (5, 10, 20)
    many_seconds: float = 120.0
    large_ks: tuple[int, ...] = (20, 30, 50, 100)
    large_k_features: int = 10_000
    relaxation_features: int = 500
    joint_rs: tuple[int, ...] = (2, 3)
    joint_ks: tuple[int, ...] = (5, 10)
    joint_features: int = 128
    joint_seconds: float = 20.0
    stock_ks: tuple[int, ...] = (5, 10, 20, 25, 30, 35)
    stock_seconds: float = 120.0
    cold_entries: tuple[str, ...] = ()

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
    noises=(0.3,),
    standardised_features=64,
    standardised_solvers=((5, 0.3),),
    standardised_solver_features=13,
    standardised_solver_seconds=2.0,
    many_shapes=((100, 3_000), (100, 10_000)),
    many_noises=(0.3,),
    many_ks=(),
    many_seconds=20.0,
    large_ks=(20,),
    large_k_features=64,
    relaxation_features=34,
    joint_rs=(2,),
    joint_ks=(5,),
    joint_features=34,
    joint_seconds=5.0,
    stock_ks=(),
    cold_entries=("import noap", "first solve, ascent", "first solve, feature-wise"),
)
