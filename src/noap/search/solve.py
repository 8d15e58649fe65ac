"""The exact method on the tree: data, ascent, search, the kernel's check, and what the user is told meanwhile."""

import contextlib
import functools
import math
from dataclasses import dataclass, field, replace

import numpy as np

from noap.adversaries import NoAdversary, SpectralNorm
from noap.data.metric import length
from noap.kernel.arithmetic import Refused, U, sum_up
from noap.kernel.certificate import Proof
from noap.kernel.claim import data_of, matrix_of
from noap.kernel.data import Columns, Data, Features
from noap.kernel.samples import SampleData
from noap.kernel.tree import check_levels
from noap.kernel.witness import Level
from noap.linalg.memory import MANY_FEATURES
from noap.linalg.types import FloatArray
from noap.problem import Problem
from noap.result import Limit, Result, Status, rounding_allowance
from noap.runtime.controls import Controls
from noap.runtime.interrupts import Interrupts, holding_interrupts
from noap.runtime.limits import Limits
from noap.runtime.names import listed
from noap.runtime.progress import SearchLine, TracePoint
from noap.runtime.threads import one_thread
from noap.search.ascent import ascend, value_of
from noap.search.cheap import Better
from noap.search.induction import Improved, Induction
from noap.search.pool import Pool
from noap.search.prove import Found, Search, Stop
from noap.search.sample_ascent import ascend_samples, sample_value
from noap.search.sample_tree import SampleSearch

__all__ = ["in_users_units", "less_spectral_budget", "solve_by_tree"]

_NO_SMALLER = (
    "Rounding in double precision, or the rules of the kernel, leave no smaller gap here; ask for a larger gap."
)


def solve_by_tree(
    problem: Problem,
    controls: Controls,
    limits: Limits,
    start: FloatArray | None = None,
    *,
    branching: bool = True,
) -> Result:
    """Return the best vector of a problem and a proof of its bound, by the tree of the kernel.

    Parameters
    ----------
    start : array of shape (d,), optional
        A vector to start ascent from, beside its own.
    branching : bool
        False for the relaxation of the root alone.
    """
    # Ctrl-C waits until the search can stop with an answer; NaN refuses, whatever it came from. Small claims are small
    # matrices, however many features there are: several threads took ten times as long for them.
    rows = 0 if problem.n_features > MANY_FEATURES else problem.n_features
    with holding_interrupts() as interrupts, np.errstate(all="ignore"), one_thread(rows):
        data, shift = data_of(problem) if branching else matrix_of(problem)
        if isinstance(data, Features):
            data.threads = limits.threads
        with SearchLine(controls.progress, controls.label) as line:
            run = _Run(problem, data, controls, limits, branching, line, interrupts)
            v, found = run.prove_by_levels(start) if isinstance(data, Columns) else run.prove(start)
    if not v.any() and problem.costs is None and not len(problem.include) and problem.orthogonal_to is None:
        # No direction is better than another.
        v[int(np.argmax(np.where(data.allowed, problem.column_norms, -1.0)))] = 1.0
    v = outside(problem, data, v)
    bound = in_users_units(found.bound, data.exponent)
    if type(problem.adversary) is SpectralNorm:
        bound = less_spectral_budget(bound, problem.n_samples, float(problem.adversary.rho))
    result = Result(
        problem,
        "exact" if branching else "relaxation",
        v,
        bound=bound,
        bound_proof="rigorous",
        limit=controls.limit,
        nodes=run.nodes,
        seconds=controls.seconds,
        asked_gap=controls.gap,
        proof=Proof(found.levels, data.exponent, shift, least=_least(data)) if limits.keep_proof else None,
        trace=tuple(run.trace),
        messages=(*_messages(problem, v), *run.words(found.bound)),
    )
    if branching and result.status is Status.FEASIBLE and result.limit is None and not run.words(found.bound):
        return replace(result, messages=(*result.messages, _NO_SMALLER))
    return result


def _least(data: Features | SampleData) -> float:
    """Return what a certificate says of a metric that is a matrix."""
    return 0.0 if data.metric is None or data.metric.is_diagonal else float(data.metric.below[0])


