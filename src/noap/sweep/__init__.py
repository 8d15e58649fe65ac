"""Sweeps over the budget rho and the sparsity k, certified at their points and between them."""

from noap.sweep.entry import path
from noap.sweep.path import Path, Stage

__all__ = ["Path", "Stage", "path"]
