"""Finished trials in one SQLite file: one transaction each, so that a crash loses at most the trials in flight."""

import contextlib
import sqlite3
import struct
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import TracebackType
from typing import Any

from noap.errors import StoreError
from noap.experiments.lock import Lock
from noap.experiments.spec import Spec, Trial, canonical
from noap.experiments.trial import MEASURED, TIMED, FinishedTrial

__all__ = ["SCHEMA", "Store"]

# Both live in the header of an SQLite file: whose file it is, and how its tables are laid out.
_APPLICATION = 0x6E6F6170  # "noap"
SCHEMA = 2

_TEXT = {"bound_proof", "scope", "limit_hit", "solution", "support", "loadings", "finished"}
_INTEGER = {"nodes", "size", "cycle"}
_COLUMNS = (*MEASURED, *TIMED)
_TABLES = (
    "CREATE TABLE environments (id INTEGER PRIMARY KEY, document TEXT NOT NULL UNIQUE)",
    "CREATE TABLE specs (hash TEXT PRIMARY KEY, name TEXT NOT NULL, document TEXT NOT NULL)",
    "CREATE TABLE trials (key TEXT PRIMARY KEY, definition TEXT NOT NULL, "
    + ", ".join(f"{name} {'TEXT' if name in _TEXT else 'INTEGER' if name in _INTEGER else 'REAL'}" for name in _COLUMNS)
    + ", environment INTEGER NOT NULL REFERENCES environments(id)) WITHOUT ROWID",
)


