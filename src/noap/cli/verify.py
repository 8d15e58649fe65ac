"""`noap verify`: whether a certificate proves what it claims about a file."""

import contextlib
import math
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.console import Console

import noap
from noap.cli.metric import MetricOf, read_metric, require_metric_fits
from noap.cli.options import (
    KINDS,
    METHOD,
    AdversaryName,
    CostFile,
    MetricFile,
    MetricRidge,
    NoiseFile,
    NoiseUnits,
    ReadOptions,
    option,
)
from noap.cli.problem import ProblemOptions, is_streamed, streamed_problem
from noap.cli.run import Answer, JsonOptions
from noap.data.files.table import PREPARED, Table
from noap.errors import InvalidProblem
from noap.kernel.certificate import Certificate
from noap.kernel.claim import Claim, fingerprint_of
from noap.kernel.verify import Verification
from noap.kernel.witness import Packing
from noap.runtime.digits import down, percent_up, up
from noap.runtime.names import listed

__all__ = ["claim_as_dict", "verify"]

_REJECTED = 4
_UNKNOWN_DATA = (
    "DATA was tried as it is, centred, scaled, and both; pass the file as it was, and say again what was said about "
    "its columns."
)


def verify(
    certificate: Annotated[
        Path, typer.Argument(metavar="CERT", help="Certificate written by noap solve or near-optimal --certificate.")
    ],
    data: Annotated[Path, typer.Argument(metavar="DATA", help=f"The file that it is about: {KINDS}.")],
    read: ReadOptions,
    output: JsonOptions,
    noise_file: NoiseFile = None,
    noise_units: NoiseUnits = None,
    cost_file: CostFile = None,
    metric: MetricFile = None,
    metric_ridge: MetricRidge = None,
    time_limit: Annotated[
        float | None, option("Seconds; what is not proved within them is rejected.", panel=METHOD)
    ] = None,
    memory_limit: Annotated[float | None, option("Megabytes for the certificate and its check.", panel=METHOD)] = None,
) -> int:
    """Check a certificate against a file, with no help from the solver.

    Whether the data were centred and scaled is found out; say again what noap solve was told about columns. What files
    say of noise, costs and metric must be what the certificate says.
    Exit code 0: accepted, 4: rejected, 2: unreadable.

    noap solve data.csv -k 5 -c 3 --joint --certificate joint.noap
    noap verify joint.noap data.csv
    noap near-optimal data.csv -k 5 --certificate list.noap
    noap verify list.noap data.csv
    noap verify from-a-stranger.noap data.csv --time-limit 60 --memory-limit 500
    """
    proof = Certificate.load(certificate, memory_limit=memory_limit)
    if metric is not None and proof.claim.metric is None:
        raise InvalidProblem(f"CERT {certificate} is about no metric; leave out --metric.")
    require_metric_fits(metric, metric_ridge, streamed=is_streamed(data))
    moved = AdversaryName.sample if proof.claim.adversary_type is noap.SampleWise else AdversaryName.feature
    asked = ProblemOptions(moved, None, None, noise_file, noise_units, cost_file)

    def form(table: Table) -> MetricOf | None:
        return None if metric is None else read_metric(metric, metric_ridge, table, read.reading)

    problem, prepared = _named(proof, data, read, asked, form)
    report = noap.verify(problem, proof, time_limit=time_limit, memory_limit=memory_limit)

    def say(console: Console) -> None:
        for sentence in _sentences(report, proof, problem, prepared):
            console.print(sentence, markup=False, soft_wrap=True)

    return output.finish(Answer(_document(report, proof, problem, prepared), say, code=0 if report.ok else _REJECTED))


