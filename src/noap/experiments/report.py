"""Write tables, figures, claims and a page that explains them, from the store alone: no solver runs here."""

import datetime
import json
import textwrap
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from noap import theory
from noap.experiments.claims import Judgement, PaperClaim, cosines_to_vanilla, judge, stages_seen
from noap.experiments.environment import listed
from noap.experiments.formats import markdown, write_table
from noap.experiments.paper import FULL_TRIALS, MIP_SECONDS
from noap.experiments.population import guaranteed_cosines, population_of
from noap.experiments.spec import Spec
from noap.experiments.store import Store
from noap.experiments.table import Objective, points, trials

if TYPE_CHECKING:
    import polars

__all__ = [
    "FIGURES",
    "claims_page",
    "drawable",
    "effort",
    "render",
    "stage_rows",
    "write_figures",
    "write_pages",
    "write_tables",
]

# Which experiment every figure is drawn from, and what it shows.
FIGURES = {
    "figure1": (
        "figures",
        "Figure 1 of the paper: cosine with the truth, strong part solid, weak part dashed. White in a mark: in most "
        "draws the printed program's solution is the start that ascent gave it. A cross on the axis: no solution "
        "found. Hatched: PPM between the iterates T and T + 1.",
    ),
    "figure1-full": (
        "stages",
        "The same for the certified optimum over all features, on a fine grid; population in grey.",
    ),
    "figure2": (
        "figures",
        "Figure 2 of the paper: gap, objective and support recovery on the 15 chosen features; marks as above.",
    ),
    "figure2-full": ("figures", "The same over all features, with certified bounds; population in grey."),
    "theorem3": ("sample-wise", "Sample-wise optima at rho against the one at 0, as n grows."),
    "theorem4": ("recovery", "Cosine with a general sparse truth, and what Theorem 4 (corrected) guarantees."),
    "theorem5": (
        "stages",
        "The stages of the certified optimum over all features: share of the draws in each; exact thresholds dotted.",
    ),
}

_LEGEND = """\
`exact` is certified over all features, `exact-15` over the 15 that Algorithm 1 keeps. `MIP` and `MIP-r` are the paper's
programs as printed, on those 15: their vector is the program's own solution, which may be the start that ascent gave
it, and v = 0 counts as 0. The *corrected* ones have the valid rows of docs/mip.md and start from an incumbent. `PPM` is
Algorithm 2 from the vanilla answer, v^(T) with T = 1000; `PPM, T + 1` is the iterate after it. `vanilla` is the
projected power method, its bound the certified optimum without an adversary. `best` is the vector of MIP, MIP-r and PPM
with the best {objective}. Where the optimum is 0 (rho >= rho_max) the programs are not run, and no method has a
direction but PPM and vanilla, which do not look. Gaps are against the best value known over the same features.
"""
_OBJECTIVES = {
    "population": "population objective, equation (10), as the caption says",
    "sample": "robust variance of the samples (the caption: the population objective, equation (10))",
}


def effort(specs: Mapping[str, Spec]) -> str:
    """Return a sentence that says how little was spent on the claims, where it is less than in a full run; else "".

    Examples
    --------
    >>> from noap.experiments import paper_specs
    >>> effort(paper_specs(quick=True))[:58]
    'Tried with 2 draws per point and 1 second per program only'
    >>> effort(paper_specs())
    ''
    """
    draws = min(len(spec.seeds) for spec in specs.values())
    limits = [
        method.time_limit
        for spec in specs.values()
        for method in spec.methods
        if method.solver in ("mip", "mip-r") and method.time_limit is not None
    ]
    seconds = min(limits, default=MIP_SECONDS)
    if draws >= FULL_TRIALS and seconds >= MIP_SECONDS:
        return ""
    spent = f"{draws} draw{'s' * (draws != 1)} per point"
    if limits:
        spent += f" and {seconds:g} second{'s' * (seconds != 1)} per program"
    return (
        f"Tried with {spent} only (a full run: {FULL_TRIALS} and {MIP_SECONDS:g}, the paper: 10 and 1800): a verdict, "
        "above all on the programs, may change with more."
    )


def write_figures(specs: Mapping[str, Spec], tables: Mapping[str, "polars.DataFrame"], folder: Path) -> None:
    """Draw every figure whose experiment has trials."""
    from noap.experiments import figures

    means = {
        "figure1": figures.cosines,
        "figure1-full": figures.cosines_full,
        "figure2": figures.measures,
        "figure2-full": figures.measures_full,
    }
    for name in drawable(tables):
        experiment, _ = FIGURES[name]
        table, spec = tables[experiment], specs[experiment]
        largest = max(spec.budgets)
        if name == "theorem3":
            figure = figures.vectors_over_n(cosines_to_vanilla(table), spec)
        elif name == "theorem4":
            figure = figures.recovery(points(table), spec, guaranteed_cosines(spec.model, largest))
        elif name == "theorem5":
            figure = figures.stages(table, spec, population_of(spec.model, largest))
        else:
            figure = means[name](points(table), spec, population_of(spec.model, largest))
        figures.save(figure, folder / name)


