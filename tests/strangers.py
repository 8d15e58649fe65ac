"""Adversaries that noap has no theorem about: honest ones, and some that hide behind a name or a class it knows."""

from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

import noap
from noap.adversaries.base import Adversary, GramAdversary


def lengths(rows):
    return np.sqrt((np.asarray(rows) ** 2).sum(axis=-1))


def units(rows):
    size = lengths(rows)[..., None]
    return np.divide(rows, size, out=np.zeros_like(rows), where=size > 0)


@dataclass(frozen=True)
class Spectral(GramAdversary):
    """Leaves (|Xv| - rho |v|_2)_+: it sees X only through |Xv|, and is not feature-wise."""

    rho: float

    def norm(self, E):
        return float(np.linalg.norm(E, 2))

    def support_function(self, u, v):
        return float(self.rho * np.linalg.norm(u) * np.linalg.norm(v))

    def distance(self, scores, v):
        return self.distance_from_energy(lengths(scores), v)

    def distance_from_energy(self, energy, v):
        return np.maximum(energy - self.rho * lengths(v), 0.0)

    def attack(self, X, v):
        scores, size = X @ v, np.linalg.norm(v)
        return -min(1.0, self.rho * size / np.linalg.norm(scores)) * np.outer(scores, v) / size**2

    def rho_max(self, X, k):
        return float(np.linalg.norm(X, 2))

    def respond(self, scores):
        return units(scores)

    def shrink(self, loadings):
        return loadings

    def rescaled(self, factor):
        return replace(self, rho=factor * self.rho)

    def kept_features(self, column_norms):
        return column_norms > 0


def spectral_optimum(X, k, rho):
    """The optimum against `Spectral`, by enumeration."""
    top = max(np.linalg.norm(X[:, c], 2) for c in combinations(range(X.shape[1]), k))
    return max(top - rho, 0.0) ** 2 / len(X)


@dataclass(frozen=True)
class HalfBox(Adversary):
    """Moves the score of every sample by at most rho/2."""

    rho: float

    @property
    def _inner(self):
        return noap.SampleWise(self.rho / 2)

    def norm(self, E):
        return 2 * self._inner.norm(E)

    def support_function(self, u, v):
        return self._inner.support_function(u, v)

    def distance(self, scores, v):
        return self._inner.distance(scores, v)

    def attack(self, X, v):
        return self._inner.attack(X, v)

    def rho_max(self, X, k):
        return 2 * self._inner.rho_max(X, k)

    def respond(self, scores):
        return self._inner.respond(scores)

    def shrink(self, loadings):
        return self._inner.shrink(loadings)

    def rescaled(self, factor):
        return HalfBox(factor * self.rho)

    def kept_features(self, column_norms):
        return self._inner.kept_features(column_norms)

    def kept_samples(self, row_top_k_norms):
        return self._inner.kept_samples(row_top_k_norms)


class FeatureWise(noap.FeatureWise):
    """Has the name of the real one, and takes half as much."""

    def distance_from_energy(self, energy, v):
        return np.maximum(energy - 0.5 * self.rho * np.abs(v).sum(axis=-1), 0.0)

    def shrink(self, loadings):
        return np.sign(loadings) * np.maximum(np.abs(loadings) - 0.5 * self.rho, 0.0)

    def kept_features(self, column_norms):
        return column_norms > 0.5 * self.rho


class SampleWise(noap.SampleWise):
    """Has the name of the real one, and takes nothing."""

    def distance(self, scores, v):
        return lengths(scores)

    def respond(self, scores):
        return units(scores)

    def kept_samples(self, row_top_k_norms):
        return row_top_k_norms > 0


class NoAdversary(noap.NoAdversary):
    """Has the name of the real one, and takes half of every distance."""

    def distance(self, scores, v):
        return 0.5 * lengths(scores)

    def distance_from_energy(self, energy, v):
        return 0.5 * energy


class SameAsFeatureWise(noap.FeatureWise):
    """Changes nothing; but who could tell from its type."""


STRANGERS = [Spectral(1.0), HalfBox(1.0), FeatureWise(1.0), SampleWise(1.0), NoAdversary(), SameAsFeatureWise(1.0)]
KNOWN = {"NoAdversary": noap.NoAdversary(), "SampleWise": noap.SampleWise(1.0)}


def relative_of(stranger):
    """The adversary of noap that a stranger is made from, or the nearest."""
    return KNOWN.get(type(stranger).__name__, noap.FeatureWise(1.0))
