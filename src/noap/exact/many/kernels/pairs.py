"""Pairs of features that may fit together, out of a block of inner products.

"Many features" of docs/exact.md.
"""

from noap.runtime.kernels import kernel


@kernel
def pairs_above(G, least, on_diagonal, rows, columns, products, count):
    """Note where |G_ij| >= least_i, on the diagonal block for i < j only, behind the `count` that are noted.

    Returns how many are noted, or -1 if there is no room for them.

    "Many features" of docs/exact.md.
    """
    for i in range(G.shape[0]):
        wanted = least[i]
        first = i + 1 if on_diagonal else 0
        for j in range(first, G.shape[1]):
            if abs(G[i, j]) >= wanted:
                if count == rows.shape[0]:
                    return -1
                rows[count], columns[count], products[count] = i, j, G[i, j]
                count += 1
    return count
