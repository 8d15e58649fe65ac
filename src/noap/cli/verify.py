"""`noap verify`: whether a certificate proves what it claims about a file."""

import math
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.console import Console

import noap
from noap.adversaries import BY_NAME
from noap.checker.verify import Verification
from noap.cli.metric import MetricOf, read_metric, require_metric_fits
from noap.cli.options import (
    KINDS,
    METHOD,
    AdversaryName,
    CostFile,
    Device,
    MetricFile,
    MetricRidge,
    NoiseFile,
    NoiseUnits,
    ReadOptions,
    option,
)
from noap.cli.problem import ProblemOptions, is_streamed, streamed_problem
from noap.cli.run import Answer, JsonOptions
from noap.cli.verify_tree import REJECTED, UNKNOWN_DATA, verify_tree
from noap.data.device import on_device
from noap.data.files.table import PREPARED, Table
from noap.errors import InvalidProblem
from noap.kernel.certificate import Certificate as KernelCertificate
from noap.proofs.certificate import Certificate
from noap.proofs.claim import Claim
from noap.proofs.fingerprint import fingerprint
from noap.proofs.reading import load
from noap.runtime.digits import percent_up
from noap.runtime.names import listed

__all__ = ["verify"]


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
    jobs: Annotated[int | None, option("Many features: threads that share the work; -1 for all.", panel=METHOD)] = None,
    device: Device = None,
) -> int:
    """Check a certificate against a file, with no help from the solver.

    Whether the data were centred and scaled is found out; say again what noap solve was told about columns.
    Exit code 0: accepted, 4: rejected, 2: unreadable.

    noap solve data.csv -k 5 -c 3 --joint --certificate joint.noap
    noap verify joint.noap data.csv
    noap near-optimal data.csv -k 5 --certificate list.noap
    noap verify list.noap data.csv
    noap verify from-a-stranger.noap data.csv --time-limit 60 --memory-limit 500
    """
    proof = load(certificate, memory_limit=memory_limit)
    reading = read.reading

    def asked(adversary: str, rho: float | None = None) -> ProblemOptions:
        return ProblemOptions(
            AdversaryName(adversary), None, None if rho is None else repr(rho), noise_file, noise_units, cost_file
        )

    if isinstance(proof, KernelCertificate):
        if metric is not None and proof.claim.metric is None:
            raise InvalidProblem(f"CERT {certificate} is about no metric; leave out --metric.")
        require_metric_fits(metric, metric_ridge, streamed=is_streamed(data))
        said = asked("sample" if proof.claim.adversary.startswith("sample") else "feature")

        def form(table: Table) -> MetricOf | None:
            return None if metric is None else read_metric(metric, metric_ridge, table, reading)

        return verify_tree(proof, data, read, said, form, output, time_limit, memory_limit)
    claim = proof.claim
    if claim.adversary not in BY_NAME:
        raise InvalidProblem(f"CERT {certificate} names the adversary {claim.adversary!r}, which noap does not know.")
    if metric is not None:
        raise InvalidProblem(f"CERT {certificate} is about no metric; leave out --metric.")
    _require_files(claim, certificate, noise_file, cost_file)
    # What a file says of single features replaces the one budget.
    rho = None if noise_file is not None else claim.rho
    candidates = _candidates(claim, data, read, asked(BY_NAME[claim.adversary].key, rho))
    found, prepared = _named(claim, data, candidates)
    found = on_device(found, device)
    report = noap.verify(found, proof, time_limit=time_limit, memory_limit=memory_limit, n_jobs=jobs)
    document = _document(report, proof, found, prepared)

    def say(console: Console) -> None:
        for sentence in _sentences(report, proof, prepared, document):
            console.print(sentence, markup=False, soft_wrap=True)

    return output.finish(Answer(document, say, code=0 if report.ok else REJECTED))


def _sentences(
    report: Verification, proof: Certificate, prepared: str | None, document: dict[str, Any]
) -> Iterator[str]:
    """Yield the verdict, and what an accepted certificate proves."""
    claim = proof.claim
    yield report.message
    if report.ok:
        yield (
            f"{claim.adversary}, {_strength_sentence(claim)}, k = {claim.k}; data {prepared}, "
            f"{claim.n_samples} samples; gap {percent_up(report.gap)}; {report.nodes} nodes checked in "
            f"{report.seconds:.2f} s."
        )
        yield _features_sentence(document["features"])
    elif prepared is None:
        yield UNKNOWN_DATA


def _document(
    report: Verification,
    proof: Certificate,
    problem: "noap.Problem",
    prepared: str | None,
) -> dict[str, Any]:
    """Return the verdict as JSON takes it: what is not proved or not known is None."""
    claim = proof.claim
    names = problem.feature_names or ()
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
        "claimed": {"value": proof.value, "bound": proof.bound},
        "adversary": claim.adversary,
        "rho": claim.rho,
        "noise": claim.rho / BY_NAME[claim.adversary].noise_unit(claim.n_samples),
        "own_budgets": claim.budgets is not None,
        "with_costs": claim.costs is not None,
        "with_metric": False,
        "k": claim.k,
        "n_samples": claim.n_samples,
        "n_features": claim.n_features,
        "data": prepared,
        "nodes": report.nodes,
        "seconds": report.seconds,
    }


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
    claim: Claim, data: Path, read: ReadOptions, asked: ProblemOptions
) -> Iterator[tuple[noap.Problem, str]]:
    """Yield what the file may stand for, one preparation after the other."""

    def streamed() -> Iterator[tuple[noap.Problem, str]]:
        for prepared, words in PREPARED.items():
            yield streamed_problem(data, read.prepared_as(*prepared), asked, claim.k)[0], words

    if is_streamed(data):
        yield from streamed()
        return
    table = read.table(data)
    strength = asked.for_names(table.names, read.reading)
    if claim.k > table.X.shape[1]:
        return
    if claim.source == "covariance":
        if table.X.shape[0] == table.X.shape[1] == claim.n_features:
            yield (
                noap.Problem.from_covariance(
                    table.X,
                    n_samples=claim.n_samples,
                    k=claim.k,
                    adversary=strength.adversary(claim.n_samples, lambda: np.ones(claim.n_features)),
                    costs=strength.costs,
                    feature_names=table.names,
                ),
                "a covariance",
            )
        if table.X.shape[1] == claim.n_features:
            yield from streamed()  # one file, of which X'X was kept
        return
    for (center, scale), words in PREPARED.items():
        try:
            samples = table.standardised(center, scale)
        except InvalidProblem:
            continue  # a constant column cannot be scaled: then it was not
        faced = strength.adversary(claim.n_samples, partial(table.scales, center, scale))
        yield noap.Problem(samples, k=claim.k, adversary=faced, costs=strength.costs), words
