"""The page of the scoreboard, made from the tables of a run and nothing else."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar, cast

import polars as pl

from noap.bench.boards import BOARDS
from noap.bench.figures import OVERVIEW, PICTURES, draw
from noap.bench.proving import OURS
from noap.bench.runner import Results
from noap.errors import InvalidProblem
from noap.measuring.environment import described
from noap.measuring.tables import markdown, seconds

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
    parts = ["# Benchmarks"]
    if _overview(results):
        parts += [f"![Share of problems that are proved optimal within a time]({inside}/{OVERVIEW}.svg)"]
        parts += [_overview(results)]
    parts += [_intro(command), "## Where a peer beats us, and what is open", _first(results)]
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


def _overview(results: Results) -> str:
    """Return what the picture at the top shows, in words; nothing without the boards that it is made of."""
    said = []
    kinds = {"exact": "sparse PCA without an adversary", "standardised": "real data with noise in every feature"}
    for name, kind in kinds.items():
        if name in results.tables:
            table = results.tables[name].filter(pl.col("bound").is_not_null())
            ours = table.filter(pl.col("method") == OURS)
            others = table.filter(pl.col("method") != OURS)
            key = [column for column in ("matrix", "set", "k", "noise") if column in table.columns]
            words = f"of {ours.height} problems of {kind} noap proves {int(ours['proved'].sum())}"
            if others.height:
                solved = others.filter(pl.col("proved")).select(key).n_unique()
                words += (
                    f"; of the {others.select(key).n_unique()} of them that are small enough for general solvers "
                    f"one of these, at least, proves {solved}"
                )
            said.append(words + ".")
    if not said:
        return ""
    lead = "How many problems are proved optimal within a time: the further up and to the left, the better. "
    return lead + " ".join(words[0].upper() + words[1:] for words in said)


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
        threads = f"; threads {', '.join(held)}" if held else ""
        lines.append((name, f"{described(about['environment'])}{threads}; spec {about['spec']['name']}"))
    by_line: dict[str, list[str]] = {}
    for name, line in lines:
        by_line.setdefault(line, []).append(name)
    text = "\n".join(f"- {', '.join(names)}: {line}." for line, names in by_line.items())
    taken = [(name, about.get("cpu_s"), about.get("wall_s")) for name, about in _abouts(results).items()]
    body = [[name, seconds(cpu), seconds(wall)] for name, cpu, wall in taken if cpu is not None or wall is not None]
    if body:
        text += "\n\nWhat each board took, in all:\n\n" + markdown(["board", "CPU time", "clock"], body).rstrip()
    return text
