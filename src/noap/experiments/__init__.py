"""Run the paper's experiments: frozen specs, a runner that can be killed, a store, claims, figures and tables.

>>> from noap.experiments import paper_specs
>>> paper_specs(quick=True)["figures"].budgets[:3]
(0.0, 0.5, 1.0)
"""

from noap.experiments.paper import paper_specs
from noap.experiments.runner import Run, run
from noap.experiments.spec import Method, Spec, SpikedModel, Trial
from noap.experiments.store import Store
from noap.experiments.trial import perform

__all__ = ["Method", "Run", "Spec", "SpikedModel", "Store", "Trial", "paper_specs", "perform", "run"]
