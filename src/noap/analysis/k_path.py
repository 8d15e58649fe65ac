"""`noap.k_path`: the best sparse direction with k = 1, 2, ... features, each level certified; and the choice of k."""

import dataclasses
import importlib
import operator
import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from noap.analysis.levels import implied_bounds, solved_levels
from noap.analysis.series import ResultSeries, frozen
from noap.data.arguments import as_share
from noap.data.centring import outside
from noap.errors import InvalidProblem, NoapWarning
from noap.kernel.certificate import Certificate
from noap.linalg.types import FloatArray, IntArray
from noap.problem import Problem
from noap.result import Limit, Result, Status
from noap.runtime.controls import Controls
from noap.runtime.digits import percent_up
from noap.runtime.frames import shaped
from noap.runtime.interrupts import holding_interrupts, interrupts_wait
from noap.runtime.names import counted
from noap.solving import checked_options, nothing_left, warn_of_gaps
from noap.ties import break_ties, lowest_tie

__all__ = ["KPath", "k_path"]

# Heights above the chord, as shares of the last value: those that differ by less are equal to rounding, and a bend
# that stands no higher than this is none.
_FLAT, _BEND = 1e-9, 0.05
# Open levels are tried again if the remaining time is more than this many times what they have had.
_AGAIN = 2.0


@dataclass(frozen=True, eq=False, repr=False)
class KPath(ResultSeries):
    r"""Robust sparse components of k = 1, 2, ... features, as returned by :func:`noap.k_path`.

    `path[i]` is the Result at the i-th of `ks`, `path.at(k)` the one with k features; `len` and iteration go over the
    results.

    Attributes
    ----------
    results : tuple of Result
        One per k, in rising order, each with its own bound and certificate.
    """

    results: tuple[Result, ...]

    def __repr__(self) -> str:
        return (
            f"KPath({self.problem.terms}; k from {self.ks[0]} to {self.ks[-1]}, {len(self)} levels, "
            f"{self._optimal} of them optimal, value from {self.values[0]:.6g} to {self.values[-1]:.6g})"
        )

    def __iter__(self) -> Iterator[Result]:
        return iter(self.results)

    def __getitem__(self, position: Any) -> Any:
        return self.results[position]

    def at(self, k: int) -> Result:
        """Return the Result with k features."""
        places = np.flatnonzero(self.ks == k)
        if places.size == 0:
            raise InvalidProblem(f"k must be one of those of the path, {_listed(self.ks)}, got {k!r}.")
        return self.results[int(places[0])]

    @property
    def problem(self) -> Problem:
        """The problem with the largest k."""
        return self.results[-1].problem

    @cached_property
    def ks(self) -> IntArray:
        """The numbers of features, rising."""
        ks: IntArray = np.array([result.problem.k for result in self.results], dtype=np.int64)
        ks.flags.writeable = False
        return ks

    @cached_property
    def implied_bounds(self) -> FloatArray:
        r"""The bounds that those of all levels imply together; smaller than `bounds` only at open levels.

        :math:`\mathrm{opt}_{k-1} \le \mathrm{opt}_k \le \frac{k}{k-1}\,\mathrm{opt}_{k-1}`, and a similar inequality
        against the sample-wise adversary. They hold in exact arithmetic, but no single certificate says so.
        """
        return frozen(np.maximum(implied_bounds(self.problem, self.ks, self.bounds), self.values))

    @cached_property
    def supports(self) -> tuple[IntArray, ...]:  # type: ignore[override]
        """The features selected for each k, at most k of them; none where the value is 0."""
        return tuple(result.support if result.value > 0 else result.support[:0] for result in self.results)

    @cached_property
    def tied(self) -> tuple[IntArray, ...]:
        """Per k the selected features that another one, of a later index, could replace at the same value.

        On standardised data this is always so of the single feature of k = 1.
        """
        return tuple(
            np.array(sorted({kept for kept, _ in lowest_tie(result.problem, result.v)[1]}), dtype=np.int64)
            for result in self.results
        )

    @cached_property
    def increments(self) -> FloatArray:
        """The increase of the value at every step; the first entry is the first value."""
        return frozen(np.diff(self.values, prepend=0.0))

    @cached_property
    def shares(self) -> FloatArray:
        """The proved share of the optimum at the largest k: value over the last bound; 1 where that is 0."""
        top = float(self.bounds[-1])
        return frozen(self.values / top if top > 0 else np.ones(len(self)))

    @property
    def certificates(self) -> tuple[Certificate | None, ...]:
        """The certificate of every bound."""
        return tuple(result.certificate for result in self.results)

    def choose(self, share: float = 0.9) -> int:
        r"""Return the smallest k that is proved to keep this share of the optimum at the largest k.

        The value at k is compared with the share of the *bound* at the largest k, so
        :math:`\mathrm{value}_k \ge \mathrm{share} \cdot \mathrm{opt}_K` is certified by the certificate at K. Where
        no k passes (a share within the gap of 1, or a last level left open), it is the largest k, with a warning if
        that level is open.

        Parameters
        ----------
        share : float
            Above 0 and at most 1.

        Examples
        --------
        >>> import noap
        >>> X = [[2.0, 1.9, 0.1], [-2.0, -2.1, 0.2], [1.0, 1.1, -0.3], [-1.0, -0.9, 0.0]]
        >>> path = noap.k_path(noap.Problem(X, k=3, adversary=noap.FeatureWise(0.5)))
        >>> path.choose(0.9), path.choose(0.5)
        (2, 1)
        """
        wanted = as_share("share", share)
        enough = np.flatnonzero(self.shares >= wanted)
        if enough.size:
            return int(self.ks[enough[0]])
        if self.results[-1].status is not Status.OPTIMAL:
            warnings.warn(
                f"No k is proved to keep a share of {wanted:g} of the optimum at k = {self.ks[-1]}, for that level has "
                f"a gap of {percent_up(self.results[-1].gap)}; the largest k was chosen: allow more time or a smaller "
                "share.",
                NoapWarning,
                stacklevel=2,
            )
        return int(self.ks[-1])

    def elbow(self) -> int:
        """Return the k at which the curve of values bends most.

        It is the k at which the value stands highest above the straight line from (0 features, 0) to the last point,
        the smallest one if several do. A curve that stands nowhere above that line by more than 5 % of the last value
        has no bend: every feature adds about as much as those before, and the answer is the largest k.

        Examples
        --------
        >>> import noap
        >>> X = [[2.0, 1.9, 0.1], [-2.0, -2.1, 0.2], [1.0, 1.1, -0.3], [-1.0, -0.9, 0.0]]
        >>> noap.k_path(noap.Problem(X, k=3, adversary=noap.FeatureWise(0.5))).elbow()
        2
        """
        last = float(self.values[-1])
        if last == 0:
            return int(self.ks[0])
        heights = self.values / last - self.ks / self.ks[-1]
        highest = float(heights.max())
        if highest <= _BEND:
            return int(self.ks[-1])
        return int(self.ks[np.flatnonzero(heights >= highest - _FLAT)[0]])

    def to_frame(self, loadings: bool = False, flat: bool = False, library: str = "polars") -> Any:
        """Return the path as a table with one row per k.

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
            Columns k, value, bound, gap, status, increment, share, size and features (a list of names, or of positions
            as text).
        """
        frame = self._frame({"k": self.ks}, {"increment": self.increments, "share": self.shares}, loadings)
        return shaped(frame, flat, library)

    def plot(self, share: float | None = None, ax: Any = None) -> Any:
        """Draw the robust variance against k with its certified band, and the increase at every step.

        The parameters and the Figure are those of `noap.figures.draw_k_path`.
        """
        # Pictures lie in a layer above; the name is resolved on use.
        return importlib.import_module("noap.figures").draw_k_path(self, share, ax)

    def _repr_html_(self) -> str:
        """Return the table that a notebook shows: some of the levels."""
        cells = [(k, f"{np.floor(1000 * share) / 10:.1f} %") for k, share in zip(self.ks, self.shares, strict=True)]
        return self._table(("k", "keeps"), cells, "levels")


