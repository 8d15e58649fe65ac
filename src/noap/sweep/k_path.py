"""What a sweep over k found: how much each feature more adds, and what is proved."""

import importlib
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from noap.data.arguments import as_share
from noap.errors import InvalidProblem, NoapWarning
from noap.kernel import certificate as kernel
from noap.linalg.types import FloatArray, IntArray
from noap.problem import Problem
from noap.proofs.certificate import Certificate
from noap.result import Result, Status
from noap.runtime.names import listed
from noap.runtime.notebook import html_table, spread
from noap.sweep.implied import implied_bounds
from noap.sweep.series import ResultSeries, frozen
from noap.ties import lowest_tie

if TYPE_CHECKING:
    import polars

__all__ = ["KPath"]

# Heights above the chord, as shares of the last value: those that differ by less are equal to rounding, and no bend is
# worth a name that stands no higher than this.
_FLAT, _BEND = 1e-9, 0.05


@dataclass(frozen=True, eq=False, repr=False)
class KPath(ResultSeries):
    r"""Robust sparse components of k = 1, 2, ... features, as returned by :func:`noap.k_path`.

    `path[i]` is the Result at the i-th of `ks`, `path.at(k)` the one with k features; `len` and iteration go over the
    results.

    Attributes
    ----------
    results : tuple of Result
        One per k, in rising order, each with its own bound and certificate.
    ks : array of int, shape (m,)
    values, bounds : arrays of shape (m,)
        Robust variances of the vectors found, which never fall, and proved bounds: values <= optimum <= bounds. The
        bounds are those of the results, so each has its certificate.
    vectors : array of shape (m, d)
        Unit vectors, one per row.
    supports : tuple of int arrays
        The features selected; none where the adversary cancels everything (value 0). At most k: noise can make fewer
        the best choice.
    increments : array of shape (m,)
        What every step adds to the value; the first entry is the first value.
    shares : array of shape (m,)
        The share of the optimum at the largest k that is proved to be kept: value over the last bound.
    implied_bounds : array of shape (m,)
        What all bounds prove together; no certificate holds it.
    tied : tuple of int arrays
        The features selected in whose place another one would be worth exactly as much: on standardised data, always
        the single feature of k = 1.
    certificates : tuple of Certificate or None
    feature_names : tuple of str, or None
    """

    results: tuple[Result, ...]

    def __repr__(self) -> str:
        optimal = sum(result.status is Status.OPTIMAL for result in self.results)
        return (
            f"KPath(k from {self.ks[0]} to {self.ks[-1]}, {len(self)} levels, {optimal} of them optimal, "
            f"value from {self.values[0]:.6g} to {self.values[-1]:.6g})"
        )

    def __iter__(self) -> Iterator[Result]:
        return iter(self.results)

    @overload
    def __getitem__(self, position: int) -> Result: ...
    @overload
    def __getitem__(self, position: slice) -> tuple[Result, ...]: ...
    def __getitem__(self, position: int | slice) -> Result | tuple[Result, ...]:
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
        """How many features a vector may use, rising."""
        ks: IntArray = np.array([result.problem.k for result in self.results], dtype=np.int64)
        ks.flags.writeable = False
        return ks

    @cached_property
    def implied_bounds(self) -> FloatArray:
        r"""What the bounds of all levels prove together; smaller than `bounds` only where a level is left open.

        :math:`\mathrm{opt}_{k-1} \le \mathrm{opt}_k \le \frac{k}{k-1}\,\mathrm{opt}_{k-1}`, and a similar inequality
        against the sample-wise adversary. They hold in exact arithmetic, but no single certificate says so.
        """
        return frozen(np.maximum(implied_bounds(self.problem, self.ks, self.bounds), self.values))

    @cached_property
    def supports(self) -> tuple[IntArray, ...]:
        """The features selected for each k; none where the value is 0."""
        return tuple(result.support if result.value > 0 else result.support[:0] for result in self.results)

    @cached_property
    def tied(self) -> tuple[IntArray, ...]:
        """Per k the features selected in whose place another one, of a later index, would be worth as much."""
        return tuple(
            np.array(sorted({kept for kept, _ in lowest_tie(result.problem, result.v)[1]}), dtype=np.int64)
            for result in self.results
        )

    @cached_property
    def increments(self) -> FloatArray:
        """What every step adds to the value; the first entry is the first value."""
        return frozen(np.diff(self.values, prepend=0.0))

    @cached_property
    def shares(self) -> FloatArray:
        """The proved share of the optimum at the largest k: value over the last bound; 1 where that is 0."""
        top = float(self.bounds[-1])
        return frozen(self.values / top if top > 0 else np.ones(len(self)))

    @property
    def certificates(self) -> tuple[Certificate | kernel.Certificate | None, ...]:
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
                f"a gap of {self.results[-1].gap:.2%}; the largest k was chosen: allow more time or a smaller share.",
                NoapWarning,
                stacklevel=2,
            )
        return int(self.ks[-1])

    def elbow(self) -> int:
        """Return the k at which the curve of values bends most.

        It is the k at which the value stands highest above the straight line from (0 features, 0) to the last point,
        the smallest one if several do. A curve that stands nowhere above that line by more than 5 % of the last value
        has no bend: every feature pays about as much as those before, and the answer is the largest k.

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

    def to_frame(self, loadings: bool = False) -> "polars.DataFrame":
        """Return the path as a table with one row per k.

        Parameters
        ----------
        loadings : bool
            Add one column per feature with its loading (0 where the value is 0).

        Returns
        -------
        polars.DataFrame
            Columns k, value, bound, gap, status, increment, share, size and features (a list of names, or of positions
            as text).
        """
        import polars

        names = self._names
        columns: dict[str, Any] = {
            "k": self.ks,
            "value": self.values,
            "bound": self.bounds,
            "gap": [result.gap for result in self.results],
            "status": [result.status.value for result in self.results],
            "increment": self.increments,
            "share": self.shares,
            "size": [len(support) for support in self.supports],
            "features": polars.Series(
                [[names[j] for j in support] for support in self.supports], dtype=polars.List(str)
            ),
        }
        if loadings:
            shown = np.where(self.values[:, None] > 0, self.vectors, 0.0)
            # A feature may be called "k": the prefix keeps the two apart.
            columns |= {f"loading {name}": shown[:, j] for j, name in enumerate(names)}
        return polars.DataFrame(columns)

    def plot(self, share: float | None = None, ax: Any = None) -> Any:
        """Draw the robust variance against k with its certified band, and what every feature more adds.

        Parameters
        ----------
        share : float, optional
            Mark the k that `choose(share)` gives; the elbow by default.
        ax : matplotlib Axes or sequence of two, optional
            Where to draw: one for the variance alone, two for both panels; a figure of its own by default.

        Returns
        -------
        matplotlib.figure.Figure
            `figure.savefig("k-path.png")` writes it.
        """
        # Pictures lie a layer above; the name is resolved when someone asks for one.
        return importlib.import_module("noap.figures").draw_k_path(self, share, ax)

    def _repr_html_(self) -> str:
        """Return the table that a notebook shows: some of the levels."""
        names = self._names
        rows = [
            (
                self.ks[i],
                f"{self.values[i]:.6g}",
                f"{self.bounds[i]:.6g}",
                self.results[i].status.value,
                f"{np.floor(1000 * self.shares[i]) / 10:.1f} %",
                listed([names[j] for j in self.supports[i]]),
            )
            for i in spread(len(self))
        ]
        shown = "" if len(rows) == len(self) else f"; {len(rows)} of its levels"
        return html_table(f"{self!r}{shown}", rows, ("k", "value", "bound", "status", "keeps", "features"))


def _listed(ks: IntArray) -> str:
    if len(ks) > 2 and ks[-1] - ks[0] == len(ks) - 1:
        return f"{ks[0]} to {ks[-1]}"
    return ", ".join(map(str, ks.tolist()))