def _sentences(report: Verification, proof: Certificate, problem: noap.Problem, prepared: str | None) -> Iterator[str]:
    """Yield the verdict, and what an accepted certificate proves."""
    yield report.message
    claim = proof.claim
    if report.ok:
        costs = ("" if claim.costs is None else ", with costs") + ("" if claim.metric is None else ", with a metric")
        yield (
            f"{claim.adversary}, {claim.noise_in_words}{costs}, k = {_sizes(proof)}; data {prepared}, "
            f"{claim.n_samples} samples; gap {percent_up(report.gap)}; {report.nodes} nodes checked in "
            f"{report.seconds:.2f} s."
        )
        shown = _features(report, proof, problem.feature_names or ())
        if proof.proof.packing is not None:
            yield from _joint_sentences(report, proof.proof.packing, _components(proof, problem))
        elif shown:
            yield f"Features of its vector, by the names in DATA: {listed(shown, None)}."
        elif report.bound <= 0 and claim.directions is not None:
            yield "No direction orthogonal to those in the file is worth anything: the optimum is 0."
        elif report.bound <= 0:
            yield "Nothing survives the adversary: the optimum is 0, and no feature is better than another."
    elif prepared is None:
        yield _UNKNOWN_DATA


def _named(
    proof: Certificate,
    data: Path,
    read: ReadOptions,
    asked: ProblemOptions,
    form: Callable[[Table], MetricOf | None],
) -> tuple[noap.Problem, str | None]:
    """Return the problem that the claim names and how its data were prepared; another one and None if DATA has none."""
    claim, last = proof.claim, None
    for problem, prepared in _candidates(claim, data, read, asked, form):
        if fingerprint_of(problem) == claim.fingerprint:
            return problem, prepared
        last = problem
    if last is None:
        raise InvalidProblem(f"DATA {data} does not have the shape that CERT names; pass the file it was made from.")
    return last, None


def _candidates(
    claim: Claim, data: Path, read: ReadOptions, asked: ProblemOptions, form: Callable[[Table], MetricOf | None]
) -> Iterator[tuple[noap.Problem, str]]:
    """Yield what the file may stand for, one preparation after the other."""
    terms: dict[str, Any] = {
        "k": claim.k,
        "adversary": claim.adversary_type.with_budget(claim.budget),
        "costs": claim.costs,
        "include": claim.include.tolist(),
        "exclude": claim.exclude.tolist(),
        "orthogonal_to": claim.directions,
        "metric": claim.metric,
    }
    table = None if is_streamed(data) else read.table(data)
    if table is not None and table.X.shape[1] != claim.n_features:
        raise InvalidProblem(
            f"DATA has {table.X.shape[1]} columns of features, the certificate is about {claim.n_features}; say what "
            "noap solve was told about columns."
        )
    metric = None if table is None else form(table)
    if claim.source == "covariance":
        if metric is not None:
            terms["metric"] = metric(False, False)
        if table is not None and table.X.shape[0] == table.X.shape[1]:
            terms["feature_names"] = table.names
            yield noap.Problem.from_covariance(table.X, n_samples=claim.n_samples, **terms), "a covariance"
        nobody = ProblemOptions(AdversaryName.none)
        for prepared, words in PREPARED.items():  # one file or several, of which X'X was kept
            kept, names = streamed_problem(data, read.prepared_as(*prepared), nobody, claim.k)
            terms["feature_names"] = names or None
            yield noap.Problem.from_covariance(kept.covariance, n_samples=kept.n_samples, **terms), words
        return
    if table is None:
        return
    given = asked.for_names(table.names, read.reading)
    terms["feature_names"] = table.names
    terms["costs"] = claim.costs if given.costs is None else given.costs

    def of(X: Any, center: bool, scale: bool) -> tuple[noap.Problem, str]:
        if given.noise is not None:
            terms["adversary"] = given.adversary(claim.n_samples, partial(table.scales, center, scale))
        if metric is not None:
            terms["metric"] = metric(center, scale)
        return noap.Problem(X, **terms), PREPARED[center, scale]

    if claim.mean is not None and claim.scale is not None:
        X = table.X if isinstance(table.X, np.ndarray) else table.X.toarray()
        done = bool(claim.mean.any()), bool((claim.scale != 1).any())
        yield of((X - claim.mean) / claim.scale, *done)
        return
    for center, scale in PREPARED:
        with contextlib.suppress(InvalidProblem):  # a constant column cannot be scaled: then it was not
            yield of(table.standardised(center, scale), center, scale)


