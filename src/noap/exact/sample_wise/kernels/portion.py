"""The moves of `game.contest` on a portion of the samples: for Python to call, where they are very many.

Section 3, The game, of docs/exact-sample-wise.md.
"""

import numpy as np

from noap.exact.sample_wise.kernels.game import advance, curvature, face, pace, reweigh
from noap.runtime.kernels import kernel


@kernel
def face_portion(Y, E, places, values, sizes, m, R, energies):
    """Fill R with the scores of these samples and add their squares to the energies."""
    face(Y, E, places, values, sizes, m, R, energies)


@kernel
def choose_step(places, values, sizes, weights, energies, m, cols, clock):
    """Move the weights towards the strongest; returns the length of the step against them, 0 if there is none."""
    _, on = reweigh(weights, energies, m, pace(clock))
    return 1.0 / curvature(places, values, sizes, weights, m, cols) if on else 0.0


@kernel
def advance_portion(Y, E, n_inc, p, rho, places, values, sizes, weights, m, R, length):
    """Take the step on these samples, from scores that are computed once more rather than kept."""
    energies = np.empty(m)
    for a in range(m):
        energies[a] = 0.0
    face(Y, E, places, values, sizes, m, R, energies)
    advance(E, n_inc, p, rho, places, values, sizes, weights, m, R, length)
