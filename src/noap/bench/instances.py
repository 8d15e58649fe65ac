"""Problems that several boards and studies share: standardised real data, and many features of few samples."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np

import noap
from noap.bench.sources import bundled, matrices_in
from noap.linalg.types import FloatArray
from noap.problem import Problem

__all__ = ["correlations", "moments", "problem_of", "real_sets", "samples_of", "standardised_sets"]


def correlations(S: FloatArray) -> FloatArray:
    """Return the matrix of correlations, without features that never vary."""
    varies = np.diag(S) > 0
    spread = np.sqrt(np.diag(S)[varies])
    found: FloatArray = S[np.ix_(varies, varies)] / np.outer(spread, spread)
    return found


def real_sets(folder: Path | None) -> list[tuple[str, str | None, FloatArray]]:
    """Return (set, array, matrix) of the folder; without one, of the data that ship with scikit-learn."""
    if folder is not None:
        return matrices_in(folder)
    return [(one.name.split(" (")[0], None, one.S) for one in bundled() if "simulated" not in one.name]


def standardised_sets(folder: Path | None) -> Iterator[tuple[str, FloatArray]]:
    """Yield the name and the correlations of every real data set."""
    seen = set()
    for name, _, S in real_sets(folder):
        if name not in seen:  # its covariance and its correlations are one standardised matrix
            seen.add(name)
            yield name, correlations(S)


def moments(folder: Path | None) -> Iterator[tuple[str, FloatArray]]:
    """Yield the name and the matrix of every real data set, and samples where they are few and features many."""
    for name, key, S in real_sets(folder):
        yield f"{name} {key or ''}".strip(), S
    for name in ("micromass", "leukemia", "prostate"):
        if folder is not None and (folder / "large" / f"{name}.npz").exists():
            X = samples_of(folder / "large" / f"{name}.npz")
            yield f"{name} cov", X
            yield f"{name} corr", noap.standardise(X[:, X.std(axis=0) > 0])


def samples_of(place: Path) -> FloatArray:
    """Return the samples of a file, centred."""
    X = np.load(place)["X"].astype(np.float64)
    X -= X.mean(axis=0)
    return np.asarray(X)


def problem_of(M: FloatArray, k: int, noise: float) -> Problem:
    """Return the problem of a covariance or, if it is not square, of samples; noise is the budget as it is."""
    adversary = noap.FeatureWise(noise) if noise else noap.NoAdversary()
    if len(M) == len(M.T):
        return Problem.from_covariance(M, n_samples=1, k=k, adversary=adversary)
    return Problem(M, k=k, adversary=adversary)
