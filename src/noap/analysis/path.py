"""`noap.path`: the best sparse direction over a range of budgets, certified at the points and between them."""

import importlib
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, overload

import numpy as np
from numpy.typing import ArrayLike

from noap.adversaries import FeatureWise
from noap.adversaries.base import Adversary
from noap.analysis.barcode import features_frame
from noap.analysis.duplicates import note_on_copies
from noap.analysis.essential import essential_features
from noap.analysis.family import Family
from noap.analysis.series import ResultSeries, frozen
from noap.analysis.sweep import Sweep
from noap.data.arguments import as_count, as_jobs, as_strength
from noap.data.centring import outside
from noap.errors import InvalidProblem, NoapWarning
from noap.linalg.types import BoolArray, FloatArray, IntArray, holds_truth
from noap.result import Limit, Result
from noap.runtime.frames import shaped
from noap.runtime.interrupts import holding_interrupts, interrupts_wait
from noap.runtime.names import counted
from noap.solving import check_call, warn_of_gaps

__all__ = ["Path", "Stage", "path"]


@dataclass(frozen=True)
class Stage:
    """A stretch of the path on which supports are of one kind.

    Attributes
    ----------
    kind : "full", "partial", "single" or "none"
        k features; 2 to k - 1; one; none, for the adversary cancels everything. With k = 1 the first is "full".
    start, end : float
        The first and the last rho of the stretch.
    """

    kind: str
    start: float
    end: float


