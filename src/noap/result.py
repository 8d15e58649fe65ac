"""What a method found, what is proved about it, and why it stopped."""

import copy
import enum
import importlib
import math
from dataclasses import KW_ONLY, dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from noap.adversaries import (
    EntryWise,
    FeatureWise,
    NoAdversary,
    SampleWise,
    SpectralNorm,
    require_served,
    serves,
)
from noap.data.metric import length
from noap.data.validation import as_samples
from noap.errors import InvalidProblem, NoapError
from noap.kernel.arithmetic import Refused
from noap.kernel.certificate import Certificate, Proof
from noap.kernel.claim import Claim, data_of
from noap.kernel.data import Features
from noap.kernel.tree import check_levels
from noap.kernel.witness import LENGTHS, Level
from noap.linalg.types import FloatArray, IntArray
from noap.linalg.vectors import orient
from noap.metrics import gap as relative_gap
from noap.problem import Problem
from noap.runtime.digits import percent_up
from noap.runtime.frames import Tabular, shaped
from noap.runtime.limits import Limit
from noap.runtime.notebook import html_table
from noap.runtime.progress import TracePoint

__all__ = ["Limit", "Result", "Status", "TracePoint", "rounding_allowance", "zero_result"]


# What rounding leaves between value and bound, relative to the largest variance of a feature; and how much of the value
# that may be before it is a gap like any other.
_ROUNDING_OF_SCALE, _ROUNDING_OF_VALUE = 1e-12, 1e-9

# More loadings than this do not belong in a notebook's cell.
_MOST_ROWS = 12

# The adversaries whose attacks are those of the samples, or have the rank-one forms below.
ATTACKED_COVARIANCE_SERVES = (FeatureWise, SampleWise, SpectralNorm, EntryWise, NoAdversary)
# Those for which a proof may say at once that nothing is left; SpectralNorm has none of its own.
ZERO_PROOF_SERVES = (FeatureWise, SampleWise, EntryWise, NoAdversary)


class Status(enum.Enum):
    """What is proved."""

    OPTIMAL = "optimal"
    """A rigorous bound is within the asked gap of the value.

    A gap that is smaller than what rounding leaves (1e-12 of the largest variance of a feature, and at most 1e-9 of the
    value) counts as reached there: whoever asks for 1e-6 gets 1e-6, and whoever asks for 0 gets what doubles can prove.
    """
    FEASIBLE = "feasible"
    """There is a finite bound for the whole problem; the asked gap is not proved.

    Where no limit stopped the method, the formulation or double precision cannot prove more: a budget within some 1e-9
    of `rho_max` leaves so little of the variance that the bound is mostly rounding.
    """
    HEURISTIC = "heuristic"
    """Nothing is proved about the whole problem."""


