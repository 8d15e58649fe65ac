"""`noap bench`: the scoreboard, rerun here."""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.markdown import Markdown

from noap.errors import InvalidProblem

__all__ = ["bench"]


def bench(
    data: Annotated[Path | None, typer.Option(help="Folder of public matrices; what is not there is skipped.")] = None,
    quick: Annotated[bool, typer.Option("--quick", help="A subset: minutes instead of hours.")] = False,
    board: Annotated[
        list[str] | None, typer.Option("--board", help="Only this board; repeat for more. All by default.")
    ] = None,
    out: Annotated[Path, typer.Option(help="Folder of the tables, the page and its pictures.")] = Path("noap-bench"),
    page: Annotated[Path | None, typer.Option(help="Where the page goes. benchmarks.md in --out.")] = None,
    against: Annotated[
        Path | None, typer.Option(help="Folder with another version's sources (noap/), for before and after.")
    ] = None,
    render: Annotated[bool, typer.Option("--render", help="Run nothing; write the page from the tables.")] = False,
    json: Annotated[
        bool, typer.Option("--json", help="Print the path of every file as JSON instead of the boards.")
    ] = False,
) -> None:
    """Measure noap and its peers side by side, and write tables and a page.

    Peers that are not installed take no part, and the page says so: pip install 'noap[bench]' brings them. A run that
    is stopped goes on where it was when the same command is given again.

    For example:

    noap bench --quick

    noap bench --data matrices --out results

    noap bench --board heuristics --board certificates --quick
    """
    # Slow to import, and only this command needs them.
    import json as json_module

    from noap.bench import FULL, QUICK, run, write_page
    from noap.bench.boards import BOARDS
    from noap.bench.page import beaten
    from noap.bench.runner import read

    errors = Console(stderr=True, highlight=False, soft_wrap=True)
    if render:
        if not out.is_dir():
            raise InvalidProblem(f"--out {out} is not a folder of results; leave out --render to make one.")
        results = read(out)
    else:
        results = run(
            QUICK if quick else FULL,
            out,
            folder=data,
            boards=board,
            against=against,
            say=lambda line: errors.print(line, markup=False),
        )
    if not results.tables:
        raise InvalidProblem(f"--out {out} holds no results; leave out --render to make some.")
    target = out / "benchmarks.md" if page is None else page
    pictures = target.parent / target.stem if page is not None else out / "pictures"
    try:
        write_page(results, target, pictures, command="noap bench")
    except OSError as error:
        raise InvalidProblem(f"--page {target} cannot be written ({error.strerror or error}).") from None
    if json:
        found = {"page": str(target), "tables": {name: str(out / f"{name}.csv") for name in results.tables}}
        typer.echo(json_module.dumps(found | {"beaten": beaten(results)}, indent=2))
        return
    # Tables of many columns need room; a terminal wraps or scrolls what a pipe keeps.
    console = Console(highlight=False, width=max(160, errors.width))
    for name, table in results.tables.items():
        console.print(Markdown(f"## {BOARDS[name].title}\n\n{BOARDS[name].show(table)}"))
    console.print(
        Markdown("## Where a peer beats us, and what is open\n\n" + "\n".join(f"- {line}" for line in beaten(results)))
    )
    console.print(f"Tables, page and pictures are in {out}.", markup=False)
