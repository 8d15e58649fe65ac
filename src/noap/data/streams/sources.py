"""One file to be read in batches: its features as a lazy frame, and what is wrong when it cannot be read."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from noap.data.files.cells import Odd
from noap.data.files.columns import chosen
from noap.data.files.dialect import dialect_of
from noap.data.files.frames import (
    is_nameless,
    refuse_gap,
    refuse_infinity,
    refuse_text,
    warn_of_labels,
    without_empty_rows,
)
from noap.data.files.lines import first_odd
from noap.data.files.reading import Reading
from noap.data.files.text import column_names, explain
from noap.errors import InvalidProblem

if TYPE_CHECKING:
    import polars

__all__ = ["ParquetSource", "TextSource"]


class ParquetSource:
    """A Parquet file."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def features(self, reading: Reading, is_first: bool) -> tuple["polars.LazyFrame", list[str]]:
        """Return the columns that are features as float64, and their names; only the first file warns."""
        import polars as pl

        frame = pl.scan_parquet(self.path)
        schema = frame.collect_schema()
        names = _features(schema.names(), reading, self.path, is_first)
        texts = [name for name in names if not (schema[name].is_numeric() or schema[name] in (pl.Boolean, pl.Null))]
        if texts:
            refuse_text(self.path, texts, None, str(schema[texts[0]]).lower())
        return frame.select(pl.col(names).cast(pl.Float64)), names

    def checked(self, batch: "polars.DataFrame") -> "polars.DataFrame":
        """Return the batch: what is missing in it is noticed when it is summed."""
        return batch

    def explain(self, names: list[str], error: Exception) -> NoReturn:
        """Raise InvalidProblem for what was met on the way."""
        raise InvalidProblem(f"FILE {self.path} cannot be read: {str(error).splitlines()[0]}") from None


class TextSource:
    """A text table."""

    def __init__(self, path: Path, reading: Reading) -> None:
        self.path, self.dialect = path, dialect_of(path, reading)
        self.names: tuple[str, ...] = ()
        if self.dialect.encoding not in ("utf-8", "utf-8-sig"):
            raise InvalidProblem(f"FILE {path} must be in UTF-8 to be read in batches; save it so.")

    def features(self, reading: Reading, is_first: bool) -> tuple["polars.LazyFrame", list[str]]:
        """Return the columns that are features as float64, and their names; only the first file warns."""
        import polars as pl

        self.names = column_names(self.path, self.dialect)
        schema = self._scan({}).collect_schema()
        if len(schema) != len(self.names):
            explain(self.path, self.dialect, None)
        names = _features(self.names, reading, self.path, is_first)
        # The first rows say what is a number, not that the others are whole: all are read as float64. What they leave
        # as text may be numbers between blanks. Beside decimal commas polars takes a point for one too: it sees text.
        number: polars.DataType = pl.String() if self.dialect.decimal == "," else pl.Float64()
        kinds = {name: number if schema[name].is_numeric() else schema[name] for name in names}
        return self._scan(kinds).select(self._number(name, kind) for name, kind in kinds.items()), names

    def _scan(self, kinds: "Mapping[str, polars.DataType]") -> "polars.LazyFrame":
        import polars as pl

        return pl.scan_csv(
            self.path,
            separator=self.dialect.separator,
            has_header=self.dialect.header,
            decimal_comma=self.dialect.decimal == ",",
            new_columns=list(self.names),
            schema_overrides=kinds,
        )

    def _number(self, name: str, kind: "polars.DataType") -> "polars.Expr":
        import polars as pl

        column = pl.col(name)
        if kind == pl.String:
            column = column.str.strip_chars()
            if self.dialect.decimal == ",":
                column = column.str.replace(".", "_", literal=True).str.replace(",", ".", literal=True)
        return column.cast(pl.Float64)

    def checked(self, batch: "polars.DataFrame") -> "polars.DataFrame":
        """Return the batch without the rows of empty lines, or raise InvalidProblem if entries are missing."""
        batch = without_empty_rows(batch)
        if sum(batch.null_count().row(0)):
            self.explain(batch.columns, None)
        return batch

    def explain(self, names: list[str], error: Exception | None) -> NoReturn:
        """Raise InvalidProblem for what was met on the way, with its line."""
        found = first_odd(self.path, self.dialect, [self.names.index(name) for name in names or self.names])
        if found is None:
            explain(self.path, self.dialect, error)
        name, first = self.names[found.position], (f"line {found.line}", found.cell)
        if found.kind is Odd.TEXT:
            refuse_text(self.path, [name], first)
        (refuse_gap if found.kind is Odd.MISSING else refuse_infinity)(self.path, name, first)


def _features(names: tuple[str, ...] | list[str], reading: Reading, path: Path, is_first: bool) -> list[str]:
    positions = chosen(names, reading, path)
    if positions[0] == 0 and len(positions) > 1 and not reading.columns and is_nameless(names[0]):
        if is_first:
            warn_of_labels(names[0], path)
        positions = positions[1:]
    return [names[position] for position in positions]