@dataclass(frozen=True, eq=False, repr=False)
class Result(Tabular):
    """A k-sparse unit vector, its robust variance and what is proved about the optimum.

    value <= optimum <= bound. The value is recomputed from the problem when the Result is made, and the
    status follows from the numbers: neither can be set.

    Attributes
    ----------
    problem : Problem
    method : str
    v : array of shape (d,)
        Unit vector, in the metric of the problem if it has one; its entry of largest magnitude is positive.
    support : array of int
        Sorted positions of the non-zero entries of v.
    features : tuple of str
        Their names, in the same order.
    value : float
        The objective at v: its robust variance, less what its features cost if the problem has costs.
    bound : float
        Upper bound on the optimum of the whole problem; inf when nothing is proved.
    bound_proof : "rigorous", "solver" or None
        Whether the bound holds in exact arithmetic or to a solver's tolerances.
    restricted_bound : float or None
        Upper bound on the optimum over the features `restricted_to` alone.
    restricted_to : array of int or None
    limit : Limit or None
        Why the method stopped early, None if it did not.
    nodes, seconds : int, float
    proof : Proof or None
        The tree that proves the bound, as a method recorded it; `certificate` makes it a document.
    asked_gap : float
        The relative gap below which the result counts as optimal.
    solver_gap : float or None
        Relative gap that a mixed-integer solver left open on its own model.
    formulation_error : float or None
        What the model itself may add to the optimum, by its theorem, in units of the value.
    program_v : array of shape (d,) or None
        Of method "mip" or "mip-r": the direction of the program's own best solution, cut to k entries and of unit
        length, or 0 where that is v = 0; None where the solver has none. `v` is the better one of it and ascent's.
    messages : tuple of str
        Anything else worth knowing, one sentence each.
    note : str or None
        How many of its features are near-copies of one another, where any are (:func:`noap.duplicates`).
    trace : tuple of TracePoint
        How value and bound moved with time and nodes.
    """

    problem: Problem = field(repr=False)
    method: str
    v: FloatArray = field(repr=False)
    _: KW_ONLY
    bound: float = math.inf
    bound_proof: str | None = None
    restricted_bound: float | None = None
    restricted_to: IntArray | None = field(default=None, repr=False)
    limit: Limit | None = None
    nodes: int = 0
    seconds: float = 0.0
    proof: Proof | None = field(default=None, repr=False)
    asked_gap: float = 1e-4
    solver_gap: float | None = None
    formulation_error: float | None = None
    program_v: FloatArray | None = field(default=None, repr=False)
    messages: tuple[str, ...] = ()
    trace: tuple[TracePoint, ...] = field(default=(), repr=False)
    support: IntArray = field(init=False)
    value: float = field(init=False)

    def __post_init__(self) -> None:
        if self.bound_proof not in (None, "rigorous", "solver"):
            raise ValueError(f"bound_proof must be 'rigorous', 'solver' or None, got {self.bound_proof!r}.")
        if (self.bound_proof is None) != math.isinf(self.bound):
            raise ValueError("A finite bound needs a bound_proof, and an infinite one has none.")
        v = _settled(self.v)
        object.__setattr__(self, "v", v)
        if self.program_v is not None:
            object.__setattr__(self, "program_v", _settled(self.program_v))
        object.__setattr__(self, "support", np.flatnonzero(v))
        object.__setattr__(self, "value", self.problem.value(v))
        self.problem.check_unchanged()
        if self.bound < self.value:
            # Rounding may put the two an ulp apart; more than that is a wrong bound and must be heard.
            if self.value - self.bound > 1e-9 * max(self.value, 1e-3 * self.problem.scale):
                raise NoapError(
                    f"The bound {self.bound!r} of method {self.method!r} lies below the value {self.value!r} "
                    "of its own vector: this is a bug in noap, please report it with the data."
                )
            # A proof of 0 is exact: there the value is what rounding made of nothing.
            exact = self.bound == 0 and self.bound_proof == "rigorous"
            object.__setattr__(self, *(("value", 0.0) if exact else ("bound", self.value)))
        if self.status is Status.OPTIMAL:
            object.__setattr__(self, "limit", None)

    @cached_property
    def certificate(self) -> Certificate | None:
        """A proof of the bound for :func:`noap.verify` and for a file; None if the method gives none."""
        if self.proof is None:
            return None
        self.problem.check_unchanged()
        claim = Claim.about(self.problem, self.value, self.bound)
        return Certificate(claim, self.support, self.v[self.support], self.proof)

    @property
    def gap(self) -> float:
        """(bound - value)/value; 0 if both are 0, inf if value <= 0 < bound: costs may make a value negative.

        Both are counted before the cost of demanded features, which nothing can change.
        """
        paid = self.problem.cost_of_demands
        return relative_gap(max(self.value + paid, 0.0), max(self.bound + paid, 0.0))

    @cached_property
    def robust_variance(self) -> float:
        """The robust variance of v, before costs."""
        return self.value if self.problem.costs is None else self.problem.robust_variance(self.v)

    @cached_property
    def plain_variance(self) -> float:
        """The variance of v on the data of the problem, before the adversary and before costs."""
        if self.problem.X is None or "covariance" in self.problem.__dict__:
            return float(self.v @ self.problem.covariance @ self.v)
        return NoAdversary().value(self.problem.samples("the plain variance"), self.v)

    @property
    def features(self) -> tuple[str, ...]:
        """The names of the features that v uses, in the order of `support`; "feature 3" where the data have none.

        Examples
        --------
        >>> import noap
        >>> X = [[2.0, 1.9, 0.1], [-2.0, -2.1, 0.2], [1.0, 1.1, -0.3], [-1.0, -0.9, 0.0]]
        >>> noap.solve(noap.Problem(X, k=2, adversary=noap.NoAdversary()), method="ascent").features
        ('feature 0', 'feature 1')
        """
        return tuple(self._named(j) for j in self.support)

    @property
    def cost(self) -> float:
        """What the features of v cost; 0 in a problem without costs."""
        return self.problem.cost(self.v)

    @cached_property
    def note(self) -> str | None:
        """How many of its features are near-copies of one another, in one sentence; None if none is.

        Examples
        --------
        >>> import noap
        >>> X = [[2.0, 1.9, 0.1], [-2.0, -2.1, 0.2], [1.0, 1.1, -0.3], [-1.0, -0.9, 0.0]]
        >>> noap.solve(noap.Problem(X, k=2, adversary=noap.NoAdversary()), method="ascent").note.split(":")[0]
        '2 of the 2 features have pairwise correlations above 0.95 in absolute value'
        """
        # Analyses lie in a layer above; the name is resolved on use.
        duplicates = importlib.import_module("noap.analysis.duplicates")
        note: str | None = duplicates.note_on_copies(self.problem, self.support) if self.value > 0 else None
        return note

    @property
    def status(self) -> Status:
        """What the numbers prove."""
        if math.isinf(self.bound):
            return Status.HEURISTIC
        size = max(self.value, self.problem.cost_of_demands)
        left_by_rounding = self.bound - self.value <= rounding_allowance(size, self.problem.scale)
        if self.bound_proof == "rigorous" and (self.gap <= self.asked_gap or left_by_rounding):
            return Status.OPTIMAL
        return Status.FEASIBLE

    @property
    def claim(self) -> str:
        """What is proved, by whom and to which gap, in one sentence."""
        if self.status is Status.OPTIMAL:
            return f"proved optimal to within {percent_up(self.gap)} (rigorous)."
        if self.status is Status.FEASIBLE:
            prover = "proved rigorously" if self.bound_proof == "rigorous" else "to the solver's tolerances"
            if self.value <= 0:
                return f"feasible: worth nothing here, and the best at most {self.bound:.6g}, {prover}."
            return f"feasible: within {percent_up(self.gap)} of the optimum, {prover}."
        if self.restricted_bound is not None and self.restricted_to is not None:
            return (
                f"heuristic: nothing is proved about the whole problem; over {len(self.restricted_to)} chosen "
                f"features no direction exceeds {self.restricted_bound:.6g} (to the solver's tolerances)."
            )
        return "heuristic: a good direction; nothing is proved about how close to best it is."

    def plot(self, ax: Any = None, top: int | None = None) -> Any:
        """Draw the loadings by name, the largest on top.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; a figure of its own by default.
        top : int, optional
            At most so many features; 40 by default.

        Returns
        -------
        matplotlib.figure.Figure
        """
        # Pictures lie layers above; the name is resolved when someone asks for one.
        return importlib.import_module("noap.figures").draw_loadings(self, ax=ax, top=top)

    def to_frame(self, flat: bool = False, library: str = "polars") -> Any:
        """Return the features of v as a table, the largest loading on top.

        Parameters
        ----------
        flat : bool
            Nothing to do here: no column holds lists.
        library : "polars" or "pandas"

        Returns
        -------
        DataFrame
            Columns feature, loading, and noise and cost where features have their own.

        Examples
        --------
        >>> import noap
        >>> X = [[2.0, 1.9, 0.1], [-2.0, -2.1, 0.2], [1.0, 1.1, -0.3], [-1.0, -0.9, 0.0]]
        >>> noap.solve(noap.Problem(X, k=2, noise=[0.1, 0.2, 0.1])).to_frame().columns
        ['feature', 'loading', 'noise']
        """
        import polars

        order = self._order
        columns = {"feature": [self.problem.names[j] for j in order], "loading": self.v[order]}
        columns |= {name: numbers[order] for name, numbers in self.problem.per_feature.items()}
        return shaped(polars.DataFrame(columns, schema_overrides={"feature": polars.String}), flat, library)

    def to_dict(self) -> dict[str, Any]:
        """Return what was asked, found and proved, as JSON takes it; what is not proved or not finite is None.

        A direction that is worth nothing is no answer: then there are no features.

        Examples
        --------
        >>> import json, noap
        >>> X = [[2.0, 1.9, 0.1], [-2.0, -2.1, 0.2], [1.0, 1.1, -0.3], [-1.0, -0.9, 0.0]]
        >>> document = noap.solve(noap.Problem(X, k=2, noise=0.25)).to_dict()
        >>> document["features"], document["status"], len(json.dumps(document)) > 0
        (['0', '1'], 'optimal', True)
        """
        support = self.support if self.value > 0 else self.support[:0]
        names = self.problem.names
        return {
            "method": self.method,
            **self.problem.to_dict(),
            "support": support.tolist(),
            "features": [names[j] for j in support],
            "loadings": self.v[support].tolist(),
            **self.proved,
            "plain_variance": self.plain_variance if self.value > 0 else None,
            "bound_proof": self.bound_proof,
            "restricted_bound": _finite(self.restricted_bound),
            "restricted_to": None if self.restricted_to is None else self.restricted_to.tolist(),
            "solver_gap": _finite(self.solver_gap),
            "formulation_error": _finite(self.formulation_error),
            "nodes": self.nodes,
            "claim": self.claim,
            "seconds": self.seconds,
            "messages": list(self.messages),
            "note": self.note,
        }

    @property
    def proved(self) -> dict[str, Any]:
        """What was found, what is proved and what ended it, as JSON takes it."""
        return {
            "robust_variance": self.robust_variance,
            "objective": self.value,
            "bound": _finite(self.bound),
            "gap": _finite(self.gap),
            "status": self.status.value,
            "limit": None if self.limit is None else self.limit.value,
        }

    def summary(self) -> str:
        """Return a short table as text: the loadings by name, what was asked, the numbers and what is proved."""
        return str(self)

    def __repr__(self) -> str:
        return f"Result({self.problem.terms}; {self.method}: value {self.value:.6g}, {self.claim[:-1]})"

    def __str__(self) -> str:
        rows = self._rows()
        wide, deep = (max(len(row[column]) for row in rows) for column in (0, 1))
        lines = [f"{name:<{wide}}  {number:>{deep}}".rstrip() for name, number in rows]
        return "\n".join([self.problem.terms, *lines, f"{self.method}, {self.claim}", *filter(None, [self.note])])

    def _repr_html_(self) -> str:
        """Return the table that a notebook shows: the loadings, the numbers and what is proved."""
        said = f"{self.problem.terms}: {self.method}, {self.claim}"
        return html_table(" ".join(filter(None, [said, self.note])), self._rows())

    def _rows(self) -> list[tuple[str, str]]:
        order = self._order
        rows = [(self._named(j), f"{self.v[j]:+.4f}") for j in order[:_MOST_ROWS]]
        if len(order) > _MOST_ROWS:
            rows.append((f"and {len(order) - _MOST_ROWS} more features", ""))
        rows.append(("robust variance", f"{self.robust_variance:.6g}"))
        if self.problem.costs is not None:
            rows.append(("less its costs", f"{self.value:.6g}"))
        if math.isinf(self.bound):
            return [*rows, ("proved bound", "none")]
        rows.append(("proved bound", f"{self.bound:.6g}"))
        rows.append(("gap", percent_up(self.gap)))
        return rows

    @property
    def _order(self) -> IntArray:
        """The features of v, the largest loading first."""
        order: IntArray = self.support[np.argsort(-np.abs(self.v[self.support]), kind="stable")]
        return order

    def _named(self, j: int) -> str:
        names = self.problem.feature_names
        return f"feature {j}" if names is None else names[j]

    def attack(self, X: Any = None) -> FloatArray:
        """Return the worst perturbation E of the samples against v, an n x d array of norm at most rho.

        Parameters
        ----------
        X : array-like, DataFrame or sparse matrix of shape (n, d), optional
            The samples of the problem, prepared as they were there: for a result that does not keep them.
        """
        if X is None:
            return self.problem.adversary.attack(self.problem.samples("attack"), self.v)
        data = as_samples(X).data
        shape = (self.problem.n_samples, self.problem.n_features)
        if data.shape != shape:
            raise InvalidProblem(f"X must be the samples of the problem, of shape {shape}, got {data.shape}.")
        return self.problem.adversary.attack(data, self.v)

    def without_data(self) -> "Result":
        """Return the result without the samples of its problem; numbers, note and certificate stay."""
        if self.problem.X is None:
            return self
        problem = self.problem.without_samples()
        _ = self.certificate, self.robust_variance, self.plain_variance
        if "covariance" not in problem.__dict__:
            _ = self.note
        return self._changed(problem=problem)

    def with_message(self, sentence: str) -> "Result":
        """Return the result with one message more."""
        return self._changed(messages=(*self.messages, sentence))

    def _changed(self, **fields: Any) -> "Result":
        changed = copy.copy(self)
        changed.__dict__.update(fields)  # nobody else can: it is frozen
        return changed

    def attacked_covariance(self) -> FloatArray:
        """Return (X+E)'(X+E)/n for the worst perturbation E against v, a d x d array.

        Works from a covariance too: the feature-wise attack is E = XT with T of rank one, so the attacked
        matrix is (I+T)'S(I+T).
        """
        adversary = self.problem.adversary
        require_served(
            adversary, ATTACKED_COVARIANCE_SERVES, "attacked_covariance", "form (X+E)'(X+E)/n with E of attack()"
        )
        S, v, n = self.problem.covariance, self.v, self.problem.n_samples
        if type(adversary) is NoAdversary:
            return S.copy()
        if not adversary.gram_suffices:
            E = self.attack()[:, self.support]
            cross: FloatArray = np.zeros_like(S)
            cross[:, self.support] = self.problem.samples("attacked_covariance").T @ E / n
            attacked: FloatArray = S + cross + cross.T
            attacked[np.ix_(self.support, self.support)] += E.T @ E / n
            return attacked
        energy = math.sqrt(max(n * float(v @ S @ v), 0.0))
        if type(adversary) is SpectralNorm:
            T = -min(1.0, adversary.rho / energy if energy > 0 else 1.0) * np.outer(v, v)
        elif adversary.has_one_budget:
            length = float(np.abs(v).sum())
            rho = adversary.rho
            share = 1.0 / length if energy <= rho * length else rho / energy
            T = -share * np.outer(v, np.sign(v))
        elif energy == 0.0:
            return S.copy()
        else:
            # The attack on one sample of score `energy` is E, and that on X is Xv/energy times E.
            E = adversary.attack(energy * v[None, :], v)
            T = np.outer(v, E[0]) / energy
        moved = np.eye(len(v)) + T
        attacked = moved.T @ S @ moved
        return attacked


