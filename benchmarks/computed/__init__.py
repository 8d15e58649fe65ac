"""Figures in pages that people write: each block of them is computed here from the committed results.

A page holds a block between two comments, `<!-- computed: NAME -->` and `<!-- end of NAME -->`. Run `python -m
benchmarks.computed` after results have changed: it writes the blocks anew. A test compares them.
"""

import re
from collections.abc import Callable

from benchmarks.computed import pages
from benchmarks.computed.expectations import expectations, open_instances
from benchmarks.computed.reproduced import gaps, half_an_hour, this_run
from benchmarks.versions import ROOT

__all__ = ["BLOCKS", "PAGES", "ROOT", "rewritten", "sources"]

# The block, the page that holds it, and what computes it; the results it reads are in the function's own `sources`.
BLOCKS: dict[str, tuple[str, Callable[[], str]]] = {
    "expectations": ("README.md", expectations),
    "open": ("docs/open.md", open_instances),
    "relaxation": ("docs/tree.md", pages.relaxed),
    "entries": ("docs/adversaries.md", pages.entries),
    "finishes": ("docs/choosing.md", pages.finishes),
    "paths": ("docs/k-path.md", pages.paths),
    "path": ("docs/path.md", pages.path_times),
    "sample_wise": ("docs/tree.md", pages.sample_wise),
    "wide": ("docs/tree.md", pages.wide),
    "unbranched": ("docs/path.md", pages.unbranched),
    "together": ("docs/components.md", pages.together),
    "metric": ("docs/generalised.md", pages.metric),
    "packed": ("docs/components.md", pages.packed),
    "stocks": ("docs/components.md", pages.stocks),
    "this_run": ("docs/reproduction.md", this_run),
    "gaps": ("docs/reproduction.md", gaps),
    "half_an_hour": ("docs/reproduction.md", half_an_hour),
    "growth": ("docs/scaling.md", pages.growth),
    "public": ("docs/scaling.md", pages.public),
    "terms": ("docs/scaling.md", pages.terms),
}
PAGES = sorted({page for page, _ in BLOCKS.values()})
_BLOCK = re.compile(r"(<!-- computed: (\w+) -->\n)(?:.*?\n)??(<!-- end of \2 -->)", re.DOTALL)


def rewritten(page: str, text: str) -> str:
    """Return the text of a page with its blocks as the results have them."""

    def block(match: "re.Match[str]") -> str:
        home, compute = BLOCKS[match[2]]
        assert home == page, f"{page} holds the block {match[2]} of {home}"
        return f"{match[1]}\n{compute().strip()}\n\n{match[3]}"

    return _BLOCK.sub(block, text)


def sources(name: str) -> tuple[str, ...]:
    """Return the results that a block is made of, as paths from the root of the repository."""
    found: tuple[str, ...] = BLOCKS[name][1].sources  # type: ignore[attr-defined]
    return found
