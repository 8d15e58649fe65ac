"""`noap.write_program`: a program as a file that other solvers read."""

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path
from typing import Any

from noap.errors import InvalidProblem
from noap.mip.backends.base import Settings
from noap.mip.backends.registry import backend_named
from noap.mip.formulations.assemble import formulate
from noap.mip.instance import instance_of, require_program
from noap.mip.lowering import lower, tightened_relaxation
from noap.mip.model import Model
from noap.mip.run import chosen_features, incumbent, mip_options, mip_r_options
from noap.problem import Problem
from noap.runtime.controls import Controls
from noap.runtime.files import write_whole

__all__ = ["WrittenProgram", "write_program"]

_SUFFIXES = (".mps", ".lp", ".cip")


@dataclass(frozen=True)
class WrittenProgram:
    """What a file of :func:`noap.write_program` holds.

    Attributes
    ----------
    path : Path
    columns : tuple of str
        The names of the columns of v in the file, one for each of `features`.
    features : tuple of str
        The features that the program is about.
    value_of : callable
        Turns an objective of the program into a robust variance: of its optimum, or of a solver's dual bound, it is an
        upper bound on the optimum over these features.
    """

    path: Path
    columns: tuple[str, ...]
    features: tuple[str, ...]
    value_of: Callable[[float], float]


def write_program(
    problem: Problem,
    path: "str | PathLike[str]",
    method: str = "mip",
    *,
    random_state: Any = None,
    **options: Any,
) -> WrittenProgram:
    """Write the paper's mixed-integer program of a problem to a file.

    Parameters
    ----------
    problem : Problem
    path : str or path
        Ends in .mps, .lp or .cip; a file that is there is replaced.
    method : "mip" or "mip-r"
    random_state : int, Generator or None
        As for :func:`noap.solve`: of ascent, whose value the default's rows use.
    **options
        Those of the method. With backend="highs" the file has linear rows and integers only: ordered sets become
        binaries, and squares tangents, from outside, tightened as `solve` does before it branches. Other backends leave
        both in the file: SCIP reads them in all three formats.

    Returns
    -------
    WrittenProgram

    Examples
    --------
    >>> import tempfile, noap
    >>> X = [[2.0, 1.9, 0.1], [-2.0, -2.1, 0.2], [1.0, 1.1, -0.3], [-1.0, -0.9, 0.0]]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     noap.write_program(noap.Problem(X, k=2, noise=0.25), f"{folder}/model.lp").columns
    ('v_0', 'v_1')
    """
    target = Path(path)
    if target.suffix.lower() not in _SUFFIXES:
        raise InvalidProblem(f"path must end in {', '.join(_SUFFIXES)}, got {target.name!r}.")
    checks = {"mip": mip_options, "mip-r": mip_r_options}
    if method not in checks:
        raise InvalidProblem(f"method must be one of {tuple(checks)}, got {method!r}.")
    chosen = checks[method](problem, **options)
    if chosen.adaptive:
        raise InvalidProblem("breakpoints must be 'even' in a file: adaptive ones come from solving.")
    require_program(problem)
    features = chosen_features(problem, chosen.reduced_dim)
    part = problem if features is None else problem.restricted(features)
    if part.optimum_is_zero:
        raise InvalidProblem("There is no program to write: the adversary cancels every direction; use less noise.")
    v, _ = incumbent(part, Controls.checked(1e-4, None, random_state, False))
    instance = instance_of(part, screen=chosen.cuts.screening, incumbent=v)
    if not chosen.cuts.needs_incumbent:
        instance = replace(instance, incumbent=None, value=0.0)
    formulation = formulate(instance, chosen.cuts, pieces=chosen.pieces, rank=chosen.rank)
    lowered = lower(formulation.model, chosen.backend)
    if lowered.squares:
        lowered = tightened_relaxation(lowered, chosen.backend, Settings())
    model = _with_legal_names(lowered.model)
    backend_named("scip")  # says how to install it
    from noap.mip.backends.scip import save

    write_whole(target, lambda temporary: save(model, temporary))
    own = instance.features if features is None else features[instance.features]
    return WrittenProgram(
        target,
        tuple(model.names[j] for j in formulation.v),
        tuple(problem.names[j] for j in own),
        formulation.value_of,
    )


def _with_legal_names(model: Model) -> Model:
    """Return the model with names of letters, digits and underscores, which begin with a letter, each once."""

    def named(part: Any, letter: str) -> Any:
        names = _legal([one.name for one in part], letter)
        return tuple(replace(one, name=name) for one, name in zip(part, names, strict=True))

    names = tuple(_legal(model.names, "x"))
    rows, squares = named(model.rows, "r"), named(model.squares, "q")
    cones, sets = named(model.cones, "c"), named(model.sets, "s")
    return replace(model, names=names, rows=rows, squares=squares, cones=cones, sets=sets, start=None)


def _legal(names: Any, letter: str) -> list[str]:
    """Return names that every format takes; one that would begin like a number gets the letter in front."""
    found: list[str] = []
    taken: set[str] = set()
    for name in names:
        plain = re.sub(r"\W+", "_", name, flags=re.ASCII).strip("_")
        # LP files read e12 as part of a number.
        legal = base = plain if re.match(r"[A-DF-Za-df-z]", plain) else f"{letter}_{plain}"
        number = 1
        while legal in taken:
            number += 1
            legal = f"{base}_{number}"
        taken.add(legal)
        found.append(legal)
    return found