def _features(report: Verification, proof: Certificate, names: Sequence[str]) -> list[str]:
    """Return the names of the features of the vector, the largest weight first; none where it has no value."""
    order: Any = np.argsort(-np.abs(proof.weights), kind="stable") if report.value > 0 else []
    return [names[proof.support[i]] for i in order]


def _components(proof: Certificate, problem: noap.Problem) -> list[list[str]]:
    """Return the names of the features of every component, the most valuable one first, its largest loading first."""
    names, found, at = problem.feature_names or (), [], 0
    assert proof.proof.packing is not None
    for size, k in zip(proof.proof.packing.sizes, proof.proof.packing.slots, strict=True):
        support, weights = proof.support[at : at + size], proof.weights[at : at + size]
        at += size
        if size == 0:
            continue
        v = np.zeros(problem.n_features)
        v[support] = weights / np.linalg.norm(weights)
        order = np.argsort(-np.abs(weights), kind="stable")
        found.append((problem.with_sparsity(k).value(v), [names[j] for j in support[order]]))
    return [features for _, features in sorted(found, key=lambda one: -one[0])]


def _sizes(proof: Certificate) -> str:
    sizes = (proof.claim.k,) if proof.proof.packing is None else proof.proof.packing.slots
    return ", ".join(map(str, sizes)) if len(set(sizes)) > 1 else str(sizes[0])


def _joint_sentences(report: Verification, packing: Packing, components: list[list[str]]) -> Iterator[str]:
    """Yield what a certificate of several components proves, in words, and the features of each."""
    if not components:
        yield "Nothing survives the adversary: no component is worth anything, however they are chosen."
        return
    found = "the one component" if len(components) == 1 else f"the {len(components)} components"
    yield (
        f"However {len(packing.slots)} components are chosen, if no feature is in two of them they are worth at most "
        f"{up(report.bound, 8)} together; {found} below {'is' if len(components) == 1 else 'are'} worth at least "
        f"{down(report.value, 8)}."
    )
    for number, features in enumerate(components, start=1):
        yield f"Component {number}, by the names in DATA: {listed(features, None)}."


def _document(report: Verification, proof: Certificate, problem: noap.Problem, prepared: str | None) -> dict[str, Any]:
    """Return the verdict as JSON takes it: what is not proved or not known is None."""
    names = problem.feature_names or ()
    return {
        "ok": report.ok,
        "message": report.message,
        "value": report.value if report.ok or report.value > 0 else None,
        "bound": report.bound if report.ok else None,
        "gap": report.gap if report.ok and math.isfinite(report.gap) else None,
        "features": _features(report, proof, names) if report.ok else None,
        **claim_as_dict(proof),
        "data": prepared,
        **({} if report.threshold is None else _of_list(report)),
        **({"components": _components(proof, problem)} if report.ok and proof.proof.packing is not None else {}),
        "nodes": report.nodes,
        "seconds": report.seconds,
    }


def _of_list(report: Verification) -> dict[str, Any]:
    """Return what is proved of a list of supports."""
    return {"supports": report.supports, "threshold": report.threshold} if report.ok else {}


def claim_as_dict(proof: Certificate) -> dict[str, Any]:
    """Return what a certificate claims, as JSON takes it."""
    claim = proof.claim
    return {
        "kind": proof.kind,
        "claimed": {"value": proof.value, "bound": proof.bound},
        "adversary": claim.adversary,
        "noise": claim.noise,
        "own_budgets": isinstance(claim.noise, list),
        "with_costs": claim.costs is not None,
        "with_metric": claim.metric is not None,
        "k": claim.k if proof.proof.packing is None else list(proof.proof.packing.slots),
        "n_samples": claim.n_samples,
        "n_features": claim.n_features,
    }
