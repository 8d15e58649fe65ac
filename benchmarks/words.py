"""Figures in words: units, shares, spans, and where something was measured."""

import json
import math
from collections.abc import Iterable, Mapping
from typing import Any

from noap.experiments.environment import listed

__all__ = ["described", "label", "more", "percent", "seconds", "share", "span"]

_MACHINE = ("cpu", "cores", "system")


def label(method: str) -> str:
    """Return the method as pages name it: noap's own ways bear its name."""
    ours = ("exact", "ascent", "relaxation")
    return f"noap {method}" if method in ours else {"ppm": "PPM"}.get(method, method)


def percent(part: float | None) -> str:
    """Return a loss or gap as a percentage; a dash where there is none."""
    if part is None or not math.isfinite(part):
        return "-"
    if part < 5e-7:
        return "0"
    return f"{100 * part:.2g} %" if part < 0.1 else f"{100 * part:.0f} %"


def seconds(amount: float | None) -> str:
    """Return seconds in the unit that suits them; a dash where there are none."""
    if amount is None or not math.isfinite(amount):
        return "-"
    return f"{1e3 * amount:.3g} ms" if amount < 1.0 else f"{amount:.3g} s"


def share(count: int, total: int) -> str:
    """Return "3 of 7"."""
    return f"{count} of {total}"


def span(values: Iterable[str | float]) -> str:
    """Return "1 to 3", or "1" if there is nothing else."""
    numbers = sorted(set(map(float, values)))
    ends = [f"{one:,.0f}" if one >= 10_000 else f"{one:g}" for one in (numbers[0], numbers[-1])]
    return ends[0] if len(numbers) == 1 else " to ".join(ends)


def more(row: Mapping[str, Any], name: str) -> Any:
    """Return what a row of one board alone says under a name; None if nothing."""
    return json.loads(row["more"]).get(name) if row["more"] else None


def described(record: Mapping[str, str]) -> str:
    """Return a record of :func:`noap.experiments.environment.environment` in words: machine, versions, commit."""
    machine = f"{record['cpu']}, {record['cores']} cores, {record['system']}"
    return f"{machine}; {listed(record, without=('commit', *_MACHINE))}; commit {record['commit']}"
