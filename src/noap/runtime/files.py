"""Files that are written whole or not at all."""

import os
import tempfile
from collections.abc import Callable
from pathlib import Path

__all__ = ["write_whole"]


def write_whole(path: Path, write: Callable[[Path], object]) -> None:
    """Have `write` make a file beside `path`, and put it in place when it is complete.

    Parameters
    ----------
    path : Path
        Where the file goes; what was there stays until the new one is whole.
    write : callable
        Takes the path to write to, which has the name of `path`, in a folder of its own that goes when it is done.

    Raises
    ------
    OSError
        If the file cannot be written; nothing is left behind.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "notes.txt"
    ...     write_whole(path, lambda temporary: temporary.write_text("all of it"))
    ...     path.read_text(), len(list(Path(folder).iterdir()))
    ('all of it', 1)
    """
    with tempfile.TemporaryDirectory(prefix=".noap-", dir=path.parent) as folder:
        temporary = Path(folder) / path.name
        write(temporary)
        os.replace(temporary, path)
