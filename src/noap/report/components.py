"""Make the table of components: value, bound, gap, and the proof of the bound."""

import csv
import io
from dataclasses import dataclass, replace
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

import noap
from noap.report.words import down, percent_up, plain, up
from noap.result import Result, Status
from noap.runtime.names import counted, listed

if TYPE_CHECKING:
    from noap.report.content import Report

__all__ = ["Component", "as_csv", "checked", "components_of", "table"]

_MOST_TIES = 5
_BADGES = {
    "verified": '<span class="badge good">✓ verified</span>',
    "rejected": '<span class="badge bad">✗ rejected</span>',
    "none": '<span class="badge">not made</span>',
}
_WHOSE_DATA = ("Value and bound are those of the data", "The bound is about all directions")


@dataclass(frozen=True, eq=False)
class Component:
    """One row of the table.

    Attributes
    ----------
    result : Result
    features : tuple of str
        The names of its features, the largest loading first.
    loadings : tuple of float
        Their loadings, in the same order.
    explained : float
        Share of the total variance, without an adversary and adjusted for what components share.
    span : float
        Share of it on the span of this component and all before it.
    proof : str
        What is proved and by whom, in a few words.
    certificate : str
        "verified", "rejected" or "none": whether the independent checker accepted a certificate of the bound, that of
        all components together where they were chosen together.
    remark : str
        Why it was rejected, which features tie, and the messages of the result.
    noises, costs : tuples of float, or None
        Of its features, where they have their own.
    """

    result: Result
    features: tuple[str, ...]
    loadings: tuple[float, ...]
    explained: float
    span: float
    proof: str
    certificate: str
    remark: str
    noises: tuple[float, ...] | None = None
    costs: tuple[float, ...] | None = None


def components_of(model: "noap.RobustSparsePCA", names: tuple[str, ...]) -> tuple[Component, ...]:
    """Return the rows of a fitted model."""
    rows = []
    # The certificate of components that were chosen together is one for all of them.
    joint = model.joint_result_
    together = None if joint is None else (_joint_proof(joint), *checked(joint))
    shares, spans = model.explained_variance_ratio_.tolist(), model.span_variance_ratio_.tolist()
    for result, share, span, ties in zip(model.results_, shares, spans, model.ties_, strict=True):
        order = result.support[np.argsort(-np.abs(result.v[result.support]), kind="stable")]
        proof, certificate, reason = (_proof(result), *checked(result)) if together is None else together
        adversary, costs = result.problem.adversary, result.problem.costs
        unit = adversary.noise_unit(result.problem.n_samples)
        several = not adversary.has_one_budget and adversary.key == "feature"
        rows.append(
            Component(
                result,
                tuple(names[j] for j in order),
                tuple(result.v[order].tolist()),
                share,
                span,
                proof,
                certificate,
                " ".join(filter(None, (reason, *_ties(ties, names), *_messages(result)))),
                tuple((adversary.rho[order] / unit).tolist()) if several else None,
                None if costs is None else tuple(costs[order].tolist()),
            )
        )
    return tuple(rows)


def table(report: "Report") -> str:
    """Return the rows of the table; the last one is about all components, where they were chosen together."""
    rows = [_row(str(number), one, one.result) for number, one in enumerate(report.components, start=1)]
    joint = report.joint
    if joint is not None and joint.components:
        last, explained = report.components[-1], sum(one.explained for one in report.components)
        rows.append(_row("all", replace(last, features=(), loadings=(), explained=explained, remark=""), joint))
    return "\n".join(rows)


def _row(number: str, one: Component, proved: "Result | noap.JointResult") -> str:
    apart = "; " if one.noises or one.costs or any("," in name for name in one.features) else ", "
    features = apart.join(
        f"{escape(name)}&nbsp;<small>{_signed(loading)}{_beside(one, i)}</small>"
        for i, (name, loading) in enumerate(zip(one.features, one.loadings, strict=True))
    )
    if isinstance(proved, noap.JointResult):
        features = f"{counted(len(proved.components), 'component')} together, no feature in two of them"
    cells = {
        "features": features + (f'<p class="remark">{escape(one.remark)}</p>' if one.remark else ""),
        "value": down(proved.value),
        "bound": up(proved.bound),
        "gap": percent_up(proved.gap),
        "proved": escape(one.proof),
        "certificate": _BADGES[one.certificate],
        "explains": f"{100 * one.explained:.1f} %",
        "span": f"{100 * one.span:.1f} %",
    }
    body = "".join(f'<td data-label="{label}"><div>{cell}</div></td>' for label, cell in cells.items())
    kind = ' class="together"' if number == "all" else ""
    return f'<tr{kind}><th scope="row">{number}</th>{body}</tr>'


def _beside(one: Component, place: int) -> str:
    noise = "" if one.noises is None else f", noise {plain(one.noises[place], 3)}"
    return noise if one.costs is None else f"{noise}, cost {plain(one.costs[place], 3)}"


def _signed(loading: float) -> str:
    return f"{loading:+.2f}".replace("-", "\u2212")


def as_csv(components: tuple[Component, ...]) -> str:
    """Return the table as CSV, one row per feature of a component, numbers in full."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    titles = ["component", "feature", "loading", "value", "bound", "gap", "status", "proof", "certificate", "explained"]
    titles.append("span")
    own = [title for title in ("noise", "cost") if getattr(components[0], f"{title}s") is not None]
    writer.writerow([*titles, *own])
    for number, one in enumerate(components, start=1):
        result = one.result
        for place, (name, loading) in enumerate(zip(one.features, one.loadings, strict=True)):
            writer.writerow(
                [
                    number,
                    name,
                    loading,
                    result.value,
                    result.bound,
                    result.gap,
                    result.status.value,
                    one.proof,
                    one.certificate,
                    one.explained,
                    one.span,
                    *(getattr(one, f"{title}s")[place] for title in own),
                ]
            )
    return text.getvalue()


def _ties(pairs: tuple[tuple[int, int], ...], names: tuple[str, ...]) -> list[str]:
    """Say which features would do as well as the ones kept."""
    sentences = []
    for kept in dict.fromkeys(first for first, _ in pairs):
        others = [names[other] for first, other in pairs if first == kept]
        sentences.append(f"In place of {names[kept]} as good: {listed(others, _MOST_TIES)}.")
    return sentences


def _messages(result: Result) -> list[str]:
    """Return the messages of a result, less those that the page gives with names or in its guide: ties, whose data."""
    return [m for m in result.messages if " ties with " not in m and not m.startswith(_WHOSE_DATA)]


def _proof(result: Result) -> str:
    if result.status is Status.OPTIMAL:
        return "optimal (rigorous)"
    if result.status is Status.HEURISTIC:
        return "nothing proved"
    return "bound is rigorous" if result.bound_proof == "rigorous" else "bound to the solver's tolerances"


def _joint_proof(joint: "noap.JointResult") -> str:
    return "optimal together (rigorous)" if joint.status is Status.OPTIMAL else "bounds are rigorous"


def checked(result: "Result | noap.JointResult") -> tuple[str, str]:
    """Return "verified", "rejected" or "none" for the certificate of a result, and why."""
    certificate: Any = result.certificate
    if certificate is None:
        return "none", ""
    verdict = noap.verify(result.problem, certificate)
    return ("verified", "") if verdict.ok else ("rejected", str(verdict.message))
