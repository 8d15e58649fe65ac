"""The section on the number of features: one bar per k, at the noise of the table."""

import math
from html import escape
from typing import TYPE_CHECKING

import noap
from noap.report.numbers import down, up
from noap.report.words import where
from noap.runtime.names import listed

if TYPE_CHECKING:
    from noap.report.content import Report

__all__ = ["SHARE", "sizes"]

# The share whose smallest k the page names.
SHARE = 0.9


def sizes(report: "Report") -> str:
    """Return the section, or nothing where the report has no path over k."""
    path = report.k_path
    if path is None:
        return ""
    return (
        '<section id="sizes" class="wide">\n'
        f"<h2>How many features: what each one adds at {where(report)}</h2>\n"
        '<ul class="rows" aria-label="Variance left by the worst attack, by the number of features">\n'
        f"{_rows(path, report.names)}\n</ul>\n"
        f'<p class="caption">{escape(_sentence(path))} The number is the variance that the worst attack leaves; what '
        "is pale beyond a bar is not excluded by the proof. + and \N{MINUS SIGN} say which features come and go; "
        "where it says (or another), others are worth as much.</p>\n"
        "</section>\n"
    )


def _rows(path: noap.KPath, names: tuple[str, ...]) -> str:
    top = float(path.bounds.max())
    rows, before = [], set[int]()
    for i, result in enumerate(path):
        support = set(path.supports[i].tolist())
        tied = set(path.tied[i].tolist())
        moves = [f"+{names[j]}{' (or another)' if j in tied else ''}" for j in sorted(support - before)]
        moves += [f"\N{MINUS SIGN}{names[j]}" for j in sorted(before - support)]
        before = support
        name = escape(f"{path.ks[i]}: {listed(moves, None) or 'the same'}")
        found, proved = 100 * result.value / top, 100 * result.bound / top
        rows.append(
            f'<li><span class="name" title="{name}">{name}</span>'
            f'<span class="track" role="img" aria-label="{path.ks[i]} features: found {down(result.value)}, proved at '
            f'most {up(result.bound)}"><i class="pale" style="left:0;width:{proved:.3f}%"></i>'
            f'<i style="left:0;width:{found:.3f}%"></i></span><span class="number">{down(result.value, 4)}</span></li>'
        )
    return "\n".join(rows)


def _sentence(path: noap.KPath) -> str:
    """Return how many features are enough and where the curve bends, as far as the levels looked at can tell."""
    last, shares, elbow = int(path.ks[-1]), path.shares.tolist(), path.elbow()
    # What the largest level keeps of itself, and a bend at the end of the curve, say nothing about the data.
    enough = next((i for i, share in enumerate(shares[:-1]) if share >= SHARE), None)
    if enough is None:
        more = "" if last == path.problem.n_features else " Whether more than that pay is shown with a larger k."
        said = f"No fewer than {last} are proved to keep {100 * SHARE:g} % of the best that {last} could keep.{more}"
    else:
        kept = math.floor(1000 * shares[enough]) / 10
        said = f"{path.ks[enough]} are proved to keep {kept:g} % of the best that {last} could keep."
    return said if elbow == last else f"{said} The curve bends most at {elbow}."
