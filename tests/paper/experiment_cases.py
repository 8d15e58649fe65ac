"""A small experiment whose every number is decided by its definition: node limits, no time limits."""

import functools
import os
import time

from noap.experiments import Method, Spec, SpikedModel, Store, perform, run
from noap.experiments.table import trials
from noap.experiments.trial import MEASURED

SPEC = Spec(
    name="small",
    adversary="feature",
    model=SpikedModel(d=12, k=3, lam=3.0, k1=1, c=0.8),
    samples=(40,),
    budgets=(0.0, 0.5, 1.5, 9.0),
    seeds=tuple(range(5)),
    methods=(
        Method("PPM", "ppm", {"iterations": 50}),
        Method("MIP", "mip", {"reduced_dim": 5, "backend": "scip"}),
        Method("vanilla", "vanilla"),
        Method("exact", "exact", {"node_limit": 40}),
    ),
)
COUNT = 4 * 5 * 4


def measured(store, spec=SPEC):
    """The columns that every run must reproduce, to the last bit."""
    table = trials(spec, store)
    return table.select("method", "n", "seed", "budget", *MEASURED).rows()


def logged(log, pause, trial):
    """Write down that a trial begins, dawdle so that it can be killed, then do it."""
    handle = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    os.write(handle, f"{trial.key}\n".encode())
    os.close(handle)
    time.sleep(pause)
    return perform(trial)


def run_logged(path, log, pause):
    """Run the small experiment in this process; a target for processes that get killed."""
    with Store(path) as store:
        run([SPEC], store, work=functools.partial(logged, log, pause))
