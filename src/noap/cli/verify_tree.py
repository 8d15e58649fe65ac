"""`noap verify` and `noap show` for certificates of the kernel, which hold all of the problem but its data."""

import json as json_module
import math
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.console import Console

import noap
from noap.cli.data import Table
from noap.errors import InvalidProblem
from noap.kernel.certificate import Certificate
from noap.kernel.explain import explained
from noap.kernel.verify import Verification
from noap.proofs.reading import load
from noap.runtime.names import listed

__all__ = ["show", "verify_tree"]

REJECTED = 4


def show(
    certificate: Annotated[Path, typer.Argument(metavar="CERT", help="A certificate written by noap.")],
    json: Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")] = False,
) -> int:
    """Print a certificate in words: what it claims, and its tree, rule by rule. Nothing is checked.

    For example:

    noap show proof.noap
    """
    proof = load(certificate)
    if not isinstance(proof, Certificate):
        raise InvalidProblem(f"CERT {certificate} is of a format before version 5, which noap verify alone reads.")
    lines = list(explained(proof))
    if json:
        typer.echo(json_module.dumps({**_claimed(proof), "explanation": lines}, indent=2))
        return 0
    for line in lines:
        typer.echo(line)
    return 0


def verify_tree(
    proof: Certificate, table: Table, json: bool, time_limit: float | None, memory_limit: float | None
) -> int:
    """Check a certificate against a table, print the verdict, and return the exit code."""
    problem = _problem(proof, table)
    report = noap.verify(problem, proof, time_limit=time_limit, memory_limit=memory_limit)
    if json:
        typer.echo(json_module.dumps(_document(report, proof, table), indent=2))
        return 0 if report.ok else REJECTED
    console = Console(highlight=False, markup=False, soft_wrap=True)
    console.print(report.message)
    if report.ok:
        claim = proof.claim
        console.print(
            f"{claim.adversary}, {claim.noise_in_words}, k = {claim.k}; {claim.n_samples} samples; gap "
            f"{report.gap:.2e}; {report.nodes} nodes checked in {report.seconds:.2f} s."
        )
        names = _features(report, proof, table)
        if names:
            console.print(f"Features of its vector, by the names in DATA: {listed(names, None)}.")
        elif report.bound <= 0 and claim.directions is not None:
            console.print("No direction orthogonal to those in the file is worth anything: the optimum is 0.")
        elif report.bound <= 0:
            console.print("Nothing survives the adversary: the optimum is 0, and no feature is better than another.")
    return 0 if report.ok else REJECTED


def _problem(proof: Certificate, table: Table) -> noap.Problem:
    """Return the problem that the certificate describes, about these data."""
    claim = proof.claim
    if table.X.shape[1] != claim.n_features:
        raise InvalidProblem(
            f"DATA has {table.X.shape[1]} columns of features, the certificate is about {claim.n_features}; say what "
            "noap solve was told about columns."
        )
    adversary: noap.NoAdversary | noap.FeatureWise | noap.SpectralNorm = noap.NoAdversary()
    if claim.rho is not None:
        kind = noap.SpectralNorm if claim.adversary == "spectral" else noap.FeatureWise
        adversary = kind(_whole(claim.rho))
    terms: dict[str, Any] = {
        "k": claim.k,
        "adversary": adversary,
        "costs": claim.costs,
        "feature_names": table.names,
        "include": claim.include.tolist(),
        "exclude": claim.exclude.tolist(),
        "orthogonal_to": claim.directions,
    }
    if claim.source == "covariance":
        return noap.Problem.from_covariance(table.X, n_samples=claim.n_samples, **terms)
    X = table.X
    if claim.mean is not None and claim.scale is not None:
        X = ((X if isinstance(X, np.ndarray) else X.toarray()) - claim.mean) / claim.scale
    return noap.Problem(X, **terms)


def _whole(rho: Any) -> Any:
    return float(rho[0]) if len(rho) == 1 else rho


def _features(report: Verification, proof: Certificate, table: Table) -> list[str]:
    """Return the names of the features of the vector, the largest weight first; none where it has no value."""
    order: Any = np.argsort(-np.abs(proof.weights), kind="stable") if report.value > 0 else []
    return [table.names[proof.support[i]] for i in order]


def _document(report: Verification, proof: Certificate, table: Table) -> dict[str, Any]:
    """Return the verdict as JSON takes it: what is not proved is None."""
    return {
        "ok": report.ok,
        "message": report.message,
        "value": report.value if report.ok or report.value > 0 else None,
        "bound": report.bound if report.ok else None,
        "gap": report.gap if report.ok and math.isfinite(report.gap) else None,
        "features": _features(report, proof, table) if report.ok else None,
        **_claimed(proof),
        **({} if report.threshold is None else _of_list(report)),
        "nodes": report.nodes,
        "seconds": report.seconds,
    }


def _of_list(report: Verification) -> dict[str, Any]:
    """Return what is proved of a list of supports."""
    return {"supports": report.supports, "threshold": report.threshold} if report.ok else {}


def _claimed(proof: Certificate) -> dict[str, Any]:
    """Return what a certificate claims, as JSON takes it."""
    claim = proof.claim
    return {
        "kind": proof.kind,
        "claimed": {"value": proof.value, "bound": proof.bound},
        "adversary": claim.adversary,
        "k": claim.k,
        "n_samples": claim.n_samples,
        "n_features": claim.n_features,
    }