def _messages(problem: Problem, v: FloatArray) -> tuple[str, ...]:
    """Return what the user should know of demanded features that v does not use."""
    unused = [j for j in problem.include if v[j] == 0]
    if not unused:
        return ()
    names = [str(j) if problem.feature_names is None else problem.feature_names[j] for j in unused]
    return (f"Demanded and without weight: {listed(names, 5)}; each takes one of the {problem.k} places.",)


def in_users_units(bound: float, exponent: int) -> float:
    """Return the least double of at least bound 4**exponent; exact but where it underflows."""
    made = math.ldexp(bound, 2 * exponent)
    return made if math.ldexp(made, -2 * exponent) >= bound else math.nextafter(made, math.inf)


def outside(problem: Problem, data: Features | SampleData, v: FloatArray) -> FloatArray:
    """Return a vector in the units of the problem: of length 1 in its metric, if it has one."""
    if data.metric is None or not v.any():
        return v
    there: FloatArray = np.ldexp(v, data.metric.units)
    return there / length(problem.metric, there)


def less_spectral_budget(bound: float, n: int, rho: float) -> float:
    """Return (sqrt(bound) - rho/sqrt(n))_+^2, rounded up.

    Examples
    --------
    >>> less_spectral_budget(8.0, 4, 2.0) - (8.0**0.5 - 1.0) ** 2 < 1e-14
    True
    """
    left = math.sqrt(bound) * (1.0 + 4 * U) - rho / math.sqrt(n) * (1.0 - 4 * U)
    # What underflows in the square and in the product is half a step each.
    return left * left * (1.0 + 8 * U) + 1e-323 if left > 0 else 0.0


