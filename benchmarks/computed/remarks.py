"""Sentences and tables of single pages, from the small measurements of `benchmarks.remarks` and other results."""

import re
from collections.abc import Iterable
from statistics import median

from benchmarks.computed.reading import Row, from_results, paragraph, percent, results, true
from noap.measuring.tables import markdown

__all__ = ["entries", "finishes", "paths", "sample_wise", "together", "unbranched", "wide"]


def remarks(name: str) -> list[Row]:
    """Return the cases of a remark, their names taken apart: a case is `data, k=5, noise=0.3`."""
    found = []
    for row in results("remarks"):
        if row["remark"] == name:
            first, *rest = row["case"].split(", ")
            parts = dict(part.split("=", 1) for part in ([first, *rest] if "=" in first else rest))
            found.append(row | {"data": first} | parts)
    return found


def rounded(seconds: float) -> str:
    """Return seconds as people say them: "under 1 s", "5 s"."""
    return "under 1 s" if seconds < 1.0 else f"{float(f'{seconds:.2g}'):g} s"


def listed(values: Iterable[str]) -> str:
    """Return "5", "1 to 3" where every whole number is there, or "5, 10, 30"."""
    numbers = sorted({float(one) for one in values})
    words = [f"{one:g}" for one in numbers]
    whole = numbers == list(range(int(numbers[0]), int(numbers[0]) + len(numbers)))
    return f"{words[0]} to {words[-1]}" if whole and len(words) > 2 else ", ".join(words)


FEATURES = {"wine": 13, "breast cancer": 30, "digits": 61}
SAMPLES = {"wine": 178, "breast cancer": 569, "digits": 1797}


@from_results("remarks")
def finishes() -> str:
    """Return the table of what finishes within seconds."""
    groups: dict[tuple[str, bool], list[Row]] = {}
    for row in remarks("finishes"):
        assert true(row["proved"])
        groups.setdefault((row["data"], row["data"] == "digits" and row["k"] == "10"), []).append(row)
    body = []
    for (name, _), rows in groups.items():
        noises = sorted({float(row["noise"]) for row in rows})
        noise = f"{noises[0]:g}" + (f" to {noises[-1]:g}" if len(noises) > 1 else "")
        slowest = max(float(row["cpu_s"]) for row in rows)
        body.append([name, FEATURES[name], listed(row["k"] for row in rows), noise, rounded(slowest)])
    for row in remarks("paths"):
        assert true(row["proved"])
        body.append([
            f"{row['data']}, whole path over k", FEATURES[row["data"]], row["levels"], row["noise"],
            rounded(float(row["cpu_s"])),
        ])  # fmt: skip
    body.sort(key=lambda cells: (list(FEATURES).index(str(cells[0]).split(",")[0]), "path" in str(cells[0])))
    return markdown(["data", "features", "k", "noise", "to a gap of 1e-4"], body)


@from_results("remarks")
def paths() -> str:
    """Return the table of whole paths over k at noise 0.3."""
    body = []
    for row in remarks("paths"):
        if row["noise"] == "0.3":
            name = row["data"]
            taken = f"{float(row['cpu_s']):.2g}"
            body.append([
                f"{name}, {SAMPLES[name]} x {FEATURES[name]}", row["levels"], taken,
                f"{100 * float(row['slowest_three']):.0f} %",
            ])  # fmt: skip
    return markdown(["data", "levels", "seconds of processor time", "share of the slowest three levels"], body)


@from_results("remarks")
def wide() -> str:
    """Return the table of many features against samples."""
    body = []
    for row in remarks("wide"):
        taken = f"{float(row['cpu_s']):.2g}"
        if not true(row["proved"]):
            taken = f"{percent(float(row['gap']))} left after {taken}"
        check = f"{float(row['verify_s']):.1g}"
        body.append([row["n"], row["d"], row["k"], row["rho"], taken, row["nodes"], check])
    return markdown(["n", "d", "k", "$\\rho$", "seconds", "nodes", "seconds to check"], body)


@from_results("exact-sample_wise")
def sample_wise() -> str:
    """Return the table by n and rho."""
    groups: dict[tuple[str, str], list[Row]] = {}
    for row in results("exact-sample_wise"):
        match = re.fullmatch(r"n=(\d+) seed=\d+ rho=(\S+)", row["instance"])
        if match:
            groups.setdefault((match[1], match[2]), []).append(row)
    body = []
    for (n, rho), rows in groups.items():
        taken = [float(row["seconds"]) for row in rows]
        closed = sum(row["status"] == "optimal" for row in rows)
        nodes = max(int(row["nodes"]) for row in rows)
        body.append([n, rho, f"{closed} of {len(rows)}", f"{median(taken):.2f}", f"{max(taken):.2f}", nodes])
    return markdown(["n", "$\\rho$", "closed", "median seconds", "most seconds", "most nodes"], body)


@from_results("remarks")
def entries() -> str:
    """Return what is left against single entries."""
    rows = remarks("entries")
    deltas = list(dict.fromkeys(row["delta"] for row in rows))
    most = [max(float(row["gap"]) for row in rows if row["delta"] == delta) for delta in deltas]
    none = sum(true(row["proved"]) for row in rows)
    sizes = [int(row["d"]) for row in rows]
    return paragraph(
        f"On spiked data of {min(sizes)} to {max(sizes)} features the gap was at most "
        f"{', '.join(f'{100 * one:.2g}' for one in most)} % at `delta` = {', '.join(deltas)} standard deviations of "
        f"the noise, and none beyond 0.01 % in {none} of {len(rows)} cases."
    )


@from_results("remarks")
def unbranched() -> str:
    """Return what the relaxation leaves on a path."""
    rows = remarks("unbranched")
    gaps = [float(row["gap"]) for row in rows]
    return paragraph(
        f"On standardised wine and breast cancer data, k = {listed(row['k'] for row in rows)}, "
        f"{len({row['noise'] for row in rows})} noises from 0 to 0.9, the relaxation leaves at most "
        f"{percent(max(gaps))}, and more than 1e-4 at {sum(one > 1e-4 for one in gaps)} of {len(rows)} points."
    )


@from_results("remarks")
def together() -> str:
    """Return what several components of many features take."""
    said = []
    for row in remarks("together"):
        taken = rounded(float(row["cpu_s"]))
        done = "is proved to 1e-4 in" if true(row["proved"]) else f"leaves {percent(float(row['gap']))} after"
        said.append(f"with {int(row['d']):,} features it {done} {taken} of CPU time")
    return paragraph(
        f"Simulated modules, 200 samples, three components of five features and noise 0.3: {'; '.join(said)}."
    )
