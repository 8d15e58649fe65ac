"""Write the program of an instance: direction, spectrum, and the part of its adversary."""

from collections.abc import Callable

import numpy as np

from noap.linalg.types import FloatArray
from noap.mip.cuts import Cuts
from noap.mip.formulations.adversary_part import AdversaryPart
from noap.mip.formulations.base import Formulation
from noap.mip.formulations.boxes import boxes_of
from noap.mip.formulations.breakpoints import even, printed
from noap.mip.formulations.direction import add_direction, add_norm_pieces
from noap.mip.formulations.feature_wise import add_feature_wise, chord_of_value
from noap.mip.formulations.sample_wise import add_sample_wise
from noap.mip.formulations.spectrum import add_spectrum
from noap.mip.formulations.vanilla import add_vanilla
from noap.mip.instance import Instance
from noap.mip.writing import ModelWriter
from noap.runtime.controls import never

__all__ = ["default_points", "formulate"]

_PARTS: dict[str, AdversaryPart] = {"none": add_vanilla, "feature": add_feature_wise, "sample": add_sample_wise}
# A direction whose eigenvalue is below this share of the largest cannot move the bound by more than rounding.
_NO_ENERGY = 1e-12


def default_points(instance: Instance, cuts: Cuts, pieces: int, rank: int | None) -> tuple[FloatArray, ...]:
    """Return even breakpoints for the first `rank` directions (all of them when rank is None)."""
    count = instance.d if rank is None else min(rank, instance.d)
    if not cuts.ranges:
        return printed(pieces, count)
    if cuts.parseval:
        count = min(count, max(int(np.sum(instance.eigenvalues > _NO_ENERGY)), 1))
    return even(boxes_of(instance, cuts), pieces, count)


def formulate(
    instance: Instance,
    cuts: Cuts,
    *,
    pieces: int,
    rank: int | None = None,
    points: tuple[FloatArray, ...] | None = None,
    check: Callable[[], None] = never,
) -> Formulation:
    """Return the paper's program for the instance, with the cuts that are switched on.

    Parameters
    ----------
    instance : Instance
    cuts : Cuts
    pieces : int
        The paper's N.
    rank : int, optional
        The paper's r (MIP-r); None for all directions (MIP).
    points : tuple of arrays, optional
        Breakpoints of the first directions instead of even ones.
    check : callable, optional
        Called now and then; what it raises passes through.
    """
    writer = ModelWriter(check=check)
    boxes = boxes_of(instance, cuts)
    breakpoints = default_points(instance, cuts, pieces, rank) if points is None else points
    direction = add_direction(writer, instance, boxes, cuts)
    spectrum = add_spectrum(writer, instance, direction.v, boxes, cuts, breakpoints)
    extra = 0.0
    if cuts.norm_pieces and rank is not None and spectrum.rest and instance.kind != "feature":
        extra = instance.k * float(instance.eigenvalues[-1]) * add_norm_pieces(writer, direction, boxes, pieces)
    extra += chord_of_value(instance, cuts)
    value_of = _PARTS[instance.kind](writer, instance, direction, spectrum, boxes, cuts)
    model = writer.model()
    if cuts.start and instance.incumbent is not None:
        model = model.with_start(writer.lift(_oriented(instance)))
    return Formulation(instance, model, direction.v, spectrum, writer.lift, value_of, extra)


def _oriented(instance: Instance) -> FloatArray:
    """Return the incumbent with the sign that the symmetry row asks for."""
    assert instance.incumbent is not None
    v = instance.incumbent
    return -v if instance.eigenvectors[:, 0] @ v < 0 else v
