r"""Several components, one after the other: what is left of the data once a component is taken out.

"projection": the data are projected off the span of the components before, :math:`X (I - QQ^\top)` with Q an
orthonormal basis of that span. "disjoint": the features used before are set to zero.
"""

from dataclasses import dataclass

import numpy as np

from noap.adversaries.base import Adversary
from noap.data.validation import PrivateSamples, as_samples
from noap.linalg.implicit import ImplicitColumns
from noap.linalg.mapped import empty_like, in_file
from noap.linalg.memory import MANY_FEATURES
from noap.linalg.products import column_norms, columns, row_blocks
from noap.linalg.types import BoolArray, Data, FloatArray, IntArray
from noap.problem import Problem

__all__ = [
    "CONSTRAINED", "DEFLATIONS", "Covariance", "Samples", "adjusted_variances", "constrained", "scope_of", "span_of",
    "span_variances",
]  # fmt: skip

DEFLATIONS = ("projection", "disjoint", "orthogonal", "uncorrelated")
CONSTRAINED = ("orthogonal", "uncorrelated")
"""Those that leave the data as they are, and say what the next component may be."""
# A column this much smaller than the largest was is what rounding leaves of one that was projected away.
_NOTHING = 1e-12
# Entries that are copied from file to file at a time.
_PIECE_ENTRIES = 2**22


