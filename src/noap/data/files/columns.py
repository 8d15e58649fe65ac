"""Which columns of a file are features, and what they are called."""

import warnings
from collections.abc import Sequence
from pathlib import Path

from noap.data.files.reading import Reading
from noap.errors import InvalidProblem, NoapWarning
from noap.runtime.names import listed

__all__ = ["chosen", "distinct"]


def distinct(names: Sequence[str], path: Path) -> tuple[str, ...]:
    """Return names of columns, each different: repeated ones are numbered as pandas does, with a warning.

    A column without a name is called by its place.

    Examples
    --------
    >>> distinct(["a", "", "b"], Path("x.csv"))
    ('a', 'column 2', 'b')
    """
    found: dict[str, None] = {}  # in order, and quick to look in: a table may have 100,000 columns
    taken, repeated = set(names), []
    for place, name in enumerate(names, start=1):
        own = name or f"column {place}"
        count = 0
        while own in found or (count and own in taken):
            count += 1
            own = f"{name or f'column {place}'}.{count}"
        if count:
            repeated.append(own)
        found[own] = None
    if repeated:
        shown = ", ".join(map(repr, repeated[:5])) + (", ..." if len(repeated) > 5 else "")
        warnings.warn(
            f"FILE {path}: names of columns repeat, the later ones are called {shown}.", NoapWarning, stacklevel=2
        )
    return tuple(found)


def chosen(names: Sequence[str], reading: Reading, path: Path) -> list[int]:
    """Return the positions of the columns that are features, as far as `reading` says.

    Examples
    --------
    >>> chosen(["id", "a", "b, cm", "c"], Reading(index="id", drop=("b, cm",)), Path("x.csv"))
    [1, 3]
    >>> chosen(["id", "a", "b, cm", "c"], Reading(columns=("c,a",)), Path("x.csv"))
    [3, 1]
    """
    wanted = _positions(reading.columns, names, "--columns", path) if reading.columns else list(range(len(names)))
    out = set(_positions(reading.drop, names, "--drop", path))
    if reading.index is not None:
        out |= {_position(reading.index, names, "--index", path)}
    left = [position for position in wanted if position not in out]
    if not left:
        raise InvalidProblem(f"FILE {path}: --columns, --drop and --index leave no column; leave out one of them.")
    return left


def _positions(entries: Sequence[str], names: Sequence[str], option: str, path: Path) -> list[int]:
    # A name may hold a comma itself: an entry that is a name is one.
    asked = [name for entry in entries for name in ([entry] if entry in names else entry.split(","))]
    return list(dict.fromkeys(_position(name, names, option, path) for name in asked))


def _position(name: str, names: Sequence[str], option: str, path: Path) -> int:
    for form in (name, name.strip()):
        if form in names:
            return names.index(form)
    raise InvalidProblem(f"{option} {name.strip()!r} is no column of FILE {path}; it has {listed(names, 10)}.")
