"""Check a proof for many features: each level's graph is made anew, taken apart as the proof says, and left empty."""

import math
from collections.abc import Iterator

import numpy as np

from noap.checker.allowance import Allowance
from noap.checker.feature_wise.check import check_gram
from noap.checker.levels import learn
from noap.checker.many.data import ManyData
from noap.checker.many.demands import Demands
from noap.checker.many.graph import SupportGraph
from noap.checker.many.pairs import FittingPairs, TooMany, fitting_pairs
from noap.linalg.outward import gamma, scaled_up
from noap.linalg.types import FloatArray, IntArray
from noap.proofs.feature_wise import INTERVAL, ON, SIGN, SPLIT, GramProof
from noap.proofs.many import ManyProof, TreeSlice
from noap.runtime.workers import HERE, Workers

__all__ = ["check_many"]

# Features of one tree at most: their inner products take 3 GB.
_MOST_FEATURES = 20_000
# Elementary operations that a level takes for each of its features, and a tree that is passed over; and numbers of
# eight bytes that a level keeps.
_LEVEL, _TREE, _LEVEL_KEPT = 1e3, 4e3, 40.0


def check_many(
    data: ManyData,
    k: int,
    proof: ManyProof,
    claimed: float,
    raised: FloatArray,
    lift: float,
    allowance: Allowance,
    workers: Workers = HERE,
) -> tuple[float, str | None]:
    """Return a bound just above the claimed one on the optimum of k features, and None; or inf and the reason why not.

    Parameters are those of `check_levels`, and the threads that share the pass over all pairs. Every level is proved
    with what those before it prove.
    """
    if len(proof.ks) and int(proof.ks.max()) > k:
        return math.inf, f"a level is about {int(proof.ks.max())} features, more than k = {k}"
    try:
        return _Levels(data, k, proof, raised, lift, allowance).run(claimed, workers)
    except _Refused as refused:
        return math.inf, str(refused)
    except TooMany:
        return math.inf, "more pairs of features fit together than can be held"


class _Refused(Exception):
    """The proof does not hold; the message says where."""


class _Levels:
    def __init__(
        self, data: ManyData, k: int, proof: ManyProof, raised: FloatArray, lift: float, allowance: Allowance
    ) -> None:
        self.data, self.k, self.proof, self.allowance = data, k, proof, allowance
        self.raised, self.lift = raised, lift
        largest = np.sort(data.worths)[::-1][:k]
        self.worths: FloatArray = np.zeros(k)
        self.worths[: len(largest)] = largest
        self.known = np.append(0.0, np.cumsum(self.worths) * (1.0 + gamma(k + 4)))

    def run(self, claimed: float, workers: Workers) -> tuple[float, str | None]:
        """Prove level after level, and at last the claim."""
        proved, expected = self.known.copy(), self._expected()
        pairs = fitting_pairs(self.data, [one for one in expected if one is not None], workers)
        slices, first = self.proof.slices(), 0
        for number, loose in enumerate(expected):
            trees = zip(range(first, first + int(self.proof.counts[number])), slices, strict=False)
            first += int(self.proof.counts[number])
            size, claims = int(self.proof.ks[number]), self._claims(float(self.proof.bounds[number]))
            if loose is None or claims[0] >= proved[size]:
                for _ in trees:  # nothing new, whatever they are worth
                    self.allowance.spent(_TREE)
                continue
            demands = Demands.at(size, float(claims[0]), proved, self.data.least_budget)
            if demands.size < 2:
                raise _Refused(f"level {number} leaves open too many supports of fewer features")
            if not loose.loosens(demands):
                raise _Refused(f"level {number} needs pairs that were not looked at")
            T = self._level(number, pairs, demands, proved, claims, trees)
            learn(proved, self.worths, size, T)
        fulfilled = self._claims(claimed)
        fulfilled = fulfilled[fulfilled >= proved[self.k]]
        if len(fulfilled) == 0:
            return math.inf, "its levels do not prove the claim"
        return float(fulfilled[0]), None

    def _claims(self, bound: float) -> FloatArray:
        claims: FloatArray = scaled_up(bound, -2 * self.data.exponent) * self.raised + self.lift
        return claims

    def _expected(self) -> "list[Demands | None]":
        """Return what each level demands if those before it are proved at their widest margins, None for no news.

        What is proved in the end is no higher, so that no level demands less.
        """
        proved, expected = self.known.copy(), list[Demands | None]()
        self.allowance.keep(_LEVEL_KEPT * len(self.proof.ks))
        for size, bound in zip(self.proof.ks.tolist(), self.proof.bounds.tolist(), strict=True):
            self.allowance.spent(_LEVEL * (20 + self.k))
            claims = self._claims(bound)
            if claims[0] >= proved[size]:
                expected.append(None)
                continue
            expected.append(Demands.at(size, float(claims[0]), proved, self.data.least_budget))
            learn(proved, self.worths, size, float(claims[-1]))
        return expected

    def _level(
        self,
        number: int,
        pairs: FittingPairs,
        demands: Demands,
        proved: FloatArray,
        claims: FloatArray,
        trees: Iterator[tuple[int, TreeSlice]],
    ) -> float:
        """Return what is proved of the level: the first of its claims, or a wider one."""
        k, shown = int(self.proof.ks[number]), float(claims[0])
        graph = SupportGraph(pairs, demands)
        component: TreeSlice | None = None
        for at, own in trees:
            self.allowance.check()
            whole = bool(self.proof.whole[at])
            # One without nodes stands for the component before: what was one for the search may be several here.
            where = own if self.proof.sizes[at] else component if whole else None
            component = where if whole else component
            features = graph.around(int(self.proof.roots[at]), whole)
            if len(features) >= demands.size:
                if where is None:
                    raise _Refused(f"level {number}, of {k} features: tree {at} is missing")
                T, reason = self._tree(self.proof.tree(where), features, k, whole, proved, claims)
                if reason is not None:
                    raise _Refused(f"level {number}, of {k} features, tree {at}: {reason}")
                shown = max(shown, T)
            graph.without(features if whole else features[:1])
        if not graph.empty:
            raise _Refused(f"level {number}, of {k} features: its trees leave supports out")
        return shown

    def _tree(
        self, tree: GramProof, features: IntArray, k: int, whole: bool, proved: FloatArray, claims: FloatArray
    ) -> tuple[float, str | None]:
        """Prove that no support within the features is worth more; if not whole, none that has the first of them."""
        kinds = tree.kind
        one = (kinds == SPLIT) | (kinds == ON) | (kinds == SIGN) | (kinds == INTERVAL)
        named = np.unique(np.concatenate([features, tree.feature[one], tree.each, tree.places]).astype(np.int64))
        if len(named) > _MOST_FEATURES:
            return math.inf, "it is about too many features"
        with self.allowance.passing():
            data = self.data.block(named)
            feature = tree.feature.copy()
            feature[one] = np.searchsorted(named, feature[one])
            local = GramProof(
                kinds, tree.test, tree.vector, feature, tree.cut, tree.nu, tree.level, tree.levels,
                np.searchsorted(named, tree.each).astype(np.uint32), tree.starts,
                np.searchsorted(named, tree.places).astype(np.uint32), tree.weights,
            )  # fmt: skip
            free = np.searchsorted(named, features)
            included = None if whole else int(free[0])
            return check_gram(
                data, k, proved[:k], local, self.raised, self.lift, claims, self.allowance,
                free=np.sort(free), included=included,
            )  # fmt: skip
