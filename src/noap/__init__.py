"""Sparse principal components that hold up under attack, with a proof of how good they are."""

from typing import TYPE_CHECKING, Any

from noap._version import __version__

if TYPE_CHECKING:
    from noap import errors
    from noap.adversaries import EntryWise, FeatureWise, NoAdversary, SampleWise, SpectralNorm
    from noap.data.standardising import standardize
    from noap.heuristics.truncated_power import screen_submatrix
    from noap.kernel.certificate import Certificate
    from noap.kernel.verify import verify
    from noap.mip.export import write_program
    from noap.problem import Problem
    from noap.result import Limit, Result, Status
    from noap.settings import Settings
    from noap.solving import solve

__all__ = [
    "Certificate",
    "EntryWise",
    "FeatureWise",
    "JointResult",
    "KPath",
    "Limit",
    "NearOptimal",
    "NoAdversary",
    "Path",
    "Problem",
    "Result",
    "RobustSparsePCA",
    "RobustSparsePCACV",
    "SampleWise",
    "Settings",
    "SpectralNorm",
    "Stability",
    "Status",
    "__version__",
    "centred",
    "duplicates",
    "errors",
    "experiments",
    "figures",
    "k_path",
    "metric_from_samples",
    "metrics",
    "near_optimal",
    "noise",
    "path",
    "screen_submatrix",
    "solve",
    "solve_components",
    "stability",
    "standardize",
    "stream",
    "theory",
    "verify",
    "write_program",
]

# Loaded on first use, so that `import noap` stays quick, and the command line answers Ctrl-C from its first moment on:
# modules, and names from modules.
_LAZY = {
    "errors": "noap.errors",
    "experiments": "noap.experiments",
    "figures": "noap.figures",
    "metrics": "noap.metrics",
    "noise": "noap.noise",
    "stream": "noap.data.streams",
    "theory": "noap.theory",
}
_LAZY_NAMES = {
    "Certificate": "noap.kernel.certificate",
    "EntryWise": "noap.adversaries",
    "FeatureWise": "noap.adversaries",
    "JointResult": "noap.joint",
    "KPath": "noap.analysis.k_path",
    "Limit": "noap.result",
    "NearOptimal": "noap.analysis.near_optimal",
    "NoAdversary": "noap.adversaries",
    "Path": "noap.analysis.path",
    "Problem": "noap.problem",
    "Result": "noap.result",
    "RobustSparsePCA": "noap.estimators",
    "RobustSparsePCACV": "noap.estimators",
    "SampleWise": "noap.adversaries",
    "Settings": "noap.settings",
    "SpectralNorm": "noap.adversaries",
    "Stability": "noap.analysis.stability",
    "Status": "noap.result",
    "centred": "noap.data.implicit",
    "duplicates": "noap.analysis.duplicates",
    "k_path": "noap.analysis.k_path",
    "metric_from_samples": "noap.data.metric",
    "near_optimal": "noap.analysis.near_optimal",
    "path": "noap.analysis.path",
    "screen_submatrix": "noap.heuristics.truncated_power",
    "solve": "noap.solving",
    "solve_components": "noap.joint",
    "stability": "noap.analysis.stability",
    "standardize": "noap.data.standardising",
    "verify": "noap.kernel.verify",
    "write_program": "noap.mip.export",
}


def __getattr__(name: str) -> Any:
    import importlib

    if name in _LAZY:
        return importlib.import_module(_LAZY[name])
    if name in _LAZY_NAMES:
        found = globals()[name] = getattr(importlib.import_module(_LAZY_NAMES[name]), name)
        return found
    raise AttributeError(f"module 'noap' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
