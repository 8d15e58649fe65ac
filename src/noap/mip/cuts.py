"""Switch the valid rows that a formulation adds to the paper's program."""

from dataclasses import dataclass, fields, replace

__all__ = ["Cuts"]


@dataclass(frozen=True)
class Cuts:
    r"""Switches of the strengthening; every one keeps at least one optimum of the robust problem.

    With all of them off the program is the paper's, row for row. `docs/mip.md` proves each.

    Attributes
    ----------
    screening : bool
        Features and samples that no optimum uses are left out before the model is written.
    symmetry : bool
        :math:`\langle q_1, v\rangle \ge 0`: v and -v have the same value.
    ranges : bool
        Breakpoints on :math:`[-\theta_j, \theta_j]`, :math:`\theta_j = \|\mathrm{top}_k(q_j)\|_2`, instead of [-1, 1].
    tight_ranges : bool
        The ranges that a direction at least as good as the incumbent leaves for :math:`g_j`.
    caps : bool
        :math:`|v_j| \le U_j`: a unit optimum is at least as good as the incumbent, and
        :math:`t\,|v_j| = (|a_j^\top u| - \rho)_+ \le \|a_j\| - \rho` at it.
    l1 : bool
        :math:`1 \le y \le \sqrt k` (feature-wise), and what caps and cutoff make of it.
    parseval : bool
        Columns :math:`h_j` between :math:`g_j^2` and its chord that sum to :math:`\|v\|_2^2 = 1`.
    xi_sum : bool
        :math:`\sum_j \xi_j \le 1 + \sum_j \delta_j^2/4`, with :math:`\delta_j` the widest piece of j.
    perspective : bool
        Columns :math:`w_i` between :math:`v_i^2/z_i` and :math:`U_i |v_i|` that sum to 1.
    clipping : bool
        Sample-wise: the loss is at least a fixed share of the energy, because no score of sample i exceeds its T_i.
    norm_pieces : bool
        Sample-wise and vanilla MIP-r: a piecewise-linear :math:`\sum_i \mathrm{plu}(v_i) \ge 1`.
    cutoff : bool
        The objective is at least the incumbent's value.
    start : bool
        The incumbent is handed to the solver as its first solution. It is a hint and changes no row.
    """

    screening: bool = True
    symmetry: bool = True
    ranges: bool = True
    tight_ranges: bool = True
    caps: bool = True
    l1: bool = True
    parseval: bool = True
    xi_sum: bool = True
    perspective: bool = True
    clipping: bool = True
    norm_pieces: bool = True
    cutoff: bool = True
    start: bool = True

    @classmethod
    def none(cls) -> "Cuts":
        """Return the paper's program as printed, without a first solution."""
        return cls(**dict.fromkeys(cls.names(), False))

    @classmethod
    def printed(cls) -> "Cuts":
        """Return the paper's program as printed, row for row, with the incumbent as its first solution."""
        return replace(cls.none(), start=True)

    @classmethod
    def names(cls) -> tuple[str, ...]:
        """Return the names of the switches."""
        return tuple(switch.name for switch in fields(cls))

    def without(self, *names: str) -> "Cuts":
        """Return these cuts less the named ones."""
        return replace(self, **dict.fromkeys(names, False))

    @property
    def uses_value(self) -> bool:
        """True if a row or a bound of the program uses the value of the incumbent."""
        return self.tight_ranges or self.caps or self.cutoff

    @property
    def needs_incumbent(self) -> bool:
        """True if any switch uses a feasible direction."""
        return self.uses_value or self.start
