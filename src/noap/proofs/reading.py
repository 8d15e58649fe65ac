"""Read a certificate of any kind: of the kernel, of an older format, or of several components together."""

import os
from typing import TypeAlias

from noap.data.arguments import as_megabytes
from noap.kernel import certificate as kernel
from noap.proofs import container
from noap.proofs.certificate import Certificate
from noap.proofs.joint import JointCertificate
from noap.proofs.packing import COMPONENTS

__all__ = ["AnyCertificate", "load"]

AnyCertificate: TypeAlias = Certificate | JointCertificate


def load(path: str | os.PathLike[str], *, memory_limit: float | None = None) -> AnyCertificate | kernel.Certificate:
    """Read a certificate, whichever it is, as safely and with the same limits as that kind reads its own."""
    megabytes = as_megabytes(memory_limit)
    data = container.read_bytes(path, megabytes)
    if kernel.is_of_the_kernel(data):
        return kernel.Certificate.from_bytes(data, memory_limit=megabytes)
    proof = container.header_of(data).get("proof")
    kind = JointCertificate if proof == COMPONENTS else Certificate
    return kind.from_bytes(data, memory_limit=megabytes)
