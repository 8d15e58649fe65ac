"""Honest certificates for the tests to tamper with."""

import numpy as np
import pytest
from tampering import Honest

from noap.proofs.feature_wise import (
    ATTACK,
    CHORDS,
    CLOSED,
    EACH,
    INTERVAL,
    SIGN,
    SPLIT,
)


@pytest.fixture(scope="module")
def honest():
    X = np.sign(np.random.default_rng(28).standard_normal((7, 5)))
    made = Honest(X, 3, 0.3 * 7**0.5)
    assert {CLOSED, SPLIT, SIGN, INTERVAL, EACH} == set(made.certificate.proof.kind.tolist())
    return made


@pytest.fixture(scope="module")
def tests_of_both_kinds():
    made = Honest(np.random.default_rng(3).standard_normal((8, 6)), 3, 1.3)
    assert {CHORDS, ATTACK} <= set(made.certificate.proof.test.tolist())
    return made
