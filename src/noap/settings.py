"""Every number that steers the search, in one place; docs/benchmarks.md has what each of them buys."""

import math
from dataclasses import dataclass, field, fields

from noap.errors import InvalidProblem

__all__ = ["JointSettings", "RelaxationSettings", "SampleSettings", "Settings"]


@dataclass(frozen=True, kw_only=True)
class RelaxationSettings:
    """Settings of the relaxation.

    Attributes
    ----------
    dense_features : int
        With more features lines have entries on a core alone, and thresholds beside it.
    core_first, core_more, core_most : int
        Features of the core at first, that join it at once, and at most.
    core_vectors : int
        Leading eigenvectors whose features may join.
    core_rounds, core_looks : int
        How often it may grow for one line, and looks at ADMM in between.
    core_near : float
        It grows where the whole exceeds it by more than this part of what is missing.
    outer_part, outer_price : float
        Beside the core the diagonal reaches this part of the largest eigenvalue, and an index has this part of the
        price.
    few_eigenvectors, spare_eigenvectors : int
        The leading eigenvectors alone are computed where at most one in `few_eigenvectors` is expected to have weight;
        `spare_eigenvectors` more than that.
    small : int
        Of smaller matrices all eigenvalues are as quick as one.
    further : float
        Over-relaxation: a step of ADMM goes so many times as far as the projection, which halves their number.
    unbalanced, least_penalty, most_penalty : float
        The penalty doubles or halves where one residual exceeds the other by this factor, within these multiples of the
        largest entry.
    share_step, least_share_step, most_share_step : float
        How far the share of the slope that is paid for indices moves at first, at least and at most.
    most_share : float
        Beyond 1 the slope of the norm itself is negative.
    longer, shorter : float
        Factors of the step of a share where its direction stays, and where it turns.
    mix, mix_step, least_mix_step, most_mix_step, least_mix, most_mix : float
        The part of a feature's price that is paid by its due, at first; its steps and its range. Only with costs.
    negligible : float
        A price below this part of the largest entry is none; a diagonal entry of W below it belongs to no feature.
    settled : float
        Excess of indices, relatively, below which the share is settled.
    row_steps, row_accuracy, cubic_steps
        Of Newton's method for the rows: the next step begins where this one ends, so accuracy is wasted.
    same_norm : float
        The weighted norm alone is used where every weight is at least this, otherwise both norms.
    steps : int
        Steps of ADMM between two looks at the line that they lead to.
    most_steps_at_root, most_steps_below : int
        Steps for one line: where nothing, or everything, is decided, and at other nodes.
    lines_at_root, lines_below : int
        Lines for one node, likewise.
    worth_it, worth_it_alone : float
        From the third line on each must take this part of what is left above the target: where the node can be
        branched on, and where nobody will.
    room : float
        A line is good enough when it leaves this much below the target, relatively.
    far : float
        A target below this part of the bound is too low to aim at.
    first_slope : float
        Slope to begin with where the target says nothing of it, in multiples of the largest entry.
    slope_factor, least_slope_factor : float
        Factor by which a slope at the end of its interval changes, at first and at least.
    steep, steepest, steepening : float
        Near t = 0 slopes begin at no more than `steep`, and grow by `steepening` up to `steepest`, in multiples of the
        largest entry.
    steep_lines, sections : int
        Steeper lines made of one, where some features have no budget, and golden sections for each: song, k = 10, 15 %
        exact closes in 6 s with them, and stays open at .4 % without.
    counted_plainly : float
        Where the two norms differ, cardinality is counted in the plain norm up to this part of the largest t.
    matrix_steps : int
        Steps of the matrix rule at most.
    matrix_near : float
        A factorisation is tried when the estimate of what is missing, with a unit diagonal, falls below this.
    chords : int
        Pieces of the interval of costs, as the kernel cuts it.
    newton_steps : int
        To the least threshold that a line closes a node at, with costs.
    cuts, flat
        The interval of t is cut so many times at most, and not where that lowers the bound by less than this part.
    """

    dense_features: int = 600
    core_first: int = 200
    core_more: int = 120
    core_most: int = 700
    core_vectors: int = 8
    core_rounds: int = 6
    core_looks: int = 10
    core_near: float = 0.1
    outer_part: float = 0.93
    outer_price: float = 0.85
    few_eigenvectors: int = 8
    spare_eigenvectors: int = 3
    small: int = 64
    further: float = 1.6
    unbalanced: float = 5.0
    least_penalty: float = 1e-3
    most_penalty: float = 1e6
    share_step: float = 0.05
    least_share_step: float = 1e-3
    most_share_step: float = 0.1
    most_share: float = 3.0
    longer: float = 1.2
    shorter: float = 0.6
    mix: float = 0.45
    mix_step: float = 0.08
    least_mix_step: float = 2e-3
    most_mix_step: float = 0.15
    least_mix: float = 0.02
    most_mix: float = 0.98
    negligible: float = 1e-9
    settled: float = 0.01
    row_steps: int = 12
    row_accuracy: float = 2e-3
    cubic_steps: int = 8
    same_norm: float = 0.02
    steps: int = 5
    most_steps_at_root: int = 100
    most_steps_below: int = 10
    lines_at_root: int = 16
    lines_below: int = 3
    worth_it: float = 0.2
    worth_it_alone: float = 0.02
    room: float = 1e-5
    far: float = 0.9
    first_slope: float = 0.1
    slope_factor: float = 1.2
    least_slope_factor: float = 1.003
    steep: float = 100.0
    steepest: float = 1e6
    steepening: float = 4.0
    steep_lines: int = 40
    sections: int = 16
    counted_plainly: float = 0.1
    matrix_steps: int = 40
    matrix_near: float = 0.02
    chords: int = 16
    newton_steps: int = 6
    cuts: int = 40
    flat: float = 1e-10

    def __post_init__(self) -> None:
        _check(self)


