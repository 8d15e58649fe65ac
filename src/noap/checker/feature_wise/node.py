"""A node of a Gram proof: a set of pairs (direction, support), and the sets into which it can be cut."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from noap.linalg.types import BoolArray, FloatArray, IntArray

__all__ = ["GramNode"]

# An interval of this relative width is not cut any further.
_NARROW = 1e-9


@dataclass(frozen=True, eq=False)
class GramNode:
    """A set of pairs (u, S): as in docs/certificate-format-4.md.

    Attributes
    ----------
    inc : features that lie in S
    sign : sign of a_j'u for each of them, 0 if unknown
    lo, hi : s_j = |a_j'u| lies between these
    free : features that may lie in S
    ceil : if feature j does, s_j is at most this
    carried, n_high : at least n_high free features of S carry so much each; 0 where nothing is known
    """

    inc: IntArray
    sign: IntArray
    lo: FloatArray
    hi: FloatArray
    free: IntArray
    ceil: FloatArray
    carried: float = 0.0
    n_high: int = 0

    @classmethod
    def root(cls, free: IntArray, ceil: FloatArray) -> "GramNode":
        """Return the node of all pairs whose support lies in `free`."""
        none, empty = np.empty(0, dtype=np.int64), np.empty(0)
        return cls(none, none, empty, empty, free, ceil)

    @property
    def size(self) -> int:
        """How many numbers it holds, roughly."""
        return 4 * len(self.inc) + 2 * len(self.free) + 64

    def including(self, feature: int, low: float, k: int) -> "GramNode | None":
        """Return the pairs with the feature in S and s_j >= low; None if there are none.

        There are none where S has its k features already.
        """
        at = np.flatnonzero(self.free == feature)
        if len(at) == 0 or len(self.inc) >= k or self.ceil[at[0]] < low:
            return None
        # u and -u are worth the same, so the first feature may be taken with the sign +.
        first = 0 if len(self.inc) else 1
        rest = self.free != feature
        return GramNode(
            _longer(self.inc, feature),
            _longer(self.sign, first),
            _longer(self.lo, low),
            _longer(self.hi, self.ceil[at[0]]),
            self.free[rest],
            self.ceil[rest],
        )

    def lowered(self, feature: int, cut: float) -> "GramNode":
        """Return the pairs with s_j <= cut if the feature lies in S."""
        return GramNode(
            self.inc, self.sign, self.lo, self.hi, self.free,
            np.where(self.free == feature, np.minimum(self.ceil, cut), self.ceil),
        )  # fmt: skip

    def only(self, free: BoolArray) -> "GramNode":
        """Return the pairs whose free features are among these."""
        return GramNode(self.inc, self.sign, self.lo, self.hi, self.free[free], self.ceil[free])

    def between(self, a: int, low: float, high: float) -> "GramNode | None":
        """Return the pairs with low <= s_j <= high for included feature number a."""
        lo, hi = self.lo.copy(), self.hi.copy()
        lo[a], hi[a] = max(lo[a], low), min(hi[a], high)
        return None if lo[a] > hi[a] else GramNode(self.inc, self.sign, lo, hi, self.free, self.ceil)

    def signed(self, a: int, sign: int) -> "GramNode | None":
        """Return the pairs with this sign of a_j'u for included feature number a."""
        if self.sign[a] == -sign:
            return None
        signs = self.sign.copy()
        signs[a] = sign
        return GramNode(self.inc, signs, self.lo, self.hi, self.free, self.ceil)

    def halves(self, k: int, entry: FloatArray) -> "list[GramNode | None]":
        """Return two nodes that cover this one, none where nothing is left to cut.

        A feature that may lie in S does or does not; a sign is + or -; the interval that is widest for its upper end is
        cut in the middle.
        """
        if len(self.free) and len(self.inc) < k:
            feature = int(self.free[np.argmax(self.ceil)])
            return [self.including(feature, float(entry[feature]), k), self.only(self.free != feature)]
        unknown = np.flatnonzero(self.sign == 0)
        if len(unknown):
            return [self.signed(int(unknown[0]), 1), self.signed(int(unknown[0]), -1)]
        width = np.divide(self.hi - self.lo, self.hi, out=np.zeros(len(self.hi)), where=self.hi > 0.0)
        if not (width > _NARROW).any():
            return []
        a = int(np.argmax(width))
        cut = float(0.5 * (self.lo[a] + self.hi[a]))
        return [self.between(a, -np.inf, cut), self.between(a, cut, np.inf)]


def _longer(numbers: npt.NDArray[Any], last: float) -> npt.NDArray[Any]:
    """Return the numbers and one more, in a third of the time of np.append: most nodes of a proof are made by it."""
    longer = np.empty(len(numbers) + 1, dtype=numbers.dtype)
    longer[:-1], longer[-1] = numbers, last
    return longer
