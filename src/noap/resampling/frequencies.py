"""How often each feature comes back on resampled data."""

import importlib
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from noap.data.arguments import as_share
from noap.linalg.types import FloatArray, IntArray
from noap.result import Result
from noap.runtime.names import counted

if TYPE_CHECKING:
    import polars

__all__ = ["Stability"]


@dataclass(frozen=True, eq=False, repr=False)
class Stability:
    """The answers on resampled data, as returned by :func:`noap.stability`.

    Attributes
    ----------
    result : Result
        The answer on the data themselves.
    vectors : array of shape (n_boot, d)
        What each resample gave: unit vectors, the entry of largest magnitude positive; zeros where the adversary leaves
        nothing.
    values : array of shape (n_boot,)
        Their robust variances, each on its own resample.
    frequencies : array of shape (d,)
        The share of resamples that select each feature.
    supports : tuple of int arrays
    support_frequency : float
        The share of resamples that select exactly the features of `result`.
    """

    result: Result
    vectors: FloatArray
    values: FloatArray

    def __post_init__(self) -> None:
        self.vectors.flags.writeable = False
        self.values.flags.writeable = False

    def __repr__(self) -> str:
        return (
            f"Stability({counted(len(self.values), 'resample')}, the same "
            f"{counted(len(self.result.support), 'feature')} in "
            f"{self.support_frequency:.0%} of them)"
        )

    @cached_property
    def frequencies(self) -> FloatArray:
        """The share of resamples that select each feature."""
        frequencies: FloatArray = (self.vectors != 0).mean(axis=0)
        frequencies.flags.writeable = False
        return frequencies

    @cached_property
    def supports(self) -> tuple[IntArray, ...]:
        """The features that each resample selects."""
        return tuple(np.flatnonzero(v) for v in self.vectors)

    @property
    def support_frequency(self) -> float:
        """The share of resamples that select exactly the features of `result`."""
        return float(np.mean([np.array_equal(support, self.result.support) for support in self.supports]))

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the features, or their positions as text."""
        problem = self.result.problem
        return problem.feature_names or tuple(str(j) for j in range(problem.n_features))

    def stable(self, share: float = 0.8) -> tuple[str, ...]:
        """Return the names of the features that at least this share of the resamples selects, most frequent first."""
        wanted = as_share("share", share)
        order = np.argsort(-self.frequencies, kind="stable")
        return tuple(self.names[j] for j in order if self.frequencies[j] >= wanted)

    def to_frame(self) -> "polars.DataFrame":
        """Return a table with one row per feature, most frequent first.

        Returns
        -------
        polars.DataFrame
            Columns feature, frequency, selected (by `result`), loading (in `result`), and low and high, between which
            lie 90 % of the loadings of the resamples that select the feature (null where none does).
        """
        import polars

        order = np.argsort(-self.frequencies, kind="stable")
        ranges = [self._range(int(j)) for j in order]
        return polars.DataFrame(
            {
                "feature": [self.names[j] for j in order],
                "frequency": self.frequencies[order],
                "selected": [bool(self.result.v[j] != 0) for j in order],
                "loading": self.result.v[order],
                "low": [low for low, _ in ranges],
                "high": [high for _, high in ranges],
            },
            schema_overrides={"low": polars.Float64, "high": polars.Float64},
        )

    def _range(self, j: int) -> tuple[float | None, float | None]:
        # Signs are a convention: a resample whose vector points the other way says the same.
        signs = np.where(self.vectors @ self.result.v < 0, -1.0, 1.0)
        loadings = (self.vectors[:, j] * signs)[self.vectors[:, j] != 0]
        if not loadings.size:
            return None, None
        low, high = np.quantile(loadings, [0.05, 0.95])
        return float(low), float(high)

    def plot(self, ax: Any = None, top: int = 20) -> Any:
        """Draw how often each feature returns, most frequent on top.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; a figure of its own by default.
        top : int
            At most so many features.

        Returns
        -------
        matplotlib.figure.Figure
        """
        # Pictures lie a layer above; the name is resolved when someone asks for one.
        return importlib.import_module("noap.figures").draw_stability(self, ax=ax, top=top)
