"""Sweeps over the budget rho and the sparsity k, certified at their points and between them."""

from noap._path.door import path
from noap._path.path import Path, Stage

__all__ = ["Path", "Stage", "path"]
