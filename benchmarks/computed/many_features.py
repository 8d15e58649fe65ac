"""What docs/scaling.md says of many features: how time and memory grow, public matrices, and an earlier version."""

from collections.abc import Callable

from benchmarks.computed.reading import Row, from_results, paragraph, percent, results, true
from benchmarks.computed.remarks import listed, remarks
from noap.measuring.tables import markdown

__all__ = ["against", "growth", "public", "terms"]

_ENDS: tuple[Callable[[list[float]], float], ...] = (min, max)


def _digits(number: float) -> str:
    return f"{float(f'{number:.2g}'):g}"


def _most(rows: list[Row], column: str, unit: str) -> str:
    """Return the largest entry; nothing where making the data took more memory."""
    most = max(float(row[column]) for row in rows)
    return f"{_digits(most)} {unit}" if most > 0 else "-"


def _range(rows: list[Row], column: str) -> str:
    low, high = (_digits(end([float(row[column]) for row in rows])) for end in _ENDS)
    return f"{low} to {high} s" if low != high else f"{low} s"


@from_results("many")
def growth() -> str:
    """Return a line for each size of simulated modules, and how good ascent is on all that is certified."""
    every = results("many")
    sizes: dict[tuple[int, int], list[Row]] = {}
    for row in every:
        if row["data"] == "modules":
            sizes.setdefault((int(row["n"]), int(row["d"])), []).append(row)
    body = []
    for (n, d), rows in sorted(sizes.items()):
        assert all(true(row["verified"]) and float(row["gap"]) <= 1e-4 for row in rows)
        exact = {float(row["noise"]): f"{_digits(float(row['exact s']))} s" for row in rows}
        body.append([
            f"{n:,}", f"{d:,}", _most(rows, "ascent s", "s"), exact.get(0.0, "-"), exact.get(0.3, "-"),
            _most(rows, "verify s", "s"), _most(rows, "MB", "MB"),
        ])  # fmt: skip
    table = markdown(["n", "d", "ascent", "exact, noise 0", "noise 0.3", "verify", "memory"], body)
    certified = [row for row in every if float(row["gap"]) <= 1e-4]
    lost = max(float(row["ascent loses"]) for row in certified)
    share = max(
        float(row["ascent s"]) / (int(row["n"]) / 100)
        for row in every
        if row["data"] == "modules" and row["d"] == "10000"
    )
    assert lost <= 1e-12
    return f"{table}\n" + paragraph(
        f"In all {len(certified)} certified lines of the study, those below among them, ascent found the optimum, to "
        f"1e-12; 10,000 features take it {_digits(share)} s for every 100 samples at most. A dash: making the data "
        "took more memory."
    )


@from_results("many")
def public() -> str:
    """Return the table of public matrices with many features, and what is open."""
    rows = [row for row in results("many") if row["data"] != "modules"]
    assert all(true(row["verified"]) for row in rows)
    groups: dict[tuple[str, str, str], list[Row]] = {}
    left = [row for row in rows if float(row["gap"]) > 1e-4]
    for row in rows:
        if row not in left:
            groups.setdefault((row["data"], row["n"], row["d"]), []).append(row)
    body = [
        [name, f"{int(n):,} x {int(d):,}", listed(row["k"] for row in some), _range(some, "exact s"),
         _range(some, "verify s"), _most(some, "MB", "MB")]
        for (name, n, d), some in groups.items()
    ]  # fmt: skip
    text = "Public matrices, noise 0 and 0.3, to 1e-4 and every certificate checked:\n\n"
    text += markdown(["data", "n x d", "k", "exact", "verify", "memory"], body)
    for row in left:
        text += "\n" + paragraph(
            f"Open: {row['data']}, k = {row['k']}, noise {row['noise']}: {percent(float(row['gap']))} are left after "
            f"{_digits(float(row['exact s']))} CPU seconds."
        )
    return text


@from_results("many_against")
def against() -> str:
    """Return the figures of this version and of one before, side by side."""
    body, pairs = [], results("many_against")
    for before, after in zip(pairs[::2], pairs[1::2], strict=True):
        assert (before["d"], before["noise"]) == (after["d"], after["noise"])
        assert true(before["verified"])
        assert true(after["verified"])
        left = "" if float(before["gap"]) <= 1e-4 else f" ({percent(float(before['gap']))} left)"
        cells = [
            f"{_digits(float(before[column]))}{' s' + left if left and column == 'exact s' else ''} and "
            f"{_digits(float(after[column]))} s"
            for column in ("ascent s", "exact s", "verify s")
        ]
        memory = f"{_digits(float(before['MB']))} and {_digits(float(after['MB']))} MB"
        body.append([f"{int(before['d']):,}", before["noise"], *cells, memory])
    table = markdown(["d", "noise", "ascent", "exact", "verify", "memory"], body)
    return (
        paragraph(
            "Beside the version before X was used alone, on the same modules with n = 100, medians on one thread, at "
            "most 120 s, before and after:"
        )
        + f"\n\n{table}"
    )


@from_results("remarks")
def terms() -> str:
    """Return what budgets and costs of single features take with many features."""
    body = []
    for row in remarks("terms"):
        left = "" if true(row["proved"]) else f" ({percent(float(row['gap']))} left)"
        times = [f"{_digits(float(row[column]))} s" for column in ("cpu_s", "verify_s")]
        body.append([row["noise"], row["costs"], times[0] + left, times[1]])
    return markdown(["noise", "costs", "exact", "verify"], body)
