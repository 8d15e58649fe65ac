"""What must be trusted: it re-proves certificates with its own arithmetic, which rounds outwards."""

from noap.checker.verify import Verification, verify

__all__ = ["Verification", "verify"]