@dataclass
class _Run:
    """One call: how often the search began anew with a better vector, its nodes and its trace; if graphs are dense."""

    problem: Problem
    data: Features | SampleData
    controls: Controls
    limits: Limits
    branching: bool
    line: SearchLine
    interrupts: Interrupts
    nodes: int = 0
    trace: list[TracePoint] = field(default_factory=list)
    search: Search | SampleSearch | None = None
    induction: Induction | None = None
    pool: Pool | None = None
    dense: bool = False
    value: float = 0.0

    def prove(self, start: FloatArray | None) -> tuple[FloatArray, Found]:
        """Return the best vector, and the smallest bound for which there is a proof."""
        data = self.data
        if start is not None and data.metric is not None:
            start = np.ldexp(start, -data.metric.units)
        v: FloatArray = np.zeros(data.d)
        search = self._begun(v)
        closed = False
        try:
            if search.by_lengths > self.value:  # else nothing is left
                v = self._ascend(start)
            while True:
                search = self._begun(v)
                try:
                    if not self.branching:
                        closed = search.relax()
                    elif isinstance(search, Search) and self._has_levels:
                        closed = search.run(by_levels=functools.partial(self._by_levels, v, search.target))
                    else:
                        closed = search.run()
                    break
                except Better as better:
                    self.nodes += search.nodes
                    v = self._ascend(better.v)
        except Stop:
            pass
        found = search.found()
        self.nodes += search.nodes + (0 if self.induction is None else self.induction.nodes)
        if not closed and self.induction is not None and self.induction.bound < found.bound:
            found = self._by_induction()
        if closed:
            support, there = np.flatnonzero(v), outside(self.problem, data, v)
            with contextlib.suppress(Refused):  # a vector that the kernel cannot value is none to compare with
                found = search.smaller(found, data.value_at_least(support, there[support]))
        self._note(found.bound, self.nodes)
        return v, found

    def words(self, bound: float) -> tuple[str, ...]:
        """Return what helps where features are many and too many of them are as good as those of the answer."""
        closed = self.controls.limit is not None or bound <= self.value * (1 + self.controls.gap)
        if closed or isinstance(self.data, Data) or self.induction is None:
            return ()
        return (
            "Too many features fit together for levels to prove more: more noise, a smaller k or fewer features help.",
        )

    @property
    def _has_levels(self) -> bool:
        """Whether induction is possible, and features are many enough for it to be worth its while."""
        data = self.data
        if isinstance(data, SampleData) or self.dense or not data.additive or data.metric is not None:
            return False
        if data.k < 2 or len(data.include):
            return False
        settings, count = self.limits.settings, int(np.count_nonzero(data.allowed & (data.most > 0)))
        return count >= (settings.levels_from if data.r_max > 0 else max(settings.levels_from, settings.few_features))

    def _by_levels(self, v: FloatArray, target: float) -> tuple[float, tuple[Level, ...]] | None:
        """Return levels that prove a target; None where their graphs are dense, or one stays open."""
        settings = self.limits.settings
        assert isinstance(self.data, Data)
        if self.pool is None:
            self.pool = Pool(self.data, settings, self._check, self._scanned)
        at = np.flatnonzero(v)
        self.pool.note(self.data.k, at, v[at], self._floating_value(v))
        self.pool.search((at, v[at]))
        if self.pool.values[-1] > target:
            raise Better(self._of_pool())
        self.induction = Induction(self.data, self.pool, self.controls.gap, settings, self._check)
        sparse = settings.sparse if self.data.d >= settings.few_features else settings.sparse_few
        if self.induction.density(target) > sparse:
            self.induction, self.dense = None, True
            return None
        try:
            proved = self.induction.run(target)
        except Improved:
            self.nodes += self.induction.nodes
            self.induction = None
            raise Better(self._of_pool()) from None
        found = self.induction.proof() if proved else None
        return None if found is None or found[0] > target else found

    def _of_pool(self) -> FloatArray:
        """Return the best vector of the pool."""
        assert self.pool is not None
        features, weights = self.pool.vector(self.data.k)
        v: FloatArray = np.zeros(self.data.d)
        v[features] = weights
        return v

    def _floating_value(self, v: FloatArray) -> float:
        at = np.flatnonzero(v)
        assert isinstance(self.data, Features)
        return value_of(self.data.part(at), v[at]) if len(at) else 0.0

    def _by_induction(self) -> Found:
        """Return what the levels of the induction prove; lengths alone without any."""
        if self.induction is not None:
            return Found(*self.induction.proof(), self.nodes)
        assert isinstance(self.data, Features)
        bound = float(self.data.sums_of_most(self.data.k)[-1])
        levels = (Level(self.data.k, bound, bound, np.empty(0, np.intp), ()),)
        return Found(check_levels(self.data, levels), levels, self.nodes)

    def prove_by_levels(self, start: FloatArray | None) -> tuple[FloatArray, Found]:
        """Return the best vector, and the smallest bound that levels prove: there is no matrix of all features."""
        data, settings = self.data, self.limits.settings
        assert isinstance(data, Columns)
        v: FloatArray = np.zeros(data.d)
        self._note(float(data.sums_of_most(data.k)[-1]), self.nodes)
        direct: Found | None = None
        try:
            if (data.most[data.allowed] > 0).any():
                self.pool = Pool(data, settings, self._check, self._scanned)
                at = np.flatnonzero(np.zeros(0) if start is None else start)
                self.pool.search((at, np.zeros(0) if start is None else start[at]))
                while True:
                    v = self._of_pool()
                    target = self._target(v, self._floating_value(v))
                    induction = Induction(data, self.pool, self.controls.gap, settings, self._check)
                    if (
                        direct is None
                        and data.d <= settings.direct_features
                        and induction.density(target) > settings.sparse
                    ):
                        v, direct = self._directly(v)
                        if direct.bound <= self._target(v, self._floating_value(v)) * (1 + 1e-9):
                            return v, direct
                        continue
                    self.induction = induction
                    try:
                        self.induction.run(target)
                        break
                    except Improved:
                        self.nodes += self.induction.nodes
        except Stop:
            pass
        if self.pool is not None:
            v = self._of_pool()
        if self.induction is not None:
            self.nodes += self.induction.nodes
        self.value = max(self._floating_value(v), 0.0)
        found = self._by_induction()
        if direct is not None and direct.bound < found.bound:
            found = direct
        self._note(found.bound, self.nodes)
        return v, found

    def _directly(self, v: FloatArray) -> tuple[FloatArray, Found]:
        """Return what the tree makes of the matrix of all features."""
        data, self.dense = self.data, True
        assert isinstance(data, Columns)
        self.data = data.matrix()
        try:
            v, found = self.prove(v)
        finally:
            self.data, self.search = data, None
        assert self.pool is not None
        at = np.flatnonzero(v)
        self.pool.note(data.k, at, v[at], self._floating_value(v))
        return v, found

    def _ascend(self, start: FloatArray | None) -> FloatArray:
        data, settings = self.data, self.limits.settings
        if isinstance(data, SampleData):
            return ascend_samples(data, settings, start)
        assert isinstance(data, Data)
        return ascend(data, settings, start)

    def _begun(self, v: FloatArray) -> Search | SampleSearch:
        """Return a search for a proof that nothing is better than v by more than the gap."""
        data, settings = self.data, self.limits.settings
        if isinstance(data, SampleData):
            target = self._target(v, sample_value(data, v))
            self.search = SampleSearch(data, v, target, settings, self._check, self.limits.bytes)
        else:
            assert isinstance(data, Data)
            self.search = Search(data, v, self._target(v, value_of(data, v)), settings, self._check)
        self._note(self.search.bound, self.nodes)
        return self.search

    def _target(self, v: FloatArray, largest: float) -> float:
        """Return the threshold to prove, above the value of v by the gap."""
        data = self.data
        # A is a little larger than the data's own: its value of v decides what is better, the true one how far to go.
        largest = max(largest, sum_up(-data.costs[data.include]))
        self.value = min(largest, self._true_value(v))
        before = max(self.value + float(data.costs[data.include].sum()), 0.0)  # the cost of demands
        taken = self._spectral_budget()
        before = max(math.sqrt(before) - taken, 0.0) ** 2
        short = max(self.controls.gap * before, 0.9 * rounding_allowance(before, data.top))
        short *= 1.0 - self.limits.settings.hair
        target = self.value + short
        if taken > 0:  # where nothing is left, a bound of 0 is worth a little less room
            nothing = (1.0 - 1e-9) * taken * taken
            target = nothing if self.value < nothing else (math.sqrt(before + short) + taken) ** 2
        return max(target, largest + 0.9 * rounding_allowance(max(largest, 0.0), data.top))

    def _true_value(self, v: FloatArray) -> float:
        """Return the value of the choice that v makes by the data themselves, in the units of A."""
        problem = self.problem
        plain = problem.with_adversary(NoAdversary()) if type(problem.adversary) is SpectralNorm else problem
        own = plain.value(outside(plain, self.data, v)) if v.any() else -plain.cost_of_demands
        return math.ldexp(own, -2 * self.data.exponent)

    def _spectral_budget(self) -> float:
        """Return the budget of the spectral norm in the units of the data: the optimum falls as that of A does."""
        problem, data = self.problem, self.data
        if type(problem.adversary) is not SpectralNorm:
            return 0.0
        # No vector is worth more than k times the largest entry: nothing is left at twice the root of that.
        enough = 2.0 * math.sqrt(data.k * data.top) * 2.0**data.exponent
        taken = min(float(problem.adversary.rho) / math.sqrt(problem.n_samples), enough)
        return math.ldexp(taken, -data.exponent)

    def _check(self) -> None:
        search, induction, limits = self.search, self.induction, self.limits
        at_work = [one for one in (search, induction) if one is not None]
        nodes = self.nodes + sum(one.nodes for one in at_work)
        if self.interrupts.seen:
            self.controls.limit = Limit.INTERRUPTED
        if self.controls.expired():
            raise Stop
        if limits.nodes is not None and nodes >= limits.nodes:
            self.controls.limit = Limit.NODES
            raise Stop
        if limits.bytes is not None and sum(one.bytes for one in at_work) > limits.bytes:
            self.controls.limit = Limit.MEMORY
            raise Stop
        if at_work:
            self._note(min(one.bound for one in at_work), nodes)

    def _scanned(self, done: int, total: int) -> None:
        """Show how far a pass over pairs of features is."""
        self.line.report(self.trace[-1], self.data.d, f"{done} of {total} pairs scanned")

    def _note(self, bound: float, nodes: int) -> None:
        """Keep a point of the trace where value or bound moved, and show the line of progress."""
        unit, taken = 4.0**self.data.exponent if abs(self.data.exponent) < 500 else math.nan, self._spectral_budget()
        value, bound = (x if taken == 0 else max(math.sqrt(x) - taken, 0.0) ** 2 for x in (self.value, bound))
        point = TracePoint(self.controls.seconds, value * unit, bound * unit, nodes)
        last = self.trace[-1] if self.trace else None
        if last is None or (last.value, last.bound) != (point.value, point.bound):
            self.trace.append(point)
        self.line.report(point, self.data.d if self.search is None else len(self.search.features))
