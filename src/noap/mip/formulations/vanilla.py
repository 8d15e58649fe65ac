"""The paper's dual baseline: nobody attacks."""

from collections.abc import Callable

from noap.mip.cuts import Cuts
from noap.mip.formulations.direction import Direction
from noap.mip.formulations.limits import Limits
from noap.mip.formulations.piecewise import add_cutoff
from noap.mip.formulations.spectrum import Spectrum
from noap.mip.instance import Instance
from noap.mip.writing import Draft

__all__ = ["add_vanilla"]


def add_vanilla(
    draft: Draft, instance: Instance, direction: Direction, spectrum: Spectrum, limits: Limits, cuts: Cuts
) -> Callable[[float], float]:
    """Maximise the energy alone."""
    draft.maximise(spectrum.energy)
    add_cutoff(draft, instance, cuts)
    return lambda objective: instance.unit * objective