@dataclass(frozen=True, kw_only=True)
class SampleSettings:
    """Settings of the search against attacks on samples.

    Attributes
    ----------
    most_features, pool, nodes_in_blocks : int
        With more features no matrix of them is made: dominance is tried on a pool and a fringe, the solver works on
        `pool` features, and cheap trees have at most so many nodes, since the kernel passes over all pairs for a leaf.
    most_in_blocks, most_entries : int
        With more features, or more entries of samples in question, no attack is tried: the lengths of the samples
        bound the root.
    gains : tuple of float
        Gains of a response, in multiples of the one that all samples have that gain.
    gains_at_supports : tuple of float
        Those tried at decided supports that the smoothed attack leaves open, too.
    spread : float
        Share of the budget at right angles to a response, where most of a vector is decided.
    spreads_of_entries : tuple of float
        Shares of the way towards 0 that are mixed into responses against entries.
    promising : float
        A cheap tree is tried on responses where the ratio of the best test is below this.
    cheap_nodes, cheap_factor : int
        Nodes of a cheap tree; so many times as many where no known opponent is above the target.
    left_at_root, left_below : int
        So many nodes may a cheap tree leave open.
    decided_inline : int
        So many decided supports are closed on the way of a cheap tree.
    looks_at_root, looks_below : int
        Looks of the saddle-point solver at the opponents.
    attempts : int
        Times that it goes on towards a lower target where its attack closes no tree.
    patience : int
        Looks without progress that end it.
    inner_steps, rate, decay, step, warm : int, float, float, float, int
        Steps between two looks; the rate of the weights, how it falls, the step of the attack, three times as long at
        first.
    most_opponents, new_opponents, anchors, far : int
        Opponents known, new ones at a look, vectors to climb from, steps of the climb.
    branching : float
        A node branches on the feature with most weight among the opponents, times this and the share of those that do
        without it: five hard problems, 16 % less time than by weight alone.
    branches, weight_left : int, float
        Where one more feature fits it branches on so many in turn, until the opponents that use none of them have this
        weight: n = 500, rho = 3, seed 3 of the board in 9.9 instead of 13.5 CPU s.
    kept_attacks : int
        Attacks of nodes near the root that others are tried with.
    certified, certified_nodes, many_places : int
        Thresholds tried for the bound of a node that stays open, with cheap trees of so many nodes where more features
        than `many_places` fit: other nodes are mostly closed soon.
    looks_of_cuts, anchors_of_cuts, near_cuts : (int, int), int, float
        Against entries: looks for new opponents at the root and below, from so many vectors; supports whose opponents
        get the target but for this share are attacked together.
    beyond_raised : float
        Where attacks on one support of entries leave more than the target, the target becomes that, and so much of the
        difference more.
    widths, smooth_steps, smooth_progress : tuple of float, int, float
        Of the attack at a decided support: widths of the smoothing, steps with each, and the part of what is left
        above the target that a step must take. It closes 1,209 of the 1,210 supports of strong/weak n = 100, rho = 2
        that responses leave open, at a tenth of what a line costs.
    most_samples : int
        With more samples in question at a decided support no line about them is made.
    """

    most_features: int = 2000
    pool: int = 600
    nodes_in_blocks: int = 16
    most_in_blocks: int = 10_000
    most_entries: int = 20_000_000
    gains: tuple[float, ...] = (1.0, 1.5)
    gains_at_supports: tuple[float, ...] = (1.0, 1.5, 0.5, 2.0, 2.5, 3.0, 4.0)
    spread: float = 0.7
    spreads_of_entries: tuple[float, ...] = (0.0, 0.3, 0.7, 1.0)
    promising: float = 3.0
    cheap_nodes: int = 60
    cheap_factor: int = 4
    left_at_root: int = 12
    left_below: int = 4
    decided_inline: int = 60
    looks_at_root: int = 24
    looks_below: int = 6
    attempts: int = 2
    patience: int = 3
    inner_steps: int = 10
    rate: float = 40.0
    decay: float = 0.02
    step: float = 0.1
    warm: int = 30
    most_opponents: int = 200
    new_opponents: int = 24
    anchors: int = 40
    far: int = 12
    branching: float = 0.05
    branches: int = 30
    weight_left: float = 0.2
    kept_attacks: int = 4
    certified: int = 5
    certified_nodes: int = 1000
    many_places: int = 6
    looks_of_cuts: tuple[int, int] = (40, 12)
    anchors_of_cuts: int = 100
    near_cuts: float = 1e-3
    beyond_raised: float = 0.05
    widths: tuple[float, ...] = (0.1, 0.01, 0.001, 0.0001)
    smooth_steps: int = 100
    smooth_progress: float = 1e-3
    most_samples: int = 1500

    def __post_init__(self) -> None:
        _check(self)


