"""What reads well in the repository and must be said differently to Sphinx."""

import re
from collections.abc import Iterator
from pathlib import Path

from sphinx.application import Sphinx

# Code and formulas are left alone; a bar anywhere else is a norm and not a substitution.
BAR = re.compile(r"(``.*?``|:math:`[^`]*`|`[^`]*`)|\|")
# Pages that noap writes for terminals and code hosts alike: their symbols are words.
WRITTEN = ("benchmarks", "reproduction/")
KEPT = re.compile(r"(`[^`\n]*`|!?\[[^\]\n]*\]\([^)\n]*\)|^ {4}.*$|^#.*$)", re.MULTILINE)
SYMBOLS = (
    (
        r"rho = lambda(2 delta - delta^2)/(sqrt(1+lambda) + sqrt(1+lambda(1-delta)^2)) sqrt(n)/(sqrt(k)-1)",
        r"$\rho = \frac{\lambda (2 \delta - \delta^2)}{\sqrt{1 + \lambda} + \sqrt{1 + \lambda (1 - \delta)^2}}"
        r" \cdot \frac{\sqrt n}{\sqrt k - 1}$",
    ),
    ("rho <= c delta lambda sqrt(n/k)", r"$\rho \le c\, \delta\, \lambda \sqrt{n/k}$"),
    ("sqrt(1 + lambda)", r"$\sqrt{1 + \lambda}$"),
    ("1 - delta", r"$1 - \delta$"),
    ("rho >= rho_max", r"$\rho \ge \rho_{\max}$"),
    ("rho-bar", r"$\bar\rho$"),
    ("lambda", r"$\lambda$"),
    ("delta", r"$\delta$"),
    ("rho", r"$\rho$"),
    ("k1", r"$k_1$"),
    (">=", "≥"),
    ("<=", "≤"),
)
TABLE = dict(SYMBOLS)
WORDS = re.compile("|".join(rf"(?<![\w$\\]){re.escape(word)}(?![\w])" for word, _ in SYMBOLS))
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


def symbols(app: Sphinx, docname: str, source: list[str]) -> None:
    """Typeset the symbols of a page that noap has written."""
    if docname.startswith(WRITTEN):
        parts = KEPT.split(source[0])
        parts[::2] = (WORDS.sub(lambda found: TABLE[found.group(0)], part) for part in parts[::2])
        parts[1::2] = (
            re.sub(r"\brho\b", "\N{GREEK SMALL LETTER RHO}", part) if part.startswith("#") else part
            for part in parts[1::2]
        )
        source[0] = "".join(parts)


def unlisted(app: Sphinx, docname: str, source: list[str]) -> None:
    """List the pages that the first page does not name under a caption of their own: none is lost."""
    if docname == "index":
        pages = sorted(path.stem for path in Path(app.srcdir).glob("*.md") if path.stem != docname)
        left = [page for page in pages if not re.search(rf"^{re.escape(page)}$", source[0], re.MULTILINE)]
        if left:
            source[0] += "\n```{toctree}\n:hidden:\n:caption: More\n\n" + "\n".join(left) + "\n```\n"


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the extension."""
    app.connect("autodoc-process-docstring", bars)
    # Before the examples run: what they print is not ours to change.
    app.connect("source-read", links, priority=100)
    app.connect("source-read", symbols, priority=110)
    app.connect("source-read", unlisted, priority=120)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
