"""Sweeps over the budget rho and the sparsity k, certified at their points and between them."""

from noap.sweep.entry import path
from noap.sweep.k_entry import k_path
from noap.sweep.k_path import KPath
from noap.sweep.path import Path, Stage

__all__ = ["KPath", "Path", "Stage", "k_path", "path"]
