"""What was found for several components together, and what is proved about them."""

import copy
import importlib
import math
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from noap.errors import NoapError
from noap.kernel.certificate import Certificate
from noap.linalg.types import FloatArray
from noap.metrics import gap as relative_gap
from noap.problem import Problem
from noap.result import Result, Status, rounding_allowance
from noap.runtime.digits import down, up
from noap.runtime.frames import Tabular, shaped
from noap.runtime.limits import Limit
from noap.runtime.names import counted
from noap.runtime.notebook import html_table

if TYPE_CHECKING:
    import polars

__all__ = ["JointResult", "components_frame"]


@dataclass(frozen=True, eq=False)
class JointResult(Tabular):
    """Several components: disjoint ones with a bound for all of them together, or one after the other.

    Chosen at once, value <= joint optimum <= bound. One after the other there is no bound on the sum: each component
    has its own, given those before. The status follows from the numbers.

    Attributes
    ----------
    problem : Problem
    ks : tuple of int
        How many features each component may use.
    components : tuple of Result
        Sorted by value, the largest first; their supports are disjoint. There are fewer than asked for where no further
        support is worth anything. Chosen at once their own bounds are infinite: what is proved is about all of them
        together. One after the other they stand as found, and a message of each says what its bound is about.
    value : float
        The sum of their values.
    bound : float or None
        Upper bound on that sum for all disjoint supports of these sizes, in exact arithmetic; None one after the other.
    limit : Limit or None
        Why the search stopped early, None if it did not.
    asked_gap : float
    columns, pricings, nodes : int
        How many supports were weighed, how many exact searches with prices were run, and how many nodes they had.
    branches : int
        How many nodes the tree over owners of features has: 1 where the linear relaxation was enough.
    seconds : float
    certificate : Certificate or None
        The proof of the bound, for :func:`noap.verify` and for a file; one after the other each component has its own.
    deflation : str
        What a component leaves to the next.
    """

    problem: Problem = field(repr=False)
    ks: tuple[int, ...]
    components: tuple[Result, ...] = field(repr=False)
    _: KW_ONLY
    bound: float | None
    limit: Limit | None = None
    asked_gap: float = 1e-4
    columns: int = 0
    pricings: int = 0
    nodes: int = 0
    branches: int = 1
    seconds: float = 0.0
    certificate: Certificate | None = field(repr=False)
    deflation: str = "disjoint"
    value: float = field(init=False)

    def __post_init__(self) -> None:
        value = math.fsum(one.value for one in self.components)
        object.__setattr__(self, "value", value)
        if self.bound is not None and self.bound < value:
            # Rounding may put the two an ulp apart; more than that is a wrong bound and must be heard.
            if value - self.bound > 1e-9 * max(value, 1e-3 * self.problem.scale):
                raise NoapError(
                    f"The joint bound {self.bound!r} lies below the value {value!r} of its own components: this is a "
                    "bug in noap, please report it with the data."
                )
            object.__setattr__(self, "bound", value)
        if self.status is Status.OPTIMAL:
            object.__setattr__(self, "limit", None)

    @property
    def gap(self) -> float:
        """(bound - value)/value; 0 if both are 0, inf if only the value is, or where there is no bound."""
        return math.inf if self.bound is None else relative_gap(self.value, self.bound)

    @property
    def status(self) -> Status:
        """OPTIMAL if the bound is within the asked gap of the value, else FEASIBLE.

        One after the other: OPTIMAL if each component is, given those before; else that of the first that is not.
        """
        if self.bound is None:
            return next((one.status for one in self.components if one.status is not Status.OPTIMAL), Status.OPTIMAL)
        room = len(self.ks) * rounding_allowance(self.value, self.problem.scale)
        proved = self.gap <= self.asked_gap or self.bound - self.value <= room
        return Status.OPTIMAL if proved else Status.FEASIBLE

    @property
    def vectors(self) -> FloatArray:
        """The components as rows, an array of shape (m, d)."""
        return np.array([one.v for one in self.components]).reshape(len(self.components), self.problem.n_features)

    @property
    def claim(self) -> str:
        """What is proved, in one sentence."""
        if self.bound is None:
            proved = sum(one.status is Status.OPTIMAL for one in self.components)
            short = "" if len(self.components) == len(self.ks) else f", and no further one was found of {len(self.ks)}"
            return (
                f"{self.status.value}: {proved} of {counted(len(self.components), 'component')} proved, each the best "
                f"that those before it leave (deflation: {self.deflation}){short}; nothing is claimed of their sum, "
                f"{down(self.value, 8)}."
            )
        if self.value <= 0:
            return f"{self.status.value}: no component found; together they are worth at most {up(self.bound, 6)}."
        return (
            f"{self.status.value}: no {len(self.ks)} disjoint components are worth more than {up(self.bound, 8)} "
            f"together, and these are worth {down(self.value, 8)} (rigorous)."
        )

    def without_data(self) -> "JointResult":
        """Return the result without the samples of its problem; numbers and certificates stay."""
        changed = copy.copy(self)
        components = tuple(one.without_data() for one in self.components)
        changed.__dict__.update(problem=self.problem.without_samples(), components=components)  # it is frozen
        return changed

    def to_frame(self, flat: bool = False, library: str = "polars") -> Any:
        """Return the components as a table, one row for each feature of each of them.

        Parameters
        ----------
        flat : bool
            Nothing to do here: no column holds lists.
        library : "polars" or "pandas"

        Returns
        -------
        DataFrame
            Columns component (from 1), feature, loading, robust_variance, objective (less costs) and bound.
        """
        return shaped(components_frame(self.components), flat, library)

    def __str__(self) -> str:
        return "\n".join([*map(repr, self.components), self.claim])

    def plot(self, ax: Any = None, top: int | None = None) -> Any:
        """Draw the loadings of the components below one another, and what they are worth.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; a figure of its own by default.
        top : int, optional
            At most so many features of each component; 12 by default.

        Returns
        -------
        matplotlib.figure.Figure
        """
        # Pictures lie layers above; the name is resolved when someone asks for one.
        return importlib.import_module("noap.figures").draw_components(self, ax=ax, top=top)

    def _repr_html_(self) -> str:
        """Return the table that a notebook shows: the features of each component and its value."""
        rows: list[tuple[object, ...]] = [(", ".join(one.features), f"{one.value:.6g}") for one in self.components]
        rows.insert(0, ("adversary", self.problem.terms))
        rows.append(("together", f"{self.value:.6g}"))
        rows += [] if self.bound is None else [("proved bound", f"{self.bound:.6g}")]
        return html_table(self.claim, rows)


def components_frame(components: Sequence[Result]) -> "polars.DataFrame":
    """Return components as a table, one row for each feature of each of them; one that is worth nothing has none."""
    import polars

    rows = [
        (c, result.problem.names[j], float(result.v[j]), result.robust_variance, result.value, result.bound)
        for c, result in enumerate(components, start=1)
        for j in (result.support if result.value > 0 else ())
    ]
    number = polars.Float64
    schema = {"component": polars.Int64, "feature": polars.String, "loading": number}
    return polars.DataFrame(
        rows, schema=schema | {"robust_variance": number, "objective": number, "bound": number}, orient="row"
    )