@dataclass(frozen=True, eq=False, repr=False)
class Path(ResultSeries):
    r"""Robust sparse components over a range of budgets rho, as returned by :func:`noap.path`.

    Attributes
    ----------
    results : tuple of Result
        One per budget, in increasing order of rho, with everything that is known about the point. Where features (or
        samples) have budgets of their own, rho is a factor on them, here and in all that counts in rho; where features
        have costs, values and bounds are those of the robust variance less the costs.
    family : Family
        The data, the sparsity and the adversary.
    """

    results: tuple[Result, ...]
    family: Family = field(repr=False)
    # Options of the call, for the searches of `essential`; None after Ctrl-C, which ends all searches.
    options: Mapping[str, Any] | None = field(default_factory=dict, repr=False)
    # One per result, where rho is a factor: budgets alone determine it to rounding only.
    factors: tuple[float, ...] | None = field(default=None, repr=False)

    def __repr__(self) -> str:
        noise = "" if self.family.whole is not None else f"noise from {self.noises[0]:.6g} to {self.noises[-1]:.6g}, "
        return (
            f"Path({self._kind}, k={self.k}, {len(self)} points, {self._optimal} of them optimal, "
            f"{noise}{self.swept} from {self.rhos[0]:.6g} to {self.rhos[-1]:.6g})"
        )

    @property
    def _kind(self) -> str:
        return type(self.family.base.adversary).__name__

    @property
    def k(self) -> int:
        """The largest number of features of a vector."""
        return self.family.base.k

    @property
    def rho_max(self) -> float:
        """The budget, or factor, from which on the optimum is 0."""
        return self.family.rho_max

    @property
    def swept(self) -> str:
        """Name of the budgets in tables: "rho" or "factor"."""
        return "rho" if self.family.whole is None else "factor"

    @cached_property
    def rhos(self) -> FloatArray:
        """The budgets, increasing; or the factors on those of the features (or samples)."""
        if self.factors is not None:
            return frozen(self.factors)
        return frozen([result.problem.adversary.rho for result in self.results])

    @property
    def noises(self) -> FloatArray:
        """The budgets in units of noise, which do not depend on the number of samples; the factors where rho is one."""
        return frozen(self.rhos / self.family.noise_unit)

    @cached_property
    def supports(self) -> tuple[IntArray, ...]:  # type: ignore[override]
        """The features selected at each rho; none where the value is 0."""
        return tuple(np.flatnonzero(row) for row in self.selected)

    @cached_property
    def selected(self) -> BoolArray:
        """Mask of shape (m, d): the features selected at each rho."""
        # At rho = rho_max rounding leaves a distance of 1e-12 of the largest norm in place of 0.
        alive = self.values > 1e-24 * self.family.base.scale
        mask: BoolArray = (self.vectors != 0) & alive[:, None]
        return mask

    @cached_property
    def note(self) -> str | None:
        """A sentence on near-copies among the features ever selected; None if there are none."""
        return note_on_copies(self.family.base, np.flatnonzero(self.selected.any(axis=0)))

    @property
    def proves(self) -> bool:
        """Whether `essential` is proved: with method "exact" it is."""
        return all(result.method == "exact" for result in self.results)

    @cached_property
    def essential(self) -> BoolArray:
        r"""Mask of shape (m, d): the features that a point cannot do without.

        At a budget with the vector v found there, feature j is essential if every k-sparse direction w with
        :math:`(1 + \mathrm{gap})\,\mathrm{value}(w) \ge \mathrm{value}(v)` uses it. With method "exact" every True is
        proved, by bounds on the problems without j, and a question that the searches leave open is False, with a
        warning; with other methods True means that no such w was found. Computed on first use, which takes about as
        long as the path did.

        To be essential is to be measured redundantly enough to outlast errors of that size, as near-copies of noise
        are.

        Examples
        --------
        >>> import noap
        >>> X = [[2.0, 1.9, 2.0], [-2.0, -2.1, -2.0], [1.0, 1.1, 1.0], [-1.0, -0.9, -1.0]]
        >>> noap.path(X, k=2, rhos=[0.0, 0.5]).essential  # the third feature equals the first
        array([[False,  True, False],
               [False,  True, False]])
        """
        return essential_features(self)

    @cached_property
    def lifetimes(self) -> FloatArray:
        """Per feature the last rho whose vector uses it, even if another would do as well; nan if none does.

        On standardised data every feature alone has the same value, so the last one ties with all others: it is not
        `essential`.
        """
        return frozen([runs[-1][1] if runs else np.nan for runs in self.intervals])

    @cached_property
    def intervals(self) -> tuple[tuple[tuple[float, float], ...], ...]:
        """Per feature the ranges (start, end) of rho over which it is selected without a break."""
        return tuple(
            tuple((float(self.rhos[a]), float(self.rhos[b])) for a, b in _runs(column) if column[a])
            for column in self.selected.T
        )

    def stages(self) -> tuple[Stage, ...]:
        """Cut the path where the number of selected features goes from k to 2..k-1, to one, to none.

        Returns
        -------
        tuple of Stage
            In order of rho. A kind can come more than once, and need not come at all.
        """
        sizes = self.selected.sum(axis=1)
        kinds = np.select([sizes == 0, sizes == self.k, sizes == 1], [0, 3, 1], 2)
        names = ("none", "single", "partial", "full")
        return tuple(Stage(names[kinds[a]], float(self.rhos[a]), float(self.rhos[b])) for a, b in _runs(kinds))

    def band(self, rho: ArrayLike) -> tuple[FloatArray, FloatArray]:
        r"""Return proved lower and upper bounds on the optimum at any rho in the range of the path.

        Below, the best value there of all vectors found. Above, the chords of the bounds, for
        :math:`\sqrt{n\,\mathrm{opt}}` is convex in rho.

        Parameters
        ----------
        rho : float or array-like
            Budgets between `rhos[0]` and `rhos[-1]`.

        Returns
        -------
        lower, upper : arrays of the shape of rho
        """
        at = np.asarray(rho, dtype=np.float64)
        first, last = self.rhos[0], self.rhos[-1]
        # Written so that nan fails too.
        if not ((at >= first) & (at <= last)).all():
            raise InvalidProblem(f"rho must lie in the range of the path, {first:.6g} to {last:.6g}.")
        flat = np.atleast_1d(at).ravel()
        lower = self.family.values(self.vectors, flat).max(axis=1)
        if self.family.base.costs is not None:
            lower = np.maximum(lower, 0.0)  # a vector without features has value 0
        upper = self.family.bounds(self.rhos, self.bounds, flat)
        return lower.reshape(at.shape), np.maximum(upper, lower).reshape(at.shape)

    def to_frame(self, loadings: bool = False, flat: bool = False, library: str = "polars") -> Any:
        """Return the path as a table with one row per rho.

        Parameters
        ----------
        loadings : bool
            Add one column per feature with its loading (0 where the value is 0).
        flat : bool
            Write lists as text, entries apart by "; ".
        library : "polars" or "pandas"

        Returns
        -------
        DataFrame
            Columns k, rho and noise (or factor), value, bound, gap, status, size and features (a list of names, or of
            positions as text).
        """
        first: dict[str, Any] = {"k": [self.k] * len(self), self.swept: self.rhos}
        if self.family.whole is None:
            first["noise"] = self.noises
        return shaped(self._frame(first, {}, loadings), flat, library)

    def features_frame(self, flat: bool = False, library: str = "polars") -> Any:
        """Return the features that are ever selected as a table, those that are essential longest first.

        Parameters
        ----------
        flat : bool
            Write lists as text, entries apart by "; ".
        library : "polars" or "pandas"

        Returns
        -------
        DataFrame
            Columns k, feature (a name, or a position as text), and in noise and in rho (or in factors):
            essential_to_noise, the last noise at which the feature is essential, null if there is none;
            essential_noise and selected_noise, lists of ranges [first, last] of the path's points; essential_to_rho
            and so on.

        Examples
        --------
        >>> import noap
        >>> X = [[2.0, 1.9, 2.0], [-2.0, -2.1, -2.0], [1.0, 1.1, 1.0], [-1.0, -0.9, -1.0]]
        >>> noap.path(X, k=2, rhos=[0.0, 0.5]).features_frame().select("feature", "essential_to_rho").rows()
        [('1', 0.5), ('0', None)]
        """
        return shaped(features_frame(self, self._names), flat, library)

    def plot(self, ax: Any = None, top: int | None = None, unit: str = "noise") -> Any:
        """Draw the robust variance with its certified band, the barcode of the features and their loadings.

        The parameters and the Figure are those of `noap.figures.draw_path`.
        """
        # Pictures lie in a layer above; the name is resolved on use.
        return importlib.import_module("noap.figures").draw_path(self, ax, top, unit)

    def _repr_html_(self) -> str:
        """Return the table that a notebook shows: some of the points."""
        if self.family.whole is not None:
            header, cells = ("factor",), [(f"{rho:.6g}",) for rho in self.rhos]
            return self._table(header, cells, "points", "" if self.note is None else f". {self.note}")
        pairs = [(f"{noise:.4g}", f"{rho:.6g}") for noise, rho in zip(self.noises, self.rhos, strict=True)]
        return self._table(("noise", "rho"), pairs, "points", "" if self.note is None else f". {self.note}")