@interrupts_wait
def k_path(
    problem: Problem,
    ks: Iterable[int] | None = None,
    *,
    gap: float = 1e-4,
    time_limit: float | None = None,
    random_state: int | np.random.Generator | None = None,
    progress: bool = False,
    **options: Any,
) -> KPath:
    r"""Solve for k = 1, 2, ... features, with proof at every level.

    .. math:: \mathrm{opt}_k = \max_{\|v\|_2 = 1,\ \|v\|_0 \le k}\ \min_{\|E\| \le \rho}\ \tfrac1n \|(X + E) v\|_2^2

    Every level is solved by the exact method, started from the vector of the level below as well as by ascent, and has
    a bound and a certificate of its own. The values never fall.

    Parameters
    ----------
    problem : Problem
        Its k is the largest, unless `ks` says otherwise.
    ks : iterable of int, optional
        1 to the k of the problem by default; sorted, without repetitions, at most the number of features.
    gap : float
        Relative gap to prove at every level.
    time_limit : float, optional
        Seconds for the whole path. The remaining time is shared evenly among the levels to come; if time remains in the
        end, open levels are tried again. A level without time has the bound that needs no search.
    random_state : int, Generator or None
        None means 0: the same call gives the same answer.
    progress : bool
        Show a line of progress on a terminal or under the cell of a notebook; elsewhere the logger "noap" gets one
        every minute (INFO).
    **options
        Those of the exact method, for every level: node_limit, memory_limit, certificate.

    Returns
    -------
    KPath
        One GapWarning says how many levels miss the gap asked for. On Ctrl-C the levels so far come back, with a
        warning; the last one with the bound it had.

    Examples
    --------
    >>> import noap
    >>> X = [[2.0, 1.9, 0.1], [-2.0, -2.1, 0.2], [1.0, 1.1, -0.3], [-1.0, -0.9, 0.0]]
    >>> path = noap.k_path(noap.Problem(X, k=3, adversary=noap.FeatureWise(0.5)))
    >>> path.ks, path.values.round(4)
    (array([1, 2, 3]), array([1.7804, 3.5481, 3.5481]))
    >>> path.supports[1]
    array([0, 1])
    """
    if not isinstance(problem, Problem):
        raise InvalidProblem(f"problem must be a noap.Problem, got {type(problem).__name__}.")
    problem.require_no_metric("k_path")
    problem.require_no_demands("k_path")
    problem.require_no_directions("k_path")
    sparsities = _sparsities(problem, ks)
    # One seed for all levels, each of which then begins as `solve` does.
    seed = 0 if random_state is None else random_state
    if isinstance(seed, np.random.Generator):
        seed = int(seed.integers(2**32))
    controls = Controls.checked(gap, time_limit, seed, progress)
    limits = checked_options(problem, "exact", options)
    problem.check_unchanged()
    if problem.with_sparsity(sparsities[-1]).optimum_is_zero:
        warnings.warn(
            f"{nothing_left(problem)}, so the optimum is 0 for every k; use less noise.",
            NoapWarning,
            stacklevel=outside(),
        )
    problem = problem.with_sparsity(sparsities[-1])
    found: dict[int, Result] = {}
    waiting, interrupted = sparsities, False
    # Ctrl-C waits for the current level, which ends with the best so far.
    with holding_interrupts() as interrupts:
        while waiting and not interrupted:
            for k, result in solved_levels(problem, waiting, controls, limits, seed, found):
                interrupted = interrupts.seen or result.limit is Limit.INTERRUPTED
                if result.bound < np.inf or not found:
                    found[k] = _better(found.get(k), result)
                if interrupted:
                    break
            waiting = [k for k, result in found.items() if result.limit is Limit.TIME]
            spent = sum(found[k].seconds for k in waiting)
            if (controls.share(1) or 0.0) <= _AGAIN * spent:
                break
    if interrupted:
        warnings.warn(
            f"Interrupted: the path holds the {counted(len(found), 'level')} up to k = {max(found)}, the last of them "
            "with the bound so far.",
            NoapWarning,
            stacklevel=outside(),
        )
    path = KPath(_rising(list(found.values())))
    if not interrupted:
        warn_of_gaps(path.results, "levels", [f"k = {k}" for k in path.ks])
    return path


