"""Columns that count rows: an identifier among the features."""

import warnings
from typing import Any

import numpy as np

from noap.data.centring import outside
from noap.data.validation import names_of
from noap.errors import IdentifierWarning
from noap.linalg.types import Data
from noap.runtime.names import listed

__all__ = ["rising_columns", "warn_of_identifiers"]

# With fewer rows whole numbers rise by chance: six do so in one of 720 orders.
_FEWEST = 6


def rising_columns(X: Data) -> list[int]:
    """Return the columns of a dense X that hold whole numbers, each above that of the row before.

    Examples
    --------
    >>> rising_columns(np.array([[842000.0 + i, i % 3, 0.5 * i] for i in range(8)]))
    [0]
    """
    if not isinstance(X, np.ndarray) or len(X) < _FEWEST:
        return []
    # The first rows rule out nearly all; what is left is looked through column by column.
    suspects = np.flatnonzero((np.diff(X[:_FEWEST], axis=0) > 0).all(axis=0))
    return [
        int(j)
        for j in suspects
        if bool((X[1:, j] > X[:-1, j]).all()) and np.array_equal(X[:, j], np.floor(X[:, j]), equal_nan=False)
    ]


def warn_of_identifiers(given: Any, data: Data) -> None:
    """Warn of features that look like row numbers, where a DataFrame was given, whose columns have names.

    Parameters
    ----------
    given : what the user passed
    data : its numbers
    """
    names = names_of(given)
    if names is None or not (found := rising_columns(data)):
        return
    labels = listed([repr(names[j]) for j in found], 5)
    warnings.warn(
        f"X holds whole numbers that rise from row to row, as an identifier does, in {labels}, used as a feature; drop "
        "the column if it is none.",
        IdentifierWarning,
        stacklevel=outside(),
    )