@dataclass(frozen=True)
class Samples:
    """Data known sample by sample: Z of shape (n, d), centred and scaled.

    Dense, or centred when it is looked at, or a CSR array that is not centred.
    """

    Z: Data
    names: tuple[str, ...] | None = None

    @property
    def n_samples(self) -> int:
        """Return n."""
        return int(self.Z.shape[0])

    def column_norms(self) -> FloatArray:
        """Return the norm of every column."""
        return column_norms(self.Z)

    def problem(self, k: int, adversary: Adversary, costs: FloatArray | None = None) -> Problem:
        """Return the problem on these data."""
        # Whether to centre was for whoever made Z to decide.
        given = as_samples(self.Z)
        if isinstance(self.Z, np.ndarray) and not in_file(self.Z):
            given = PrivateSamples(*given)
        problem = Problem(given, k, adversary, costs=costs, feature_names=self.names)
        if adversary.gram_suffices and problem.n_features <= MANY_FEATURES:
            _ = problem.covariance  # once, for all that follows
        return problem

    def left(self, components: FloatArray, deflation: str) -> "Samples":
        """Return what the components (rows) leave of the data."""
        if deflation == "disjoint":
            return Samples(_without(self.Z, np.asarray(components.any(axis=0))), self.names)
        Q = span_of(components)
        if in_file(self.Z):
            return Samples(_projected_file(self.Z, Q), self.names)
        if isinstance(self.Z, np.ndarray):
            Z = np.empty_like(self.Z)
            for first in range(0, len(Z), step := max(1, _PIECE_ENTRIES // Z.shape[1])):
                rows = self.Z[first : first + step]
                np.subtract(rows, (rows @ Q) @ Q.T, out=Z[first : first + step], casting="same_kind")
            Z[:, column_norms(Z) <= _NOTHING * column_norms(self.Z).max(initial=0.0)] = 0.0
            return Samples(Z, self.names)
        Z = _sparse_projection(self.Z, Q)
        gone: BoolArray = np.asarray(column_norms(Z) <= _NOTHING * column_norms(self.Z).max(initial=0.0))
        return Samples(_without(Z, gone), self.names)

    def products(self, components: FloatArray) -> FloatArray:
        """Return C S C', the covariances of the scores."""
        # Block by block where Z is in single precision, which is not converted as a whole.
        double = not isinstance(self.Z, np.ndarray) or self.Z.dtype == np.float64
        scores = self.Z @ components.T if double else np.vstack([one @ components.T for one in row_blocks(self.Z)])
        product: FloatArray = scores.T @ scores / len(scores)
        return product

    def trace(self) -> float:
        """Return the total variance."""
        if isinstance(self.Z, np.ndarray):
            return float(np.einsum("ij,ij->", self.Z, self.Z)) / len(self.Z)
        if isinstance(self.Z, ImplicitColumns):
            return float(np.square(column_norms(self.Z)).sum()) / self.n_samples
        return float(np.square(self.Z.data, dtype=np.float64).sum()) / self.n_samples


@dataclass(frozen=True)
class Covariance:
    """Data known by S = Z'Z/n alone."""

    S: FloatArray
    n_samples: int
    names: tuple[str, ...] | None = None

    def column_norms(self) -> FloatArray:
        """Return the norm of every column of Z."""
        norms: FloatArray = np.sqrt(self.n_samples * np.maximum(np.diag(self.S), 0.0))
        return norms

    def problem(self, k: int, adversary: Adversary, costs: FloatArray | None = None) -> Problem:
        """Return the problem on these data."""
        return Problem.from_covariance(
            self.S, n_samples=self.n_samples, k=k, adversary=adversary, costs=costs, feature_names=self.names
        )

    def left(self, components: FloatArray, deflation: str) -> "Covariance":
        """Return what the components (rows) leave of the data."""
        if deflation == "disjoint":
            free = ~components.any(axis=0)
            return Covariance(np.where(np.outer(free, free), self.S, 0.0), self.n_samples, self.names)
        Q = span_of(components)
        P = np.eye(len(self.S)) - Q @ Q.T
        S = P @ self.S @ P
        S = (S + S.T) / 2
        gone = np.diag(S) <= _NOTHING * np.diag(self.S).max(initial=0.0)
        S[gone, :] = 0.0
        S[:, gone] = 0.0
        return Covariance(S, self.n_samples, self.names)

    def products(self, components: FloatArray) -> FloatArray:
        """Return C S C', the covariances of the scores."""
        product: FloatArray = components @ self.S @ components.T
        return product

    def trace(self) -> float:
        """Return the total variance."""
        return float(np.trace(self.S))


def _without(Z: Data, gone: BoolArray) -> Data:
    """Return Z with these columns set to zero."""
    if in_file(Z):
        return _changed_file(Z, np.flatnonzero(gone), 0.0)
    if isinstance(Z, np.ndarray):
        return np.where(gone, 0.0, Z)
    if not gone.any():
        return Z
    if isinstance(Z, ImplicitColumns):
        return ImplicitColumns(Z.sparse, Z.mean, np.where(gone, np.inf, Z.scale))
    left = Z.multiply(~gone).tocsr()
    left.eliminate_zeros()
    return left


def _projected_file(Z: FloatArray, Q: FloatArray) -> FloatArray:
    """Return Z - ZQQ' in a file: only the columns that the components use change."""
    used = np.flatnonzero(Q.any(axis=1))
    own = columns(Z, used)
    left = own - (own @ Q[used]) @ Q[used].T
    left[:, np.linalg.norm(left, axis=0) <= _NOTHING * column_norms(Z).max(initial=0.0)] = 0.0
    return _changed_file(Z, used, left)


def _changed_file(Z: FloatArray, features: IntArray, entries: "FloatArray | float") -> FloatArray:
    changed = empty_like(Z)
    for first in range(0, len(Z), step := max(1, _PIECE_ENTRIES // Z.shape[1])):
        changed[first : first + step] = Z[first : first + step]
    changed[:, features] = entries
    return changed


def _sparse_projection(Z: Data, Q: FloatArray) -> Data:
    """Return Z - ZQQ', sparse as Z is: only the columns that the components use change, and these fill up."""
    from scipy.sparse import csr_array

    used = np.flatnonzero(Q.any(axis=1))
    if isinstance(Z, ImplicitColumns):
        return Z.with_columns(used, Z[:, used].toarray() - (Z @ Q) @ Q[used].T)
    change = csr_array(-(Z @ Q) @ Q[used].T)
    place = csr_array((np.ones(len(used)), (np.arange(len(used)), used)), shape=(len(used), Z.shape[1]))
    return csr_array(Z) + change @ place


def span_of(components: FloatArray) -> FloatArray:
    """Return an orthonormal basis (columns) of the span of the rows."""
    left, singular, _ = np.linalg.svd(components.T, full_matrices=False)
    basis: FloatArray = left[:, singular > 1e-10 * singular[0]]
    return basis


def constrained(problem: Problem, components: FloatArray, deflation: str) -> Problem:
    r"""Return the problem for a further component, given those before (rows): orthogonal to, or uncorrelated with them.

    Scores are uncorrelated where :math:`v^\top S v_t = 0`, so v is orthogonal to the :math:`S v_t`.
    """
    used = components[components.any(axis=1)]
    V = used if deflation == "orthogonal" else np.array([_times_covariance(problem, v) for v in used])
    lengths = np.linalg.norm(V, axis=1) if len(used) else np.empty(0)
    some = lengths > 0
    return problem.with_orthogonality(V[some] / lengths[some, None] if some.any() else None)


def _times_covariance(problem: Problem, v: FloatArray) -> FloatArray:
    at = np.flatnonzero(v)
    product: FloatArray = problem.covariance_columns(at) @ v[at]
    return product


def scope_of(deflation: str) -> str:
    """Return what value and bound of a component after the first are about, in one sentence."""
    if deflation not in CONSTRAINED:
        return f"Value and bound are those of the data that deflation='{deflation}' leaves."
    to = "orthogonal to the components" if deflation == "orthogonal" else "whose scores are uncorrelated with those"
    return f"The bound is about all directions {to} before it, to 1e-08, given these components."


def span_variances(components: FloatArray, covariances: FloatArray) -> FloatArray:
    """Return the variance of the data on the span of the first component, the first two, and so on.

    Parameters
    ----------
    components : array of shape (c, d)
    covariances : array of shape (c, c)
        Of the scores.

    Examples
    --------
    >>> span_variances(np.array([[1.0, 0.0], [0.6, 0.8]]), np.array([[2.0, 1.2], [1.2, 1.36]])).round(12)
    array([2., 3.])
    """
    found = np.zeros(len(components))
    for c in range(1, len(components) + 1):
        if components[:c].any():
            to_basis = np.linalg.lstsq(components[:c].T, span_of(components[:c]), rcond=None)[0]
            found[c - 1] = float(np.einsum("ij,ik,kj->", to_basis, covariances[:c, :c], to_basis))
    return found


def adjusted_variances(covariances: FloatArray) -> FloatArray:
    r"""Return :math:`R_{jj}^2/n` for the QR decomposition of the scores, from :math:`G = C S C^\top` alone.

    The first component counts in full, every later one with the part of its scores that those before do not explain
    (Zou, Hastie and Tibshirani 2006). For orthogonal scores these are the variances.

    Parameters
    ----------
    covariances : array of shape (c, c)

    Returns
    -------
    array of shape (c,)

    Examples
    --------
    >>> adjusted_variances(np.array([[4.0, 2.0], [2.0, 3.0]]))
    array([4., 2.])
    """
    rest = np.array(covariances, dtype=np.float64)
    variances = np.zeros(len(rest))
    for j in range(len(rest)):
        own = rest[j, j]
        # What is left of a component that those before explain altogether is rounding.
        if own <= 1e-14 * covariances[j, j]:
            continue
        variances[j] = own
        rest = rest - np.outer(rest[:, j], rest[j]) / own
    return variances
