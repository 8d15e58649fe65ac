"""What docs/components.md says that several components at once are worth, and what is proved of them."""

from benchmarks.computed.reading import Row, board, from_results, paragraph, percent, results, true
from noap.bench import FULL
from noap.bench.boards.joint import STOCKS
from noap.bench.components import GAP, PUBLISHED
from noap.measuring.tables import markdown

__all__ = ["packed", "removal", "stocks"]

# A gap of 1e-4 is proved as asked, to rounding.
_PROVED = GAP * (1.0 + 1e-7)


def _digits(number: float) -> str:
    return f"{float(f'{number:.2g}'):g}"


def _proved(rows: list[Row]) -> list[Row]:
    assert all(true(row["verified"]) for row in rows)
    return [row for row in rows if float(row["gap"]) <= _PROVED]


@from_results("boards/joint")
def packed() -> str:
    """Return how many instances are proved, what the others are left with, and what one by one loses."""
    small = [row for row in board("joint") if row["name"] != STOCKS]
    every, robust = ([row for row in small if (float(row["noise"]) > 0) is noisy] for noisy in (False, True))
    lines, lost = [], {}
    for k in sorted({int(row["k"]) for row in every}):
        rows = [row for row in every if int(row["k"]) == k]
        proved = _proved(rows)
        quick = sum(float(row["cpu_s"]) < 0.5 for row in proved)
        left = sorted(float(row["gap"]) for row in rows if row not in proved)
        said = f"- k = {k}: {len(proved)} of {len(rows)} proved to 1e-4, {quick} of them in less than half a second of "
        said += f"CPU time{f'; the others are left with {percent(left[0])} to {percent(left[-1])}' if left else ''}."
        lines.append(paragraph(said, "  "))
        lost[k] = [max(1.0 - float(row["one_by_one"]) / float(row["value"]), 0.0) for row in rows]
    all_proved, losses = _proved(every), [loss for some in lost.values() for loss in some]
    most = " and ".join(f"{percent(max(some))} at k = {k}" for k, some in lost.items())
    text = (
        f"On {sum(row['branches'] == '1' for row in all_proved)} of these {len(all_proved)} the linear relaxation is "
        f"enough; the others branch. One component after the other loses up to {most}, where the first component takes "
        f"features that all others need; on {sum(loss < 0.005 for loss in losses)} of {len(losses)} less than 0.5 %. "
        f"Against feature-wise noise of 0.3, correlations of {len({row['name'] for row in robust})} of these sets, "
        f"{len(_proved(robust))} of {len(robust)} are proved."
    )
    return "\n".join([*lines, "", paragraph(text)])


@from_results("boards/joint")
def stocks() -> str:
    """Return the shares of the trace on S&P 500, beside the published ones."""
    rows = board("joint", name=STOCKS)
    _proved(rows)
    assert [int(row["k"]) for row in rows] == list(PUBLISHED)

    def share(worth: float) -> str:
        return f"{worth:.4f}".lstrip("0")

    body = []
    for row in rows:
        shares = [share(float(row[name]) / float(row["trace"])) for name in ("value", "bound", "one_by_one")]
        published = [share(one) for one in PUBLISHED[int(row["k"])]]
        body.append([row["k"], *shares[:2], percent(float(row["gap"])), shares[2], *published])
    spent = [float(row["cpu_s"]) for row in rows]
    return (
        paragraph(
            f"S&P 500, 423 features, r = 4, {FULL.stock_seconds:g} seconds by the clock, of which a process had "
            f"{_digits(min(spent))} to {_digits(max(spent))}, as shares of the trace, beside what was published for "
            "orthogonal rather than disjoint components:"
        )
        + "\n\n"
        + markdown(["k", "found", "bound", "gap", "one by one", "msPCA", "nsprcomp"], body)
        + f"\nAll six are within {percent(max(float(row['gap']) for row in rows))}."
    )


@from_results("removal")
def removal() -> str:
    """Return where features are removed, and what a pricing problem takes with and without them."""
    rows = results("removal")
    some = [row for row in rows if int(row["removed"])]
    body = [
        [f"{row['name']}, {row['r']} x {row['k']}", f"{row['removed']} of {row['d']}"]
        + [f"{_digits(1e3 * float(row[f'{which}_cpu_s']))} ms" for which in ("all", "left")]
        for row in some
    ]
    return (
        paragraph(
            "`python -m benchmarks.removal` looks for features that no better packing uses, with the best value known "
            f"in hand: there are some on {len(some)} of {len(rows)} instances of 50 features or more (r = 3; S&P 500: "
            "4). CPU time of the pricing problem at the prices of the inequality, to 1e-3, with all features and with "
            "those that are left:"
        )
        + "\n\n"
        + markdown(["data, r x k", "removed", "all", "left"], body)
    )
