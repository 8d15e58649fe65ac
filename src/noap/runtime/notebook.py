"""Small HTML tables for notebooks, with all text escaped."""

from collections.abc import Iterable, Sequence
from html import escape

__all__ = ["html_table", "spread"]


def html_table(caption: str, rows: Iterable[Sequence[object]], header: Sequence[str] = ()) -> str:
    """Return an HTML table with a caption above; the first cell of a row is its heading.

    Examples
    --------
    >>> html_table("a < b", [("v", 0.5)])
    '<table><caption style="caption-side:top;text-align:left">a &lt; b</caption><tr><th>v</th><td>0.5</td></tr></table>'
    """
    head = "".join(f"<th>{escape(name)}</th>" for name in header)
    body = "".join(
        f"<tr><th>{escape(str(first))}</th>{''.join(f'<td>{escape(str(cell))}</td>' for cell in rest)}</tr>"
        for first, *rest in rows
    )
    above = f"<tr>{head}</tr>" if head else ""
    return f'<table><caption style="caption-side:top;text-align:left">{escape(caption)}</caption>{above}{body}</table>'


def spread(count: int, most: int = 8) -> list[int]:
    """Return at most `most` positions of `count`, evenly spread, the first and the last among them.

    Examples
    --------
    >>> spread(3), spread(9, most=3)
    ([0, 1, 2], [0, 4, 8])
    """
    if count <= most:
        return list(range(count))
    return [round(i * (count - 1) / (most - 1)) for i in range(most)]
