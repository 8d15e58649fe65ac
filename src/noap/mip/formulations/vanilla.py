"""The paper's dual baseline: nobody attacks."""

from collections.abc import Callable

from noap.mip.cuts import Cuts
from noap.mip.formulations.adversary_part import add_cutoff
from noap.mip.formulations.boxes import Boxes
from noap.mip.formulations.direction import Direction
from noap.mip.formulations.spectrum import Spectrum
from noap.mip.instance import Instance
from noap.mip.writing import ModelWriter

__all__ = ["add_vanilla"]


def add_vanilla(
    writer: ModelWriter, instance: Instance, direction: Direction, spectrum: Spectrum, boxes: Boxes, cuts: Cuts
) -> Callable[[float], float]:
    """Maximise the energy alone, less what the features cost."""
    writer.maximise([*spectrum.energy, *direction.paid(instance.costs)])
    add_cutoff(writer, instance, cuts)
    return lambda objective: instance.unit * objective
