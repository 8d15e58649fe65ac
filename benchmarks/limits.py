"""Limits on time and memory, sample-wise, on data of up to a million samples: one process per line.

Run: python -m benchmarks.limits. Every line is `solve` in a process of its own with `time_limit` and
`memory_limit=500`: wall seconds of the call, peak resident memory of the whole process (interpreter, compiled kernels
and X included) and what the checker says of the certificate afterwards. Allowed are 1.5 times the time limit, and 3
times X plus 500 MB. Writes results/limits.csv and results/limits.md.
"""

import json

from benchmarks import RESULTS
from noap.measuring.environment import heading
from noap.measuring.processes import in_fresh_process
from noap.measuring.tables import frame_of, markdown, write_table

_MEMORY_LIMIT = 500
_SIZES = (
    (1_000_000, 6, 5),
    (1_000_000, 6, 3),
    (1_000_000, 50, 5),
    (1_000_000, 50, 3),
    (100_000, 6, 5),
    (20_000, 200, 5),
)
_SECONDS = (10.0, 30.0)
_RHO = 1.0

_CHILD = """
import time
import numpy as np
import noap

n, d, k, seconds, rho, megabytes = json.loads(sys.argv[1])
rng = np.random.default_rng(0)
X = rng.standard_normal((n, d))
X[:, :5] += 0.8 * rng.standard_normal((n, 1))
# Compiled or loaded before anything is timed, as after a first call.
noap.solve(noap.Problem(X[:50], k=min(k, d), adversary=noap.SampleWise(rho)))
problem = noap.Problem(X, k=k, adversary=noap.SampleWise(rho))
started = time.perf_counter()
result = noap.solve(problem, time_limit=seconds, memory_limit=megabytes)
wall = time.perf_counter() - started
peak = peak_memory()
report = noap.verify(problem, result.certificate) if result.certificate is not None else None
print(json.dumps({
    "seconds": wall, "peak": peak, "allowed": 3 * X.nbytes / 1e6 + 500, "value": result.value, "bound": result.bound,
    "gap": result.gap, "stopped by": result.limit.value if result.limit else "-", "nodes": result.nodes,
    "verified": "-" if report is None else report.ok,
}))
"""


def measured(n: int, d: int, k: int, seconds: float) -> dict[str, object]:
    found = in_fresh_process(_CHILD, json.dumps([n, d, k, seconds, _RHO, _MEMORY_LIMIT]))
    kept = found["seconds"] <= 1.5 * seconds and found["peak"] <= found["allowed"]
    return {"n": n, "d": d, "k": k, "time limit": seconds, **found, "kept": kept}


def main() -> None:
    lines = []
    for seconds in _SECONDS:
        for n, d, k in _SIZES:
            lines.append(measured(n, d, k, seconds))
            print(lines[-1], flush=True)
    columns = list(lines[0])
    write_table(frame_of(lines), RESULTS / "limits.csv")
    text = "\n".join(
        [
            heading("Limits on time and memory, sample-wise"),
            f"One process per line, `memory_limit={_MEMORY_LIMIT}`, rho = {_RHO:g}, one spike on five features. Peak "
            "and allowed memory in MB, of the whole process; kept: within 1.5 times the time limit and within 3 times "
            "X plus 500 MB. The machine was shared with other work.\n",
            markdown(columns, [list(line.values()) for line in lines]),
        ]
    )
    (RESULTS / "limits.md").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
