"""The features that go best with each feature, out of blocks of inner products."""

from noap.runtime.kernels import kernel


@kernel
def keep_largest(G, transposed, row_start, column_start, sizes, places):
    """Keep for every row, or column if transposed, the largest |G_ij| seen so far and whose they are.

    `sizes` and `places` have a row for every feature, in falling order of size.
    """
    n_rows, n_columns = (G.shape[1], G.shape[0]) if transposed else (G.shape[0], G.shape[1])
    last = sizes.shape[1] - 1
    for i in range(n_rows):
        row = row_start + i
        least = sizes[row, last]
        for j in range(n_columns):
            size = abs(G[j, i]) if transposed else abs(G[i, j])
            if size <= least:
                continue
            at = last
            while at > 0 and sizes[row, at - 1] < size:
                sizes[row, at], places[row, at] = sizes[row, at - 1], places[row, at - 1]
                at -= 1
            sizes[row, at], places[row, at] = size, column_start + j
            least = sizes[row, last]
