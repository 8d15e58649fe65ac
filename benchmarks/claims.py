"""Every measured figure in README and docs, and the file that proves it.

Run: python -m benchmarks.claims prints the list; what has no proof comes first, and then the exit code is 1.

A *claim* is a paragraph, list or table of a page with a figure in it: a number beside a unit (of time, of memory, %,
"times", "3 of 7"), or a table with such a unit, or nodes or a gap, in its head. Code, formulas and targets of links do
not count, nor do headings. A claim is proved

- inside a computed block (`benchmarks.computed`), by the results that the block is made of;
- after `<!-- measured: FILE, FILE -->` right before it, by these files: results, or tests as `tests/x.py::test_y`;
- not at all after `<!-- not measured: WHY -->`: settings, examples, formulas, what others published.

Pages that are written by a command as a whole (GENERATED) are proved by it.
"""

import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass

from benchmarks.computed import sources
from benchmarks.versions import ROOT
from noap.experiments.formats import markdown

__all__ = ["GENERATED", "ROOT", "Claim", "claims_of", "pages", "unproved"]

# Pages that a command writes, and what they are made of.
GENERATED = {
    "docs/benchmarks.md": "benchmarks/results, `python -m benchmarks --render`, tests/test_bench.py",
    "docs/reproduction/README.md": "docs/reproduction/points.csv, `noap reproduce`, tests/paper",
    "docs/reproduction/claims.md": "docs/reproduction/points.csv, `noap reproduce`, tests/paper",
}
_NUMBER = r"\d+(?:,\d{3})*(?:\.\d+)?(?:e[-+]?\d+)?"
_UNITS = r"ms|µs|s|seconds?|minutes?|hours?|kB|MB|GB|GiB|bytes|%|per cent|times"
_FIGURE = re.compile(
    rf"{_NUMBER}\s?(?:{_UNITS})(?!\w)|{_NUMBER} of (?:the |these |those )?{_NUMBER}|factor of {_NUMBER}"
)
_HEAD = re.compile(r"\b(?:seconds|time|ms|memory|MB|gap|nodes|closed|verify|exact)\b")
_MARK = re.compile(r"<!-- (measured|not measured|computed|end of)(?:: | )(.*?) -->", re.DOTALL)


@dataclass(frozen=True)
class Claim:
    """A block with figures: where it is, its figures, and what proves it (None: nothing)."""

    page: str
    line: int
    figures: tuple[str, ...]
    proof: str | None
    text: str


def pages() -> list[str]:
    """Return the pages that may make claims, as paths from the root."""
    found = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    names = [path.relative_to(ROOT).as_posix() for path in found]
    return [name for name in names if name not in GENERATED and not name.startswith("docs/_executed")]


def claims_of(page: str, text: str) -> Iterator[Claim]:
    """Yield the claims of a page, with what is said to prove them."""
    mark: tuple[str, str] | None = None
    block: str | None = None
    for line, part in _blocks(text):
        said = _MARK.fullmatch(part)
        if said is not None:
            kind, what = said[1], " ".join(said[2].split())
            block = what if kind == "computed" else None if kind == "end of" else block
            mark = (kind, what) if kind in ("measured", "not measured") else None
            continue
        figures = tuple(figures_of(part))
        if figures and block is not None:
            yield Claim(page, line, figures, f"computed: {', '.join(sources(block))}", part)
        elif figures:
            yield Claim(page, line, figures, None if mark is None else f"{mark[0]}: {mark[1]}", part)
        mark = None


def figures_of(block: str) -> list[str]:
    """Return the figures of a block; none of code, formulas and targets of links."""
    if block.startswith("#"):
        return []
    plain = re.sub(r"`[^`]*`|\$\$.*?\$\$|\$[^$]*\$|\]\([^)]*\)", " ", block, flags=re.DOTALL)
    found = [" ".join(one.split()) for one in _FIGURE.findall(plain)]
    if not found and block.startswith("|") and _HEAD.search(plain.splitlines()[0]) and re.search(r"\d", plain):
        found = [block.splitlines()[0]]
    return found


def _blocks(text: str) -> Iterator[tuple[int, str]]:
    """Yield blocks between blank lines with their line numbers; comments are blocks of their own, code is none."""
    lines: list[str] = []
    fenced, comment, listed = False, False, False
    for number, line in enumerate([*text.splitlines(), ""], start=1):
        if line.lstrip().startswith("```"):
            fenced = not fenced
            continue
        # Four spaces after a blank line are code, but inside a list they belong to it.
        if fenced or (line.startswith("    ") and not lines and not listed):
            continue
        comment = comment or line.startswith("<!--")
        if (not line.strip() or line.startswith("<!--")) and lines and not (comment and "-->" not in line + lines[-1]):
            yield number - len(lines), "\n".join(lines)
            listed = bool(re.match(r"[-*\d]", lines[0])) or (listed and lines[0].startswith(" "))
            lines = []
        if line.strip():
            lines.append(line)
        if comment and line.rstrip().endswith("-->"):
            yield number - len(lines) + 1, "\n".join(lines)
            lines, comment = [], False


def problem_with(proof: str) -> str | None:
    """Return what is wrong with a proof, None if nothing."""
    kind, _, what = proof.partition(": ")
    if kind == "not measured":
        return None if what else "no reason is given"
    for name in what.split(", "):
        place, _, test = name.partition("::")
        if not (ROOT / place).exists():
            return f"{place} is not there"
        if test and f"def {test}(" not in (ROOT / place).read_text(encoding="utf-8"):
            return f"{place} has no {test}"
    return None


def unproved(found: list[Claim]) -> list[tuple[Claim, str]]:
    """Return the claims that nothing proves, and why."""
    wrong = [(claim, "no proof" if claim.proof is None else problem_with(claim.proof)) for claim in found]
    return [(claim, why) for claim, why in wrong if why is not None]


def main() -> int:
    found = [claim for page in pages() for claim in claims_of(page, (ROOT / page).read_text(encoding="utf-8"))]
    left = unproved(found)
    for claim, why in left:
        print(f"{claim.page}:{claim.line}: {why}: {'; '.join(claim.figures)}")
    body = [[f"{one.page}:{one.line}", "; ".join(one.figures), one.proof] for one in found if one.proof is not None]
    body += [[page, "all", proof] for page, proof in GENERATED.items()]
    print(markdown(["claim", "figures", "proof"], body))
    print(f"{len(found)} claims, {len(left)} without a proof.")
    return 1 if left else 0


if __name__ == "__main__":
    sys.exit(main())
