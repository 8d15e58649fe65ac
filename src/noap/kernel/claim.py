"""What a certificate is about: the terms of a problem, its data as plain arrays, and their fingerprint."""

import contextlib
import hashlib
import math
import struct
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from noap.adversaries import Adversary, EntryWise, FeatureWise, NoAdversary, SampleWise, SpectralNorm
from noap.errors import InvalidProblem
from noap.kernel.arithmetic import Refused
from noap.kernel.data import Columns, Data, Features, Terms
from noap.kernel.entries import EntryData
from noap.kernel.metric import Metric
from noap.kernel.samples import SampleData
from noap.linalg.mapped import by_columns
from noap.linalg.memory import MANY_FEATURES
from noap.linalg.products import row_blocks
from noap.linalg.types import FloatArray, IntArray

if TYPE_CHECKING:
    from noap.problem import Problem

__all__ = [
    "SERVES", "Claim", "data_of", "difference", "fingerprint_of", "matrix_of", "needs_matrix",
    "serves", "terms_of",
]  # fmt: skip

# The theorems are about these adversaries, by exact type.
_NAMES: dict[type[Adversary], str] = {
    FeatureWise: "feature-wise",
    SampleWise: "sample-wise",
    SpectralNorm: "spectral",
    EntryWise: "entry-wise",
    NoAdversary: "none",
}
SERVES = tuple(_NAMES)
# Those that move rows, and what holds the data of a claim about them.
_ON_ROWS: dict[type, type[SampleData]] = {SampleWise: SampleData, EntryWise: EntryData}
_DIGESTED = 2**17  # doubles in a block of the fingerprint, about
_LEAST, _MOST = -490, 500  # powers of two, of the length of the longest column in units of the metric
# Shifts are doubled until they show that a matrix is positive semidefinite, up to this share of its largest entry.
_LARGEST_SHIFT = 1e-6


def serves(problem: "Problem") -> bool:
    """Return whether the kernel has a theorem about the problem."""
    return type(problem.adversary) in _NAMES


def needs_matrix(problem: "Problem") -> bool:
    """Return whether a proof for samples is about their inner products as a matrix, however many features there are."""
    few = problem.X is None or problem.n_features <= MANY_FEATURES
    return few or len(problem.include) > 0 or problem.metric is not None or problem.orthogonal_to is not None


@dataclass(frozen=True, eq=False)
class Claim:
    """Which problem a certificate is about, and which numbers enclose its optimum.

    Attributes
    ----------
    kind : str
    adversary : str
    k, n_samples, n_features : int
    source : str
        "samples" or "covariance".
    fingerprint : str
        Of the data, docs/certificate-format.md.
    value, bound : float
    rho : array of shape (1,), (d,) or, against samples, (n,), against entries also (n d,), or None
    costs : array of shape (d,) or None
    include, exclude : arrays of int
    directions : array of shape (m, d), or None
        The claim is about v that are orthogonal to them, to 1e-8.
    metric : array of shape (d, d), or (d,) for a diagonal, or None
        The claim is about v with v'Bv = 1.
    mean, scale : arrays of shape (d,), or None
        How the samples were prepared from those in a file, where that is known.
    """

    kind: str
    adversary: str
    k: int
    n_samples: int
    n_features: int
    source: str
    fingerprint: str
    value: float
    bound: float
    rho: FloatArray | None
    costs: FloatArray | None
    include: IntArray
    exclude: IntArray
    directions: FloatArray | None = None
    metric: FloatArray | None = None
    mean: FloatArray | None = None
    scale: FloatArray | None = None

    @classmethod
    def about(cls, problem: "Problem", value: float, bound: float, kind: str = "single") -> "Claim":
        """Return the claim that value <= optimum <= bound for a problem."""
        terms = terms_of(problem)
        mean, scale = (None, None) if problem.preparation is None else problem.preparation
        return cls(
            kind,
            _NAMES[type(problem.adversary)],
            problem.k,
            problem.n_samples,
            problem.n_features,
            "samples" if problem.X is not None else "covariance",
            fingerprint_of(problem),
            float(value),
            float(bound),
            _shortest(_budgets(problem)),
            terms.costs,
            terms.include,
            terms.exclude,
            terms.directions,
            problem.metric,
            mean,
            scale,
        )

    @property
    def adversary_type(self) -> type[Adversary]:
        """The class of the adversary."""
        return next(kind for kind, name in _NAMES.items() if name == self.adversary)

    @property
    def budget(self) -> float | FloatArray | None:
        """The budget as the adversary takes it: a number, or one per feature, sample or entry; None without any."""
        if self.rho is None:
            return None
        of_entries = self.adversary == "entry-wise" and len(self.rho) not in (1, self.n_features)
        rho = self.rho.reshape(self.n_samples, self.n_features) if of_entries else self.rho
        return float(rho[0]) if len(rho) == 1 and rho.ndim == 1 else rho

    @property
    def _unit(self) -> float:
        """The budget of noise 1: along a sample, or per entry of a column."""
        return 1.0 if self.adversary in ("sample-wise", "entry-wise") else math.sqrt(self.n_samples)

    @property
    def noise(self) -> float | list[float]:
        """The budget as root-mean-square error per entry or, of samples, as it is: a number, or one for each."""
        if self.rho is None:
            return 0.0
        noise: list[float] = (self.rho / self._unit).tolist()
        return noise[0] if len(noise) == 1 else noise

    @property
    def noise_in_words(self) -> str:
        """The budget, or the range of budgets, as root-mean-square error per entry or, of samples, as they are."""
        if self.rho is None:
            return "no noise"
        low, high = (float(x) / self._unit for x in (self.rho.min(), self.rho.max()))
        if low == high:
            return f"noise {low:.6g} (rho = {float(self.rho[0]):.6g})"
        whose = "samples with noises" if self.adversary == "sample-wise" else "noises"
        return f"{whose} of their own from {low:.6g} to {high:.6g}"


