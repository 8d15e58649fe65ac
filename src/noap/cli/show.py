"""`noap show`: a certificate in words, without its data."""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from noap.cli.run import Answer, JsonOptions
from noap.cli.verify import claim_as_dict
from noap.kernel.certificate import Certificate
from noap.kernel.explain import explained

__all__ = ["show"]


def show(
    certificate: Annotated[Path, typer.Argument(metavar="CERT", help="A certificate written by noap.")],
    output: JsonOptions,
) -> int:
    """Print a certificate in words: what it claims, and its tree, rule by rule. Nothing is checked.

    noap show proof.noap
    """
    proof = Certificate.load(certificate)
    lines = list(explained(proof))

    def say(console: Console) -> None:
        for line in lines:
            typer.echo(line)

    return output.finish(Answer({**claim_as_dict(proof), "explanation": lines}, say))
