"""What a board has measured so far, line by line: a run that was stopped goes on where it was."""

import hashlib
import json
import os
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import noap

__all__ = ["Journal", "sources_digest"]

_SOURCES = Path(noap.__file__).parent


class Journal:
    """A file with a line per instance: its rows, what was skipped there, and what it took.

    Parameters
    ----------
    place : Path or None
        The file; None keeps nothing.
    stamp : mapping
        What the rows depend on. A file with another stamp is begun anew.
    say : callable
        Takes a line about a file that is begun anew or gone on with.

    Attributes
    ----------
    wall_s, cpu_s : float
        Seconds of all instances, those of earlier runs included; CPU seconds are those of child processes too.
    """

    def __init__(
        self, place: Path | None, stamp: dict[str, Any], say: Callable[[str], None] = lambda line: None
    ) -> None:
        self.place, self.wall_s, self.cpu_s = place, 0.0, 0.0
        self._known: dict[str, dict[str, Any]] = {}
        # As it reads back from the file: tuples are lists there.
        stamp = json.loads(json.dumps(stamp))
        if place is None:
            return
        if place.exists():
            head, *lines = _documents(place)
            if head == stamp:
                self._known = {line["key"]: line for line in lines}
                say(f"goes on after {len(self._known)} instances of an earlier run ({place})")
                return
            say(f"begins anew: {place} was left by another version or another spec")
        place.write_text(json.dumps(stamp) + "\n", encoding="utf-8")

    def once(
        self, key: tuple[object, ...], measure: Callable[[], Iterable[dict[str, Any]]], skipped: list[str]
    ) -> list[dict[str, Any]]:
        """Return the rows of one instance: from the file, or measured now and written there.

        Parameters
        ----------
        key : tuple
            Tells the instances of the board apart.
        measure : callable
            Yields the rows.
        skipped : list of str
            `measure` may add to it; what it added is added again when the rows come from the file.
        """
        name = " ".join(map(str, key))
        line = self._known.get(name)
        if line is None:
            before, wall, cpu = len(skipped), time.perf_counter(), _cpu()
            rows = list(measure())
            line = {"key": name, "rows": rows, "skipped": skipped[before:]}
            line |= {"wall_s": time.perf_counter() - wall, "cpu_s": _cpu() - cpu}
            self._known[name] = line
            if self.place is not None:
                with self.place.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(line, default=_plain) + "\n")
        else:
            skipped += line["skipped"]
        self.wall_s += line["wall_s"]
        self.cpu_s += line["cpu_s"]
        found: list[dict[str, Any]] = line["rows"]
        return found

    def close(self) -> None:
        """Remove the file: the table that was made of it is complete."""
        if self.place is not None:
            self.place.unlink(missing_ok=True)


def sources_digest() -> str:
    """Return a digest of noap's own sources but for the scoreboard: what may change a figure."""
    digest = hashlib.sha256()
    for path in sorted(_SOURCES.rglob("*.py")):
        if path.relative_to(_SOURCES).parts[0] != "bench":
            digest.update(path.relative_to(_SOURCES).as_posix().encode() + path.read_bytes())
    return digest.hexdigest()[:16]


def _documents(place: Path) -> list[Any]:
    """Return the lines of the file; the last one may have been cut off in the middle."""
    found = []
    for line in place.read_text(encoding="utf-8").splitlines():
        try:
            found.append(json.loads(line))
        except ValueError:
            break
    return found or [None]


def _cpu() -> float:
    used = os.times()
    return used.user + used.system + used.children_user + used.children_system


def _plain(entry: Any) -> Any:
    return entry.item()
