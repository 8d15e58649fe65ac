"""What an entry of a text table is: a number, missing, or neither."""

import enum
import re

__all__ = ["MISSING", "Odd", "is_number", "odd"]

# What spreadsheets, R, pandas, databases and people write where there is no number.
MISSING = ("", "na", "n/a", "nan", "null", "none", "nil", "missing", "?", "-", "--", ".", "#n/a", "#na", "<na>")
_POINT = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
_COMMA = re.compile(r"[+-]?(\d+,?\d*|,\d+)([eE][+-]?\d+)?")
_INFINITE = re.compile(r"[+-]?inf(inity)?", re.IGNORECASE)
_TRUTH = ("true", "false")


class Odd(enum.Enum):
    """What can be wrong with an entry."""

    TEXT = "text"
    MISSING = "missing"
    INFINITE = "infinite"


def is_number(cell: str, decimal: str = ".") -> bool:
    """Return whether an entry without blanks around it is a finite number, written with this decimal mark.

    Examples
    --------
    >>> is_number("-1.5e3"), is_number("1,5"), is_number("1,5", decimal=",")
    (True, False, True)
    """
    return (_COMMA if decimal == "," else _POINT).fullmatch(cell) is not None


def odd(cell: str, decimal: str = ".") -> Odd | None:
    """Return what is odd about an entry, None for a number or a truth value.

    Examples
    --------
    >>> [odd(cell) for cell in (" 2 ", "TRUE", "NA", "inf", "1,5")]
    [None, None, <Odd.MISSING: 'missing'>, <Odd.INFINITE: 'infinite'>, <Odd.TEXT: 'text'>]
    """
    bare = cell.strip()
    if is_number(bare, decimal) or bare.lower() in _TRUTH:
        return None
    if bare.lower() in MISSING:
        return Odd.MISSING
    return Odd.INFINITE if _INFINITE.fullmatch(bare) else Odd.TEXT
