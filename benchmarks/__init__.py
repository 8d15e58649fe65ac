"""The scoreboard, the comparison of two versions, and the studies behind the figures of the pages."""

from pathlib import Path

__all__ = ["RESULTS"]

RESULTS = Path(__file__).parent / "results"
