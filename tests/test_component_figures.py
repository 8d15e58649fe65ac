"""What docs/components.md says that solve_components finds is what benchmarks/results say."""

import csv
from pathlib import Path

ROOT = Path(__file__).parent.parent
PAGE = (ROOT / "docs" / "components.md").read_text(encoding="utf-8")
TEXT = " ".join(PAGE.split())
SOLVED = 1.0000001e-4


def results(section):
    name = "removal" if section == "removal" else f"joint-{section}"
    with open(ROOT / "benchmarks" / "results" / f"{name}.csv", encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def number(row, name):
    return float(row[name])


def short(x):
    """Two digits."""
    return f"{float(f'{x:.2g}'):g}"


def table_after(head):
    return PAGE.split(head, 1)[1].split("\n\n", 1)[0].splitlines()[2:]


def share(row, name):
    return f"{number(row, name) / number(row, 'trace'):.4f}".lstrip("0")


def loses(row):
    return max(1.0 - number(row, "one_by_one") / number(row, "value"), 0.0)


def snp500():
    """Shares of the trace."""
    for row in results("snp500"):
        gap = f"{short(100 * number(row, 'gap'))} %"
        cells = [row["k"], *(share(row, name) for name in ("value", "bound")), gap, share(row, "one_by_one")]
        yield f"| {' | '.join([*cells, short(number(row, 'cpu_s')) + ' s'])} |"


def removed():
    """The instances of which features were removed, and what a pricing problem takes with and without them."""
    for row in results("removal"):
        if int(row["removed"]):
            name = f"{row['name']}, {row['r']} x {row['k']}"
            took = [f"{short(1e3 * number(row, f'{which}_cpu_s'))} ms" for which in ("all", "left")]
            yield f"| {name} | {row['removed']} of {row['d']} | {' | '.join(took)} |"


def removals():
    return f"on {len(list(removed()))} of {len(results('removal'))} instances"


def vanilla(k):
    """A sentence about the instances with so many features."""
    rows = [row for row in results("vanilla") if int(row["k"]) == k]
    proved = [row for row in rows if number(row, "gap") <= SOLVED]
    quick = sum(number(row, "cpu_s") < 0.5 for row in proved)
    said = (
        f"k = {k}: {len(proved)} of {len(rows)} proved to 1e-4, {quick} of them in less than half a second of CPU time"
    )
    left = sorted(100 * number(row, "gap") for row in rows if row not in proved)
    return said + (f"; the others are left with {short(left[0])} to {short(left[-1])} %" if left else "")


def whole():
    """How often the linear relaxation is enough."""
    proved = [row for row in results("vanilla") if number(row, "gap") <= SOLVED]
    return (
        f"On {sum(int(row['branches']) == 1 for row in proved)} of these {len(proved)} the linear relaxation is enough"
    )


def one_by_one():
    lost = {k: [loses(row) for row in results("vanilla") if int(row["k"]) == k] for k in (5, 10)}
    little = sum(x < 0.005 for rows in lost.values() for x in rows)
    most = [f"{short(100 * max(lost[k]))} % at k = {k}" for k in (5, 10)]
    return f"loses up to {most[0]} and {most[1]}", f"on {little} of {sum(map(len, lost.values()))} less than 0.5 %"


def robust():
    rows = results("robust")
    return f"{sum(number(row, 'gap') <= SOLVED for row in rows)} of {len(rows)} are proved"


def widest():
    """The largest gap on S&P 500."""
    return f"all six within {short(max(100 * number(row, 'gap') for row in results('snp500')))} %"


def test_everything_was_verified():
    assert all(row["verified"] == "true" for section in ("vanilla", "robust", "snp500") for row in results(section))
    assert [int(row["k"]) for row in results("snp500")] == [5, 10, 20, 25, 30, 35]
    assert len(results("vanilla")) == 76


def test_the_table_of_shares():
    assert table_after("| k | found | bound |") == list(snp500())


def test_the_table_of_removed_features():
    assert table_after("| data, r x k | removed |") == list(removed())


def test_the_sentences():
    for sentence in (vanilla(5), vanilla(10), whole(), *one_by_one(), robust(), widest(), removals()):
        assert sentence in TEXT, sentence
