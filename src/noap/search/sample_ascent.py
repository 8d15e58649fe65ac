r"""Ascent against attacks on samples or entries: exact half-steps, many vectors at once, by portions of the samples.

For unit v the value is :math:`\frac1n \sum_i (|x_i^\top v| - \rho_i)_+^2`, against entries with :math:`\sum_j
\delta_{ij} |v_j|` in the place of :math:`\rho_i`. With s the soft-thresholded scores, v along the p largest entries of
:math:`X^\top s`, less :math:`\sum_i \delta_{ij} |s_i|` each, never lowers it.
"""

from collections.abc import Iterator

import numpy as np

from noap.kernel.samples import SampleData
from noap.linalg.types import FloatArray
from noap.settings import Settings

__all__ = ["ascend_samples", "kept", "portions", "sample_value", "squares", "stepped", "taken"]

# So many numbers of a portion of the rows are in hand at a time.
_PORTION = 2**18


def portions(rows: int, width: int) -> Iterator[slice]:
    """Yield slices of the rows whose entries are not too many."""
    step = max(1, _PORTION // max(width, 1))
    for at in range(0, rows, step):
        yield slice(at, min(at + step, rows))


def taken(rho: FloatArray, sizes: FloatArray) -> FloatArray:
    """Return what the adversary takes of the scores of vectors of these entries' sizes, one column for each vector."""
    if rho.ndim == 1:
        return rho[:, None]
    shared = rho.strides[0] == 0 and len(rho) > 1
    spent: FloatArray = (rho[:1] if shared else rho) @ sizes.T
    return spent


def sample_value(data: SampleData, v: FloatArray) -> float:
    """Return the value of the choice that v makes, in floating point."""
    chosen = v != 0
    chosen[data.include] = True
    total, at = 0.0, 0
    support = np.flatnonzero(v)
    for X in data.portions():
        budgets = data.budgets_of(np.arange(at, at + len(X)), support)
        left = np.maximum(np.abs(X[:, support] @ v[support]) - taken(budgets, np.abs(v[None, support]))[:, 0], 0.0)
        total += float(left @ left)
        at += len(X)
    return float(total / data.n - data.costs[chosen].sum())


def squares(E: FloatArray, inside: int, p: int) -> FloatArray:
    """Return N(e)^2 of each row, columns of I first."""
    S = E * E
    free, m = S[:, inside:], S.shape[1] - inside
    if p < m:
        free = np.partition(free, m - p, axis=1)[:, m - p :] if p > 0 else free[:, :0]
    found: FloatArray = S[:, :inside].sum(axis=1) + free.sum(axis=1)
    return found


def kept(W: FloatArray, inside: int, p: int, gains: FloatArray | None = None) -> FloatArray:
    """Return unit vectors with the included entries and those p free ones of largest gain; by size without gains."""
    m = W.shape[1] - inside
    W = W.copy()
    if p < m or gains is not None:
        sizes = np.abs(W[:, inside:]) if gains is None else gains[:, inside:]
        if p <= 0:
            W[:, inside:] = 0.0
        else:
            used = np.ones(sizes.shape, dtype=np.bool_)
            if p < m:
                used = sizes >= np.partition(sizes, m - p, axis=1)[:, m - p][:, None]
                for i in np.flatnonzero(used.sum(axis=1) > p):  # ties
                    used[i] = False
                    used[i, np.argsort(-sizes[i], kind="stable")[:p]] = True
            if gains is not None:
                used &= sizes > 0
            W[:, inside:] = np.where(used, W[:, inside:], 0.0)
    W /= np.maximum(np.abs(W).max(axis=1, keepdims=True), 5e-324)  # whose squares may underflow
    lengths = np.sqrt(np.einsum("ij,ij->i", W, W))
    W /= np.maximum(lengths, 1e-300)[:, None]
    return W


def stepped(
    X: FloatArray, rho: FloatArray, costs: FloatArray, V: FloatArray, inside: int, p: int, steps: int
) -> tuple[FloatArray, FloatArray]:
    r"""Return vectors after so many steps of ascent, and n times their values.

    Parameters
    ----------
    costs : array of shape (c,)
        Times the number of samples.
    """

    def scores(V: FloatArray) -> Iterator[tuple[slice, FloatArray]]:
        sizes = np.abs(V) if entries else V
        for rows in portions(len(X), max(X.shape[1], len(V))):
            S = X[rows] @ V.T
            yield rows, np.sign(S) * np.maximum(np.abs(S) - taken(rho[rows], sizes), 0.0)

    dear, entries = costs.any(), rho.ndim > 1
    for _ in range(steps):
        W, left, whole = np.zeros_like(V), np.zeros(len(V)), np.zeros(len(V))
        lost: FloatArray = np.zeros_like(V)
        for rows, S in scores(V):
            W += S.T @ X[rows]
            left += np.einsum("ij,ij->j", S, S)
            if entries:
                lost += np.abs(S).T @ rho[rows]
            else:
                whole += rho[rows].max(initial=0.0) * np.abs(S).sum(axis=0)
        if entries:
            W = np.sign(W) * np.maximum(np.abs(W) - lost, 0.0)
        moved = left > 0
        gains = None
        if dear:  # what a feature adds is its square less what the adversary takes of it
            gains = W * W / np.maximum(left, 1e-300)[:, None]
            gains *= (left / np.maximum(left + whole, 1e-300))[:, None]
            gains -= costs
        W = kept(W, inside, p, gains)
        moved &= W.any(axis=1)
        W[~moved] = V[~moved]
        still = bool(np.abs(W - V).max(initial=0.0) < 1e-10)
        V = W
        if still:
            break
    values = np.zeros(len(V))
    for _, S in scores(V):
        values += np.einsum("ij,ij->j", S, S)
    if dear:
        used = V != 0
        used[:, :inside] = True
        values -= used @ costs
    return V, values


def ascend_samples(data: SampleData, settings: Settings, starts: FloatArray | None = None) -> FloatArray:
    """Return the best unit vector found; zeros where no choice is worth more than using no feature."""
    I, F, p = data.root()  # noqa: E741
    nothing: FloatArray = np.zeros(data.d)
    cols = np.concatenate([I, F])
    if not len(data.X) or not len(cols):
        return nothing
    X, costs = data.X[:, cols] if len(cols) < data.d or len(I) else data.X, data.n * data.costs[cols]
    rho = data.budgets_of(np.arange(len(X)), cols)
    V = [kept(X[np.argsort(-squares(X, len(I), p), kind="stable")[: settings.ascent_starts]], len(I), p)]
    lengths = np.einsum("ij,ij->j", X, X)
    longest = np.argsort(-lengths, kind="stable")[: settings.ascent_starts]
    if len(cols) <= settings.samples.most_features:
        A = np.zeros((len(cols), len(cols)))
        for block in data.portions():
            part = block[:, cols]
            A += part.T @ part
        V.append(kept(A[longest], len(I), p))
        if len(cols) <= 400:
            V.append(kept(np.linalg.eigh(A)[1][:, -4:].T.copy(), len(I), p))
    else:
        V.append(kept(np.ascontiguousarray((X.T @ X[:, longest[:8]]).T), len(I), p))
    if starts is not None:
        V.append(kept(np.atleast_2d(starts)[:, cols], len(I), p))
    whole = np.concatenate(V)
    whole = whole[whole.any(axis=1)]
    whole, values = stepped(X, rho, costs, whole, len(I), p, settings.ascent_first_steps)
    best = np.argsort(-values, kind="stable")[: 2 * settings.ascent_kept]
    whole, values = stepped(X, rho, costs, whole[best], len(I), p, 2 * settings.ascent_steps)
    v = nothing.copy()
    v[cols] = whole[int(np.argmax(values))]
    # Where features cost something a step may lose: what was known stays.
    return max([nothing, v, *(() if starts is None else np.atleast_2d(starts))], key=lambda x: sample_value(data, x))
