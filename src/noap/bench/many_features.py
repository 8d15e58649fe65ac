"""One line of a study of many features: ascent, exact and verify in a process of their own."""

import json
from pathlib import Path
from typing import Any

from noap.bench.board import BoardRow
from noap.measuring.processes import in_fresh_process

__all__ = ["measured"]

_PROGRAM = """
import time
import warnings
import numpy as np
import noap
from noap.bench.sources import modules
from noap.runtime.progress import SearchLine

warnings.simplefilter("ignore")
what, k, noise, limit = json.loads(sys.argv[1])
left = []


def report(self, point, features_left, doing=""):
    left.append(features_left)


# What a line of progress would say: how many features the search still has to look at.
SearchLine.report = report


def read(path, scaled):
    if "dorothea" in path:
        from scipy.sparse import load_npz
        return noap.centred(load_npz(path).astype(float), scale=scaled)
    X = np.load(path)["X"].astype(float)
    X -= X.mean(axis=0)
    spread = X.std(axis=0)
    X = X[:, spread > 1e-9 * spread.max()]
    return X / X.std(axis=0) if scaled else X


# Compiled or loaded before anything is timed, as after a first call.
tiny = noap.Problem(modules(20, 2500), k=3, adversary=noap.FeatureWise(0.5))
noap.verify(tiny, noap.solve(tiny, time_limit=60).certificate)
X = read(*what) if isinstance(what[0], str) else modules(*what)
n, d = X.shape
norms = noap.Problem(X, k=1, adversary=noap.NoAdversary()).column_norms
rho = noise * float(np.median(norms[norms > 0]))
adversary = noap.FeatureWise(rho) if noise else noap.NoAdversary()
before = peak_memory()
problem = noap.Problem(X, k=k, adversary=adversary)
started = time.process_time()
ascent = noap.solve(problem, "ascent")
ascended = time.process_time() - started
problem = noap.Problem(X, k=k, adversary=adversary)
left.clear()
started, wall = time.process_time(), time.perf_counter()
result = noap.solve(problem, time_limit=limit, progress=True)
solved, wall = time.process_time() - started, time.perf_counter() - wall
started = time.process_time()
report = noap.verify(problem, result.certificate)
print(json.dumps({
    "n": n, "d": d, "k": k, "noise": noise, "value": result.value, "gap": result.gap,
    "stopped by": result.limit.value if result.limit else "-", "ascent loses": 1 - ascent.value / result.value,
    "ascent s": ascended, "exact s": solved, "wall s": wall, "verify s": time.process_time() - started,
    "MB": peak_memory() - before, "nodes": result.nodes, "verified": report.ok,
    "features left": max([one for one in left if one], default=None),
}))
"""


def measured(what: tuple[int, int] | tuple[Path, bool], k: int, noise: float, limit: float) -> BoardRow:
    """Return CPU seconds, memory, features left and what is proved of one problem.

    Parameters
    ----------
    what : (n, d) or (Path, bool)
        Sizes of simulated :func:`noap.bench.sources.modules`, or a file of samples, and whether to scale them.
    k : int
    noise : float
        The budget as a share of the typical column.
    limit : float
        Seconds of the exact method.
    """
    first, second = what
    asked: list[Any] = [str(first) if isinstance(first, Path) else first, second]
    found: BoardRow = in_fresh_process(_PROGRAM, json.dumps([asked, k, noise, limit]))
    return found
