"""Sample-wise problems, and certificates that have been through their bytes."""

import dataclasses

import numpy as np

import noap
import older
from noap.proofs.certificate import Certificate


def solved(problem, **options):
    result = older.solve(problem, **options)
    return result, Certificate.from_bytes(result.certificate.to_bytes())


def noise(seed, n, d, k, rho):
    X = np.random.default_rng(seed).standard_normal((n, d))
    return noap.Problem(X, k=k, adversary=noap.SampleWise(rho))


def with_proof(problem, bound, proof):
    result = noap.solve(problem, method="ascent")
    result = dataclasses.replace(result, bound=bound, bound_proof="rigorous", proof=proof)
    return result.certificate
