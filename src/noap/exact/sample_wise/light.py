"""A bound where memory is short: the response to the incumbent, judged as it streams by.

The root of the tree holds the data and two attacks. Here no sample is held: a portion is read, the response to it is
computed and added to the Gram matrix, and what stays is the matrix and, for a certificate, the attack in single
precision.
"""

import math

import numpy as np

from noap.exact.outcome import SearchOutcome
from noap.exact.sample_wise.attack import HALVINGS_OF_MANY, Attack, Mixture, towards_zero
from noap.exact.sample_wise.certify import certify
from noap.exact.sample_wise.instance import blocks_of, budgets_in_units, crude, kept_rows
from noap.exact.sample_wise.kernels.game import respond
from noap.linalg.outward import scaled_up, up
from noap.linalg.types import FloatArray
from noap.problem import Problem
from noap.proofs.sample_wise import CLOSED, SampleProof, units_of
from noap.result import Limit
from noap.runtime.controls import Controls, Stopped

__all__ = ["response_outcome"]


def response_outcome(
    problem: Problem, controls: Controls, v: FloatArray, most_bytes: float, certificate: bool
) -> SearchOutcome:
    """Return the bound that the response to v proves, or raise Stopped if that does not fit either.

    Parameters
    ----------
    problem : Problem
        With a positive optimum against SampleWise.
    controls : Controls
    v : array of shape (d,)
        A good k-sparse unit vector.
    most_bytes : float
        What may be held.
    certificate : bool
    """
    X, d, k = problem.samples("the sample-wise search"), problem.n_features, problem.k
    rows, n = kept_rows(problem), problem.n_samples
    if (4.0 * len(rows) * d if certificate else 0.0) + 16.0 * len(rows) > most_bytes:
        raise _short(controls)
    norms = problem.row_top_k_norms[rows]
    # Divided by a power of two, which rounds nothing; no entry exceeds its sample's norm.
    exponent = math.frexp(float(norms.max()))[1]
    rho = budgets_in_units(problem.adversary.budgets(n)[rows], exponent)
    values = np.empty((len(rows), d), dtype=np.float32) if certificate else None
    M, at = np.zeros((d, d)), 0
    for block in blocks_of(X, rows):
        controls.check()
        Y, E = np.ldexp(block, -exponent), np.zeros(block.shape)
        respond(Y, v, 0, k, rho[at : at + len(Y)], E, HALVINGS_OF_MANY)
        short = towards_zero(E)
        B = Y + short
        M += B.T @ B
        if values is not None:
            values[at : at + len(short)] = short
        at += len(short)
    none = np.empty((0, d))
    attack = Attack(none, np.arange(len(rows)), np.arange(d), 0, k, rho, none, Mixture.empty(k), 0)
    ceiling = crude(np.ldexp(norms, -exponent), k, rho)
    value = math.ldexp(problem.value(v) * n, -2 * exponent)
    # Slightly below the target: bisection starts slightly above what it is given.
    least = max(value, value * (1.0 + controls.gap) * (1.0 - 2e-6))
    bound = certify(attack, M, least, ceiling, lambda: False) if value > 0.0 else ceiling
    if not bound < ceiling:
        raise _short(controls)
    proof = None if values is None else _proof(problem, rows, values, exponent)
    proved = scaled_up(up(bound / n), 2 * exponent)
    return SearchOutcome(v, proved, 1, Limit.MEMORY, (), proof)


def _short(controls: Controls) -> Stopped:
    controls.limit = Limit.MEMORY
    return Stopped()


def _proof(problem: Problem, rows: np.ndarray, values: np.ndarray, exponent: int) -> SampleProof:
    """Return the tree of one node, closed by the attack; the entries are rewritten in place in the proof's units."""
    units = units_of(problem.adversary.budgets(problem.n_samples)[rows])
    np.ldexp(values, (exponent - units)[:, None], out=values)
    one, d = np.ones(1, dtype=np.uint32), problem.n_features
    return SampleProof(
        np.full(1, CLOSED, dtype=np.uint8),
        one,
        np.zeros(1, dtype=np.uint32),
        np.array([0, len(rows)], dtype=np.uint32),
        rows.astype(np.uint32),
        np.array([0, d], dtype=np.uint32),
        np.arange(d, dtype=np.uint32),
        values.ravel(),
    )
