"""What a first run costs: CPU seconds from an empty Numba cache, each entry in an interpreter of its own.

Run: python -m benchmarks.cold_start. Every entry includes the import of noap and of what it needs, but not of
scikit-learn, which the data come from: they are read from a file. "And verify" is what the first check adds after the
first solve. The last rows do all of it in one process. A second table says where the seconds of two of the entries go:
to Numba's passes, which are Python, or to LLVM, with its optimiser on and off.
"""

import tempfile

from benchmarks import RESULTS
from noap.bench.cold import ENTRIES, PRELUDE, in_cache
from noap.measuring.environment import heading
from noap.measuring.tables import frame_of, markdown, write_table

# What is asked of these two entries, and where their seconds go is looked at.
ASKED = {"first solve, feature-wise": 20.0, "both adversaries, solve and verify": 40.0}
_STAGES = """
import collections, time
from numba.core import codegen, event
stages, running = collections.Counter(), []
def begin():
    running.append([time.process_time(), 0.0])
def end(stage):
    started, inner = running.pop()
    taken = time.process_time() - started
    stages[stage] += taken - inner
    if running:
        running[-1][1] += taken
class Listener(event.Listener):
    def on_start(self, event):
        begin()
    def on_end(self, event):
        name = event.data["name"].split(" [")[0]
        end({"nopython_type_inference": "types", "native_lowering": "lowering"}.get(name, "passes"))
event.register("numba:run_pass", Listener())
def timed(name):
    method = getattr(codegen.CPUCodeLibrary, name)
    def instead(*arguments):
        begin()
        try:
            return method(*arguments)
        finally:
            end("llvm")
    setattr(codegen.CPUCodeLibrary, name, instead)
timed("add_ir_module")
timed("finalize")
"""
_TELL_STAGES = "; print(json.dumps(stages | {'all': cpu()}))"
# As the page calls them, in the order of the work.
STAGES = {
    "rest": "imports, and the work itself",
    "passes": "Numba, in Python: reading the code and its other passes",
    "types": "Numba, in Python: inferring types",
    "lowering": "Numba, in Python: lowering to LLVM",
    "llvm": "LLVM: reading, optimising and machine code",
}


def stages_of(name: str, **variables: str) -> dict[str, float]:
    """Return the CPU seconds of each stage of an entry, from an empty cache."""
    with tempfile.TemporaryDirectory() as cache:
        found = in_cache(_STAGES + PRELUDE + ENTRIES[name] + _TELL_STAGES, cache, **variables)
    total = found.pop("all")
    return {"rest": total - sum(found.values()), **found}


def sentence(name: str, on: dict[str, float], off: dict[str, float], full: float) -> str:
    """Return what the stages say of the seconds that are asked for; `full` is with a full cache."""
    total, plain, python = sum(on.values()), sum(off.values()), on["passes"] + on["types"] + on["lowering"]
    over, compiling = total - ASKED[name], python + on["llvm"]
    said = f"*{name.capitalize()}*: {total:.1f} s, asked {ASKED[name]:.0f}. "
    if over > 0.0:
        said += f"What is too much is {over / compiling:.0%} of the {compiling:.1f} s of compiling. "
    return (
        f"{said}Numba's own passes take {python:.1f} s: they are Python, go over a kernel once, and shrink only with "
        f"its lines. LLVM takes {on['llvm']:.1f} s, and goes over a part again in each kernel that reaches it. Without "
        f"its optimiser LLVM takes {off['llvm']:.1f} s and everything {plain:.1f} s, "
        f"{'enough' if plain <= ASKED[name] else 'still too much'}, and kernels that are slower ever after. "
        f"Kernels that come compiled would leave what a full cache leaves: {full:.1f} s."
    )


def where_they_go(full: dict[str, float]) -> str:
    """Return the table of stages, and what it says; `full` is the seconds of the entries with a full cache."""
    columns, sentences = ["stage"], []
    found: list[dict[str, float]] = []
    for name in ASKED:
        on, off = stages_of(name), stages_of(name, NUMBA_OPT="0")
        columns += [name, f"{name}, optimiser off"]
        found += [on, off]
        sentences.append(sentence(name, on, off, full[name]))
    rows: list[list[object]] = [[STAGES[stage], *(round(one[stage], 1) for one in found)] for stage in STAGES]
    rows.append(["all", *(round(sum(one.values()), 1) for one in found)])
    about = (
        "CPU seconds from an empty cache, in runs of their own, by Numba's events; the optimiser is LLVM's, which "
        "`NUMBA_OPT=0` turns off."
    )
    return "\n\n".join(["\n## Where the seconds go", about, markdown(columns, rows).rstrip(), *sentences]) + "\n"


def main() -> None:
    rows: list[dict[str, object]] = []
    for name, code in ENTRIES.items():
        with tempfile.TemporaryDirectory() as cache:
            cold, warm = (float(in_cache(PRELUDE + code, cache)) for _ in range(2))
        rows.append({"what": name, "cold_cpu_s": round(cold, 1), "warm_cpu_s": round(warm, 1)})
        print(rows[-1], flush=True)
    columns = ["what", "CPU seconds, empty cache", "CPU seconds, full cache"]
    text = heading("The first run") + (
        "\n\nWine data (178 samples of 13 standardised measurements), k = 8, and k = 3 against the sample-wise "
        "adversary. Each row is an interpreter of its own, its imports included, but not that of scikit-learn, from "
        "which the data come; one thread. On a machine that others use as well the figures are larger.\n\n"
        + markdown(columns, [list(row.values()) for row in rows])
    )
    text += where_they_go({str(row["what"]): float(str(row["warm_cpu_s"])) for row in rows})
    (RESULTS / "cold_start.md").write_text(text, encoding="utf-8")
    write_table(frame_of(rows), RESULTS / "cold_start.csv")


if __name__ == "__main__":
    main()
