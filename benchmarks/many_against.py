"""Growing d, this version of noap and another one in turns: one process per line and version.

Run: python -m benchmarks.many_against SOURCES, the folder to import the other version from. Simulated modules as in
`many`, standardised, n = 100, k = 10: medians of CPU seconds of ascent, exact (gap 1e-4, at most 120 s) and verify on
one thread, over as many repetitions as fit in some seconds, and the peak memory beyond that of the process with its
data. Writes results/many_against.csv and results/many_against.md.
"""

import json
import sys
import tempfile
from pathlib import Path

import numpy as np

import noap
from benchmarks import RESULTS
from noap.bench.sources import modules
from noap.measuring.environment import heading
from noap.measuring.processes import in_fresh_process
from noap.measuring.tables import frame_of, markdown, write_table

_LIMIT = 120.0
_SIZES = (200, 500, 1_000, 1_500, 2_000, 5_000, 10_000)

# Any version of noap runs this; it finds X and a small one in files.
_CHILD = """
import statistics
import time
import warnings
import numpy as np
import noap

warnings.simplefilter("ignore")
folder, noise, limit = json.loads(sys.argv[1])
X = np.load(folder + "/X.npy")
rho = noise * 10.0  # every column has length 10
adversary = noap.FeatureWise(rho) if noise else noap.NoAdversary()
# Compiled or loaded before anything is timed, for either route.
for small in (np.load(folder + "/small.npy"), np.load(folder + "/small.npy")[:, :30]):
    tiny = noap.Problem(small, k=3, adversary=adversary)
    noap.verify(tiny, noap.solve(tiny, time_limit=20).certificate)
before = peak_memory()
times, begun = {"ascent": [], "exact": [], "verify": []}, time.perf_counter()
while not times["exact"] or (len(times["exact"]) < 15 and time.perf_counter() - begun < 8.0):
    problem = noap.Problem(X, k=10, adversary=adversary)
    started = time.process_time()
    noap.solve(problem, "ascent")
    times["ascent"].append(time.process_time() - started)
    problem = noap.Problem(X, k=10, adversary=adversary)
    started = time.process_time()
    result = noap.solve(problem, time_limit=limit)
    times["exact"].append(time.process_time() - started)
    started = time.process_time()
    ok = noap.verify(problem, result.certificate).ok
    times["verify"].append(time.process_time() - started)
print(json.dumps({
    "gap": result.gap, **{f"{name} s": statistics.median(each) for name, each in times.items()},
    "MB": peak_memory() - before, "verified": ok,
}))
"""


def main() -> None:
    versions = {"before": Path(sys.argv[1]), "after": Path(noap.__file__).parent.parent}
    one = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"), "1")
    lines = []
    with tempfile.TemporaryDirectory() as folder:
        np.save(f"{folder}/small.npy", modules(20, 2500))
        for d in _SIZES:
            np.save(f"{folder}/X.npy", modules(100, d))
            for noise in (0.0, 0.3):
                for name, sources in versions.items():
                    job = json.dumps([folder, noise, _LIMIT])
                    found = in_fresh_process(_CHILD, job, sources=sources, variables=one)
                    lines.append({"d": d, "noise": noise, "version": name, **found})
                    print(lines[-1], flush=True)
    write_table(frame_of(lines), RESULTS / "many_against.csv")
    text = "\n".join(
        [
            heading("Growing d, before and after"),
            f"Simulated modules, n = 100, k = 10, gap 1e-4, at most {_LIMIT:g} s. Seconds are medians of CPU seconds, "
            "one thread; MB: peak memory beyond that of the process with its data.\n",
            markdown(list(lines[0]), [list(line.values()) for line in lines]),
        ]
    )
    (RESULTS / "many_against.md").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