def _runs(labels: np.ndarray) -> list[tuple[int, int]]:
    """Return the first and last position of every stretch of equal labels."""
    cuts = np.flatnonzero(labels[1:] != labels[:-1])
    starts, ends = [0, *(cuts + 1).tolist()], [*cuts.tolist(), len(labels) - 1]
    return list(zip(starts, ends, strict=True))


@overload
def path(
    X: Any, k: int, adversary: Any = ..., rhos: Any = ..., method: Any = ..., n_jobs: Any = ..., **options: Any
) -> Path: ...
@overload
def path(
    X: Any,
    k: Sequence[int],
    adversary: Any = ...,
    rhos: Any = ...,
    method: Any = ...,
    n_jobs: Any = ...,
    **options: Any,
) -> tuple[Path, ...]: ...
@interrupts_wait
def path(
    X: Any,
    k: int | Sequence[int],
    adversary: Callable[[float], Adversary] | Adversary = FeatureWise,
    rhos: ArrayLike | None = None,
    method: str = "exact",
    n_jobs: int | None = None,
    *,
    noises: ArrayLike | None = None,
    points: int = 33,
    tolerance: float = 1e-3,
    end: float | None = None,
    **options: Any,
) -> Path | tuple[Path, ...]:
    r"""Solve over a range of budgets rho, with proof: the features that outlast growing noise.

    .. math:: \mathrm{opt}(\rho) = \max_{\|v\|_2 = 1,\ \|v\|_0 \le k}\ \min_{\|E\| \le \rho}\ \tfrac1n \|(X + E) v\|_2^2

    A feature that outlasts noise is measured redundantly enough to outlast errors of that size. That makes it neither
    true nor causal: near-copies of one random vector outlast noise, too, and :func:`noap.duplicates` lists them.

    Neighbouring budgets help each other. A point starts from the vectors found at its neighbours; and since
    :math:`\sqrt{n\,\mathrm{opt}(\rho)}` is convex in rho, the chord between two proved bounds is a bound in between,
    which often proves a point without any search. In the end every vector and every bound is offered to every point.

    Parameters
    ----------
    X : array-like, DataFrame or SciPy sparse matrix of shape (n, d), or Problem
        As for :class:`noap.Problem`: used as given. Of a Problem the data are used (its covariance, if it was built
        from one) and its costs; its k and adversary are not.
    k : int or sequence of int
        The largest number of features of a vector. With a sequence the answer is a tuple of paths, one per k; the
        vectors of a smaller k are starts for the next larger one.
    adversary : class, or object with several budgets
        :class:`noap.FeatureWise` or :class:`noap.SampleWise`: takes a budget and gives an adversary. An object
        with a budget for every feature (or sample), such as ``noap.FeatureWise([1.0, 0.5, 2.0])``, is scaled as a
        whole: every rho is then a factor on all of them, and 1 stands for the budgets as given.
    rhos : array-like, optional
        The budgets; sorted, without repetitions. By default `points` of them from 0 to `rho_max`, and then more around
        every change of support between neighbours, by bisection, until the change is located to `tolerance` times
        `rho_max`. A feature that comes and goes between two points of equal support is not seen: raise `points`.
    noises : array-like, optional
        The budgets in units of noise, in place of `rhos`: feature-wise :math:`\rho = \mathrm{noise}\,\sqrt n`.
    method : str
        As for :func:`noap.solve`; only "exact" proves every point.
    n_jobs : int, optional
        Number of processes (-1 for all cores); the answer does not depend on it.
    points : int
        Size of the first grid when `rhos` is not given.
    end : float, optional
        The end of that grid; by default `rho_max`, or the factor that cancels every feature with a budget above 0.
        Factors lie evenly along the ranges of the features, which may differ by far, and 1 is among them.
    tolerance : float
        Accuracy of the changes of support, as a share of `rho_max`, when `rhos` is not given.
    **options
        Those of :func:`noap.solve`: gap, time_limit (seconds for each point), random_state, progress, and the method's
        own.

    Returns
    -------
    Path, or tuple of Path
        Its `essential` says at which rho every direction within the gap uses a feature; `plot` draws it. At
        rho >= rho_max the value is 0, without a warning. One GapWarning for the whole path says how many points miss
        the gap asked for. On Ctrl-C the points finished so far come back, with a warning.

    Examples
    --------
    >>> import noap
    >>> X = [[2.0, 1.9, 0.1], [-2.0, -2.1, 0.2], [1.0, 1.1, -0.3], [-1.0, -0.9, 0.0]]
    >>> path = noap.path(X, k=2, rhos=[0.0, 0.5, 3.165, 4.0], method="ascent")
    >>> path.supports[0], path.supports[2], path.supports[3]
    (array([0, 1]), array([1]), array([], dtype=int64))
    >>> path.lifetimes
    array([0.5  , 3.165,   nan])
    >>> noap.path(X, k=2, noises=[0.0, 0.25], method="ascent").rhos
    array([0. , 0.5])
    >>> [stage.kind for stage in path.stages()]
    ['full', 'single', 'none']
    """
    jobs = as_jobs(n_jobs)
    given = _budgets("rhos", rhos) if noises is None else _budgets("noises", noises)
    if rhos is not None and noises is not None:
        raise InvalidProblem("Pass either rhos or noises: noises are in units that do not depend on n.")
    last, first = None if end is None else as_strength("end", end), as_count("points", points)
    if first < 2:
        raise InvalidProblem(f"points must be at least 2, got {first}.")
    settings = _settings(options)
    if isinstance(k, (Sequence, np.ndarray)) and not isinstance(k, str):
        if len(k) == 0:
            raise InvalidProblem("k must hold at least one sparsity, it is empty.")
        families = [Family.of(X, one, adversary) for one in sorted(set(k))]
    else:
        families = [Family.of(X, k, adversary)]
    for family in families:
        check_call(family.base, method, settings)
        if noises is not None and family.whole is not None:
            raise InvalidProblem("noises needs one budget for all; pass rhos, the factors on the budgets as given.")
    budgets = given if given is None or noises is None else given * families[0].noise_unit

    found: list[Path] = []
    # Ctrl-C waits for the current point, which ends with the best so far.
    with holding_interrupts() as interrupts:
        for family in families:
            sweep = Sweep(family, method, settings, jobs, interrupts)
            if found:
                sweep.hints = _distinct(found[-1])
            wanted = budgets
            if budgets is None:
                wanted = family.even(first, last)
            assert wanted is not None
            sweep.grid(wanted)
            if budgets is None and family.whole is None:
                sweep.refine(_share(tolerance) * family.end)
            elif budgets is None:
                sweep.refine(_share(tolerance), family.place)
            factors = None if family.whole is None else tuple(sorted(sweep.found))
            found.append(Path(sweep.finish(), family, None if sweep.interrupted else settings, factors))
            if interrupted := sweep.interrupted:
                break
    if interrupted:
        finished = sum(result.limit is not Limit.INTERRUPTED for result in found[-1].results)
        warnings.warn(
            f"Interrupted: the path for k = {found[-1].k} holds what was finished, {counted(finished, 'point')}"
            f"{'' if finished else '; the one it holds is the best so far'}.",
            NoapWarning,
            stacklevel=outside(),
        )
    if not interrupted:
        places = [f"{one.family.dial} {noise:.6g}" for one in found for noise in one.noises]
        warn_of_gaps([result for one in found for result in one.results], "points", places)
    return found[0] if len(families) == 1 and not isinstance(k, (Sequence, np.ndarray)) else tuple(found)


