"""The features that go best with each feature, out of blocks of inner products."""

import numpy as np

from noap.heuristics.kernels.largest import keep_name
from noap.runtime.kernels import kernel


@kernel
def keep_largest(G, transposed, start, sizes, places):
    """Keep for every row, or column if transposed, the largest |G_ij| seen so far and whose they are.

    `sizes` and `places` have a row for every row, or column, of G, in falling order of size; columns, or rows, of G
    are counted from `start`.
    """
    most = sizes.shape[1]
    if transposed:
        # Row by row too, as G lies in memory.
        least = np.empty(G.shape[1], dtype=sizes.dtype)
        for j in range(G.shape[1]):
            least[j] = sizes[j, most - 1]
        for i in range(G.shape[0]):
            for j in range(G.shape[1]):
                size = abs(G[i, j])
                if size > least[j]:
                    keep_name(size, start + i, sizes[j], places[j], 0, most, most)
                    least[j] = sizes[j, most - 1]
        return
    for i in range(G.shape[0]):
        top, names = sizes[i], places[i]
        for j in range(G.shape[1]):
            size = abs(G[i, j])
            if size > top[most - 1]:
                keep_name(size, start + j, top, names, 0, most, most)


@kernel
def merge_largest(found, names, sizes, places):
    """Keep the largest of what `sizes` holds and what was found, row by row; a name below 0 is none.

    Of equal numbers those that were there before stay in front.
    """
    most = sizes.shape[1]
    for i in range(found.shape[0]):
        for a in range(found.shape[1]):
            if names[i, a] >= 0:
                keep_name(found[i, a], names[i, a], sizes[i], places[i], 0, most, most)
