"""What a sweep over rho found: which features survive, for how long, and what is proved."""

import importlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from noap.data.duplicates import note_on_copies
from noap.errors import InvalidProblem
from noap.linalg.types import BoolArray, FloatArray, IntArray
from noap.result import Result, Status
from noap.runtime.names import listed
from noap.runtime.notebook import html_table, spread
from noap.sweep.between import convex_bounds
from noap.sweep.family import Family
from noap.sweep.needed import NEEDED, OPEN, SHARED, standings
from noap.sweep.series import ResultSeries, frozen
from noap.sweep.survivors import features_frame

if TYPE_CHECKING:
    import polars

__all__ = ["Path", "Stage"]


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
        One per budget, in increasing order of rho, with everything that is known about the point.
    rhos, values, bounds : arrays of shape (m,)
        Budgets, robust variances of the vectors found and proved bounds: values <= optimum <= bounds. Where features
        (or samples) have budgets of their own, the rhos are the factors on them, here and in all that counts in rho;
        where features have costs, values and bounds are those of the robust variance less the costs.
    vectors : array of shape (m, d)
        Unit vectors, one per row.
    supports : tuple of int arrays
        The features selected. Where the adversary cancels everything (value 0) none is, and the row of
        `vectors` means nothing.
    needed : bool array of shape (m, d)
        Which features a point cannot do without: every direction within the asked gap of the one found uses them.
    shared, unsettled : bool arrays of shape (m, d)
        The other selected features: a direction without them is known that does as well, or it could not be settled.
    survives : array of shape (d,)
        Per feature the last rho that needs it; nan if none does. This is what tables and pictures rank by: a feature
        that others could replace is never called a survivor.
    proves : bool
        Whether `needed` is proved; else it is as far as the method could find.
    lifetimes : array of shape (d,)
        Per feature the last rho whose vector happens to use it, ties included; nan if none does.
    intervals : tuple of tuples of (start, end)
        Per feature the ranges of rho over which it is selected without a break: features can leave, come back and
        enter late. A range that is one point wide has start = end.
    k : int
    rho_max : float
        The budget from which on the optimum is 0; inf where a feature that is exact outlives every factor.
    feature_names : tuple of str, or None
    note : str or None
        How many of the features that are ever selected are near-copies of one another, where any are.
    """

    results: tuple[Result, ...]
    family: Family = field(repr=False)
    # Those of the call, for the searches that `needed` makes; None if it is to make none: the user has had enough.
    options: Mapping[str, Any] | None = field(default_factory=dict, repr=False)
    # Of every result, where rho is a factor: its budgets alone would tell it to rounding only.
    factors: tuple[float, ...] | None = field(default=None, repr=False)

    def __repr__(self) -> str:
        optimal = sum(result.status is Status.OPTIMAL for result in self.results)
        return (
            f"Path(k={self.k}, {len(self)} points, {optimal} of them optimal, "
            f"{self.swept} from {self.rhos[0]:.6g} to {self.rhos[-1]:.6g})"
        )

    @property
    def k(self) -> int:
        """How many features a vector may use."""
        return self.family.base.k

    @property
    def rho_max(self) -> float:
        """The budget, or factor, from which on the optimum is 0."""
        return self.family.rho_max

    @property
    def swept(self) -> str:
        """What tables call the budgets."""
        return "rho" if self.family.whole is None else "factor"

    @cached_property
    def rhos(self) -> FloatArray:
        """The budgets, increasing; or the factors on those of the features (or samples)."""
        if self.factors is not None:
            return frozen(self.factors)
        return frozen([result.problem.adversary.rho for result in self.results])

    @cached_property
    def supports(self) -> tuple[IntArray, ...]:
        """The features selected at each rho; none where the value is 0."""
        return tuple(np.flatnonzero(row) for row in self.selected)

    @cached_property
    def selected(self) -> BoolArray:
        """Mask of shape (m, d): which rho selects which feature."""
        # At rho = rho_max a distance of 1e-12 of the largest norm is what rounding leaves of 0.
        alive = self.values > 1e-24 * self.family.base.scale
        mask: BoolArray = (self.vectors != 0) & alive[:, None]
        return mask

    @cached_property
    def note(self) -> str | None:
        """How many of the features ever selected are near-copies of one another, in one sentence; None if none is."""
        return note_on_copies(self.family.base, np.flatnonzero(self.selected.any(axis=0)))

    @property
    def proves(self) -> bool:
        """Whether `needed` and `survives` are proved: with method "exact" they are."""
        return all(result.method == "exact" for result in self.results)

    @cached_property
    def needed(self) -> BoolArray:
        r"""Mask of shape (m, d): which features a point cannot do without.

        At a budget with the vector v found there, feature j is needed if every k-sparse direction w with
        :math:`(1 + \mathrm{gap})\,\mathrm{value}(w) \ge \mathrm{value}(v)` uses it. With method "exact" every True is
        proved, by bounds on the problems without j, and what their searches could not settle is False (see
        `unsettled`); with other methods True means that no such w was found. Computed when first asked for, which takes
        about as long as the path did.

        Examples
        --------
        >>> import noap
        >>> X = [[2.0, 1.9, 2.0], [-2.0, -2.1, -2.0], [1.0, 1.1, 1.0], [-1.0, -0.9, -1.0]]
        >>> noap.path(X, k=2, rhos=[0.0, 0.5]).needed  # the third feature equals the first
        array([[False,  True, False],
               [False,  True, False]])
        """
        return self._standing(NEEDED)

    @cached_property
    def shared(self) -> BoolArray:
        """Mask of shape (m, d): which selected features a direction within the asked gap does without."""
        return self._standing(SHARED)

    @cached_property
    def unsettled(self) -> BoolArray:
        """Mask of shape (m, d): of which selected features the searches could not say whether they are needed."""
        return self._standing(OPEN)

    @cached_property
    def _standings(self) -> IntArray:
        return standings(self)

    def _standing(self, wanted: int) -> BoolArray:
        mask: BoolArray = self._standings == wanted
        mask.flags.writeable = False
        return mask

    @cached_property
    def survives(self) -> FloatArray:
        """Per feature the last rho that needs it (see `needed`); nan if none does.

        To survive is to be measured redundantly enough to outlast errors of that size, as near-copies of noise are.
        """
        return frozen([self.rhos[column].max() if column.any() else np.nan for column in self.needed.T])

    @cached_property
    def lifetimes(self) -> FloatArray:
        """Per feature the last rho whose vector uses it, also where another would do as well; nan if none does.

        On standardised data the last feature standing ties with all others: `survives` does not count that.
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
        roots = self.family.base.costs is None
        lower = self.family.worths(self.vectors, flat).max(axis=1)
        if not roots:
            lower = np.maximum(lower, 0.0)  # to use no feature is worth 0
        upper = convex_bounds(self.rhos, self.bounds, self.family.rho_max, flat, roots=roots)
        return lower.reshape(at.shape), np.maximum(upper, lower).reshape(at.shape)

    def to_frame(self, loadings: bool = False) -> "polars.DataFrame":
        """Return the path as a table with one row per rho.

        Parameters
        ----------
        loadings : bool
            Add one column per feature with its loading (0 where the value is 0).

        Returns
        -------
        polars.DataFrame
            Columns k, rho and noise (or factor), value, bound, gap, status, size and features (a list of names, or of
            positions as text).
        """
        import polars

        names = self._names
        columns: dict[str, Any] = {
            "k": [self.k] * len(self),
            self.swept: self.rhos,
            **({"noise": self.rhos / self.family.noise_unit} if self.family.whole is None else {}),
            "value": self.values,
            "bound": self.bounds,
            "gap": [result.gap for result in self.results],
            "status": [result.status.value for result in self.results],
            "size": [len(support) for support in self.supports],
            "features": polars.Series(
                [[names[j] for j in support] for support in self.supports], dtype=polars.List(str)
            ),
        }
        if loadings:
            shown = np.where(self.selected, self.vectors, 0.0)
            # A feature may be called "rho": the prefix keeps the two apart.
            columns |= {f"loading {name}": shown[:, j] for j, name in enumerate(names)}
        return polars.DataFrame(columns)

    def features_frame(self) -> "polars.DataFrame":
        """Return the features that are ever selected as a table, those that are needed longest first.

        Returns
        -------
        polars.DataFrame
            Columns k, feature (a name, or a position as text), and in noise and in rho (or in factors): survives_noise,
            the last noise that needs the feature, null if none does; needed_noise, shared_noise and unsettled_noise,
            lists of ranges [first, last] of the path's points; survives_rho and so on.

        Examples
        --------
        >>> import noap
        >>> X = [[2.0, 1.9, 2.0], [-2.0, -2.1, -2.0], [1.0, 1.1, 1.0], [-1.0, -0.9, -1.0]]
        >>> noap.path(X, k=2, rhos=[0.0, 0.5]).features_frame().select("feature", "survives_rho", "shared_rho").rows()
        [('1', 0.5, []), ('0', None, [[0.0, 0.5]])]
        """
        return features_frame(self, self._names)

    def plot(self, ax: Any = None, top: int | None = None, unit: str = "noise") -> Any:
        """Draw the robust variance with its certified band, the barcode of the features and their loadings.

        Parameters
        ----------
        ax : matplotlib Axes or sequence of three, optional
            Where to draw: one for the barcode alone, three for all panels; a figure of its own by default.
        top : int, optional
            At most so many features, those that are needed longest; 40 by default.
        unit : "noise" or "rho"
            What the budget is counted in: noise as in tables and reports, or rho as in the paper and in `rhos`. A
            factor on several budgets is drawn as it is.

        Returns
        -------
        matplotlib.figure.Figure
            `figure.savefig("path.png")` writes it.
        """
        # Pictures lie a layer above; the name is resolved when someone asks for one.
        return importlib.import_module("noap.figures").draw_path(self, ax, top, unit)

    def _repr_html_(self) -> str:
        """Return the table that a notebook shows: some of the points."""
        names = self._names
        unit = self.family.noise_unit
        at = [
            (f"{rho / unit:.4g}", f"{rho:.6g}") if self.family.whole is None else (f"{rho:.6g}",) for rho in self.rhos
        ]
        rows = [
            (
                *at[i],
                f"{self.values[i]:.6g}",
                f"{self.bounds[i]:.6g}",
                self.results[i].status.value,
                listed([names[j] for j in self.supports[i]]),
            )
            for i in spread(len(self))
        ]
        shown = "" if len(rows) == len(self) else f"; {len(rows)} of its points"
        shown += "" if self.note is None else f". {self.note}"
        swept = ("noise", "rho") if self.family.whole is None else ("factor",)
        return html_table(f"{self!r}{shown}", rows, (*swept, "value", "bound", "status", "features"))


def _runs(labels: np.ndarray) -> list[tuple[int, int]]:
    """Return the first and last position of every stretch of equal labels."""
    cuts = np.flatnonzero(labels[1:] != labels[:-1])
    starts, ends = [0, *(cuts + 1).tolist()], [*cuts.tolist(), len(labels) - 1]
    return list(zip(starts, ends, strict=True))
