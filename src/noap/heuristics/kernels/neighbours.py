"""The features that go best with each feature, out of blocks of inner products."""

from noap.heuristics.kernels.largest import keep_name
from noap.runtime.kernels import kernel


@kernel
def keep_largest(G, transposed, row_start, column_start, sizes, places):
    """Keep for every row, or column if transposed, the largest |G_ij| seen so far and whose they are.

    `sizes` and `places` have a row for every feature, in falling order of size.
    """
    n_rows, n_columns = (G.shape[1], G.shape[0]) if transposed else (G.shape[0], G.shape[1])
    most = sizes.shape[1]
    for i in range(n_rows):
        top, names = sizes[row_start + i], places[row_start + i]
        for j in range(n_columns):
            size = abs(G[j, i]) if transposed else abs(G[i, j])
            if size > top[most - 1]:
                keep_name(size, column_start + j, top, names, 0, most, most)
