"""Batches of rows from Parquet or CSV files, one file after the other, in bounded memory."""

import glob
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from noap.errors import InvalidProblem

if TYPE_CHECKING:
    import polars

__all__ = ["batches", "is_pattern", "paths_of"]

_SUFFIXES = (".parquet", ".csv")


def is_pattern(text: str) -> bool:
    """Return whether `text` names several files: it has a wildcard or is a folder.

    Examples
    --------
    >>> is_pattern("data/*.parquet"), is_pattern("data.parquet")
    (True, False)
    """
    return glob.has_magic(text) or Path(text).is_dir()


def paths_of(pattern: str) -> tuple[Path, ...]:
    """Return the files that a name, a folder or a pattern with wildcards stands for, in order of their names."""
    where = Path(pattern)
    if where.is_dir():
        found = sorted(path for path in where.iterdir() if path.suffix.lower() in _SUFFIXES)
    elif where.is_file():
        found = [where]
    else:
        found = sorted(Path(name) for name in glob.glob(pattern, recursive=True))
    if not found:
        raise InvalidProblem(f"FILE {pattern} matches no file; check the pattern, and quote it against the shell.")
    for path in found:
        if path.suffix.lower() not in _SUFFIXES:
            raise InvalidProblem(f"FILE {path} must end in .parquet or .csv to be read in batches.")
    return tuple(found)


def batches(paths: tuple[Path, ...], batch_bytes: int) -> Iterator["polars.DataFrame"]:
    """Yield the rows of the files as float64 frames of about `batch_bytes`, with the same columns throughout.

    Parameters
    ----------
    paths : tuple of Path
        Parquet or CSV; every file has the columns of the first, in any order.
    batch_bytes : int
        Size of a batch as float64. What the reader decodes ahead comes on top: a few row groups of a Parquet file.
    """
    import polars as pl

    names: list[str] | None = None
    for path in paths:
        try:
            frame = pl.scan_parquet(path) if path.suffix.lower() == ".parquet" else pl.scan_csv(path)
            schema = frame.collect_schema()
            for name, kind in schema.items():
                if not (kind.is_numeric() or kind in (pl.Boolean, pl.Null)):
                    raise InvalidProblem(
                        f"FILE {path}: column {name!r} holds {str(kind).lower()}, not numbers; encode it or drop it."
                    )
            names = schema.names() if names is None else names
            if set(schema.names()) != set(names):
                odd = sorted(set(schema.names()) ^ set(names))[0]
                raise InvalidProblem(f"FILE {path} and {paths[0]} must have the same columns; only one has {odd!r}.")
            rows = max(batch_bytes // (8 * max(len(names), 1)), 1)
            reader = frame.select(pl.col(names).cast(pl.Float64)).collect_batches(chunk_size=rows)
            try:
                yield from reader
            finally:
                # Whoever stops halfway must not leave the reader's threads waiting; older versions have no such call.
                getattr(reader, "stop", lambda: None)()
        except (pl.exceptions.PolarsError, OSError) as error:
            raise InvalidProblem(f"FILE {path} cannot be read: {str(error).splitlines()[0]}") from None