def terms_of(problem: "Problem", least: float = 0.0) -> Terms:
    """Return budgets, costs, k, demanded and forbidden features of a problem, directions and metric.

    Parameters
    ----------
    problem : Problem
    least : float
        Of a metric that is a matrix; 0: one is looked for.
    """
    if not serves(problem):
        raise InvalidProblem(f"No theorem of the kernel is about {problem.adversary!r}.")
    # Against the spectral norm proofs are about A alone, and what they show is compared with the budget.
    rho = None if type(problem.adversary) is SpectralNorm else _budgets(problem)
    if type(problem.adversary) in _ON_ROWS and rho is not None and not rho.any():
        rho = None  # it does nothing
    costs = None if problem.costs is None or not problem.costs.any() else problem.costs
    return Terms(
        problem.k,
        problem.n_samples,
        rho,
        costs,
        problem.include,
        problem.exclude,
        problem.orthogonal_to,
        None if problem.metric is None else _metric(problem.metric, least),
    )


def _metric(given: FloatArray, least: float) -> Metric:
    """Return the metric with a number below its smallest eigenvalue; about that one, if none is given."""
    if least > 0 or given.ndim == 1:
        return Metric(given, least)
    units = Metric(given.diagonal(), 0.0).units
    about = max(float(np.linalg.eigvalsh(np.ldexp(given, units[:, None] + units))[0]), 1e-14)
    for share in (1 - 1e-6, 0.99, 0.5, 0.1, 1e-2):
        with contextlib.suppress(Refused):
            return Metric(given, share * about)
    return Metric(given, 1e-30)  # a matrix that is taken for a metric passes with a shift of 0


def _budgets(problem: "Problem") -> FloatArray | None:
    """Return one budget per feature, the one of the spectral norm, or None."""
    adversary = problem.adversary
    if type(adversary) is NoAdversary:
        return None
    if type(adversary) is SpectralNorm:
        return np.array([adversary.rho], dtype=np.float64)
    if type(adversary) in _ON_ROWS:
        return np.array(adversary.rho, dtype=np.float64).reshape(-1)
    return np.array(adversary.budgets(problem.n_features), dtype=np.float64)


def _shortest(rho: FloatArray | None) -> FloatArray | None:
    """Return budgets that are all the same as one number."""
    return rho[:1] if rho is not None and (rho == rho[0]).all() else rho


@np.errstate(all="ignore")  # what is out of range is refused or decided exactly
def data_of(
    problem: "Problem", exponent: int | None = None, shift: "float | str | None" = "find", least: float = 0.0
) -> tuple[Features | SampleData, float | None]:
    """Return the data of a problem in the units of a certificate, and the shift that makes them definite.

    Without an exponent, a shift and the least of a metric, those that a certificate will name are chosen. Of samples of
    very many features no matrix is made, unless features are demanded, or v is constrained.
    """
    if not needs_matrix(problem):
        terms = terms_of(problem)
        if type(problem.adversary) not in _ON_ROWS or terms.rho is None:
            return Columns(by_columns(problem.X), lambda: _blocks(problem), terms, exponent), 0.0
    return matrix_of(problem, exponent, shift, least)


