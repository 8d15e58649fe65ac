"""`noap verify`: whether a certificate proves what it claims about a file."""

import itertools
import json as json_module
import math
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.console import Console

import noap
from noap.adversaries import BY_NAME, Adversary
from noap.checker.verify import Verification
from noap.cli.budget import AdversaryName
from noap.cli.data import PREPARED, read_table, reading_of
from noap.cli.metric import read_metric, require_metric_fits
from noap.cli.options import (
    KINDS,
    Columns,
    CostFile,
    Decimal,
    Delimiter,
    Device,
    Drop,
    Header,
    Index,
    Json,
    MetricFile,
    MetricRidge,
    NoiseFile,
    NoiseUnits,
    Sheet,
)
from noap.cli.single_features import SingleFeatures, read_single_features
from noap.cli.stream import streamed_problem, wants_stream
from noap.cli.verify_tree import verify_tree
from noap.data.device import on_device
from noap.data.files.reading import Reading
from noap.errors import InvalidProblem
from noap.kernel.certificate import Certificate as KernelCertificate
from noap.linalg.types import FloatArray
from noap.proofs.claim import Claim
from noap.proofs.fingerprint import fingerprint
from noap.proofs.reading import AnyCertificate, load
from noap.runtime.digits import down, up
from noap.runtime.names import listed

__all__ = ["verify"]

REJECTED = 4


def verify(
    certificate: Annotated[
        Path,
        typer.Argument(metavar="CERT", help="A certificate written by noap solve or near-optimal --certificate."),
    ],
    data: Annotated[
        Path,
        typer.Argument(
            metavar="DATA",
            help=f"The file it is about: {KINDS}, or what was streamed. Whether the data were centred and scaled is "
            "found out; say what noap solve was told about columns.",
        ),
    ],
    time_limit: Annotated[
        float | None, typer.Option(help="Seconds; a certificate that is not proved within them is rejected.")
    ] = None,
    memory_limit: Annotated[
        float | None,
        typer.Option(
            help="Megabytes that the certificate, inflated, and its check may take; what needs more is not read, or "
            "rejected."
        ),
    ] = None,
    jobs: Annotated[
        int | None, typer.Option(help="Many features: threads that share the pass over pairs, -1 for all cores.")
    ] = None,
    device: Device = None,
    noise_file: NoiseFile = None,
    cost_file: CostFile = None,
    noise_units: NoiseUnits = None,
    metric: MetricFile = None,
    metric_ridge: MetricRidge = None,
    delimiter: Delimiter = None,
    decimal: Decimal = None,
    header: Header = None,
    columns: Columns = None,
    drop: Drop = None,
    index: Index = None,
    sheet: Sheet = None,
    json: Json = False,
) -> int:
    """Check a certificate against a file, with no help from the solver.

    Exit code 0: accepted, 4: rejected, 2: unreadable.

    For example:

    noap solve data.csv -k 5 --noise 0.2 --certificate proof.noap

    noap verify proof.noap data.csv

    noap solve data.csv -k 5 -c 3 --joint --certificate joint.noap

    noap verify joint.noap data.csv

    noap near-optimal data.csv -k 5 --certificate list.noap

    noap verify list.noap data.csv

    noap verify from-a-stranger.noap data.csv --time-limit 60 --memory-limit 500
    """
    proof = load(certificate, memory_limit=memory_limit)
    if isinstance(proof, KernelCertificate):
        if metric is not None and proof.claim.metric is None:
            raise InvalidProblem(f"CERT {certificate} is about no metric; leave out --metric.")
        require_metric_fits(metric, metric_ridge, streamed=wants_stream(data, False))
        reading = reading_of(delimiter, decimal, header, columns, drop, index, sheet)
        kind = AdversaryName("sample" if proof.claim.adversary.startswith("sample") else "feature")
        files = noise_file, cost_file, noise_units, kind
        return verify_tree(
            proof,
            data,
            reading,
            lambda names: read_single_features(*files, names, reading),
            lambda table: None if metric is None else read_metric(metric, metric_ridge, table, reading),
            json,
            time_limit,
            memory_limit,
        )
    claim = proof.claim
    if claim.adversary not in BY_NAME:
        raise InvalidProblem(f"CERT {certificate} names the adversary {claim.adversary!r}, which noap does not know.")
    reading = reading_of(delimiter, decimal, header, columns, drop, index, sheet)
    if metric is not None:
        raise InvalidProblem(f"CERT {certificate} is about no metric; leave out --metric.")
    _require_files(claim, certificate, noise_file, cost_file)

    def single(names: tuple[str, ...]) -> SingleFeatures:
        kind = AdversaryName(BY_NAME[claim.adversary].key)
        return read_single_features(noise_file, cost_file, noise_units, kind, names, reading)

    candidates = _candidates(claim, data, reading, noise_file is not None, single)
    found, prepared = _named(claim, data, candidates)
    found = on_device(found, device)
    report = noap.verify(found, proof, time_limit=time_limit, memory_limit=memory_limit, n_jobs=jobs)
    document = _document(report, proof, found, prepared)
    if json:
        typer.echo(json_module.dumps(document, indent=2))
    else:
        console = Console(highlight=False, markup=False, soft_wrap=True)
        console.print(report.message)
        if report.ok:
            console.print(
                f"{claim.adversary}, {_strength_sentence(claim)}, k = {_sizes(proof)}; data "
                f"{prepared}, {claim.n_samples} samples; gap {report.gap:.2e}; {report.nodes} nodes checked in "
                f"{report.seconds:.2f} s."
            )
            if isinstance(proof, noap.JointCertificate):
                for sentence in _joint_sentences(report, proof, document["components"]):
                    console.print(sentence)
            else:
                console.print(_features_sentence(document["features"]))
        elif prepared is None:
            console.print(
                "DATA was tried as it is, centred, scaled, and both; pass the file as it was, and say again what was "
                "said about its columns."
            )
    return 0 if report.ok else REJECTED


