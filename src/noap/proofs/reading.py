"""Read a certificate of any kind: of one vector, of several components together, or of a list of supports."""

import os
from typing import TypeAlias

from noap.data.arguments import as_megabytes
from noap.kernel import certificate as kernel
from noap.proofs import container
from noap.proofs.certificate import Certificate
from noap.proofs.joint import JointCertificate
from noap.proofs.packing import COMPONENTS, SUPPORTS
from noap.proofs.supports import ListCertificate

__all__ = ["AnyCertificate", "load"]

AnyCertificate: TypeAlias = Certificate | JointCertificate | ListCertificate
_VERSION = slice(8, 10)
_KINDS: dict[str, type[JointCertificate | ListCertificate]] = {COMPONENTS: JointCertificate, SUPPORTS: ListCertificate}


def load(path: str | os.PathLike[str], *, memory_limit: float | None = None) -> AnyCertificate | kernel.Certificate:
    """Read a certificate, whichever it is, as safely and with the same limits as that kind reads its own."""
    megabytes = as_megabytes(memory_limit)
    data = container.read_bytes(path, megabytes)
    if data[_VERSION] == (5).to_bytes(2, "little"):
        return kernel.Certificate.from_bytes(data, memory_limit=megabytes)
    proof = container.header_of(data).get("proof")
    kind = _KINDS.get(proof, Certificate) if isinstance(proof, str) else Certificate
    return kind.from_bytes(data, memory_limit=megabytes)
