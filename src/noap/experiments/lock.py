"""One run at a time per store; the operating system lets go of the lock when a run dies, however it dies."""

import contextlib
import os
from pathlib import Path

from noap.errors import StoreError

__all__ = ["Lock"]


class Lock:
    """An advisory lock on a file beside the store; a second run gets a StoreError."""

    def __init__(self, store: Path) -> None:
        self._path = store.with_name(store.name + ".lock")
        self._handle: int | None = None
        try:
            import fcntl
        except ImportError:  # no such locks on this system; rows are then protected by their keys alone
            return
        try:
            self._handle = os.open(self._path, os.O_RDWR | os.O_CREAT, 0o644)
        except OSError as error:
            raise StoreError(
                f"store {store} cannot be written ({error.strerror}): check the permissions of the file and its "
                "folder, or choose another with --store."
            ) from None
        try:
            fcntl.flock(self._handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(self._handle)
            self._handle = None
            raise StoreError(f"store {store} is in use by another run; wait for it or choose another name.") from None

    def release(self) -> None:
        """Let go; twice is fine."""
        if self._handle is not None:
            with contextlib.suppress(OSError):
                self._path.unlink()
            os.close(self._handle)
            self._handle = None
