"""The application, and how it ends.

0 on success, 2 on bad input or where the output cannot be written, 3 when a limit stopped it early, 4 when a
certificate is rejected, 1 where nobody reads the output to its end.
"""

import errno
import os
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated, Any, TextIO

import typer
from rich.console import Console
from rich.markup import escape
from typer.core import TyperCommand, TyperGroup

from noap._version import __version__
from noap.cli.attack import attack
from noap.cli.demo import demo
from noap.cli.k_path import k_path
from noap.cli.near_optimal import near_optimal
from noap.cli.options import OUTPUT
from noap.cli.path import path
from noap.cli.report import report
from noap.cli.reproduce import reproduce
from noap.cli.run import as_command
from noap.cli.show import show
from noap.cli.solve import solve
from noap.cli.stability import stability
from noap.cli.verify import verify
from noap.errors import InvalidProblem, NoapError

__all__ = ["app", "main"]

_INTERRUPTED = 130


def _as_shown(params: list[Any]) -> list[Any]:
    """Leave out the type of flags, which take no value, and put --help beside the options of the output."""
    for param in params:
        if getattr(param, "is_flag", False) and param.metavar is None:
            param.metavar = ""
        if param.name == "help":
            param.rich_help_panel = OUTPUT
    return params


class Command(TyperCommand):
    """A command of noap."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Return options and arguments as the help shows them."""
        return _as_shown(super().get_params(ctx))


class Group(TyperGroup):
    """noap itself."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Return options and arguments as the help shows them."""
        return _as_shown(super().get_params(ctx))


app = typer.Typer(
    name="noap",
    cls=Group,
    help="Sparse principal components that hold up under attack.",
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
)
for command in (demo, solve, verify, show, path, k_path, near_optimal, stability, attack, report, reproduce):
    app.command(command.__name__.replace("_", "-"), cls=Command)(as_command(command))


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"noap {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Sparse principal components that hold up under attack."""


def main() -> None:
    """Run the command line; every failure a user can cause is one line on stderr."""
    errors = Console(stderr=True, highlight=False, soft_wrap=True)

    def show(
        message: Warning | str,
        category: type[Warning],
        filename: str,
        lineno: int,
        file: TextIO | None = None,
        line: str | None = None,
    ) -> None:
        if errors.is_terminal:
            sys.stderr.write("\r\x1b[K")  # a line of progress may stand there
        errors.print("[yellow]noap:[/yellow]", escape(str(message)))

    warnings.showwarning = show
    try:
        with _whole_output():
            code = app(standalone_mode=False, prog_name="noap")
    except NoapError as error:
        errors.print("[red]noap:[/red]", escape(str(error)))
        code = 2
    except typer.TyperException as error:
        message = error.format_message()
        if message:  # without a command the help has been printed, and there is nothing to add
            errors.print("[red]noap:[/red]", escape(message))
        code = 2
    except (KeyboardInterrupt, typer.Abort):
        code = _INTERRUPTED
    if code == _INTERRUPTED:  # typer's own answer to Ctrl-C as well, which says nothing
        errors.print("[red]noap:[/red] interrupted before there was an answer.")
    sys.exit(code if isinstance(code, int) else 0)


@contextmanager
def _whole_output() -> Iterator[None]:
    """Say so where the output cannot be written, and end quietly where nobody reads it to its end.

    What is written late, when Python ends, can no longer change the exit code: it is written here.
    """
    try:
        try:
            yield
        finally:
            sys.stdout.flush()
    except BrokenPipeError:
        _drop_output()
        sys.exit(1)  # as typer does where a command notices it
    except OSError as error:
        if error.errno != errno.ENOSPC:
            raise
        _drop_output()
        raise InvalidProblem(f"the output cannot be written ({error.strerror}); write it elsewhere.") from None


def _drop_output() -> None:
    """Send the rest of the output nowhere, so that Python does not complain about it when it ends."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
