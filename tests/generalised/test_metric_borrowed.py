"""Certificates of other kinds, with a claim about a problem in a metric: what they prove is not that."""

from dataclasses import replace

import numpy as np
import pytest
from noap.joint.together import TogetherSearch
from noap.proofs.joint import JointCertificate

import noap
from noap.proofs.claim import Claim
from noap.runtime.controls import Controls

D = 6
TERMS = {
    "a diagonal": {"metric": np.full(D, 0.1)},
    "a matrix": {"metric": 0.1 * np.eye(D) + 0.01},
}


@pytest.fixture(scope="module")
def plain():
    return noap.Problem(np.random.default_rng(0).standard_normal((20, D)), 2, noap.NoAdversary())


def named(*numbers):
    return np.array(numbers, dtype=np.uint32)


@pytest.mark.parametrize("name", TERMS)
def test_components_of_the_plain_problem(plain, name):
    """One inequality of the plain problem, and a tree whose only pricing problem is the one with the metric."""
    problem = noap.Problem(plain.X, 2, noap.NoAdversary(), **TERMS[name])
    search = TogetherSearch(plain, (2, 2))
    search.run(0.0, Controls.checked(1e-4, None, None, False), None)
    together = search.certificate()
    together = replace(together, claim=Claim.about(problem, 0.0, together.bound))
    one = noap.solve(problem)
    for removed in (named(), named(*range(D))):
        forged = JointCertificate(
            Claim.about(problem, 0.0, search.best.bound), named(2, 2), named(), named(0), named(), np.empty(0),
            named(D), named(0), np.zeros(D), named(0, 0), np.zeros(D), (one.certificate,), removed, together,
        )  # fmt: skip
        report = noap.verify(problem, JointCertificate.from_bytes(forged.to_bytes()))
        assert not report.ok
        assert "no theorem about several components in a metric" in report.message
