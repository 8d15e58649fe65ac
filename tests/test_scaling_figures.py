"""The growth of time and memory with the number of features, in docs/scaling.md, is what benchmarks/results say."""

import csv
from pathlib import Path

ROOT = Path(__file__).parent.parent
PAGE = (ROOT / "docs" / "scaling.md").read_text(encoding="utf-8")


def results():
    with open(ROOT / "benchmarks" / "results" / "many.csv", encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def short(seconds):
    """Two digits."""
    return f"{float(f'{seconds:.2g}'):g} s"


def growth():
    """The lines of the table: noise 0 and 0.3 of each size, the larger of the two where there is one column."""
    sizes = {}
    for row in results():
        if row["data"] == "modules":
            sizes.setdefault((int(row["n"]), int(row["d"])), []).append(row)
    for (n, d), rows in sorted(sizes.items()):
        assert all(row["verified"].lower() in ("true", "yes") and float(row["gap"]) <= 1e-4 for row in rows)
        exact = {float(row["noise"]): short(float(row["exact s"])) for row in rows}
        ascent, verify = (short(max(float(row[name]) for row in rows)) for name in ("ascent s", "verify s"))
        most = max(float(row["MB"]) for row in rows)
        memory = f"{float(f'{most:.2g}'):g} MB"
        cells = [f"{n:,}", f"{d:,}", ascent, exact.get(0.0, "-"), exact.get(0.3, "-"), verify, memory]
        yield f"| {' | '.join(cells)} |"


def test_the_table_of_growth():
    table = PAGE.split("| n | d | ascent |", 1)[1].split("\n\n", 1)[0].splitlines()[2:]
    assert table == list(growth())


def test_what_is_said_about_ascent():
    """Ascent found the optimum wherever it is certified, and how often that was."""
    certified = [row for row in results() if float(row["gap"]) <= 1e-4]
    lost = [float(row["ascent loses"]) for row in certified]
    assert max(lost) <= 1e-12
    assert f"all {len(certified)} lines" in " ".join(PAGE.split())
    ten_thousand = [row for row in results() if row["data"] == "modules" and row["d"] == "10000"]
    assert all(float(row["ascent s"]) / (int(row["n"]) / 100) < 2 for row in ten_thousand)
