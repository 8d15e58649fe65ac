"""Write files so that nothing is lost: never over another one unasked, and whole or not at all; and logs."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from noap.errors import InvalidProblem
from noap.runtime.files import write_whole

if TYPE_CHECKING:
    import polars

__all__ = ["check_suffix", "log_progress", "refuse_to_overwrite", "write_file", "write_table", "write_text"]


def refuse_to_overwrite(path: Path | None, force: bool, option: str = "--out") -> None:
    """Raise InvalidProblem if `path` exists and `force` is off, or if its folder is missing."""
    if path is None:
        return
    if path.is_dir():
        raise InvalidProblem(f"{option} {path} is a folder; add a file name.")
    if path.exists() and not force:
        raise InvalidProblem(f"{option} {path} exists; choose another name or add --force.")
    if not path.parent.is_dir():
        raise InvalidProblem(f"{option} {path}: the folder {path.parent} does not exist; create it first.")


def check_suffix(path: Path | None, option: str, known: tuple[str, ...]) -> None:
    """Raise InvalidProblem if the name of `path` does not end in one of the known suffixes."""
    if path is not None and path.suffix.lower() not in known:
        listed = ", ".join(known[:-1]) + f" or {known[-1]}" if len(known) > 1 else known[0]
        raise InvalidProblem(f"{option} {path} must end in {listed}.")


def write_file(path: Path, option: str, write: Callable[[Path], object]) -> None:
    """Have `write` make the file, whole or not at all; `option` is named in the message if it cannot be written."""
    try:
        write_whole(path, write)
    except OSError as error:
        reason = error.strerror or str(error)
        raise InvalidProblem(f"{option} {path} cannot be written ({reason}); choose another place.") from None


def write_text(path: Path, option: str, text: str) -> None:
    """Write text in UTF-8, whole or not at all."""
    write_file(path, option, lambda temporary: temporary.write_text(text, encoding="utf-8"))


def write_table(path: Path, document: str, frame: Callable[[], "polars.DataFrame"]) -> None:
    """Write --out as its suffix says: the JSON document, or the frame, in CSV with lists of names joined by "; "."""
    if path.suffix.lower() == ".json":
        write_text(path, "--out", document + "\n")
        return
    import polars

    table = frame()
    if path.suffix.lower() == ".csv":
        write_file(path, "--out", table.with_columns(polars.col(polars.List(polars.String)).list.join("; ")).write_csv)
    else:
        write_file(path, "--out", table.write_parquet)


def log_progress(wanted: bool) -> None:
    """Have what the library logs, a line of progress every minute, written to stderr with the time."""
    if not wanted:
        return
    import logging

    logger = logging.getLogger("noap")
    logger.setLevel(logging.INFO)
    if not logger.handlers:
        handler = logging.StreamHandler()
        handler.setFormatter(logging.Formatter("%(asctime)s noap: %(message)s", "%Y-%m-%d %H:%M:%S"))
        logger.addHandler(handler)
