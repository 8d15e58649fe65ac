"""What a first run costs: entries that are run in an interpreter of their own, from an empty Numba cache."""

from pathlib import Path
from typing import Any

import numpy as np

from noap.measuring.processes import in_fresh_process

__all__ = ["ENTRIES", "PRELUDE", "in_cache"]

# Data come from a file: scikit-learn is no part of what is measured.
PRELUDE = """
import os, resource, numpy as np
def cpu():
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime
def tell():
    print(json.dumps(cpu()))
import noap
tell()
X = np.load(os.path.join(os.environ["NUMBA_CACHE_DIR"], "wine.npy"))
X = (X - X.mean(axis=0)) / X.std(axis=0)
feature_wise = noap.Problem(X, k=8, adversary=noap.FeatureWise(0.3 * np.sqrt(len(X))))
vanilla = noap.Problem(X, k=8, adversary=noap.NoAdversary())
sample_wise = noap.Problem(X, k=3, adversary=noap.SampleWise(0.5))
"""
# What is run after the lines above, and the name of its row; the seconds are those that `tell` prints last.
ENTRIES = {
    "import noap": "",
    "first solve, ascent": 'noap.solve(feature_wise, method="ascent"); tell()',
    "first solve, feature-wise": 'noap.solve(feature_wise); tell()',
    "first solve, vanilla": 'noap.solve(vanilla); tell()',
    "first solve, sample-wise": 'noap.solve(sample_wise); tell()',
    "first solve and verify, feature-wise":
        'noap.verify(feature_wise, noap.solve(feature_wise).certificate); tell()',
    "first solve and verify, sample-wise": 'noap.verify(sample_wise, noap.solve(sample_wise).certificate); tell()',
    "noap.path": 'noap.path(X, k=4); tell()',
    "both adversaries, solve and verify":
        'noap.verify(feature_wise, noap.solve(feature_wise).certificate); '
        'noap.verify(sample_wise, noap.solve(sample_wise).certificate); tell()',
}  # fmt: skip


def in_cache(code: str, cache: str, **variables: str) -> Any:
    """Return what an interpreter with one thread and this folder for its cache prints last."""
    from sklearn.datasets import load_wine

    np.save(Path(cache) / "wine.npy", load_wine().data)
    one = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"), "1")
    return in_fresh_process(code, variables=one | {"NUMBA_CACHE_DIR": cache} | variables)
