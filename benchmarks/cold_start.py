"""What a first run costs: CPU seconds from an empty Numba cache, each entry in an interpreter of its own.

Run: python -m benchmarks.cold_start. Every entry includes the import of noap and of what it needs; "and verify" is what
the first check adds after the first solve. The last rows do all of it in one process.
"""

import tempfile

from benchmarks import RESULTS
from noap.measuring.environment import heading
from noap.measuring.processes import in_fresh_process
from noap.measuring.tables import frame_of, markdown, write_table

_WINE = """
import resource, numpy as np
def cpu():
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime
def tell():
    print(json.dumps(cpu()))
import noap
tell()
from sklearn.datasets import load_wine
X = load_wine().data
X = (X - X.mean(axis=0)) / X.std(axis=0)
feature_wise = noap.Problem(X, k=8, adversary=noap.FeatureWise(0.4 * np.sqrt(len(X))))
vanilla = noap.Problem(X, k=8, adversary=noap.NoAdversary())
sample_wise = noap.Problem(X, k=3, adversary=noap.SampleWise(0.5))
"""
# What is run after the lines above, and the name of its row; the seconds are those that `tell` prints last.
ENTRIES = {
    "import noap": "",
    "first solve, ascent": 'noap.solve(feature_wise, method="ascent"); tell()',
    "first solve, feature-wise": 'noap.solve(feature_wise); tell()',
    "first solve, vanilla": 'noap.solve(vanilla); tell()',
    "first solve, sample-wise": 'noap.solve(sample_wise); tell()',
    "first solve and verify, feature-wise":
        'noap.verify(feature_wise, noap.solve(feature_wise).certificate); tell()',
    "first solve and verify, sample-wise": 'noap.verify(sample_wise, noap.solve(sample_wise).certificate); tell()',
    "noap.path": 'noap.path(X, k=4); tell()',
    "both adversaries, solve and verify":
        'noap.verify(feature_wise, noap.solve(feature_wise).certificate); '
        'noap.verify(sample_wise, noap.solve(sample_wise).certificate); tell()',
}  # fmt: skip


def seconds(code: str, cache: str) -> float:
    """Return the CPU seconds of an interpreter that runs the code, as it tells them last."""
    one = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"), "1")
    return float(in_fresh_process(code, variables=one | {"NUMBA_CACHE_DIR": cache}))


def main() -> None:
    rows: list[dict[str, object]] = []
    for name, code in ENTRIES.items():
        with tempfile.TemporaryDirectory() as cache:
            cold = seconds(_WINE + code, cache)
            warm = seconds(_WINE + code, cache)
        rows.append({"what": name, "cold_cpu_s": round(cold, 1), "warm_cpu_s": round(warm, 1)})
        print(rows[-1], flush=True)
    columns = ["what", "CPU seconds, empty cache", "CPU seconds, full cache"]
    text = heading("The first run") + (
        "\n\nWine data (178 samples of 13 standardised measurements), k = 8, and k = 3 against the sample-wise "
        "adversary. Each row is an interpreter of its own, its import included; one thread. On a machine that others "
        "use as well the figures are larger.\n\n" + markdown(columns, [list(row.values()) for row in rows])
    )
    (RESULTS / "cold_start.md").write_text(text, encoding="utf-8")
    write_table(frame_of(rows), RESULTS / "cold_start.csv")


if __name__ == "__main__":
    main()
