"""Read a certificate of any kind: of the kernel, or of an older format."""

import os

from noap.data.arguments import as_megabytes
from noap.kernel import certificate as kernel
from noap.proofs import container
from noap.proofs.certificate import Certificate

__all__ = ["load"]


def load(path: str | os.PathLike[str], *, memory_limit: float | None = None) -> Certificate | kernel.Certificate:
    """Read a certificate, whichever it is, as safely and with the same limits as that kind reads its own."""
    megabytes = as_megabytes(memory_limit)
    data = container.read_bytes(path, megabytes)
    if kernel.is_of_the_kernel(data):
        return kernel.Certificate.from_bytes(data, memory_limit=megabytes)
    return Certificate.from_bytes(data, memory_limit=megabytes)