def drawable(tables: Mapping[str, "polars.DataFrame"]) -> list[str]:
    """Return the names of the figures whose experiment has trials."""
    return [name for name, (experiment, _) in FIGURES.items() if experiment in tables and tables[experiment].height]


def render(
    specs: Mapping[str, Spec], store: Store, folder: Path, *, command: str, best: Objective = "population"
) -> list[tuple[PaperClaim, Judgement]]:
    """Write tables, figures, claims and README.md to `folder`; return the judged claims.

    Parameters
    ----------
    specs : mapping of str to Spec
        The experiments to show.
    store : Store
    folder : Path
        Must exist. Files of earlier calls are replaced: they are functions of the store.
    command : str
        What reproduces them, for the page.
    best : "population" or "sample"
        Which objective decides the paper's "best", see :func:`noap.experiments.table.trials`.
    """
    tables = {name: trials(spec, store, best=best) for name, spec in specs.items()}
    write_tables(tables, folder)
    write_figures(specs, tables, folder)
    return write_pages(specs, tables, folder, command=command, best=best)


def write_tables(tables: Mapping[str, "polars.DataFrame"], folder: Path) -> None:
    """Write every trial, as Parquet and CSV, and every point of a figure."""
    import polars as pl

    known = [table for table in tables.values() if table.height]
    if known:
        every = pl.concat(known, how="diagonal_relaxed")
        write_table(every, folder / "trials.parquet")
        write_table(every.drop("environment", "finished", "scope", "loadings"), folder / "trials.csv")
        write_table(pl.concat([points(table) for table in known], how="diagonal_relaxed"), folder / "points.csv")


def write_pages(
    specs: Mapping[str, Spec],
    tables: Mapping[str, "polars.DataFrame"],
    folder: Path,
    *,
    command: str,
    best: Objective = "population",
) -> list[tuple[PaperClaim, Judgement]]:
    """Write README.md, claims.md and specs.json; return the judged claims."""
    judged = [(claim, judgement) for claim, judgement in judge(tables) if claim.experiment in specs]
    tried = effort(specs)
    pages = {
        "claims.md": claims_page(judged, tried),
        "specs.json": json.dumps({name: spec.definition for name, spec in specs.items()}, indent=2) + "\n",
        "README.md": _page(specs, tables, judged, command, tried, best),
    }
    for name, text in pages.items():
        (folder / name).write_text(text, encoding="utf-8")
    return judged


def claims_page(judged: Sequence[tuple[PaperClaim, Judgement]], tried: str = "") -> str:
    """Return the claims with their verdicts and evidence as Markdown; `tried` says how little was spent on them."""
    parts = ["# The paper's claims, checked\n"] + ([f"{tried}\n"] if tried else [])
    for claim, judgement in judged:
        parts.append(
            f"## {claim.name}: **{judgement.verdict.value}**\n\n"
            f"- says: {claim.statement} ({claim.source})\n- evidence: {judgement.evidence}\n"
        )
    return "\n".join(parts)


def _page(
    specs: Mapping[str, Spec],
    tables: Mapping[str, "polars.DataFrame"],
    judged: Sequence[tuple[PaperClaim, Judgement]],
    command: str,
    tried: str,
    best: Objective,
) -> str:
    parts = [
        "# Tables and figures of the reproduction\n",
        "Made by the command below; it goes on where it stopped, and draws everything again from the stored trials.\n",
        f"    {command}\n",
        "Files: `points.csv` (every point of every figure: means, standard deviations, counts), `trials.csv` and "
        "`trials.parquet` (every trial; the latter with vectors and environments), `specs.json` (what was asked), "
        "[claims.md](claims.md).\n",
        "## Claims\n",
        *([f"{tried}\n"] if tried else []),
        markdown(["claim", "source", "verdict"], [[c.name, c.source, j.verdict.value] for c, j in judged]),
        "## Experiments\n",
        _experiments(specs, tables),
        _stages(tables),
        "\n".join(textwrap.wrap(_LEGEND.format(objective=_OBJECTIVES[best]), 120)) + "\n",
        "## Methods of the figures\n",
        _methods(specs, tables),
        _environments(tables),
        "## Figures\n",
        *[f"![{name}]({name}.png)\n\n*{name}* ([SVG]({name}.svg)). {FIGURES[name][1]}\n" for name in drawable(tables)],
    ]
    return "\n".join(parts)


STAGES = ("partial from", "single from", "none from")


