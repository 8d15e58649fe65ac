r"""The paper's mixed-integer programs, strengthened, on whatever solver is installed.

In the paper's symbols, with :math:`\hat\Sigma = X^\top X/n = \sum_j \lambda_j v_j v_j^\top`,
:math:`\lambda_1 \ge \ldots \ge \lambda_d`,
:math:`\overline{\mathcal V}_k = \lbrace v : \|v\|_2 \le 1, \|v\|_0 \le k \rbrace`, and breakpoints
:math:`\theta_j^\ell = \ell/N`, :math:`\ell = -N, \ldots, N`, the chords of :math:`g_j^2` are (equation (4))

.. math:: \mathrm{PLU}(J) = \lbrace (g_j, \xi_j, \eta_j)_{j \in J} :\
    g_j = \langle v_j, v\rangle = \sum_\ell \theta_j^\ell \eta_j^\ell,\
    \xi_j = \sum_\ell (\theta_j^\ell)^2 \eta_j^\ell,\
    \sum_\ell \eta_j^\ell = 1,\ \eta_j \ge 0 \text{ in SOS-II} \rbrace ,

so that :math:`g_j^2 \le \xi_j \le g_j^2 + 1/(4N^2)`.

**Feature-wise** (Theorem 2, equation (8)), the default:

.. math:: \sqrt{\mathrm{ub}} = \max \tfrac{1}{\sqrt n}\, t \quad \text{s.t.}\quad
    v \in \overline{\mathcal V}_k,\ (g, \xi, \eta) \in \mathrm{PLU}([d]),\
    n \sum_j \lambda_j \xi_j \ge (t + \rho y)^2,\ t \ge 0,\ y \ge \|v\|_1 .

**Sample-wise** (Theorem 1, equation (5)), with :math:`\phi_\rho(t) = -t^2` for :math:`|t| \le \rho` and
:math:`\rho^2 - 2\rho|t|` beyond:

.. math:: \mathrm{ub} = \max \sum_j \lambda_j \xi_j + \tfrac1n \sum_i \phi^i \quad \text{s.t.}\quad
    v \in \overline{\mathcal V}_k,\ (g, \xi, \eta) \in \mathrm{PLU}([d]),\
    \phi^i \le \phi_\rho(\langle x^i, v\rangle) .

Either way :math:`\mathrm{opt} \le \mathrm{ub} \le \mathrm{opt} + \sum_j \lambda_j/(4N^2)`.

**MIP-r** (Propositions 6 and 3, equations (11) and (6)) has chords for the first r directions only: in either program
:math:`\sum_{j \le d} \lambda_j \xi_j` becomes :math:`\sum_{j \le r} \lambda_j \xi_j + \lambda_{r+1} \gamma` with
:math:`\sum_{j \le r} g_j^2 \le 1 - \gamma`, :math:`\gamma \ge 0`. Its printed guarantee is false (docs/mip.md, which
also says which valid rows the default adds to all of them and why).

Paper to options of ``noap.solve(problem, "mip")`` and ``"mip-r"``: N is `pieces`, r is `rank`, :math:`\bar d` is
`reduced_dim`, and ``as_printed=True`` solves the programs above to the letter. In the code S is
:math:`\hat\Sigma` and :math:`q_j` the eigenvector :math:`v_j`.
"""

from noap.mip.backends.registry import BackendInfo, list_backends
from noap.mip.cuts import Cuts
from noap.mip.run import run_mip, run_mip_r

__all__ = ["BackendInfo", "Cuts", "list_backends", "run_mip", "run_mip_r"]
