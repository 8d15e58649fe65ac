"""What a user may say about a file, where noap would otherwise find out or guess."""

import shlex
from dataclasses import dataclass
from pathlib import Path

from noap.errors import InvalidProblem

__all__ = ["Reading", "is_text", "stem_suffix"]

_SEPARATORS = {"tab": "\t", "\\t": "\t", "space": " ", "comma": ",", "semicolon": ";", "pipe": "|"}
_TEXT = (".csv", ".tsv", ".txt")


@dataclass(frozen=True)
class Reading:
    r"""How to read a table; what is None is found out.

    Attributes
    ----------
    delimiter : str, optional
        One character between the entries of a line, or "tab", "space".
    decimal : str, optional
        "." or ",".
    header : bool, optional
        Whether the first line holds names. None takes it so, with a warning if it holds numbers only.
    columns : tuple of str
        The columns to use, in this order; all if empty. An entry is a name, or names with commas between.
    drop : tuple of str
        Columns to leave out, in the same way.
    index : str, optional
        The column that holds labels of rows; it is left out.
    sheet : str, optional
        Of an Excel file; the first one by default.

    Examples
    --------
    >>> Reading(delimiter="tab").separator
    '\t'
    >>> Reading(drop=("species",), decimal=",").flags
    '--decimal , --drop species'
    """

    delimiter: str | None = None
    decimal: str | None = None
    header: bool | None = None
    columns: tuple[str, ...] = ()
    drop: tuple[str, ...] = ()
    index: str | None = None
    sheet: str | None = None

    def __post_init__(self) -> None:
        separator = self.separator
        if separator is not None and (len(separator) != 1 or separator.isalnum() or separator in '"\n\r.+-'):
            raise InvalidProblem(
                f"--delimiter must be one character such as ; or the word tab, got {self.delimiter!r}."
            )
        if self.decimal not in (None, ".", ","):
            raise InvalidProblem(f"--decimal must be . or , got {self.decimal!r}.")
        if separator is not None and separator == self.decimal:
            raise InvalidProblem(
                f"--delimiter and --decimal cannot both be {separator!r}; say what is between entries."
            )

    @property
    def separator(self) -> str | None:
        """The delimiter as the character it stands for."""
        return None if self.delimiter is None else _SEPARATORS.get(self.delimiter, self.delimiter)

    @property
    def flags(self) -> str:
        """The same on the command line, for a command that another one is to repeat."""
        given = [("--delimiter", self.delimiter), ("--decimal", self.decimal)]
        words = [f"{option} {shlex.quote(value)}" for option, value in given if value is not None]
        if self.header is not None:
            words.append("--header" if self.header else "--no-header")
        repeated = (("--columns", self.columns), ("--drop", self.drop))
        words += [f"{option} {shlex.quote(name)}" for option, names in repeated for name in names]
        given = [("--index", self.index), ("--sheet", self.sheet)]
        words += [f"{option} {shlex.quote(value)}" for option, value in given if value is not None]
        return " ".join(words)


def stem_suffix(path: Path) -> str:
    """Return the suffix that says what is in a file, whether or not it is compressed.

    Examples
    --------
    >>> stem_suffix(Path("data.CSV.gz")), stem_suffix(Path("data.npy"))
    ('.csv', '.npy')
    """
    suffix = path.suffix.lower()
    return Path(path.stem).suffix.lower() if suffix == ".gz" else suffix


def is_text(path: Path) -> bool:
    """Return whether a file holds lines of text, by its name."""
    return stem_suffix(path) in _TEXT
