"""A metric: sparse discriminants, the variance between classes against that within."""

from collections.abc import Iterator

import numpy as np
import polars as pl

import noap
from benchmarks.board import Board, Setting
from benchmarks.instances import Instance
from benchmarks.summary import beaten, proofs

__all__ = ["METRIC"]


def _instances(setting: Setting) -> Iterator[Instance]:
    from sklearn.datasets import load_breast_cancer, load_wine

    for name, data in (("wine", load_wine()), ("breast cancer", load_breast_cancer())):
        Z, y = noap.standardize(data.data), data.target
        means = np.array([Z[y == one].mean(axis=0) for one in y])
        B = noap.metric_from_samples(Z - means, 1e-3)
        for k in (2, 4, 6):
            for noise in (0.0, 0.1, 0.3):
                adversary, rho = "FeatureWise" if noise else "NoAdversary", noise * float(np.sqrt(len(Z)))
                known = {"data": name, "budget": noise, "metric": B}
                yield Instance(f"{name} k={k} noise={noise:g}", means, k, rho, adversary, **known)


def _show(frame: pl.DataFrame) -> str:
    text = (
        "Discriminants of standardised data of scikit-learn, with a ridge of 1e-3 and noise in every feature, to 1e-4."
    )
    return f"{text}\n\n{proofs(frame, ['data', 'k'])}"


METRIC = Board("metric", "Sparse discriminants: a metric", _show, _instances, beaten=beaten, rounds=3)