@np.errstate(all="ignore")  # what is out of range is refused or decided exactly
def matrix_of(
    problem: "Problem", exponent: int | None = None, shift: "float | str | None" = "find", least: float = 0.0
) -> tuple[Data | SampleData, float | None]:
    """Return the same as a matrix, however many features there are: what lists and single trees work on."""
    terms = terms_of(problem, least)
    d = problem.n_features
    if exponent is None and terms.metric is not None:
        # Columns counted in units of the metric may be out of the range of values, whatever the data are.
        lengths = problem.column_norms / math.sqrt(problem.n_samples)
        sizes = (np.frexp(lengths)[1] + terms.units)[lengths > 0]
        if len(sizes) and not _LEAST < sizes.max() < _MOST:
            raise InvalidProblem("metric and X together give values beyond the range of doubles; rescale the metric.")
    if type(problem.adversary) in _ON_ROWS and terms.rho is not None:
        return _ON_ROWS[type(problem.adversary)](lambda: _blocks(problem), d, terms, exponent), 0.0
    if problem.X is not None:
        return Data.from_samples(lambda: _blocks(problem), d, terms, exponent), 0.0
    S, useless, limit = problem.covariance, _useless(problem), _LARGEST_SHIFT
    if len(useless):
        S, whole = S.copy(), float(np.abs(S).max())
        S[useless], S[:, useless] = 0.0, 0.0
        # It was semidefinite to a share of the whole.
        limit *= min(max(whole / max(float(np.abs(S).max()), 1e-300), 1.0), 1e11)
    if shift != "find":
        assert not isinstance(shift, str)
        return Data.from_covariance(S, terms, shift, exponent), shift
    tried = 4e-16 * (d + 8) * max(float(np.trace(S)) / max(float(np.abs(S).max()), 1e-300), 1.0)
    while problem.lift == 0:
        try:
            return Data.from_covariance(S, terms, tried, exponent), tried
        except Refused:
            tried *= 2.0
            if tried > limit:
                break
    if terms.metric is not None and terms.rho is not None and terms.rho.any() and exponent is None:
        raise InvalidProblem("S is not positive semidefinite to 1e-6 in the units of the metric; pass samples.")
    return Data.from_covariance(S, terms, None, exponent), None


def _useless(problem: "Problem") -> IntArray:
    """Return the features of infinite budgets that are not demanded: no vector that uses one has a value.

    Where v is constrained they stay as they are, so that none is used to meet the constraint.
    """
    if type(problem.adversary) is not FeatureWise or problem.orthogonal_to is not None or problem.metric is not None:
        return np.empty(0, np.intp)
    infinite = np.flatnonzero(np.isinf(np.broadcast_to(problem.adversary.rho, (problem.n_features,))))
    return np.setdiff1d(infinite, problem.include).astype(np.intp)


def _blocks(problem: "Problem") -> Iterable[FloatArray]:
    """Yield the samples in blocks, with zeros for the features of infinite budgets."""
    X, useless = problem.X, _useless(problem)
    assert X is not None
    for block in row_blocks(X):
        if len(useless):
            block = block.copy()
            block[:, useless] = 0.0
        yield block


def difference(problem: "Problem", claim: Claim) -> str | None:
    """Return in what the claim is about another problem; None if it is about this one."""
    mine = Claim.about(problem, claim.value, claim.bound)
    for name, said in (
        ("adversary", "the adversary {!r}"),
        ("k", "k = {}"),
        ("source", "data given as {}"),
        ("n_samples", "{} samples"),
        ("n_features", "{} features"),
    ):
        theirs, ours = getattr(claim, name), getattr(mine, name)
        if theirs != ours:
            return f"the certificate is about {said.format(theirs)}, and this problem has {said.format(ours)}"
    for name, said in (
        ("rho", "other budgets"),
        ("costs", "other costs"),
        ("include", "other demanded features"),
        ("exclude", "other forbidden features"),
        ("directions", "vectors orthogonal to other directions"),
        ("metric", "another metric"),
    ):
        theirs = getattr(claim, name)
        if not _same(_shortest(theirs) if name == "rho" else theirs, getattr(mine, name)):
            return f"the certificate is about {said}"
    if claim.fingerprint != mine.fingerprint:
        return (
            "the certificate is about other data: other entries, another order, centred and scaled otherwise, or "
            "deflated for a later component; "
            "prepare X with noap.standardize, whose last digits are those of the command line and the estimators"
        )
    return None


def _same(theirs: FloatArray | IntArray | None, ours: FloatArray | IntArray | None) -> bool:
    if theirs is None or ours is None:
        return theirs is ours
    return np.array_equal(theirs, ours)


def fingerprint_of(problem: "Problem") -> str:
    """Return the SHA-256 of the digests of all blocks of rows, docs/certificate-format.md.

    Examples
    --------
    >>> import noap
    >>> fingerprint_of(noap.Problem([[1.0, 2.0]], k=1, adversary=noap.NoAdversary()))[:8]
    '0962e29f'
    """
    data = problem.X if problem.X is not None else problem.covariance
    d = problem.n_features
    rows = max(1, _DIGESTED // d)
    whole = hashlib.sha256(b"\x01" + (b"samples" if problem.X is not None else b"covariance"))
    whole.update(struct.pack("<QQQ", problem.n_samples, d, rows))
    for block in _of_rows(row_blocks(data), rows, d):
        digest = hashlib.sha256(b"\x00")
        digest.update(np.ascontiguousarray(block + 0.0, dtype="<f8").data)
        whole.update(digest.digest())
    return whole.hexdigest()


def _of_rows(blocks: Iterable[FloatArray], rows: int, d: int) -> Iterator[FloatArray]:
    """Yield the same rows in blocks of so many."""
    left: FloatArray = np.empty((0, d))
    for block in blocks:
        left = np.concatenate([left, block]) if len(left) else block
        whole = len(left) // rows * rows
        for at in range(0, whole, rows):
            yield left[at : at + rows]
        left = left[whole:]
    if len(left):
        yield left
