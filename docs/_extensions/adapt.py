"""What reads well in the repository and must be said differently to Sphinx."""

import re
from collections.abc import Iterator

from sphinx.application import Sphinx

# Code and formulas are left alone; a bar anywhere else is a norm and not a substitution.
BAR = re.compile(r"(``.*?``|:math:`[^`]*`|`[^`]*`)|\|")
OUTSIDE = re.compile(r"\[([^\]]+)\]\(\.\./([^)]+)\)")


def bars(app: Sphinx, what: str, name: str, thing: object, options: object, lines: list[str]) -> None:
    """Escape the bars of norms in a docstring."""
    lines[:] = escaped(lines)


def escaped(lines: list[str]) -> Iterator[str]:
    """Yield the lines with bars escaped, except in formulas and in examples."""
    formula: int | None = None
    for line in lines:
        depth = len(line) - len(line.lstrip())
        if formula is not None and line.strip() and depth <= formula:
            formula = None
        if line.lstrip().startswith(".. math::"):
            formula = depth
        if formula is not None or line.lstrip().startswith((">>>", "...")):
            yield line
        else:
            yield BAR.sub(lambda found: found.group(1) or r"\|", line)


def links(app: Sphinx, docname: str, source: list[str]) -> None:
    """Name files of the repository that are not pages of the site instead of linking to them."""
    source[0] = OUTSIDE.sub(lambda link: f"{link.group(1)} (`{link.group(2)}`)", source[0])


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the extension."""
    app.connect("autodoc-process-docstring", bars)
    # Before the examples run: what they print is not ours to change.
    app.connect("source-read", links, priority=100)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
