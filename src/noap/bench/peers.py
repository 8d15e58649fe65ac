"""Other people's sparse PCA, each asked in its own best way.

A peer prepares a job for a covariance matrix; only the job is timed. What the peer needs and a user would have
anyway (samples, a matrix that passes its checks) is made before.
"""

import importlib.metadata
import importlib.util
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from noap.bench.r_peers import ABSENT, prepare_with, r_packages
from noap.linalg.types import FloatArray

__all__ = ["PEERS", "Peer", "missing_peers"]

# Returns a vector, or one that was found in another process with the CPU seconds it took there.
Job = Callable[[], Any]


@dataclass(frozen=True)
class Peer:
    """A package that finds sparse components of a covariance matrix.

    Attributes
    ----------
    name, package : str
        A package of Python or, if `language` says so, of R.
    prepare : callable
        Takes S (d x d) and k; returns the job, which returns a vector of length d.
    features : int
        It is asked about matrices of at most so many features: beyond, one answer takes minutes.
    """

    name: str
    package: str
    prepare: Callable[[FloatArray, int], Job]
    features: int = 1000
    language: str = "Python"

    @property
    def installed(self) -> bool:
        """Whether the package can be imported."""
        if self.language == "R":
            return self.package in r_packages()
        return importlib.util.find_spec(self.package) is not None


def missing_peers() -> list[str]:
    """Return a sentence for every peer that is not installed."""
    said = []
    for peer in PEERS:
        if not peer.installed:
            how = (
                "pip install 'noap[bench]'" if peer.language == "Python" else f"r-cran-{peer.package.lower()} of Debian"
            )
            said.append(f"{peer.name} is not installed and takes no part ({how}).")
    said.append(f"{', '.join(ABSENT)} of R take no part: CRAN has them, Debian and the Python index do not.")
    return said


def _abess(S: FloatArray, k: int) -> Job:
    from abess.decomposition import SparsePCA

    # It refuses a matrix with an eigenvalue below 0, which rounding makes of any singular one.
    eigenvalues = np.linalg.eigvalsh(S)
    shift = 2.0 * max(0.0, -float(eigenvalues[0])) + 1e-13 * float(eigenvalues[-1])
    accepted = S + shift * np.eye(len(S))

    def job() -> FloatArray:
        return np.asarray(SparsePCA(support_size=k).fit(Sigma=accepted).coef_, dtype=np.float64).ravel()

    return job


# Fits of scikit-learn per search for the penalty: bisection has then halved its range a million times.
_FITS = 20


def _scikit_learn(S: FloatArray, k: int) -> Job:
    from sklearn.decomposition import SparsePCA

    # Samples with exactly this X'X; each comes with its negative, because the class subtracts means.
    eigenvalues, eigenvectors = np.linalg.eigh(S)
    kept = eigenvalues > 1e-12 * eigenvalues[-1]
    half = np.sqrt(eigenvalues[kept] / 2)[:, None] * eigenvectors[:, kept].T
    X = np.concatenate([half, -half])
    largest = float(np.linalg.norm(X, axis=0).max())

    def job() -> FloatArray:
        low, high = 0.0, largest
        best: FloatArray = np.zeros(len(S))
        fewest: FloatArray | None = None
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # those about convergence: the result is judged as it is
            for _ in range(_FITS):
                alpha = (low + high) / 2
                v = SparsePCA(n_components=1, alpha=alpha, random_state=0).fit(X).components_[0]
                count = np.count_nonzero(v)
                if count > k:
                    low = alpha
                    fewest = v if fewest is None or count < np.count_nonzero(fewest) else fewest
                else:
                    high = alpha
                    best = v if count > np.count_nonzero(best) else best
                if count == k:
                    break
        # Where no penalty gives 1 to k features, the sparsest vector found: it is cut to k when scored.
        return best if best.any() or fewest is None else fewest

    return job


PEERS = (
    Peer("abess", "abess", _abess),
    Peer("scikit-learn", "sklearn", _scikit_learn, 500),
    Peer("R irlba", "irlba", prepare_with("irlba"), 500, "R"),
    Peer("R pcaPP", "pcaPP", prepare_with("pcaPP"), 130, "R"),
)
