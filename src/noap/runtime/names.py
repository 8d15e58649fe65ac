"""Names and numbers of things in a sentence."""

from collections.abc import Sequence

__all__ = ["counted", "listed"]


def counted(number: int, what: str) -> str:
    """Return a number of things, named in the singular.

    Examples
    --------
    >>> counted(1, "support"), counted(0, "support"), counted(3, "support")
    ('1 support', '0 supports', '3 supports')
    """
    return f"{number} {what}{'' if number == 1 else 's'}"


def listed(names: Sequence[str], most: int | None = 6) -> str:
    """Return at most `most` names, separated by commas (by semicolons if a name holds one), and the number left out.

    Examples
    --------
    >>> listed("abcdefgh", most=3), listed(["length, cm", "width"])
    ('a, b, c and 5 more', 'length, cm; width')
    """
    shown = list(names[:most])
    more = f" and {len(names) - len(shown)} more" if len(names) > len(shown) else ""
    return ("; " if any("," in name for name in shown) else ", ").join(shown) + more