def _settings(options: dict[str, Any]) -> dict[str, Any]:
    """Return the options of `solve` with defaults for the shared ones and a seed that every process can use."""
    if "start" in options:
        raise InvalidProblem("start is no option of path, whose points start from their neighbours; leave it out.")
    settings = {"gap": 1e-4, "time_limit": None, "random_state": None, "progress": False} | options
    if isinstance(settings["random_state"], np.random.Generator):
        settings["random_state"] = int(settings["random_state"].integers(2**32))
    return settings


def _budgets(name: str, budgets: ArrayLike | None) -> FloatArray | None:
    """Return distinct budgets, rising, of a user who calls them by that name; None for none."""
    if budgets is None:
        return None
    try:
        given = np.asarray(budgets)
        if given.ndim > 1 or given.dtype.kind == "c" or holds_truth(budgets):
            raise TypeError
        distinct = np.unique(given.astype(np.float64))
    except (TypeError, ValueError):
        raise InvalidProblem(f"{name} must be a list of numbers, got {budgets!r}; pass one budget per point.") from None
    if distinct.size == 0:
        raise InvalidProblem(f"{name} is empty; pass at least one budget, or None to have them chosen.")
    if not np.isfinite(distinct).all() or distinct[0] < 0:
        raise InvalidProblem(f"{name} must be finite numbers of at least 0.")
    return distinct


def _distinct(known: Path) -> FloatArray:
    """Return one vector per support of the path, the first in order of rho."""
    first = {tuple(support): v for support, v in zip(reversed(known.supports), known.vectors[::-1], strict=True)}
    return np.array(list(first.values()))


def _share(tolerance: Any) -> float:
    if not (isinstance(tolerance, (int, float, np.floating)) and tolerance > 0):
        raise InvalidProblem(f"tolerance must be a positive number, got {tolerance!r}.")
    return float(tolerance)