class Store:
    """Finished trials on disk, by the hash of what they are.

    A trial's key covers everything that decides its result, so a changed experiment finds only the rows that are still
    its own. Rows are never changed. Every failure of the file is a `StoreError` of one sentence, and leaves the file
    as it was.

    Parameters
    ----------
    path : Path
        Made if it does not exist. Not on a network file system: write-ahead logs need shared memory.
    writing : bool
        False only reads, and asks for the file to be there.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder, Store(Path(folder) / "trials.sqlite") as store:
    ...     len(store)
    0
    """

    def __init__(self, path: Path, *, writing: bool = True) -> None:
        self.path = Path(path)
        fresh = _is_fresh(self.path)
        if fresh and not writing:
            raise StoreError(f"store {self.path} does not exist; run the experiment first.")
        self._lock = Lock(self.path) if writing else None
        try:
            with self._explained("opened"):
                self._connection = sqlite3.connect(
                    self.path if writing else f"{self.path.absolute().as_uri()}?mode=ro", uri=not writing
                )
                self._connection.isolation_level = None  # transactions are written out below
                self._connection.execute("PRAGMA busy_timeout = 10000")
                if fresh:
                    self._create()
                else:
                    self._check()
                if writing:
                    # FULL also survives a power cut: a commit returns when the log is on the disk.
                    self._connection.execute("PRAGMA journal_mode = WAL")
                    self._connection.execute("PRAGMA synchronous = FULL")
        except StoreError:
            self.close()
            raise
        self._environments: dict[str, int] = {}

    def __enter__(self) -> "Store":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the file; a Store that is not closed has lost nothing."""
        connection = getattr(self, "_connection", None)
        if connection is not None:
            with contextlib.suppress(sqlite3.Error):  # a full disk may refuse the last checkpoint; the log has it all
                connection.close()
        if self._lock is not None:
            self._lock.release()

    def __len__(self) -> int:
        with self._explained("read"):
            return int(self._connection.execute("SELECT count(*) FROM trials").fetchone()[0])

    def keys(self) -> set[str]:
        """Return the keys of the finished trials."""
        with self._explained("read"):
            return {key for (key,) in self._connection.execute("SELECT key FROM trials")}

    def add_spec(self, spec: Spec) -> None:
        """Remember that an experiment was run."""
        with self._transaction() as connection:
            row = (spec.hash, spec.name, canonical(spec.definition))
            connection.execute("INSERT OR IGNORE INTO specs VALUES (?, ?, ?)", row)

    def add(self, trial: Trial, finished: FinishedTrial) -> None:
        """Write one finished trial, in one transaction."""
        with self._transaction() as connection:
            number = self._environment(connection, finished.environment)
            entries = [finished.columns[name] for name in _COLUMNS]
            marks = ", ".join("?" * (len(entries) + 3))
            connection.execute(
                # If a second run of the same trial ever gets here, the first one stays.
                f"INSERT OR IGNORE INTO trials (key, definition, {', '.join(_COLUMNS)}, environment) VALUES ({marks})",
                (finished.key, canonical(trial.definition), *entries, number),
            )
        self._environments[finished.environment] = number

    def rows(self, keys: Iterable[str]) -> dict[str, dict[str, Any]]:
        """Return the finished trials among `keys`, each as a dictionary of its columns."""
        wanted = set(keys)
        names = ("key", *_COLUMNS, "environment")
        with self._explained("read"):
            found = self._connection.execute(
                f"SELECT key, {', '.join(f'trials.{name}' for name in _COLUMNS)}, environments.document "
                "FROM trials JOIN environments ON environments.id = trials.environment"
            )
            return {row[0]: dict(zip(names, row, strict=True)) for row in found if row[0] in wanted}

    def _environment(self, connection: sqlite3.Connection, document: str) -> int:
        known = self._environments.get(document)
        if known is not None:
            return known
        connection.execute("INSERT OR IGNORE INTO environments (document) VALUES (?)", (document,))
        row = connection.execute("SELECT id FROM environments WHERE document = ?", (document,)).fetchone()
        return int(row[0])

    def _create(self) -> None:
        """Write the tables in one transaction, before the log is on: the header then says whose file this is."""
        with self._transaction() as connection:
            for statement in _TABLES:
                connection.execute(statement)
            connection.execute(f"PRAGMA application_id = {_APPLICATION}")
            connection.execute(f"PRAGMA user_version = {SCHEMA}")

    def _check(self) -> None:
        found = self._connection.execute("PRAGMA quick_check(1)").fetchone()[0]
        if found != "ok":
            raise sqlite3.DatabaseError(str(found).splitlines()[-1])

    @contextlib.contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        with self._explained("written"):
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield self._connection
                self._connection.execute("COMMIT")
            except BaseException:
                with contextlib.suppress(sqlite3.Error):  # some failures have rolled back already
                    self._connection.execute("ROLLBACK")
                raise

    @contextlib.contextmanager
    def _explained(self, done: str) -> Iterator[None]:
        """Turn what SQLite raises into one sentence that says what to do."""
        try:
            yield
        except sqlite3.Error as error:
            raise StoreError(f"store {self.path} cannot be {done} ({error}): {_advice(error)}") from None


def _advice(error: sqlite3.Error) -> str:
    words = str(error)
    if "readonly" in words or "unable to open" in words or "permission" in words.lower():
        return "check the permissions of the file and its folder, or choose another with --store."
    if "full" in words or "disk I/O" in words:
        return "make room on the disk and run again; every trial finished so far is kept."
    if "locked" in words:
        return "another program holds it; wait for it to end."
    return "the file is damaged; move it away and run again, nothing was changed in it."


def _is_fresh(path: Path) -> bool:
    """Return whether there is no store yet; refuse a file that is something else or of another layout, unread."""
    try:
        with path.open("rb") as stream:
            header = stream.read(100)
    except FileNotFoundError:
        if not path.absolute().parent.is_dir():
            raise StoreError(f"store {path}: the folder {path.parent} does not exist; create it first.") from None
        return True
    except OSError as error:
        raise StoreError(f"store {path} cannot be opened ({error.strerror}); choose another with --store.") from None
    if not header:
        return True  # a run was killed before the first write
    if len(header) < 100 or not header.startswith(b"SQLite format 3\0"):
        raise StoreError(f"store {path} is not a store of noap or is damaged; it was left alone, choose another name.")
    schema, application = struct.unpack(">I", header[60:64])[0], struct.unpack(">I", header[68:72])[0]
    if application != _APPLICATION:
        raise StoreError(f"store {path} belongs to another program; it was left alone, choose another name.")
    if schema != SCHEMA:
        age = "an older" if schema < SCHEMA else "a newer"
        raise StoreError(
            f"store {path} has the layout {schema} of {age} version of noap, this one reads layout {SCHEMA}; "
            "it was left alone, choose another name or use that version."
        )
    return False
