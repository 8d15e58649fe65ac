"""The supports that are known, each with its best direction and what that is worth."""

import itertools
import math
from dataclasses import dataclass

import numpy as np

from noap.joint.slots import Group
from noap.kernel.data import Data
from noap.kernel.samples import SampleData
from noap.linalg.types import FloatArray, IntArray
from noap.search.ascent import climbed_within, value_of
from noap.search.sample_ascent import sample_value

__all__ = ["Column", "Columns"]

# A direction counts as better when it is worth more by so much, relatively.
_BETTER = 1e-12
# Steps of ascent on every support at once.
_STEPS = 40


@dataclass(frozen=True, eq=False)
class Column:
    """A support, the best direction met on it, and its value in the units of the data."""

    support: IntArray
    weights: FloatArray
    worth: float

    def __len__(self) -> int:
        return len(self.support)

    def vector(self, d: int) -> FloatArray:
        """Return the direction among all features."""
        v = np.zeros(d)
        v[self.support] = self.weights
        return v


class Columns:
    """A pool of supports that only grows."""

    def __init__(self, data: Data | SampleData) -> None:
        self.data = data
        self._places: dict[tuple[int, ...], int] = {}
        self._known: list[Column] = []
        self._uses = np.zeros((0, data.d), dtype=np.float32)
        self._worths, self._stale = np.zeros(0), False

    def __len__(self) -> int:
        return len(self._known)

    @property
    def known(self) -> list[Column]:
        """All of them, in the order in which they were met."""
        return self._known

    def value(self, v: FloatArray) -> float:
        """Return what a direction is worth."""
        return sample_value(self.data, v) if isinstance(self.data, SampleData) else value_of(self.data, v)

    def offer(self, v: FloatArray) -> None:
        """Take the support of a direction, with the best one that ascent reaches on it."""
        if not v.any():
            return
        self._take(v)
        if isinstance(self.data, Data):
            at = np.flatnonzero(v)
            leading = np.zeros(len(v))
            leading[at] = np.linalg.eigh(self.data.A[np.ix_(at, at)])[1][:, -1]
            starts = [leading] if self.data.r_max == 0 else [v, leading]
            for start in starts:
                self._take(start if self.data.r_max == 0 else climbed_within(self.data, start))

    def _take(self, v: FloatArray) -> None:
        at = np.flatnonzero(v)
        if len(at):
            self._add(at, v[at] / np.linalg.norm(v[at]), self.value(v / np.linalg.norm(v)))

    def _add(self, at: IntArray, weights: FloatArray, worth: float) -> None:
        place = self._places.setdefault(tuple(at.tolist()), len(self._known))
        if place == len(self._known):
            self._known.append(Column(at, weights, worth))
        elif worth > self._known[place].worth + _BETTER * abs(worth):
            self._known[place] = Column(at, weights, worth)
        else:
            return
        self._stale = True

    def best(self, prices: FloatArray, group: Group) -> tuple[Column | None, float]:
        """Return the support that is worth most after prices, of those that a group may use, and that; None and 0."""
        if self._stale:
            new = self._known[len(self._uses) :]
            uses = np.zeros((len(new), self.data.d), dtype=np.float32)
            for row, column in zip(uses, new, strict=True):
                row[column.support] = 1.0
            self._uses = np.concatenate([self._uses, uses])
            self._worths, self._stale = np.array([column.worth for column in self._known]), False
        if not len(self._known):
            return None, 0.0
        usable = (self._uses @ ~group.allowed == 0) & (self._uses.sum(axis=1) <= group.k)
        reduced = np.where(usable, self._worths - self._uses @ prices, -math.inf)
        at = int(np.argmax(reduced))
        return (self._known[at], float(reduced[at])) if reduced[at] > 0 else (None, 0.0)

    def take_all(self, features: IntArray, k: int) -> None:
        """Take every support of at most k of these features, each with what ascent reaches from its leading vector."""
        data = self.data
        assert isinstance(data, Data)
        for size in range(1, min(k, len(features)) + 1):
            chosen = features[np.array(list(itertools.combinations(range(len(features)), size)))]
            blocks = data.A[chosen[:, :, None], chosen[:, None, :]]
            V, r = np.linalg.eigh(blocks)[1][:, :, -1], data.r[chosen]
            for _ in range(_STEPS if data.r_max > 0 else 0):
                G = np.einsum("nij,nj->ni", blocks, V)
                G /= np.sqrt(np.maximum((V * G).sum(axis=1), 1e-300))[:, None]
                W = np.sign(G) * np.maximum(np.abs(G) - r, 0.0)
                lengths = np.linalg.norm(W, axis=1)
                V = np.where((lengths > 0)[:, None], W / np.maximum(lengths, 1e-300)[:, None], V)
            forms = np.einsum("ni,nij,nj->n", V, blocks, V)
            left = np.maximum(np.sqrt(np.maximum(forms, 0.0)) - (np.abs(V) * r).sum(axis=1), 0.0)
            worths = left * left - data.costs[chosen].sum(axis=1)
            for at, v, worth in zip(chosen, V, worths.tolist(), strict=True):
                if worth > 0 and v.all():  # a direction on fewer features is met with these
                    self._add(at, v, worth)