def _document(
    report: Verification,
    proof: AnyCertificate,
    problem: noap.Problem,
    prepared: str | None,
) -> dict[str, Any]:
    """Return the verdict as JSON takes it: what is not proved or not known is None."""
    claim = proof.claim
    names = problem.feature_names or ()
    components = _components(proof, problem) if isinstance(proof, noap.JointCertificate) and report.ok else None
    places, weights = proof.places, proof.weights
    # A vector that is worth nothing has no features to speak of.
    used = np.argsort(-np.abs(weights), kind="stable").tolist() if report.ok and report.value > 0 else []
    return {
        "ok": report.ok,
        "message": report.message,
        "value": report.value if report.ok or report.value > 0 else None,
        "bound": report.bound if report.ok else None,
        "gap": report.gap if report.ok and math.isfinite(report.gap) else None,
        "features": [names[places[i]] for i in used] if report.ok else None,
        **({} if components is None else {"components": components}),
        "claimed": {"value": proof.value, "bound": proof.bound},
        "adversary": claim.adversary,
        "rho": claim.rho,
        "noise": claim.rho / BY_NAME[claim.adversary].noise_unit(claim.n_samples),
        "own_budgets": claim.budgets is not None,
        "with_costs": claim.costs is not None,
        "with_metric": False,
        "k": proof.ks.tolist() if isinstance(proof, noap.JointCertificate) else claim.k,
        "n_samples": claim.n_samples,
        "n_features": claim.n_features,
        "data": prepared,
        "nodes": report.nodes,
        "seconds": report.seconds,
    }


def _components(proof: noap.JointCertificate, problem: noap.Problem) -> list[list[str]]:
    """Return the names of the features of every component, the most valuable one first, its largest loading first."""
    names, found = problem.feature_names or (), []
    for start, end in itertools.pairwise(proof.starts.tolist()):
        places, weights = proof.places[start:end], proof.weights[start:end]
        v = np.zeros(problem.n_features)
        v[places] = weights / np.linalg.norm(weights)
        order = np.argsort(-np.abs(weights), kind="stable")
        found.append((problem.value(v), [names[j] for j in places[order]]))
    return [features for _, features in sorted(found, key=lambda one: -one[0])]


def _sizes(proof: AnyCertificate) -> str:
    sizes = proof.ks.tolist() if isinstance(proof, noap.JointCertificate) else [proof.claim.k]
    return ", ".join(map(str, sizes)) if len(set(sizes)) > 1 else str(sizes[0])


