"""The page of the scoreboard, made from the tables of a run and nothing else."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar, cast

import polars as pl

from noap.bench.boards import BOARDS
from noap.bench.figures import PICTURES, draw
from noap.bench.runner import Results
from noap.errors import InvalidProblem
from noap.measuring.environment import described

__all__ = ["beaten", "write_page"]

_LETTERS = "abcdefghijklmno"
T = TypeVar("T")


def write_page(results: Results, page: Path, pictures: Path, *, command: str) -> None:
    """Write the page and its pictures.

    Parameters
    ----------
    results : Results
    page : Path
        A Markdown file.
    pictures : Path
        Folder for the pictures, somewhere below the page's own folder.
    command : str
        The command that makes the page, named on it.
    """
    inside = pictures.relative_to(page.parent).as_posix()
    parts = ["# Benchmarks", _intro(command), "## Where a peer beats us, and what is open", _first(results)]
    for letter, (name, board) in zip(_LETTERS, BOARDS.items(), strict=True):
        if name not in results.tables:
            continue
        parts.append(f"## ({letter}) {board.title}")
        if name in PICTURES:
            parts.append(f"![{board.title}]({inside}/{name}.svg)")
        parts.append(_said(name, board.show, results).strip())
    parts += ["## What was skipped", _skipped(results), "## Machine, versions, limits", _environment(results)]
    draw(results.tables, pictures)
    page.write_text("\n\n".join(parts) + "\n", encoding="utf-8")


def beaten(results: Results) -> list[str]:
    """Return every kind of place where a peer beats noap, board by board."""
    said = []
    for letter, (name, board) in zip(_LETTERS, BOARDS.items(), strict=True):
        if name in results.tables:
            said += [f"({letter}) {sentence}" for sentence in _said(name, board.beaten, results)]
    return said


def _said(name: str, say: Callable[[pl.DataFrame], T], results: Results) -> T:
    """Return what a board says of its table."""
    try:
        return say(results.tables[name])
    except pl.exceptions.ColumnNotFoundError as error:
        raise InvalidProblem(
            f"{name}.csv was made by another version of noap; run that board again (--board {name}) or delete the file."
        ) from error


def _intro(command: str) -> str:
    return (
        f"Made from the tables of `{command}`; no figure on this page is typed. The methods of a board run in one "
        "process with every library held to one thread, in turns, in an order that turns around every round (memory, "
        "and before and after, need processes of their own). Times are medians of CPU seconds, so that other work on "
        "the machine does not count; ratios are medians of the rounds' own ratios. Every vector is scored on the same "
        "objective, by the closed form of the adversary: as returned (cut to k features and scaled to length 1 if need "
        "be), and after re-solving on its own support."
    )


def _first(results: Results) -> str:
    said = beaten(results)
    if not said:
        return "Nowhere on the boards below."
    return "Every kind of place, board by board:\n\n" + "\n".join(f"- {sentence}" for sentence in said)


def _skipped(results: Results) -> str:
    notes = dict.fromkeys(note for about in _abouts(results).values() for note in about["skipped"])
    return "\n".join(f"- {note}" for note in notes) if notes else "Nothing."


def _abouts(results: Results) -> dict[str, dict[str, Any]]:
    return {name: cast(dict[str, Any], about) for name, about in results.about.items() if name in results.tables}


def _environment(results: Results) -> str:
    lines = []
    for name, about in _abouts(results).items():
        held = sorted({f"{one['library']} {one['threads']}" for one in about["threads"]})
        line = f"{described(about['environment'])}; threads {', '.join(held)}; spec {about['spec']['name']}"
        lines.append((name, line))
    by_line: dict[str, list[str]] = {}
    for name, line in lines:
        by_line.setdefault(line, []).append(name)
    return "\n".join(f"- {', '.join(names)}: {line}." for line, names in by_line.items())
