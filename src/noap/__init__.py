"""Sparse principal components that hold up under attack, with a proof of how good they are."""

from typing import Any

from noap import errors
from noap._solve import solve
from noap._version import __version__
from noap.adversaries import FeatureWise, NoAdversary, SampleWise
from noap.heuristics.truncated_power import screen_submatrix
from noap.problem import Problem
from noap.result import Limit, Result, Status

__all__ = [
    "FeatureWise",
    "Limit",
    "NoAdversary",
    "Problem",
    "Result",
    "SampleWise",
    "Status",
    "__version__",
    "errors",
    "metrics",
    "screen_submatrix",
    "solve",
    "theory",
]

# Loaded on first use, so that `import noap` stays quick.
_LAZY = ("metrics", "theory")


def __getattr__(name: str) -> Any:
    if name in _LAZY:
        import importlib

        return importlib.import_module(f"noap.{name}")
    raise AttributeError(f"module 'noap' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
