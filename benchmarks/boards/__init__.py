"""The boards, in the order of the page."""

from benchmarks.board import Board
from benchmarks.boards.cold_start import COLD_START
from benchmarks.boards.entry_wise import ENTRY_WISE
from benchmarks.boards.grid import GRID
from benchmarks.boards.joint import JOINT
from benchmarks.boards.large_k import LARGE_K
from benchmarks.boards.many import MANY
from benchmarks.boards.metric import METRIC
from benchmarks.boards.mixed import MIXED
from benchmarks.boards.path import PATH
from benchmarks.boards.programs import PROGRAMS
from benchmarks.boards.remarks import REMARKS
from benchmarks.boards.sample_wise import SAMPLE_WISE
from benchmarks.boards.settings import SETTINGS
from benchmarks.boards.standardised import STANDARDISED
from benchmarks.boards.vanilla import VANILLA
from benchmarks.boards.variants import VARIANTS

__all__ = ["BOARDS"]

BOARDS: dict[str, Board] = {
    board.name: board
    for board in (
        VANILLA, GRID, STANDARDISED, MIXED, LARGE_K, MANY, VARIANTS, SAMPLE_WISE, ENTRY_WISE, JOINT, METRIC, PROGRAMS,
        PATH, REMARKS, SETTINGS, COLD_START,
    )
}  # fmt: skip
