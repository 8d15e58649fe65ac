"""Finished trials in one file, a line each: a crash loses at most the trials in flight."""

import json
import os
from collections.abc import Collection
from pathlib import Path
from types import TracebackType
from typing import Any

from noap.errors import StoreError
from noap.experiments.spec import Trial
from noap.experiments.trial import FinishedTrial

__all__ = ["LAYOUT", "Store"]

# The first line of a file says whose it is and how the others are laid out. Layouts 1 and 2 were SQLite files.
LAYOUT = 3
_MINE, _SQLITE = b'{"noap": "trials", "layout": ', b"SQLite format 3\0"
_HEADER = _MINE + b"%d}\n" % LAYOUT
_ELSEWHERE = "check the permissions of the file and its folder, or choose another with --store."


class Store:
    """Finished trials on disk, by the hash of what they are.

    A trial's key covers everything that decides its result, so a changed experiment finds only the trials that are
    still its own. Lines are appended and never changed; a line is on the disk before the next trial is stored. Only one
    run at a time writes (where the system has no file locks, keys alone protect the trials). Every failure of the file
    is a `StoreError` of one sentence, and leaves the file as it was.

    Parameters
    ----------
    path : Path
        Made if it does not exist.
    writing : bool
        False only reads, and asks for the file to be there.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder, Store(Path(folder) / "trials.jsonl") as store:
    ...     len(store)
    0
    """

    def __init__(self, path: Path, *, writing: bool = True) -> None:
        self.path = Path(path)
        self._file: int | None = None
        self._rows: dict[str, dict[str, Any]] = {}
        if not self.path.absolute().parent.is_dir():
            raise StoreError(f"store {self.path}: the folder {self.path.parent} does not exist; create it first.")
        if not writing and not self.path.exists():
            raise StoreError(f"store {self.path} does not exist; run the experiment first.")
        try:
            how = os.O_RDWR | os.O_CREAT | os.O_APPEND if writing else os.O_RDONLY
            self._file = os.open(self.path, how | getattr(os, "O_BINARY", 0), 0o644)  # Windows would write "\r\n"
            if writing:
                self._lock()
            content = self.path.read_bytes()
        except OSError as error:
            self.close()
            raise StoreError(f"store {self.path} cannot be opened ({error.strerror}): {_ELSEWHERE}") from None
        except StoreError:
            self.close()
            raise
        try:
            whole = self._read(content)
            if writing and whole < len(content):
                os.truncate(self._file, whole)  # the trial that a crash cut short
            if writing and not whole:
                self._append(_HEADER)
        except StoreError:
            self.close()
            raise

    def __enter__(self) -> "Store":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the file, which lets go of the lock; nothing is lost without."""
        if self._file is not None:
            os.close(self._file)
            self._file = None

    def __len__(self) -> int:
        return len(self._rows)

    def keys(self) -> set[str]:
        """Return the keys of the finished trials."""
        return set(self._rows)

    def rows(self, keys: Collection[str]) -> dict[str, dict[str, Any]]:
        """Return the finished trials among `keys`, each as a dictionary of its columns."""
        return {key: dict(self._rows[key]) for key in keys if key in self._rows}

    def add(self, trial: Trial, finished: FinishedTrial) -> None:
        """Append one finished trial; one that is there already stays as it is."""
        if finished.key in self._rows:
            return
        row = {"key": finished.key, **finished.columns, "environment": finished.environment}
        line = json.dumps({"definition": trial.definition, "row": row}, allow_nan=False)
        self._append(line.encode() + b"\n")
        self._rows[finished.key] = row

    def _lock(self) -> None:
        try:
            import fcntl
        except ImportError:
            return
        assert self._file is not None
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise StoreError(
                f"store {self.path} is in use by another run; wait for it or choose another name."
            ) from None

    def _append(self, line: bytes) -> None:
        assert self._file is not None
        before = os.fstat(self._file).st_size
        try:
            if os.write(self._file, line) < len(line):
                raise OSError(0, "the disk is full")
            os.fsync(self._file)
        except OSError as error:
            os.truncate(self._file, before)
            raise StoreError(
                f"store {self.path} cannot be written ({error.strerror}): make room on the disk and run again; every "
                "trial finished so far is kept."
            ) from None

    def _read(self, content: bytes) -> int:
        """Take the rows of complete lines and return how many bytes those have; refuse what is no store."""
        if _HEADER.startswith(content):
            return 0  # a run was killed before its first line was written
        if content.startswith(_SQLITE):
            raise StoreError(
                f"store {self.path} is a database, perhaps of an older version of noap; it was left alone, choose "
                "another name or use that version."
            )
        if not content.startswith(_MINE):
            raise StoreError(f"store {self.path} is not a store of noap; it was left alone, choose another name.")
        if not content.startswith(_HEADER):
            raise StoreError(
                f"store {self.path} has another layout than {LAYOUT}, which this version of noap reads; it was left "
                "alone, choose another name or use the version that wrote it."
            )
        whole = content.rfind(b"\n") + 1
        for number, line in enumerate(content[len(_HEADER) : whole].splitlines(), start=2):
            try:
                row = json.loads(line)["row"]
                self._rows.setdefault(row["key"], row)
            except (ValueError, KeyError, TypeError):
                raise StoreError(
                    f"store {self.path} is damaged in line {number}: move it away and run again, nothing was changed "
                    "in it."
                ) from None
        return whole
