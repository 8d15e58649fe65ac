"""Theory beside the solvers: the spiked Wishart model, population objectives and path, thresholds."""

from noap.theory.eigengap import sparse_eigengap, sparse_eigenvalues
from noap.theory.model import (
    Spike,
    SpikedWishart,
    normalised_from_rho,
    rho_from_normalised,
    spiked_wishart,
    strong_weak_truth,
)
from noap.theory.population import (
    Law,
    PopulationPath,
    gamma_factor,
    population_path,
    population_value,
    truncated_variance,
)
from noap.theory.thresholds import (
    PrintedStages,
    StageThresholds,
    feasible_rho,
    feasible_rho_printed,
    oblivious_condition,
    recovery_condition,
    recovery_condition_printed,
    recovery_epsilon,
    stage_thresholds,
    stage_thresholds_printed,
)

__all__ = [
    "Law",
    "PopulationPath",
    "PrintedStages",
    "Spike",
    "SpikedWishart",
    "StageThresholds",
    "feasible_rho",
    "feasible_rho_printed",
    "gamma_factor",
    "normalised_from_rho",
    "oblivious_condition",
    "population_path",
    "population_value",
    "recovery_condition",
    "recovery_condition_printed",
    "recovery_epsilon",
    "rho_from_normalised",
    "sparse_eigengap",
    "sparse_eigenvalues",
    "spiked_wishart",
    "stage_thresholds",
    "stage_thresholds_printed",
    "strong_weak_truth",
    "truncated_variance",
]