def _settled(v: FloatArray) -> FloatArray:
    """Return a copy whose largest entry is positive and which nobody can change."""
    settled = orient(np.array(v, dtype=np.float64))
    settled += 0.0  # turns -0.0 into 0.0
    settled.flags.writeable = False
    return settled


def _finite(number: float | None) -> float | None:
    """Return a number as JSON takes it: None for what is not finite."""
    return number if number is not None and math.isfinite(number) else None


def rounding_allowance(value: float, scale: float) -> float:
    """Return by how much rounding alone may keep a bound above the value: 1e-12 of scale, at most 1e-9 of the value.

    Examples
    --------
    >>> rounding_allowance(1.0, 1.0), rounding_allowance(1e-8, 1.0), rounding_allowance(0.0, 1.0)
    (1e-12, 1e-17, 0.0)
    """
    return min(_ROUNDING_OF_SCALE * scale, _ROUNDING_OF_VALUE * value)


def zero_result(problem: Problem, method: str, asked_gap: float) -> Result:
    """Return the answer when the adversary can cancel every direction: value 0, bound 0."""
    if not problem.optimum_is_zero:
        raise InvalidProblem("The optimum of this problem is not known to be 0.")
    v = np.zeros(problem.n_features)
    if problem.costs is None:  # where features cost something, using none is the best
        v[int(np.argmax(problem.column_norms))] = 1.0
    if problem.metric is not None:  # an optimum of 0 is one in every metric
        v /= length(problem.metric, v)
    proof = None
    if problem.metric is None and serves(ZERO_PROOF_SERVES, problem.adversary):
        proof = _nothing_counts(problem)
    return Result(problem, method, v, bound=0.0, bound_proof="rigorous", asked_gap=asked_gap, proof=proof)


def _nothing_counts(problem: Problem) -> Proof | None:
    """Return the proof, by the lengths of features or samples, that no choice is worth more than 0, if they show it."""
    data, shift = data_of(problem)
    by_features = isinstance(data, Features) and data.additive
    features, nodes = (data.include, ()) if by_features else (np.flatnonzero(data.allowed), (LENGTHS,))
    levels = (Level(data.k, 0.0, 0.0, features, nodes),)
    try:
        check_levels(data, levels)
    except Refused:
        return None
    return Proof(levels, data.exponent, shift)