def _joint_sentences(report: Verification, proof: noap.JointCertificate, components: list[list[str]]) -> Iterator[str]:
    """Yield what a certificate of several components proves, in words, and the features of each."""
    if not components:
        yield "Nothing survives the adversary: no component is worth anything, however they are chosen."
        return
    found = "the one component" if len(components) == 1 else f"the {len(components)} components"
    yield (
        f"However {len(proof.ks)} components are chosen, if no feature is in two of them they are worth at most "
        f"{up(report.bound, 8)} together; {found} below {'is' if len(components) == 1 else 'are'} worth at least "
        f"{down(report.value, 8)}."
    )
    for number, features in enumerate(components, start=1):
        yield f"Component {number}, by the names in DATA: {listed(features, None)}."


def _features_sentence(features: list[str]) -> str:
    if not features:
        return "Nothing survives the adversary: the optimum is 0, and no feature is better than another."
    return f"Features of its vector, by the names in DATA: {listed(features, None)}."


def _require_files(claim: Claim, certificate: Path, noise_file: Path | None, cost_file: Path | None) -> None:
    """Raise InvalidProblem if the claim is about budgets or costs of features, and no file says which."""
    if claim.budgets is not None and noise_file is None:
        moved = BY_NAME[claim.adversary].key
        raise InvalidProblem(
            f"CERT {certificate} is about {moved}s with budgets of their own; pass the --noise-file it was made with."
        )
    if claim.costs is not None and noise_file is None and cost_file is None:
        raise InvalidProblem(
            f"CERT {certificate} is about features with costs; pass the --cost-file, or the --noise-file, it was made "
            "with."
        )


def _strength_sentence(claim: Claim) -> str:
    noise = claim.rho / BY_NAME[claim.adversary].noise_unit(claim.n_samples)
    said = f"noise {noise:.6g} (rho = {claim.rho:.6g})"
    if claim.budgets is not None:
        said = f"{BY_NAME[claim.adversary].key}s with noises of their own, the largest {noise:.6g}"
    return said if claim.costs is None else f"{said}, with costs"


def _named(claim: Claim, data: Path, candidates: Iterator[tuple[noap.Problem, str]]) -> tuple[noap.Problem, str | None]:
    """Return the problem that the claim names and how its data were prepared; another one and None if DATA has none."""
    last = None
    for problem, prepared in candidates:
        if fingerprint(problem) == claim.sha256:
            return problem, prepared
        last = problem
    if last is None:
        raise InvalidProblem(f"DATA {data} does not have the shape that CERT names; pass the file it was made from.")
    return last, None


def _candidates(
    claim: Claim,
    data: Path,
    reading: Reading,
    own: bool,
    single: Callable[[tuple[str, ...]], SingleFeatures],
) -> Iterator[tuple[noap.Problem, str]]:
    """Yield what the file may stand for, one preparation after the other."""
    kind = AdversaryName(BY_NAME[claim.adversary].key)

    def streamed() -> Iterator[tuple[noap.Problem, str]]:
        for center, scale in PREPARED:
            # What a file says of single features replaces the one budget.
            rho = None if own else claim.rho
            problem, _ = streamed_problem(
                data, claim.k, kind, None, rho, center=center, scale=scale, reading=reading, single=single
            )
            yield problem, PREPARED[center, scale]

    if wants_stream(data, False):
        yield from streamed()
        return
    table = read_table(data, reading)
    given = single(table.names)

    def adversary(scales: Callable[[], FloatArray]) -> Adversary:
        rho = None if own else claim.rho
        return given.adversary(kind, None, rho, claim.n_samples, scales)

    if claim.k > table.X.shape[1]:
        return
    if claim.source == "covariance":
        if table.X.shape[0] == table.X.shape[1] == claim.n_features:
            yield (
                noap.Problem.from_covariance(
                    table.X,
                    n_samples=claim.n_samples,
                    k=claim.k,
                    adversary=adversary(lambda: np.ones(claim.n_features)),
                    costs=given.costs,
                    feature_names=table.names,
                ),
                "a covariance",
            )
        if table.X.shape[1] == claim.n_features:
            yield from streamed()  # one file, of which X'X was kept
        return
    for center, scale in itertools.product((True, False), repeat=2):
        try:
            samples = table.standardised(center, scale)
        except InvalidProblem:
            continue  # a constant column cannot be scaled: then it was not
        faced = adversary(partial(table.scales, center, scale))
        problem = noap.Problem(samples, k=claim.k, adversary=faced, costs=given.costs)
        yield problem, PREPARED[center, scale]
