"""Sparse principal components that hold up under attack, with a proof of how good they are."""

from typing import Any

from noap import errors
from noap._solve import solve
from noap._version import __version__
from noap.adversaries import FeatureWise, NoAdversary, SampleWise
from noap.certificate import Certificate, verify
from noap.heuristics.truncated_power import screen_submatrix
from noap.problem import Problem
from noap.result import Limit, Result, Status

__all__ = [
    "Certificate",
    "FeatureWise",
    "Limit",
    "NoAdversary",
    "Path",
    "Problem",
    "Result",
    "RobustSparsePCA",
    "SampleWise",
    "Status",
    "__version__",
    "errors",
    "experiments",
    "metrics",
    "path",
    "screen_submatrix",
    "solve",
    "stream",
    "theory",
    "verify",
]

# Loaded on first use, so that `import noap` stays quick: modules, and names from modules.
_LAZY = ("experiments", "metrics", "stream", "theory")
_LAZY_NAMES = {"Path": "noap._path", "RobustSparsePCA": "noap.estimator", "path": "noap._path"}


def __getattr__(name: str) -> Any:
    import importlib

    if name in _LAZY:
        return importlib.import_module(f"noap.{name}")
    if name in _LAZY_NAMES:
        return getattr(importlib.import_module(_LAZY_NAMES[name]), name)
    raise AttributeError(f"module 'noap' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
