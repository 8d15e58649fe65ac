"""Files too large for memory, on the command line: one pass, then a problem that knows only X'X."""

from collections.abc import Callable
from pathlib import Path

from noap.adversaries import BY_KEY
from noap.cli.budget import AdversaryName
from noap.cli.single_features import SingleFeatures
from noap.data.files.reading import Reading
from noap.data.streams.files import is_pattern
from noap.errors import InvalidProblem
from noap.linalg.types import FloatArray
from noap.problem import Problem

__all__ = ["streamed_problem", "wants_stream"]


def wants_stream(file: Path, asked: bool) -> bool:
    """Return whether FILE is to be read in batches: it was asked for, or it names several files."""
    return asked or (not file.is_file() and is_pattern(str(file)))


def streamed_problem(
    file: Path,
    k: int,
    adversary: AdversaryName,
    noise: float | None,
    rho: float | None,
    *,
    center: bool,
    scale: bool,
    reading: Reading | None = None,
    single: Callable[[tuple[str, ...]], SingleFeatures] = lambda names: SingleFeatures(),
) -> tuple[Problem, tuple[str, ...]]:
    """Return the problem of the standardised samples in FILE, and the names of its columns.

    `single` tells what is known of single features, given their names.
    """
    from noap.data.streams import summarise

    if not BY_KEY[adversary].gram_suffices:
        raise InvalidProblem(
            f"--adversary {adversary} moves samples one by one and needs them all in memory; pass one file without "
            "--stream."
        )
    summary = summarise(file, reading=reading)
    names = summary.names or ()
    given = single(names)

    def scales() -> FloatArray:
        return summary.moments.standardised(center=center, scale=scale, names=summary.names)[2]

    faced = given.adversary(adversary, noise, rho, summary.n_samples, scales)
    return summary.problem(k, faced, costs=given.costs, center=center, scale=scale), names
