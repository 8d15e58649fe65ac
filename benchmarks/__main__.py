"""Measure boards, compare two commits or two methods, render the page, or write instances as files.

    python -m benchmarks --quick                                      a part of every board, printed
    python -m benchmarks --data FOLDER --out benchmarks/results       every board, in full
    python -m benchmarks --board grid --board mixed --against 0.2.0   an older commit beside this one, in turns
    python -m benchmarks --board grid --against HEAD --method relaxation --old-method exact
    python -m benchmarks --render                                     docs/benchmarks.md from the committed tables
    python -m benchmarks --board mixed --export FOLDER                instances as files (npz and json)

A run that is stopped goes on where it was when the same command is given again.
"""

import argparse
from pathlib import Path

from benchmarks import RESULTS
from benchmarks.board import Board, Setting
from benchmarks.boards import BOARDS
from benchmarks.instances import Store
from benchmarks.page import write_page
from benchmarks.runner import Side, compared, run
from benchmarks.summary import against
from benchmarks.table import of, read
from benchmarks.versions import CACHE, ROOT, prepared, this_version

PAGE = ROOT / "docs" / "benchmarks.md"


def main(arguments: list[str] | None = None) -> None:
    """Run the command."""
    asked = _parser().parse_args(arguments)
    if asked.data is not None and not asked.data.is_dir():
        raise SystemExit(f"--data {asked.data} is not a folder; name one with matrices in it or leave it out.")
    if asked.render:
        write_page(RESULTS, PAGE)
        return
    setting = Setting(asked.data, asked.quick, asked.limit, lambda line: print(line, flush=True))
    boards = [BOARDS[name] for name in asked.board or BOARDS]
    if asked.export is not None:
        _export(boards, setting, asked.export)
    elif asked.against is not None:
        _compare(boards, setting, asked)
    else:
        run(boards, setting, asked.out)
        for board in boards:
            if (asked.out / f"{board.name}.csv").exists():
                print(f"\n# {board.title}\n\n{board.show(read(asked.out / f'{board.name}.csv'))}")
        print(f"Tables are in {asked.out}.")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        "python -m benchmarks", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("--board", action="append", choices=BOARDS, help="only this board; repeat for more")
    add("--data", type=Path, help="folder of public matrices; what is not there is skipped")
    add("--quick", action="store_true", help="a part of every board: minutes instead of hours")
    add("--limit", type=float, help="seconds of every instance, instead of what its board asks")
    add("--out", type=Path, default=Path("noap-bench"), help="folder of the tables (default: noap-bench)")
    add("--against", metavar="COMMIT", help="measure this commit beside the checkout, in alternating processes")
    add("--method", default="exact", help="with --against: what this side is asked with (default: exact)")
    add("--old-method", default="exact", help="with --against: what the other side is asked with (default: exact)")
    add("--cache", type=Path, default=CACHE, help=f"where other commits and their environments are kept ({CACHE})")
    add("--only", help="with --against: only instances whose name contains this")
    add("--render", action="store_true", help="measure nothing; write docs/benchmarks.md from the committed tables")
    add("--export", type=Path, metavar="FOLDER", help="measure nothing; write the instances of the boards as files")
    return parser


def _compare(boards: list[Board], setting: Setting, asked: argparse.Namespace) -> None:
    other = prepared(asked.against, asked.cache.resolve())
    sides = [Side("old", other, asked.old_method), Side("new", this_version(), asked.method)]
    rows = compared(boards, sides, setting, asked.out, asked.only)
    if not rows:
        raise SystemExit("The boards have no instances to compare; name others with --board.")
    names = ", ".join(f"{side.name}: {side.version.commit[:12]}, {side.method}" for side in sides)
    text = f"# {names}\n\n{against(of(rows), *(side.name for side in sides))}"
    (asked.out / "against.md").write_text(text, encoding="utf-8")
    print(f"\n{text}\nEvery row is in {asked.out / 'against.csv'}.")


def _export(boards: list[Board], setting: Setting, folder: Path) -> None:
    for board in boards:
        store = Store(folder / board.name, keep=True)
        for one in board.instances(setting):
            store.put(one)
        print(f"{board.name}: {store.count} instances in {store.folder}")


if __name__ == "__main__":
    main()
