"""A small matrix, and a run of no more than it needs."""

import dataclasses

import numpy as np

from noap.bench import QUICK

RNG = np.random.default_rng(0)
X = RNG.standard_normal((20, 6)) @ np.diag([3.0, 2.5, 2.0, 1.0, 1.0, 0.5]) + RNG.standard_normal((20, 1))
S = X.T @ X / 20
TINY = dataclasses.replace(QUICK, name="tiny", ks=(2,), repeats=1, patience=0.0, exact_seconds=2.0)
