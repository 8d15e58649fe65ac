"""Other people's sparse PCA and general solvers, each asked in its own best way; all of them are optional.

What a peer needs and a user would have anyway (samples, a matrix that passes its checks) is made before the clock
starts. Peers do not know the adversary: their vector is scored under it.
"""

import importlib.metadata
import importlib.util
import math
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import noap
from benchmarks.table import Row
from noap.mip import list_backends

__all__ = ["PEERS", "answer_of", "missing", "peers_for", "solvers", "versions"]

_SOLVERS = {"scip": "SCIP", "highs": "HiGHS", "gurobi": "Gurobi"}
_FORMS: dict[str, dict[str, Any]] = {"paper's MIP": {"as_printed": True, "pieces": 3}, "MIP with every valid row": {}}
# Fits per search for a penalty: bisection has then halved its range a million times.
FITS = 20


@dataclass(frozen=True)
class Peer:
    """A package; `prepare` makes the job of a covariance and k, for at most `features` features."""

    package: str
    prepare: Callable[[np.ndarray, int], Callable[[], Any]]
    features: int = 1000

    @property
    def installed(self) -> bool:
        """Whether the package is there."""
        return importlib.util.find_spec(self.package) is not None


def _abess(S: np.ndarray, k: int) -> Callable[[], Any]:
    from abess.decomposition import SparsePCA

    # It refuses a matrix with an eigenvalue below 0, which rounding makes of any singular one.
    eigenvalues = np.linalg.eigvalsh(S)
    shift = 2.0 * max(0.0, -float(eigenvalues[0])) + 1e-13 * float(eigenvalues[-1])
    accepted = S + shift * np.eye(len(S))
    return lambda: np.asarray(SparsePCA(support_size=k).fit(Sigma=accepted).coef_, dtype=float).ravel()


def _scikit_learn(S: np.ndarray, k: int) -> Callable[[], Any]:
    from sklearn.decomposition import SparsePCA

    X = samples_of(S)
    largest = float(np.linalg.norm(X, axis=0).max())

    def job() -> np.ndarray:
        low, high = 0.0, largest
        best, fewest = np.zeros(len(S)), None
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # those about convergence: the result is judged as it is
            for _ in range(FITS):
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


def samples_of(S: np.ndarray) -> np.ndarray:
    """Return samples with X'X = S; each comes with its negative, so that means are 0."""
    eigenvalues, eigenvectors = np.linalg.eigh(S)
    kept = eigenvalues > 1e-12 * eigenvalues[-1]
    half = np.sqrt(eigenvalues[kept] / 2)[:, None] * eigenvectors[:, kept].T
    return np.concatenate([half, -half])


PEERS = {
    "abess": Peer("abess", _abess),
    "scikit-learn": Peer("sklearn", _scikit_learn, 500),
}


def peers_for(d: int) -> list[str]:
    """Return the peers that are here and take so many features within seconds."""
    return [name for name, peer in PEERS.items() if peer.installed and d <= peer.features]


def solvers() -> list[str]:
    """Return the general solvers that are here, by program."""
    found: list[str] = []
    for info in list_backends(licences=True):
        if info.installed and info.licence != "none":
            forms = _FORMS if info.name == "scip" else list(_FORMS)[:1]
            found += [f"{_SOLVERS[info.name]}, {form}" for form in forms]
    return found


def missing() -> list[str]:
    """Return a sentence for each peer that is not here."""
    said = []
    for name, peer in PEERS.items():
        if not peer.installed:
            said.append(f"{name} is not installed and takes no part (pip install '.[bench]').")
    return said


def versions() -> dict[str, str]:
    """Return the versions of the peers, and which programs this machine's Gurobi may solve."""
    try:
        found = {"abess": importlib.metadata.version("abess")}
    except importlib.metadata.PackageNotFoundError:
        found = {"abess": "not installed"}
    licences = {info.name: info.licence for info in list_backends(licences=True) if info.installed}
    found["gurobi licence"] = licences.get("gurobi", "none")
    return found


def answer_of(method: str, problem: "noap.Problem", asked: Row, score: Callable[..., Row]) -> Row:
    """Return the cells of a peer or a solver; `score` measures its vector."""
    if method in PEERS:
        job = PEERS[method].prepare(problem.covariance, problem.k)
        cpu, wall = time.process_time(), time.perf_counter()
        found = job()
        cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
        return {"cpu_s": cpu, "wall_s": wall} | score(problem, found)
    limit, gap = asked["options"].get("solver_limit", asked["limit"]), max(asked["gap"], 1e-4)
    cpu, wall = time.process_time(), time.perf_counter()
    solver, form = method.split(", ", 1)
    backend = {name: key for key, name in _SOLVERS.items()}[solver]
    result = noap.solve(problem, "mip", time_limit=limit, gap=gap, backend=backend, **_FORMS[form])
    # As printed it starts from a vector that is not its own.
    v = result.program_v if form == "paper's MIP" else result.v
    v, bound, nodes = np.zeros(problem.n_features) if v is None else v, result.bound, result.nodes
    cells: Row = {"cpu_s": time.process_time() - cpu, "wall_s": time.perf_counter() - wall, "nodes": nodes}
    cells |= score(problem, v) | {"bound": bound}
    value = cells["value"]
    cells["gap"] = (bound - value) / value if value > 0 else math.inf
    return cells | {"proved": cells["gap"] <= gap * 1.01, "limit_s": limit, "asked": gap}
