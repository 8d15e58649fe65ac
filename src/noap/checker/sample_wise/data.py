"""The samples of a sample-wise proof: what can matter, divided by a power of two, and budgets rounded down."""

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from noap.checker.allowance import Allowance
from noap.checker.sample_wise.kernels import attack as kernels
from noap.checker.samples import Counted, block_entries, exponent_for, scaled_blocks
from noap.linalg.outward import UNIT, gamma, scaled_up
from noap.linalg.types import FloatArray, IntArray
from noap.problem import Problem
from noap.proofs.sample_wise import units_of

__all__ = ["SampleData"]


@dataclass(frozen=True, eq=False)
class SampleData:
    """Samples that can exceed their budget, on the features that are not zero in all of them.

    A sample with N(x_i) <= rho_i at the root adds nothing to any value. A feature that is zero on all other samples
    moves no score; leaving it out of a direction and normalising again makes no score smaller.

    Attributes
    ----------
    Y : array of shape (m, c)
        The entries, exactly, over 2^exponent.
    rows, columns : arrays of int
        Which samples and features they are.
    place_of : array of shape (d,)
        Which column a feature is; -1 if it is left out.
    r : array of shape (m,)
        At most rho_i/2^exponent.
    scale : float
        The largest squared length of a feature over all samples of finite budget, in these units.
    n : int
        How many samples the problem has.
    exponent : int
    unit : array of shape (n,)
        The row of an attack for sample i is written in units of 2^unit[i], the power of two next to rho_i.
    costs : array of shape (c,)
        At most what using each column costs, as part of a sum over samples. A feature whose column is no longer than
        the root of its cost is left out: it adds no more than that to any sum.
    """

    Y: FloatArray
    rows: IntArray
    columns: IntArray
    place_of: IntArray
    r: FloatArray
    scale: float
    n: int
    exponent: int
    unit: npt.NDArray[np.int32]
    costs: FloatArray

    @classmethod
    def of(cls, problem: Problem, allowance: Allowance | None = None) -> "SampleData":
        """Read and reduce the samples. Raises OutOfAllowance if that takes too much."""
        allowance = allowance or Allowance()
        X, d = problem.samples("a sample-wise proof"), problem.n_features
        passing = 3 * block_entries(X)
        allowance.need(passing)
        counted = Counted.of(problem)
        exponent = exponent_for(X, counted)
        rho = problem.adversary.budgets(problem.n_samples)
        with np.errstate(over="ignore", under="ignore"):
            r = np.ldexp(rho, -exponent)
        # Nothing is left of any sample at 1e300; and scaling is exact but near the smallest doubles.
        r = np.where(r > 1e-290, np.minimum(r, 1e300), 0.0)
        squares, used, chosen, at = np.zeros(d), np.zeros(d, dtype=np.bool_), [], 0
        costs, carried = _costs(problem, exponent), np.zeros(d)
        block: FloatArray = np.empty((0, d))
        for block in scaled_blocks(X, exponent, counted):
            allowance.spent(16.0 * block.size)
            squares += np.einsum("ij,ij->j", block, block)
            # Lengths are rounded up, those of 0 too: a sample of zeros is left out whatever the budget.
            lengths = kernels.lengths_up(np.ascontiguousarray(block), 0, min(problem.k, d))
            long = ~(lengths <= r[at : at + len(block)]) & block.any(axis=1)
            used |= block[long].any(axis=0)
            if problem.costs is not None:
                carried += (block[long] ** 2).sum(axis=0)
            chosen.append(long)
            at += len(block)
        if costs.any():
            used &= ~(carried * (1.0 + gamma(problem.n_samples + 8)) + 1e-290 <= costs)
        kept = chosen[0] if len(chosen) == 1 else np.concatenate(chosen)
        rows, columns = np.flatnonzero(kept), np.flatnonzero(used)
        allowance.keep(len(rows) * (len(columns) + 3.0) + 2 * problem.n_samples)
        allowance.need(passing)
        if len(chosen) == 1:
            Y = np.ascontiguousarray(block[np.ix_(rows, columns)])
        else:
            # The rows are read again: there is no room for all of them beside those that are kept.
            Y, at = np.empty((len(rows), len(columns))), 0
            for block, long in zip(scaled_blocks(X, exponent, counted), chosen, strict=True):
                allowance.spent(2.0 * block.size)
                part = block[np.ix_(long, used)]
                Y[at : at + len(part)] = part
                at += len(part)
        place_of = np.full(d, -1)
        place_of[columns] = np.arange(len(columns))
        scale = float(squares.max(initial=0.0))
        unit = units_of(rho)
        return cls(Y, rows, columns, place_of, r[rows], scale, problem.n_samples, exponent, unit, costs[columns])

    def total(self, value: float) -> float:
        """Return a value in the problem's units as a sum over samples in these units, rounded to nearest."""
        return math.ldexp(value, -2 * self.exponent) * self.n

    def value(self, total: float) -> float:
        """Return a sum over samples as a value in the problem's units, rounded up; inf if it is too large."""
        return scaled_up(total / self.n * (1.0 + 4.0 * UNIT), 2 * self.exponent)


def _costs(problem: Problem, exponent: int) -> FloatArray:
    """Return at most the costs as parts of a sum over samples, over 2^(2 exponent); 0 for those next to nothing."""
    if problem.costs is None:
        return np.zeros(problem.n_features)
    with np.errstate(over="ignore", under="ignore"):
        scaled = np.minimum(np.ldexp(problem.costs, -2 * exponent), 1e280) * problem.n_samples * (1.0 - 4.0 * UNIT)
    return np.where(scaled >= 1e-290, np.minimum(scaled, 1e280), 0.0)
