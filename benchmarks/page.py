"""The page of the scoreboard, made from the committed tables and nothing else."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl

from benchmarks.boards import BOARDS
from benchmarks.figures import OVERVIEW, PICTURES, draw
from benchmarks.summary import EXACT, of
from benchmarks.table import read
from benchmarks.words import described, seconds
from noap.experiments.formats import markdown

__all__ = ["beaten", "tables_of", "text_of", "write_page"]

_LETTERS = "abcdefghijklmnopqrstuvwxyz"
# Boards behind sentences of other pages have no section of their own here.
_ELSEWHERE = ("remarks",)
_INTRO = (
    "Made from the tables of `python -m benchmarks` by `python -m benchmarks --render`; no figure on this page is "
    "typed. The methods of a board run in a process with one thread, in turns, in an order that turns around every "
    "round. Times are medians of CPU seconds, so that other work on the machine does not count. Every vector is scored "
    "on the same objective, by the closed form of the adversary: as returned (cut to k features and scaled to length 1 "
    "if need be), and after re-solving on its own support. Certificates are checked from the bytes of the file alone, "
    "by the checker, which uses none of the code of the search."
)


def tables_of(folder: Path) -> dict[str, pl.DataFrame]:
    """Return the tables of a folder, in the order of the page."""
    places = {name: folder / f"{name}.csv" for name in BOARDS if name not in _ELSEWHERE}
    return {name: read(place) for name, place in places.items() if place.exists()}


def write_page(folder: Path, page: Path) -> None:
    """Write the page of a folder of tables, and its pictures beside it."""
    tables = tables_of(folder)
    draw(tables, page.parent / page.stem)
    page.write_text(text_of(tables, json.loads((folder / "run.json").read_text("utf-8")), page.stem), encoding="utf-8")


def text_of(tables: Mapping[str, pl.DataFrame], about: Mapping[str, Any], pictures: str) -> str:
    """Return the text of the page."""
    said = beaten(tables)
    parts = ["# Benchmarks"]
    if _overview(tables):
        parts += [f"![Share of problems that are proved optimal within a time]({pictures}/{OVERVIEW}.svg)"]
        parts += [_overview(tables)]
    parts += [_INTRO, "## Where a peer beats us, and what is open"]
    parts += [
        "Every kind of place, board by board:\n\n" + "\n".join(f"- {one}" for one in said) if said else "Nowhere."
    ]
    for letter, (name, table) in zip(_LETTERS, tables.items(), strict=False):
        parts.append(f"## ({letter}) {BOARDS[name].title}")
        if name in PICTURES:
            parts.append(f"![{BOARDS[name].title}]({pictures}/{name}.svg)")
        parts.append(BOARDS[name].show(table).strip())
    known = {name: about[name] for name in tables}
    notes = dict.fromkeys(note for one in known.values() for note in one["skipped"])
    parts += ["## What was skipped", "\n".join(f"- {note}" for note in notes) or "Nothing."]
    parts += ["## Machine, versions, time", _environments(known)]
    return "\n\n".join(parts) + "\n"


def beaten(tables: Mapping[str, pl.DataFrame]) -> list[str]:
    """Return every kind of place where a peer beats noap, board by board."""
    return [
        f"({letter}) {sentence}"
        for letter, (name, table) in zip(_LETTERS, tables.items(), strict=False)
        for sentence in BOARDS[name].beaten(table)
    ]


def _overview(tables: Mapping[str, pl.DataFrame]) -> str:
    """Return what the picture at the top shows, in words; nothing without the boards that it is made of."""
    said = []
    kinds = {"vanilla": "sparse PCA without an adversary", "standardised": "real data with noise in every feature"}
    for name, kind in kinds.items():
        if name in tables:
            ours, others = of(tables[name], EXACT), tables[name].filter(~pl.col("method").is_in([EXACT, "relaxation"]))
            others = others.filter(pl.col("bound").is_not_null())
            words = f"Of {ours.height} problems of {kind} noap proves {int(ours['proved'].sum())}"
            if others.height:
                solved = others.filter("proved")["instance"].n_unique()
                words += f"; of the {others['instance'].n_unique()} of them that are small enough for general solvers "
                words += f"one of these, at least, proves {solved}"
            said.append(words + ".")
    lead = "How many problems are proved optimal within a time: the further up and to the left, the better. "
    return lead + " ".join(said) if said else ""


def _environments(known: Mapping[str, Any]) -> str:
    by_line: dict[str, list[str]] = {}
    for name, about in known.items():
        line = described(about["environment"]) + (f"; {about['note']}" if "note" in about else "")
        by_line.setdefault(line, []).append(name)
    text = "\n".join(f"- {', '.join(names)}: {line}." for line, names in by_line.items())
    took = [[name, seconds(one["cpu_s"]), seconds(one["wall_s"])] for name, one in known.items() if one.get("cpu_s")]
    table = markdown(["board", "CPU time", "clock"], took).rstrip()
    return text + (f"\n\nWhat each board took, in all:\n\n{table}" if took else "")
