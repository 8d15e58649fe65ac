"""Peak memory, one process per job."""

import subprocess
from collections.abc import Iterator
from functools import partial

import polars as pl

from noap.bench.board import Board, BoardRow, Setting
from noap.bench.peers import PEERS
from noap.measuring.processes import in_fresh_process, peak_memory
from noap.measuring.tables import markdown

__all__ = ["MEMORY"]

_N, _K = 500, 5
_JOBS = {
    "noap ascent": "noap.solve(problem, method='ascent')",
    "noap exact": "noap.solve(problem, time_limit=60)",
    "abess": "peers['abess']()",
    "scikit-learn": "peers['scikit-learn']()",
}
# A first small job loads and compiles what the method needs, so that the rest is the work itself.
_FRAME = """
import math
import noap
from noap.bench.peers import PEERS
from noap.bench.sources import strong_weak
def job(n, d, k):
    X = strong_weak(n, d, k, 0)
    problem = noap.Problem(X, k=k, adversary=noap.FeatureWise(math.sqrt(n / k)))
    wanted = [peer for peer in PEERS if peer.name == {name!r}]
    S = X.T @ X / n if wanted else None
    peers = {{peer.name: peer.prepare(S, k) for peer in wanted}}
    before = peak_memory()
    {call}
    return before
job(20, 10, 3)
base = peak_memory()
before = job({n}, {d}, {k})
print(json.dumps({{"base": base, "data": before, "peak": peak_memory()}}))
"""


def _run(setting: Setting) -> Iterator[BoardRow]:
    if peak_memory() is None:
        setting.skipped.append("Memory is read from /proc/self/status, which this system does not have.")
        return
    absent = {peer.name for peer in PEERS if not peer.installed}
    for d in setting.spec.memory_d:
        for name, call in _JOBS.items():
            # One search of scikit-learn takes minutes beyond 1000 features.
            if name in absent or (name == "scikit-learn" and d > 200):
                continue
            yield from setting.once((name, d), partial(_process, setting, name, call, d))


def _process(setting: Setting, name: str, call: str, d: int) -> Iterator[BoardRow]:
    program = _FRAME.format(name=name, call=call, n=_N, d=d, k=_K)
    try:
        found = in_fresh_process(program)
    except subprocess.CalledProcessError:
        setting.skipped.append(f"Memory of {name} at d = {d}: the process failed.")
        return
    setting.say(f"{name} d={d}: {found['peak']:.0f} MB")
    yield {
        "method": name,
        "n": _N,
        "d": d,
        "k": _K,
        "base_mb": found["base"],
        "with_data_mb": found["data"],
        "peak_mb": found["peak"],
        "matrix_mb": 8 * d * d / 2**20,
    }


def _show(frame: pl.DataFrame) -> str:
    body = [
        [r["d"], r["method"], f"{r['peak_mb']:.0f}", f"{r['base_mb']:.0f}", f"{r['peak_mb'] - r['base_mb']:.0f}",
         f"{(r['peak_mb'] - r['base_mb']) / r['matrix_mb']:.1f}"]
        for r in frame.iter_rows(named=True)
    ]  # fmt: skip
    return (
        f"Peak resident memory in MB of a process of its own; strong/weak model, n = {_N}, k = {_K}, rho-bar 1. "
        "*Loaded*: the libraries, after a tiny problem. *Work*: what the job added to that, the data and, for the "
        "peers, making the matrix that they are given included; and the same in units of one d x d matrix.\n\n"
        + markdown(["d", "method", "peak", "loaded", "work", "work, matrices"], body)
    )


def _beaten(frame: pl.DataFrame) -> list[str]:
    said = []
    for (d,), rows in frame.group_by(["d"], maintain_order=True):
        work = {r["method"]: r["peak_mb"] - r["base_mb"] for r in rows.iter_rows(named=True)}
        peak = {r["method"]: r["peak_mb"] for r in rows.iter_rows(named=True)}
        ours = "noap ascent"
        for name in ("abess", "scikit-learn"):
            if name in work and ours in work and (work[name] < work[ours] or peak[name] < peak[ours]):
                said.append(
                    f"memory: at d = {d}, {name} peaks at {peak[name]:.0f} MB and adds {work[name]:.0f} MB for the "
                    f"work, {ours} {peak[ours]:.0f} MB and {work[ours]:.0f} MB."
                )
    return said


MEMORY = Board("memory", "Memory", _run, _show, _beaten)
