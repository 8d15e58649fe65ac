"""`noap verify`: whether a certificate proves what it claims about a file."""

import itertools
import json as json_module
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.console import Console

import noap
from noap.adversaries import BY_NAME
from noap.checker.verify import Verification
from noap.cli.budget import AdversaryName
from noap.cli.data import read_table, reading_of
from noap.cli.options import KINDS, Columns, Decimal, Delimiter, Drop, Header, Index, Json, Sheet
from noap.cli.stream import streamed_problem, wants_stream
from noap.data.files.reading import Reading
from noap.errors import InvalidProblem
from noap.proofs.certificate import Claim
from noap.proofs.fingerprint import fingerprint
from noap.runtime.names import listed

__all__ = ["verify"]

REJECTED = 4
# How data may have been prepared: centred, scaled.
_PREPARED = {
    (True, True): "standardised",
    (True, False): "centred",
    (False, True): "scaled",
    (False, False): "as given",
}


def verify(
    certificate: Annotated[
        Path, typer.Argument(metavar="CERT", help="A certificate written by noap solve --certificate.")
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

    noap verify from-a-stranger.noap data.csv --time-limit 60 --memory-limit 500
    """
    proof = noap.Certificate.load(certificate, memory_limit=memory_limit)
    claim = proof.claim
    if claim.adversary not in BY_NAME:
        raise InvalidProblem(f"CERT {certificate} names the adversary {claim.adversary!r}, which noap does not know.")
    found, prepared = _named(claim, data, reading_of(delimiter, decimal, header, columns, drop, index, sheet))
    report = noap.verify(found, proof, time_limit=time_limit, memory_limit=memory_limit)
    document = _document(report, proof, found, prepared)
    if json:
        typer.echo(json_module.dumps(document, indent=2))
    else:
        console = Console(highlight=False, markup=False, soft_wrap=True)
        console.print(report.message)
        if report.ok:
            console.print(
                f"{claim.adversary}, noise {document['noise']:.6g} (rho = {claim.rho:.6g}), k = {claim.k}; data "
                f"{prepared}, {claim.n_samples} samples; gap {report.gap:.2e}; {report.nodes} nodes checked in "
                f"{report.seconds:.2f} s."
            )
            console.print(_features_sentence(document["features"]))
        elif prepared is None:
            console.print(
                "DATA was tried as it is, centred, scaled, and both; pass the file as it was, and say again what was "
                "said about its columns."
            )
    return 0 if report.ok else REJECTED


def _document(
    report: Verification, proof: noap.Certificate, problem: noap.Problem, prepared: str | None
) -> dict[str, Any]:
    """Return the verdict as JSON takes it: what is not proved or not known is None."""
    claim = proof.claim
    names = problem.feature_names or ()
    # A vector that is worth nothing has no features to speak of.
    used = np.argsort(-np.abs(proof.weights), kind="stable").tolist() if report.ok and report.value > 0 else []
    return {
        "ok": report.ok,
        "message": report.message,
        "value": report.value if report.ok or report.value > 0 else None,
        "bound": report.bound if report.ok else None,
        "gap": report.gap if report.ok and math.isfinite(report.gap) else None,
        "features": [names[proof.places[i]] for i in used] if report.ok else None,
        "claimed": {"value": proof.value, "bound": proof.bound},
        "adversary": claim.adversary,
        "rho": claim.rho,
        "noise": claim.rho / BY_NAME[claim.adversary].noise_unit(claim.n_samples),
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


def _named(claim: Claim, data: Path, reading: Reading) -> tuple[noap.Problem, str | None]:
    """Return the problem that the claim names and how its data were prepared; another one and None if DATA has none."""
    last = None
    for problem, prepared in _candidates(claim, data, reading):
        if fingerprint(problem) == claim.sha256:
            return problem, prepared
        last = problem
    if last is None:
        raise InvalidProblem(f"DATA {data} does not have the shape that CERT names; pass the file it was made from.")
    return last, None


def _candidates(claim: Claim, data: Path, reading: Reading) -> Iterator[tuple[noap.Problem, str]]:
    """Yield what the file may stand for, one preparation after the other."""
    kind = BY_NAME[claim.adversary]
    adversary = kind.with_budget(claim.rho)
    if wants_stream(data, False):
        for center, scale in _PREPARED:
            problem, _ = streamed_problem(
                data, claim.k, AdversaryName(kind.key), None, claim.rho, center=center, scale=scale, reading=reading
            )
            yield problem, _PREPARED[center, scale]
        return
    table = read_table(data, reading)
    if claim.k > table.X.shape[1]:
        return
    if claim.source == "covariance":
        if table.X.shape[0] == table.X.shape[1] == claim.n_features:
            yield (
                noap.Problem.from_covariance(
                    table.X, n_samples=claim.n_samples, k=claim.k, adversary=adversary, feature_names=table.names
                ),
                "a covariance",
            )
        return
    for center, scale in itertools.product((True, False), repeat=2):
        try:
            samples = table.standardised(center, scale)
        except InvalidProblem:
            continue  # a constant column cannot be scaled: then it was not
        yield noap.Problem(samples, k=claim.k, adversary=adversary), _PREPARED[center, scale]