@dataclass(frozen=True, kw_only=True)
class JointSettings:
    """Settings of the search for several components at once.

    Attributes
    ----------
    new, left : float
        In parts of the asked gap: by how much a support has to beat its price to count as new, and what pricing may
        leave at least.
    coarse : float
        Where the linear program is not enough, pricing may leave this part of what it lacks.
    kept : float
        Part of the prices before that the next call of ascent is made with.
    looking, proving : float
        Parts of the time limit: for columns before the first proof, and for one pricing, of what is left.
    patience : int
        Nodes of trees before all components are looked at together.
    together, briefly, packing : float
        Parts of the time left: for the inequality for all components, for a first pricing, for the integer program.
    most_seconds : float
        For the integer program.
    enumerated : int
        All supports are columns where there are at most so many.
    nodes_enumerated : int
        Cheap nodes of a pricing tree there.
    most_features : int
        Of the inequality for all components.
    mu, each : float
        What the l1 norm and an index cost at first, in parts of what an index is worth on average.
    slower : float
        Their steps, in parts of those of a single component.
    price_step, least_price_step, most_price_step, full : float
        How far the price of a feature moves, at first, at least and at most, in parts of what an index is worth; it
        moves so far where 1/full of an index too much is taken.
    unused, used, fall, rise, most_spared : float
        A feature that takes less than `unused` of an index pays less by `fall` at each look, one above `used` more by
        `rise`; nobody is let in for nothing.
    looks, worth_it, least_looks, most_looks : int, float, int, int
        Looks between two questions whether it pays: whether they took this part of what is above the target.
    """

    new: float = 0.05
    left: float = 0.25
    coarse: float = 0.1
    kept: float = 0.5
    looking: float = 0.3
    proving: float = 0.7
    patience: int = 4000
    together: float = 0.5
    briefly: float = 0.15
    packing: float = 0.05
    most_seconds: float = 10.0
    enumerated: int = 10_000
    nodes_enumerated: int = 6000
    most_features: int = 600
    mu: float = 0.05
    each: float = 0.08
    slower: float = 0.5
    price_step: float = 0.05
    least_price_step: float = 1e-3
    most_price_step: float = 0.2
    full: float = 3.0
    unused: float = 1e-6
    used: float = 1e-3
    fall: float = 0.05
    rise: float = 0.2
    most_spared: float = 0.85
    looks: int = 12
    worth_it: float = 0.04
    least_looks: int = 36
    most_looks: int = 200

    def __post_init__(self) -> None:
        _check(self)


