"""Results of a sweep, in order: their values, bounds and vectors as arrays, and as a table."""

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from noap.linalg.types import FloatArray, IntArray
from noap.result import Result, Status
from noap.runtime.frames import Tabular
from noap.runtime.names import listed
from noap.runtime.notebook import html_table, spread

if TYPE_CHECKING:
    import polars

__all__ = ["ResultSeries", "frozen"]


class ResultSeries(Tabular):
    """Results in the order of the sweep; subclasses say which features each of them selects."""

    results: tuple[Result, ...]
    supports: tuple[IntArray, ...]

    def __len__(self) -> int:
        return len(self.results)

    @property
    def feature_names(self) -> tuple[str, ...] | None:
        """Names of the features, if the data had any."""
        return self.results[-1].problem.feature_names

    @cached_property
    def values(self) -> FloatArray:
        """Robust variance of the vector found at each point."""
        return frozen([result.value for result in self.results])

    @cached_property
    def bounds(self) -> FloatArray:
        """Proved upper bound on the optimum at each point; inf where nothing is proved."""
        return frozen([result.bound for result in self.results])

    @cached_property
    def vectors(self) -> FloatArray:
        """The vectors found, one per row."""
        return frozen([result.v for result in self.results])

    @property
    def _names(self) -> tuple[str, ...]:
        """A name for every feature: that of the data, or its position."""
        return self.results[-1].problem.names

    @property
    def _optimal(self) -> int:
        """The number of results that are proved optimal."""
        return sum(result.status is Status.OPTIMAL for result in self.results)

    def _frame(self, first: dict[str, Any], between: dict[str, Any], loadings: bool) -> "polars.DataFrame":
        """Return the table of all results, with columns of the sweep before and after those that all sweeps share."""
        import polars

        names = self._names
        columns = first | {
            "value": self.values,
            "bound": self.bounds,
            "gap": [result.gap for result in self.results],
            "status": [result.status.value for result in self.results],
            **between,
            "size": [len(support) for support in self.supports],
            "features": polars.Series(
                [[names[j] for j in support] for support in self.supports], dtype=polars.List(str)
            ),
        }
        if loadings:
            shown = np.zeros(self.vectors.shape)
            for i, support in enumerate(self.supports):
                shown[i, support] = self.vectors[i, support]
            # The prefix tells a feature that is called "rho" from the column.
            columns |= {f"loading {name}": shown[:, j] for j, name in enumerate(names)}
        return polars.DataFrame(columns)

    def _table(self, header: tuple[str, ...], cells: Sequence[tuple[object, ...]], things: str, note: str = "") -> str:
        """Return the table that a notebook shows: at most eight results, with cells of the sweep in front."""
        names = self._names
        rows = [
            (
                *cells[i],
                f"{self.values[i]:.6g}",
                f"{self.bounds[i]:.6g}",
                self.results[i].status.value,
                listed([names[j] for j in self.supports[i]]),
            )
            for i in spread(len(self))
        ]
        shown = "" if len(rows) == len(self) else f"; {len(rows)} of its {things}"
        return html_table(f"{self!r}{shown}{note}", rows, (*header, "value", "bound", "status", "features"))


def frozen(entries: Any) -> FloatArray:
    """Return a read-only array."""
    array = np.array(entries, dtype=np.float64)
    array.flags.writeable = False
    return array