def _sparsities(problem: Problem, ks: Any) -> list[int]:
    d = problem.n_features
    if ks is None:
        return list(range(1, problem.k + 1))
    try:
        wanted = sorted({_whole(k) for k in ks})
    except TypeError:
        raise InvalidProblem(f"ks must be a list of integers of at least 1, got {ks!r}.") from None
    if not wanted or wanted[0] < 1:
        raise InvalidProblem(f"ks must be a list of integers of at least 1, got {ks!r}; pass None for 1 to k.")
    if wanted[-1] > d:
        raise InvalidProblem(
            f"ks must be at most the number of features, {d}, got {wanted[-1]}; leave out the larger ones."
        )
    return wanted


def _whole(k: Any) -> int:
    if isinstance(k, (bool, np.bool_)):
        raise TypeError
    return operator.index(k)


def _better(before: Result | None, result: Result) -> Result:
    """Return the result of two tries of a level: the lower bound, with its proof, and the better vector."""
    if before is None:
        return result
    kept, better = min(result, before, key=lambda one: one.bound), max(result, before, key=lambda one: one.value)
    return dataclasses.replace(
        kept, v=better.v, nodes=before.nodes + result.nodes, seconds=before.seconds + result.seconds
    )


def _rising(results: list[Result]) -> tuple[Result, ...]:
    """Return the results with ties given to the lowest index and values that never fall."""
    rising: list[Result] = []
    for result in results:
        if result.value > 0:
            result = break_ties(result)[0]
        if rising and result.value < rising[-1].value:
            # A vector of fewer features is one of more; rounding, or another try of the level below, found it.
            result = dataclasses.replace(result, v=rising[-1].v)
        rising.append(result)
    return tuple(rising)


def _listed(ks: IntArray) -> str:
    if len(ks) > 2 and ks[-1] - ks[0] == len(ks) - 1:
        return f"{ks[0]} to {ks[-1]}"
    return ", ".join(map(str, ks.tolist()))
