"""Batches of rows from Parquet or text files, one file after the other, in bounded memory."""

import glob
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from noap.data.files.reading import Reading, is_text
from noap.data.streams.sources import ParquetSource, TextSource
from noap.errors import InvalidProblem

if TYPE_CHECKING:
    import polars

__all__ = ["batches", "is_pattern", "paths_of"]


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
        found = sorted(path for path in where.iterdir() if _in_batches(path))
    elif where.is_file():
        found = [where]
    else:
        found = sorted(Path(name) for name in glob.glob(pattern, recursive=True))
    if not found:
        raise InvalidProblem(f"FILE {pattern} matches no file; check the pattern, and quote it against the shell.")
    for path in found:
        if not _in_batches(path):
            raise InvalidProblem(
                f"FILE {path} must end in .parquet, .csv, .tsv or .txt (also with .gz) to be read in batches."
            )
    return tuple(found)


def _in_batches(path: Path) -> bool:
    return path.suffix.lower() == ".parquet" or is_text(path)


def batches(paths: tuple[Path, ...], batch_bytes: int, reading: Reading | None = None) -> Iterator["polars.DataFrame"]:
    """Yield the rows of the files as float64 frames of about `batch_bytes`, with the same columns throughout.

    Parameters
    ----------
    paths : tuple of Path
        Parquet or text; every file has the columns of the first, in any order.
    batch_bytes : int
        Size of a batch as float64. What the reader decodes ahead comes on top: a few row groups of a Parquet file.
    reading : Reading, optional
        What the user says about the files; the rest is found out, for each by itself.
    """
    import polars as pl

    asked = Reading() if reading is None else reading
    names: list[str] | None = None
    for path in paths:
        source = ParquetSource(path) if path.suffix.lower() == ".parquet" else TextSource(path, asked)
        try:
            frame, own = source.features(asked, is_first=names is None)
            names = own if names is None else names
            if set(own) != set(names):
                odd = sorted(set(own) ^ set(names))[0]
                raise InvalidProblem(f"FILE {path} and {paths[0]} must have the same columns; only one has {odd!r}.")
            rows = max(batch_bytes // (8 * max(len(names), 1)), 1)
            reader = frame.select(names).collect_batches(chunk_size=rows)
            try:
                for batch in reader:
                    yield source.checked(batch)
            finally:
                # Whoever stops halfway must not leave the reader's threads waiting; older versions have no such call.
                getattr(reader, "stop", lambda: None)()
        except (pl.exceptions.PolarsError, OSError) as error:
            source.explain(names or [], error)
