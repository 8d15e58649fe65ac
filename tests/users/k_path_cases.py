"""Data for the tests of paths over k."""

import numpy as np
import pandas as pd
from sklearn.datasets import load_wine


def data(seed, n=30, d=6):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n, d)) @ (np.eye(d) + 0.4 * rng.standard_normal((d, d)))


def standardised_wine():
    bunch = load_wine()
    Z = (bunch.data - bunch.data.mean(axis=0)) / bunch.data.std(axis=0)
    return pd.DataFrame(Z, columns=bunch.feature_names)
