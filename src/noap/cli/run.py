"""What every command does in the same way: its options, its files, its answer and its exit code."""

import dataclasses
import importlib.util
import inspect
import json as json_module
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer
from rich.console import Console

from noap._version import __version__
from noap.cli.options import PANELS, option
from noap.errors import InvalidProblem
from noap.runtime.files import write_whole
from noap.runtime.frames import flattened

if TYPE_CHECKING:
    import polars

__all__ = [
    "LIMITED", "Answer", "FileOptions", "JsonOptions", "Log", "OutputOptions", "TableOptions", "as_command", "can_draw",
    "log_progress", "write_file", "write_table",
]  # fmt: skip

Log = Annotated[bool, option("Log progress to stderr every minute, where that is no terminal.", "--log")]
# Exit code where a limit ended a search before the gap that was asked for.
LIMITED = 3
TABLES, PICTURES = (".csv", ".parquet", ".json"), (".png", ".svg", ".pdf")


@dataclass(frozen=True)
class Answer:
    """What a command has found.

    Attributes
    ----------
    document : dict
        All of it, for --json and for an --out that ends in .json.
    say : callable
        Prints it on a console.
    frame : callable, optional
        Makes the table of an --out that ends in .csv or .parquet.
    figure : callable, optional
        Draws the figure of --plot.
    code : int
        Exit code.
    """

    document: Mapping[str, Any]
    say: Callable[[Console], None]
    frame: "Callable[[], polars.DataFrame] | None" = None
    figure: Callable[[], Any] | None = None
    code: int = 0

    @property
    def text(self) -> str:
        """The document as text."""
        return json_module.dumps({"noap": __version__, **self.document}, indent=2)


@dataclass(frozen=True)
class JsonOptions:
    """How an answer is shown."""

    json: Annotated[bool, option("Print JSON instead of text.", "--json")] = False

    @property
    def progress(self) -> bool:
        """Whether the library is to say how far it is."""
        return not self.json

    def finish(self, answer: Answer, *written: Path | None) -> int:
        """Print the answer and the files that were written, and return the exit code."""
        if self.json:
            typer.echo(answer.text)
            return answer.code
        console = Console(highlight=False)
        answer.say(console)
        for path in filter(None, written):
            console.print(f"Written to {path}.", markup=False, soft_wrap=True)
        return answer.code


@dataclass(frozen=True)
class FileOptions(JsonOptions):
    """How an answer is shown, and whether its files may take the place of others."""

    force: Annotated[bool, option("Overwrite files that exist.", "--force")] = False

    def require_free(self, path: Path | None, name: str, suffixes: tuple[str, ...] = ()) -> None:
        """Raise InvalidProblem, naming the option, if its file has another suffix, exists or has no folder."""
        if path is None:
            return
        if suffixes and path.suffix.lower() not in suffixes:
            listed = ", ".join(suffixes[:-1]) + f" or {suffixes[-1]}" if len(suffixes) > 1 else suffixes[0]
            raise InvalidProblem(f"{name} {path} must end in {listed}.")
        if path.is_dir():
            raise InvalidProblem(f"{name} {path} is a folder; add a file name.")
        if path.exists() and not self.force:
            raise InvalidProblem(f"{name} {path} exists; choose another name or add --force.")
        if not path.parent.is_dir():
            raise InvalidProblem(f"{name} {path}: the folder {path.parent} does not exist; create it first.")


@dataclass(frozen=True)
class OutputOptions(FileOptions):
    """The same for what may take long."""

    log: Log = False

    def __post_init__(self) -> None:
        if self.log:
            log_progress()

    @property
    def progress(self) -> bool:
        """Whether the library is to say how far it is."""
        return self.log or not self.json


@dataclass(frozen=True)
class TableOptions(OutputOptions):
    """How an answer is shown, and where its table and its figure go.

    Files are refused, before any work is done, where one must not or cannot be written.
    """

    out: Annotated[Path | None, option("Write the table to this .csv, .parquet or .json file.")] = None
    plot: Annotated[Path | None, option("Draw the figure to this .png, .svg or .pdf file.")] = None

    def __post_init__(self) -> None:
        super().__post_init__()
        self.require_free(self.out, "--out", TABLES)
        self.require_free(self.plot, "--plot", PICTURES)
        if self.plot is not None:
            require_matplotlib("--plot")

    def finish(self, answer: Answer, *written: Path | None) -> int:
        """Write the table and the figure, print the answer, and return the exit code."""
        if self.out is not None and answer.frame is not None:
            write_table(self.out, answer.text, answer.frame)
        if self.plot is not None and answer.figure is not None:
            draw(self.plot, answer.figure)
        return super().finish(answer, self.out, self.plot, *written)


