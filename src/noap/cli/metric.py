"""The metric of a problem as a second file says it."""

import warnings
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np

from noap.data.files.reading import Reading
from noap.data.files.table import Table, read_table
from noap.data.metric import metric_from_samples
from noap.errors import IdentifierWarning, InvalidProblem
from noap.linalg.types import FloatArray

__all__ = ["MetricOf", "read_metric", "require_metric_fits"]

MetricOf = Callable[[bool, bool], FloatArray]
_RIDGE = 1e-3


def require_metric_fits(metric: Path | None, ridge: float | None, *, streamed: bool, components: int = 1) -> None:
    """Raise InvalidProblem where --metric does not go together with other options."""
    if metric is None:
        if ridge is not None:
            raise InvalidProblem("--metric-ridge says what is added to the samples of --metric; add --metric.")
        return
    if streamed:
        raise InvalidProblem("--metric needs FILE as one table; leave out --stream, and name one file.")
    if components != 1:
        raise InvalidProblem("--metric is for one component, the one of -c 1; leave out -c.")


def read_metric(path: Path, ridge: float | None, table: Table, reading: Reading) -> MetricOf:
    """Read the metric of the features of a table; the answer takes whether that is centred, and whether it is scaled.

    By shape, with d features: one column of d numbers is the diagonal of B, in the order of the features; d rows and
    columns that are symmetric are B; anything else are samples Y of the same features, centred and divided by what the
    columns of the table are divided by, and B = Y'Y/m + ridge times the mean of its diagonal. Where the file names all
    features these are taken by name; rows of a matrix are in the order of its columns.
    """
    d, names = len(table.names), table.names
    given = _read(path, reading, names)
    X = np.asarray(given.X if isinstance(given.X, np.ndarray) else given.X.toarray(), dtype=np.float64)
    order = [given.names.index(name) for name in names] if set(names) <= set(given.names) else None
    if len(X) == X.shape[1] and bool((X == X.T).all()) and (order is not None or len(X) == d):
        _require_no_ridge(ridge, "a matrix")
        B = X if order is None else X[np.ix_(order, order)]
        return lambda center, scale: B
    if X.shape[1] == 1 and d > 1:
        if len(X) != d:
            raise InvalidProblem(
                f"--metric {path} has {len(X)} numbers in one column and FILE has {d} features; give it one for each, "
                "and --no-header if the first line of both files is one of numbers."
            )
        _require_no_ridge(ridge, "a diagonal")
        return lambda center, scale: X[:, 0]
    X = X if order is None else X[:, order]
    if X.shape[1] != d:
        raise InvalidProblem(
            f"--metric {path} has {X.shape[1]} columns and FILE has {d} features; give it one column of {d} numbers, a "
            f"symmetric table of {d} x {d}, or samples of the same features."
        )

    def of_samples(center: bool, scale: bool) -> FloatArray:
        Y = X - X.mean(axis=0) if center else X
        return metric_from_samples(Y / table.scales(center, scale), _RIDGE if ridge is None else ridge)

    return of_samples


def _read(path: Path, reading: Reading, names: tuple[str, ...]) -> Table:
    """Read all columns of the table; only those of the features where others hold no numbers."""
    whole = replace(reading, columns=(), drop=(), index=None)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", IdentifierWarning)  # a diagonal may well look like row numbers
        try:
            return read_table(path, whole)
        except InvalidProblem as error:
            first = error
        try:
            return read_table(path, replace(whole, columns=names))
        except InvalidProblem:
            raise InvalidProblem(str(first).replace("FILE", "--metric", 1)) from None


def _require_no_ridge(ridge: float | None, what: str) -> None:
    if ridge is not None:
        raise InvalidProblem(f"--metric-ridge is for samples, but --metric is {what}; leave it out.")
