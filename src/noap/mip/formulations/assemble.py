"""Write the program of an instance: direction, spectrum, and the part of its adversary."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from noap.linalg.types import FloatArray, IntArray
from noap.mip.cuts import Cuts
from noap.mip.formulations.boxes import CUTOFF_SLACK, Boxes, boxes_of
from noap.mip.formulations.direction import Direction, add_direction, add_norm_pieces
from noap.mip.formulations.feature_wise import add_feature_wise, chord_of_value
from noap.mip.formulations.sample_wise import add_sample_wise
from noap.mip.formulations.spectrum import Spectrum, add_spectrum, even, printed
from noap.mip.instance import Instance
from noap.mip.model import Model, ModelWriter
from noap.runtime.controls import never

__all__ = ["Formulation", "default_points", "formulate"]

# A direction whose eigenvalue is below this share of the largest cannot move the bound by more than rounding.
_NO_ENERGY = 1e-12


@dataclass(frozen=True, eq=False)
class Formulation:
    """A model, how to read a direction out of it and how to read its bound.

    Attributes
    ----------
    instance : Instance
    model : Model
    v : array of int
        Columns of the direction.
    spectrum : Spectrum
    lift : callable
        Extends a unit k-sparse direction to all columns.
    value_of : callable
        Turns an objective of the model into a robust variance in the units of the problem.
    extra_error : float
        The most that rows other than the chords may add, in model units.
    """

    instance: Instance
    model: Model
    v: IntArray
    spectrum: Spectrum
    lift: Callable[[FloatArray], FloatArray]
    value_of: Callable[[float], float]
    extra_error: float = 0.0

    def rest(self, x: FloatArray | None) -> float:
        """Return gamma at a point of the model; 1, the worst case, when there is none."""
        if x is None:
            return 1.0 if self.spectrum.rest else 0.0
        return float(sum(np.sum(np.asarray(c) * x[np.atleast_1d(w)]) for w, c in self.spectrum.rest))

    def error(self, x: FloatArray | None) -> float:
        """Return the theorem's additive term in the units of the problem; gamma is taken from x, an optimal point."""
        rest = min(max(self.rest(x), 0.0), 1.0) * self.spectrum.rest_cost
        return self.instance.unit * (self.spectrum.error + self.extra_error + rest)


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
    extra = chord_of_value(instance, cuts)
    if cuts.norm_pieces and rank is not None and spectrum.rest and instance.kind != "feature":
        extra += instance.k * float(instance.eigenvalues[-1]) * add_norm_pieces(writer, direction, boxes, pieces)
    add_part = {"none": _add_vanilla, "feature": add_feature_wise, "sample": add_sample_wise}[instance.kind]
    value_of = add_part(writer, instance, direction, spectrum, boxes, cuts)
    # Without costs the feature-wise objective is t, whose range has the cutoff.
    if cuts.cutoff and (instance.kind != "feature" or instance.costs is not None):
        writer.row("cutoff", writer.objective, lower=instance.value * (1.0 - CUTOFF_SLACK))
    model = writer.model()
    if cuts.start and instance.incumbent is not None:
        v = instance.incumbent
        # With the sign that the symmetry row asks for.
        model = model.with_start(writer.lift(-v if instance.eigenvectors[:, 0] @ v < 0 else v))
    return Formulation(instance, model, direction.v, spectrum, writer.lift, value_of, extra)


def _add_vanilla(
    writer: ModelWriter, instance: Instance, direction: Direction, spectrum: Spectrum, boxes: Boxes, cuts: Cuts
) -> Callable[[float], float]:
    """Maximise the energy alone, less what the features cost: the paper's dual baseline."""
    writer.maximise([*spectrum.energy, *direction.paid(instance.costs)])
    return lambda objective: instance.unit * objective