def draw(path: Path, figure: Callable[[], Any]) -> None:
    """Draw a figure to the file of --plot."""
    write_file(path, "--plot", lambda temporary: figure().savefig(temporary, dpi=150))


def can_draw() -> bool:
    """Return whether matplotlib is installed."""
    return importlib.util.find_spec("matplotlib") is not None


def require_matplotlib(what: str) -> None:
    """Raise InvalidProblem, with the line that installs it, if matplotlib is missing."""
    if not can_draw():
        raise InvalidProblem(f"{what} needs matplotlib; install it with: pip install 'noap[plot]'.")


def write_file(path: Path, name: str, write: Callable[[Path], object]) -> None:
    """Have `write` make the file, whole or not at all; the option is named in the message if it cannot be written."""
    try:
        write_whole(path, write)
    except OSError as error:
        reason = error.strerror or str(error)
        raise InvalidProblem(f"{name} {path} cannot be written ({reason}); choose another place.") from None


def write_table(path: Path, document: str, frame: "Callable[[], polars.DataFrame]") -> None:
    """Write --out as its suffix says: the frame, flat in CSV, or the JSON document."""
    kind = path.suffix.lower()
    if kind not in (".csv", ".parquet"):
        write_file(path, "--out", lambda temporary: temporary.write_text(document + "\n", encoding="utf-8"))
        return
    table = frame()
    write_file(path, "--out", flattened(table).write_csv if kind == ".csv" else table.write_parquet)


def as_command(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a command with an option for every field of the groups that the function takes.

    Options are in the order of their panels; within one, those of the function itself come first.
    """
    own, of_groups = [], []
    groups: dict[str, Any] = {}
    for given in inspect.signature(function, eval_str=True).parameters.values():
        group = given.annotation
        if not dataclasses.is_dataclass(group):
            own.append(given.replace(kind=inspect.Parameter.KEYWORD_ONLY))
            continue
        groups[given.name] = group
        hints = get_type_hints(group, include_extras=True)
        of_groups += [
            inspect.Parameter(one.name, inspect.Parameter.KEYWORD_ONLY, default=one.default, annotation=hints[one.name])
            for one in dataclasses.fields(group)
        ]

    def command(**given: Any) -> Any:
        for name, group in groups.items():
            given[name] = group(**{one.name: given.pop(one.name) for one in dataclasses.fields(group)})
        return function(**given)

    parameters = sorted([*own, *of_groups], key=_place)
    command.__name__, command.__doc__ = function.__name__, _help(function.__doc__ or "")
    command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]  # what typer reads
    command.__annotations__ = {one.name: one.annotation for one in parameters}
    return command


def _place(parameter: inspect.Parameter) -> tuple[int, bool]:
    """Return where a parameter stands: in the order of panels (arguments have none), common options at the end."""
    (declared,) = parameter.annotation.__metadata__
    panel = declared.rich_help_panel
    return PANELS.index(panel) if panel in PANELS else -1, parameter.name in ("force", "log", "json")


def _help(text: str) -> str:
    r"""Return a docstring with a \b before each paragraph of examples, which keeps their lines apart."""
    paragraphs = inspect.cleandoc(text).split("\n\n")
    return "\n\n".join(f"\b\n{part}" if part.startswith("noap ") else part for part in paragraphs)


def log_progress() -> None:
    """Write what the library logs, a line of progress every minute, to stderr with the time."""
    import logging

    logger = logging.getLogger("noap")
    logger.setLevel(logging.INFO)
    if not logger.handlers:
        handler = logging.StreamHandler()
        handler.setFormatter(logging.Formatter("%(asctime)s noap: %(message)s", "%Y-%m-%d %H:%M:%S"))
        logger.addHandler(handler)
