"""The boards, in the order of the page."""

from noap.bench.board import Board
from noap.bench.boards.certificates import CERTIFICATES
from noap.bench.boards.changes import CHANGES
from noap.bench.boards.cold_start import COLD_START
from noap.bench.boards.exact import EXACT
from noap.bench.boards.features import FEATURES
from noap.bench.boards.growth import GROWTH
from noap.bench.boards.heuristics import HEURISTICS
from noap.bench.boards.joint import JOINT
from noap.bench.boards.large_k import LARGE_K
from noap.bench.boards.memory import MEMORY
from noap.bench.boards.profiles import PROFILES
from noap.bench.boards.programs import PROGRAMS
from noap.bench.boards.relaxation import RELAXATION
from noap.bench.boards.robust import ROBUST
from noap.bench.boards.standardised import STANDARDISED

__all__ = ["BOARDS"]

BOARDS: dict[str, Board] = {
    board.name: board
    for board in (
        HEURISTICS, EXACT, ROBUST, PROGRAMS, GROWTH, MEMORY, CERTIFICATES, PROFILES, CHANGES, STANDARDISED, FEATURES,
        LARGE_K, JOINT, RELAXATION, COLD_START,
    )
}  # fmt: skip
