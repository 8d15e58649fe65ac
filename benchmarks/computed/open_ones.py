"""The runs of the exact method that were not proved to the gap they asked for, hardest first."""

from benchmarks import RESULTS
from benchmarks.computed.reading import board, from_results, paragraph, results, true
from noap.measuring.tables import markdown

__all__ = ["open_instances"]

# Studies and boards of single components, with the columns of an instance's name.
STUDIES = tuple(sorted(place.stem for place in RESULTS.glob("exact-*.csv")))
BOARDS = {"exact": ("matrix", "k"), "standardised": ("set", "d", "k", "noise"), "large_k": ("matrix", "d", "k")}


def runs() -> list[tuple[str, str, bool, float, int]]:
    """Return table, instance, whether it is proved, gap and nodes of every run."""
    found = []
    for study in STUDIES:
        for row in results(study):
            proved = row["status"] == "optimal"
            found.append((study, row["instance"], proved, float(row["gap"]), int(row["nodes"])))
    for name, (first, *rest) in BOARDS.items():
        for row in board(name, method="noap exact"):
            label = " ".join([row[first], *(f"{column}={float(row[column]):g}" for column in rest)])
            found.append((f"boards/{name}", label, true(row["proved"]), float(row["gap"]), int(row["nodes"])))
    return found


@from_results(*STUDIES, *(f"boards/{name}" for name in BOARDS))
def open_instances() -> str:
    """Return a sentence with the counts, and the table."""
    every = runs()
    left = sorted((one for one in every if not one[2]), key=lambda one: ("sample" in one[0], -one[3]))
    text = paragraph(
        f"The studies and boards in [benchmarks/results](../benchmarks/results) have {len(every)} runs of the exact "
        f"method. {len(left)} of them were not proved to the gap they asked for within 60 seconds, on one of two cores "
        "that other work used as well. Each has a bound that holds, and a certificate of it; what is left open is the "
        "gap:"
    )
    body = []
    for study, instance, _, gap, nodes in left:
        adversary = "sample-wise" if "sample" in study else "feature-wise"
        body.append([adversary, f"`{instance}`", f"{100 * gap:.1f} %", f"{nodes:,}", f"`{study}`"])
    table = markdown(["adversary", "instance", "gap left", "nodes", "table"], body).rstrip()
    counts = []
    for name in dict.fromkeys(one[0] for one in every):
        mine = [one[2] for one in every if one[0] == name]
        counts.append(f"`{name}` {sum(mine)} of {len(mine)}")
    closed = paragraph(f"Closed, by table: {', '.join(counts)}.")
    return "\n".join([text, "", table, "", closed])
