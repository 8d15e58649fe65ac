"""What the parts of all adversaries share: how they are called, and the cutoff."""

from collections.abc import Callable

from noap.mip.cuts import Cuts
from noap.mip.formulations.boxes import Boxes
from noap.mip.formulations.direction import Direction
from noap.mip.formulations.spectrum import Spectrum
from noap.mip.instance import Instance
from noap.mip.writing import ModelWriter

__all__ = ["CUTOFF_SLACK", "AdversaryPart", "add_cutoff"]

AdversaryPart = Callable[[ModelWriter, Instance, Direction, Spectrum, Boxes, Cuts], Callable[[float], float]]
"""Adds its columns and rows, sets the objective, and returns how an objective reads as a robust variance."""

CUTOFF_SLACK = 1e-6
"""The incumbent satisfies its own cutoff with this relative margin, so that tolerances cannot cut it off."""


def add_cutoff(writer: ModelWriter, instance: Instance, cuts: Cuts) -> None:
    """Ask for an objective of at least the incumbent's value."""
    if cuts.cutoff:
        writer.row("cutoff", writer.objective, lower=instance.value * (1.0 - CUTOFF_SLACK))
