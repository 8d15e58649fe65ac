"""What each number of `noap.Settings` buys: half of it and twice as much, side by side with the default."""

import dataclasses
import json
import time
import warnings
from collections.abc import Callable, Iterator

import numpy as np
import polars as pl

import noap
from benchmarks.board import Board, Setting
from benchmarks.boards.grid import GRID
from benchmarks.boards.mixed import MIXED
from benchmarks.boards.standardised import STANDARDISED
from benchmarks.boards.vanilla import VANILLA
from benchmarks.instances import Instance
from benchmarks.table import Row
from noap.experiments.formats import markdown

__all__ = ["SETTINGS"]

# Of each board every so manieth instance, with at most so many features.
_BOARDS, _MOST = ((GRID, 21), (STANDARDISED, 7), (MIXED, 11), (VANILLA, 9)), 300
_LIMIT = 60.0


def _problems(setting: Setting) -> Iterator[tuple[str, noap.Problem, float]]:
    for board, step in _BOARDS:
        for one in list(board.instances(setting))[::step]:
            if isinstance(one.M, np.ndarray) and (one.d or 0) <= _MOST:
                yield f"{board.name}: {one.name}", _problem(one), one.gap


def _problem(one: Instance) -> noap.Problem:
    adversary = noap.FeatureWise(one.rho) if np.any(one.rho) else noap.NoAdversary()
    if one.covariance:
        return noap.Problem.from_covariance(one.M, n_samples=1, k=one.k, adversary=adversary)
    return noap.Problem(one.M, one.k, adversary)


def _variants() -> Iterator[tuple[str, str, noap.Settings]]:
    """Yield the field, what was done to it, and the settings."""
    plain = noap.Settings()
    for owner in (plain, plain.relaxation):
        for one in dataclasses.fields(owner):
            default = getattr(owner, one.name)
            if isinstance(default, int | float):
                for word, factor in (("half", 0.5), ("double", 2.0)):
                    other = type(default)(default * factor)
                    made = dataclasses.replace(owner, **{one.name: other})
                    whole = made if owner is plain else dataclasses.replace(plain, relaxation=made)
                    yield f"{one.name} = {default:g}", f"{word}: {other:g}", whole


def _rows(setting: Setting) -> Iterator[tuple[str, Callable[[], list[Row]]]]:
    problems = list(_problems(setting))
    for name, what, settings in _variants():
        yield f"{name}, {what}", lambda one=(name, what, settings): [_row(*one, problems)]  # type: ignore[misc]


def _row(name: str, what: str, settings: noap.Settings, problems: list[tuple[str, noap.Problem, float]]) -> Row:
    sums, closed, nodes = np.zeros(2), np.zeros(2, int), np.zeros(2, int)
    for _, problem, gap in problems:
        for side, used in enumerate((noap.Settings(), settings)):
            begun = time.process_time()
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                found = noap.solve(problem, gap=gap, time_limit=_LIMIT, settings=used)
            sums[side] += time.process_time() - begun
            closed[side] += found.gap <= gap * (1 + 1e-6)
            nodes[side] += found.nodes
    default, other = ({"cpu_s": sums[i], "closed": int(closed[i]), "nodes": int(nodes[i])} for i in (0, 1))
    cells = {"instance": name, "method": what, "rounds": len(problems), "default": default}
    return cells | {key: other[key] for key in ("cpu_s", "nodes", "closed")}


def _show(frame: pl.DataFrame) -> str:
    lines: dict[str, list[str]] = {}
    for row in frame.iter_rows(named=True):
        more = json.loads(row["more"])
        ratio, lost = row["cpu_s"] / more["default"]["cpu_s"], more["default"]["closed"] - more["closed"]
        left = f", {lost} more open" if lost > 0 else f", {-lost} fewer open" if lost else ""
        value = row["method"].split(": ")[1]
        lines.setdefault(row["instance"], []).append(f"{value}: {ratio:.2f}{left}")
    text = (
        f"{frame['rounds'][0]} instances of the boards above with at most {_MOST} features, {_LIMIT:g} s each: the sum "
        "of their CPU times as a multiple of that with the defaults, measured in turns, when one number is halved or "
        "doubled. Differences below a tenth are noise.\n\n"
    )
    return text + markdown(["setting", "half", "double"], [[name, *cells] for name, cells in lines.items()])


SETTINGS = Board("settings", "What the numbers that steer the tree buy", _show, rows=_rows)
