"""Studies of single parts; `noap.measuring` is how they measure, `noap.bench` compares with others."""

from pathlib import Path

__all__ = ["RESULTS"]

RESULTS = Path(__file__).parent / "results"
