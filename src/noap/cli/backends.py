"""`noap backends`: which solvers of the mixed-integer programs are there, and what they can do."""

import json as json_module
from dataclasses import asdict
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

__all__ = ["backends"]


def backends(
    json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
) -> None:
    """List the solvers for --method mip and mip-r: installed or not, licence, capabilities.

    Example: noap backends
    """
    from noap.mip import list_backends

    found = list_backends(licences=True)
    if json:
        typer.echo(json_module.dumps([asdict(info) for info in found], indent=2))
        return
    table = Table()
    for title in ("backend", "package", "installed", "licence", "capabilities", "to install"):
        table.add_column(title)
    for info in found:
        able = asdict(info.capabilities) if info.capabilities is not None else {}
        shown = ", ".join(name if value is True else f"{name} {value}" for name, value in able.items() if value)
        install = "" if info.installed else info.install
        # The extra of a package stands in brackets, which are markup here.
        cells = (info.name, info.package, "yes" if info.installed else "no", info.licence, shown, install)
        table.add_row(*map(escape, cells))
    Console(highlight=False, soft_wrap=True).print(table)