@dataclass(frozen=True, kw_only=True)
class Settings:
    """Numbers that steer the search; no proof depends on them.

    Attributes
    ----------
    direct_features : int
        Without sparse graphs the tree is tried on the matrix of all features, up to so many of them.
    relaxed_features : int
        With more features the tree goes on without the relaxation, but for lines with a core.
    fringe_features, fringe_pool, fringe_most : int
        With more features than this dominance is tried on a pool, at first of so many features and at most, and on
        bounds for all others.
    least_nodes : int
        Nodes of majorants and dominance at least, however many features there are.
    sparse : float
        Directly or by levels? By levels where the densest level's graph has at most so many pairs for each feature
        (docs/tree.md); otherwise, and where levels fail, the tree goes on with the relaxation.
    few_features, sparse_few : int, float
        With fewer features than this the tree is quicker where the graph has more than `sparse_few` pairs for each: gas
        (128), k = 5 and 10, noise .5 and .7, 9.7 s directly, .26 s by levels.
    levels_from, first_nodes : int
        Levels are looked at from so many features on, after so many nodes of majorants and dominance; with fewer
        features, or fewer than `few_features` and no budget, the tree alone is as quick: the paper's model (100) at a
        normalised budget of 2, .05 s directly, .5 s by levels.
    pool_features, pool_groups, pool_longest : int
        Ascent works on a pool of about so many features: the best neighbours of the most promising ones, out of so many
        features that may contribute most.
    ascent_few : int
        Rows of A from which ascent starts for fewer features than k.
    most_pairs, most_each : int, float
        A level with more pairs, or more for each feature, is left out.
    small_component : int
        A component of at most so many times the size of a choice is one claim.
    whole_core : int
        A core of at most so many features is tried as one claim first, where its claims are `whole_work` times as much.
    whole_work : float
    coarser_looks, coarser_levels, coarser_least : int, int, float
        A level that stays open is proved at a larger threshold: the least one with a sparse graph, in so many
        bisections, and at least so far up to what is known; then so often halfway from there.
    claim_nodes, claim_relaxed : int
        Nodes of majorants and dominance, and of the relaxation, for a small claim.
    claim_features : int
        On claims of more features the relaxation is not tried.
    finer : float
        Levels below k are proved to at least this gap.
    ascent_starts : int
        Rows of A from which ascent starts.
    ascent_first_steps, ascent_steps : int
        Steps of all starts, and of the best ones.
    ascent_kept : int
        How many starts go on.
    ascent_swaps : int
        Rounds in which one feature is exchanged.
    ascent_settling : int
        Steps of the best vector on its own features, to the fixed point.
    hair : float
        The search aims below the asked threshold by this part of the gap, so that rounding of witnesses does no harm.
    cheap_nodes : int
        Nodes of majorants and dominance before the relaxation begins.
    cheap_features : int
        With more features than this there are fewer such nodes: as many as take the same time.
    cheap_nodes_vanilla, cheap_nodes_fringe : int
        The same without a budget, where no attack can be at fault; where the test is that of a pool and its fringe.
    cheap_nodes_with_costs : int
        And again where features cost something, once the lines of the root are known.
    cheap_nodes_unequal, alike : int, float
        The same where a budget is below `alike` times another one: there lines are weaker.
    cheap_nodes_in_metric, own_response_in_metric : int, float
        The same, and `own_response`, in a metric: its attacks have no gain, and lines see the cardinality only through
        the l1 norm.
    holes : int
        So many nodes that no majorant closes may be left to the relaxation where budgets are unequal; elsewhere the
        relaxation of the root is quicker (pol, k = 10, noise .3: 9 nodes instead of 172).
    cheap_nodes_below : int
        The same at a node of the relaxation's tree.
    last_rounds : int
        Rounds of lines for a node where features and signs are decided.
    dominance_steps : int
        Steps of the iteration for the scaling of a node.
    own_response : float
        A node gets majorants in response to its own best vector if the ratio of its best test is above this.
    deflations, deflation_factor : int, float
        Where v is orthogonal to directions, each attack is tried with so many multiples of them, from their own
        variances on, each so many times the one before.
    deflation_of_lines, deflation_where_decided : float
        The multiple of these variances in lines, and where all features are decided.
    depth_first : bool
        Whether nodes that dominance leaves open are closed by the matrix rule, depth first, also where there are
        budgets or costs: several components are priced so (pol, k = 10: 0.4 instead of more than 9 s). Without either
        it is always so.
    kernel_attempts : int
        How often a bound that the kernel refuses is raised, or the leaf that it refuses counted as open.
    smaller_bounds, smaller_work : int, float
        How many smaller bounds are tried with the witnesses of a finished proof; none where that is so much work, in
        entries of matrices: a check of thousands of features takes longer than the search.
    relaxation : RelaxationSettings
        Of the lines above the variance.
    samples : SampleSettings
        Of the search against attacks on samples.
    joint : JointSettings
        Of several components at once.
    """

    direct_features: int = 6000
    relaxed_features: int = 2000
    fringe_features: int = 450
    fringe_pool: int = 64
    fringe_most: int = 1100
    least_nodes: int = 6
    sparse: float = 64.0
    few_features: int = 400
    sparse_few: float = 8.0
    levels_from: int = 110
    first_nodes: int = 8
    pool_features: int = 600
    pool_groups: int = 48
    pool_longest: int = 20_000
    ascent_few: int = 12
    most_pairs: int = 8_000_000
    most_each: float = 256.0
    small_component: int = 4
    whole_core: int = 2000
    whole_work: float = 50.0
    coarser_looks: int = 6
    coarser_levels: int = 3
    coarser_least: float = 0.1
    claim_nodes: int = 64
    claim_relaxed: int = 400
    claim_features: int = 600
    finer: float = 1e-6
    ascent_starts: int = 32
    ascent_first_steps: int = 4
    ascent_steps: int = 60
    ascent_kept: int = 4
    ascent_swaps: int = 2
    ascent_settling: int = 200
    hair: float = 1e-3
    cheap_nodes: int = 256
    cheap_features: int = 400
    cheap_nodes_vanilla: int = 600
    cheap_nodes_fringe: int = 4000
    cheap_nodes_with_costs: int = 100_000
    cheap_nodes_unequal: int = 4000
    alike: float = 0.02
    cheap_nodes_in_metric: int = 8000
    own_response_in_metric: float = 3.0
    holes: int = 64
    cheap_nodes_below: int = 8
    last_rounds: int = 2
    dominance_steps: int = 25
    own_response: float = 1.05
    deflations: int = 5
    deflation_factor: float = 30.0
    deflation_of_lines: float = 300.0
    deflation_where_decided: float = 1e4
    depth_first: bool = False
    kernel_attempts: int = 60
    smaller_bounds: int = 6
    smaller_work: float = 3e7
    relaxation: RelaxationSettings = field(default_factory=RelaxationSettings)
    samples: SampleSettings = field(default_factory=SampleSettings)
    joint: JointSettings = field(default_factory=JointSettings)

    def __post_init__(self) -> None:
        _check(self)


def _check(settings: object) -> None:
    """Refuse numbers below 0, and what is no number."""
    for one in fields(settings):  # type: ignore[arg-type]  # both are dataclasses
        given = getattr(settings, one.name)
        if isinstance(given, bool | JointSettings | RelaxationSettings | SampleSettings):
            continue
        for number in given if isinstance(given, tuple) else (given,):
            _check_number(settings, one.name, number)


def _check_number(settings: object, name: str, given: object) -> None:
    """Refuse a number below 0, and what is none."""
    if isinstance(given, bool) or not isinstance(given, int | float) or not 0 <= given < math.inf:
        raise InvalidProblem(f"{type(settings).__name__}.{name} must be a number of at least 0, got {given!r}.")
