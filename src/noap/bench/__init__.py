"""The scoreboard: noap and its peers, side by side in one run; results as tables, the page made from them."""

from noap.bench.page import write_page
from noap.bench.runner import run
from noap.bench.spec import FULL, QUICK, BenchSpec

__all__ = ["FULL", "QUICK", "BenchSpec", "run", "write_page"]
