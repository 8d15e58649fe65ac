"""Figures in pages that people write: each block of them is computed here from the committed results.

A page holds a block between two comments, `<!-- computed: NAME -->` and `<!-- end of NAME -->`. Run `python -m
benchmarks.computed` after results have changed: it writes the blocks anew. A test compares them.
"""

import re
from collections.abc import Callable
from pathlib import Path

from benchmarks.computed.components import packed, removal, stocks
from benchmarks.computed.expectations import expectations
from benchmarks.computed.many_features import against, growth, public, terms
from benchmarks.computed.open_ones import open_instances
from benchmarks.computed.profiled import faster
from benchmarks.computed.relaxed import closing, relaxed
from benchmarks.computed.remarks import entries, finishes, paths, sample_wise, together, unbranched, wide
from benchmarks.computed.reproduced import gaps, half_an_hour, this_run

__all__ = ["BLOCKS", "PAGES", "rewritten", "sources"]

ROOT = Path(__file__).parent.parent.parent
# The block, the page that holds it, and what computes it; the results it reads are in the function's own `sources`.
BLOCKS: dict[str, tuple[str, Callable[[], str]]] = {
    "expectations": ("README.md", expectations),
    "open": ("docs/open.md", open_instances),
    "relaxation": ("docs/relaxation.md", relaxed),
    "closing": ("docs/relaxation.md", closing),
    "entries": ("docs/adversaries.md", entries),
    "finishes": ("docs/choosing.md", finishes),
    "paths": ("docs/k-path.md", paths),
    "sample_wise": ("docs/exact-sample-wise.md", sample_wise),
    "wide": ("docs/exact-sample-wise.md", wide),
    "unbranched": ("docs/path.md", unbranched),
    "together": ("docs/components.md", together),
    "packed": ("docs/components.md", packed),
    "stocks": ("docs/components.md", stocks),
    "removal": ("docs/components.md", removal),
    "this_run": ("docs/reproduction.md", this_run),
    "gaps": ("docs/reproduction.md", gaps),
    "half_an_hour": ("docs/reproduction.md", half_an_hour),
    "growth": ("docs/scaling.md", growth),
    "public": ("docs/scaling.md", public),
    "against": ("docs/scaling.md", against),
    "faster": ("docs/scaling.md", faster),
    "terms": ("docs/scaling.md", terms),
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