def stage_rows(table: "polars.DataFrame | None") -> list[tuple[str, float, float, float | None]]:
    """Return where Theorem 5's stages begin, normalised: exactly, by the proof's constants, as seen for each n.

    Parameters
    ----------
    table : polars.DataFrame or None
        Trials of the experiment "stages"; without two budgets there are no rows.
    """
    if table is None or table.height == 0 or table["budget"].n_unique() < 2:
        return []
    exact, seen, _ = stages_seen(table)
    lam, k, k1, c = (table[name][0] for name in ("lam", "k", "k1", "c"))
    printed = theory.stage_thresholds_printed(lam, k, k1, c, n=k)
    rows: list[tuple[str, float, float, float | None]] = [
        ("population, exact", *exact),
        ("constants of the proof", printed.partial_from, printed.partial_to, None),
    ]
    draws = table["seed"].n_unique()
    for n, (partial, single, none) in seen.items():
        rows.append((f"seen at n = {n}, mean of {draws}", float(partial), float(single), float(none)))
    return rows


def _stages(tables: Mapping[str, "polars.DataFrame"]) -> str:
    rows = [
        [name, *("-" if start is None else f"{start:.3f}" for start in starts)]
        for name, *starts in stage_rows(tables.get("stages"))
    ]
    if not rows:
        return ""
    return (
        "## Stages of Theorem 5 by normalised budget\n\n"
        + markdown(["", *STAGES], rows)
        + "\nThe stage is `full` before the first. *Seen* are certified optima of all features: no weak feature, one "
        "feature at most, value 0 from there on. The proof's first two are where its robust stage begins and ends.\n"
    )


def _experiments(specs: Mapping[str, Spec], tables: Mapping[str, "polars.DataFrame"]) -> str:
    rows = []
    for name, spec in specs.items():
        model = spec.model
        kind = f"k1 = {model.k1}, c = {model.c:g}" if model.c is not None else "general truth"
        done = tables[name].filter(tables[name]["key"].is_not_null()) if tables[name].height else tables[name]
        rows.append(
            [
                name,
                spec.hash,
                f"d = {model.d}, k = {model.k}, lambda = {model.lam:g}, {kind}",
                ", ".join(map(str, spec.samples)),
                f"{min(spec.budgets):g} to {max(spec.budgets):g}, {len(spec.budgets)} values",
                str(len(spec.seeds)),
                f"{done.height} of {sum(1 for _ in spec.trials())}",
                f"{float(done['seconds'].sum()) if done.height else 0.0:.0f}",
            ]
        )
    keys = [key for table in tables.values() if table.height for key in table["key"].drop_nulls()]
    different = len(set(keys))
    counted = f"{different} different trials"
    if different < len(keys):
        counted += f"; {len(keys) - different} of them belong to two experiments and were done once"
    columns = ["experiment", "spec", "model", "n", "budgets", "draws", "trials done", "seconds of work"]
    return f"{markdown(columns, rows)}\n{counted}.\n"


def _methods(specs: Mapping[str, Spec], tables: Mapping[str, "polars.DataFrame"]) -> str:
    table, spec = tables.get("figures"), specs.get("figures")
    if table is None or spec is None or table.height == 0:
        return ""
    rows = []
    for method in spec.methods:
        one = table.filter(table["method"] == method.label)
        gaps = one["gap"].drop_nulls()
        options = ", ".join(f"{name} {value}" for name, value in method.settings.items())
        rows.append(
            [
                method.label,
                f"{method.solver}{f' ({options})' if options else ''}",
                "none" if method.time_limit is None else f"{method.time_limit:g}",
                str(one["limit_hit"].is_not_null().sum()),
                _solutions(one),
                f"{_number(one['seconds'].median())} / {_number(one['seconds'].max())}",
                f"{_number(gaps.median())} / {_number(gaps.max())}" if len(gaps) else "-",
            ]
        )
    columns = "label, what it is, limit (s), stopped by it, solutions, seconds (median / most), gap (median / most)"
    return markdown(columns.split(", "), rows)


def _solutions(one: "polars.DataFrame") -> str:
    """Return how many solutions of a printed program are its own, its start, v = 0, or missing; of PPM the cycles."""
    found = one["solution"].drop_nulls().to_list()
    words = {"own": "own", "start": "start", "zero": "v = 0", "none": "**no solution found**"}
    parts = [f"{found.count(kind)} {said}" for kind, said in words.items() if kind in found]
    cycles = one["cycle"].drop_nulls().len()
    return ", ".join([*parts, *([f"{cycles} of {one.height} in a cycle"] if cycles else [])]) or "-"


def _environments(tables: Mapping[str, "polars.DataFrame"]) -> str:
    # Experiments share trials: a certified optimum of one may be that of another.
    rows = {
        key: (document, datetime.datetime.fromisoformat(finished))
        for table in tables.values()
        if table.height
        for key, document, finished in table.select("key", "environment", "finished").iter_rows()
        if key is not None
    }
    if not rows:
        return ""
    documents, times = Counter(document for document, _ in rows.values()), [moment for _, moment in rows.values()]
    lines = [f"From {min(times):%Y-%m-%d %H:%M} to {max(times):%Y-%m-%d %H:%M} UTC."]
    lines += [f"- {count} trials: {listed(json.loads(document))}." for document, count in documents.items()]
    return "## Where and when\n\n" + "\n".join(lines) + "\n"


def _number(value: object) -> str:
    return f"{value:.3g}" if isinstance(value, (int, float)) else "-"
